//! Splice junctions: chain models of each class, ten folds with repeated sequences in one fold.
//!
//! N, D, R and S are missing cells. `chosen` takes the method and the number of dimensions with the best accuracy of three
//! folds inside the nine training folds.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use latentree::classifier::Classifier;
use latentree::data::{ColumnData, Dataset, Kind, Schema};
use latentree::structure::LearnerName;
use latentree::{Error, Result, Silent};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::record::Results;
use crate::spectral_error::cpu_seconds;
use crate::spectral_rank::learning;

/// Methods and folds.
#[derive(Debug, Clone, Args)]
pub(crate) struct SpliceArgs {
    /// Methods, as METHOD:DIMENSIONS
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "spectral:2,spectral:3,spectral:4,spectral:auto,single:2,single:3,single:4,single:auto,hierarchical:2,\
                         hierarchical:3,hierarchical:4,hierarchical:auto"
    )]
    methods: Vec<String>,
    /// Folds
    #[arg(long, default_value_t = 10)]
    folds: usize,
    /// Do not choose a method inside the training folds
    #[arg(long)]
    no_choice: bool,
    /// Write the fold of every row to this file, for other programs
    #[arg(long, value_name = "FILE")]
    write_folds: Option<PathBuf>,
}

const TARGET: &str = "class";

struct Junctions {
    rows: Dataset,
    sequences: Vec<String>,
    classes: Vec<String>,
}

fn read(data: &Path) -> Result<Junctions> {
    let path = data.join("dna").join("arff_splice.csv.gz");
    let mut text = String::new();
    latentree::file::open(&path)?.read_to_string(&mut text).map_err(Error::io("read", &path))?;
    let (mut sequences, mut classes) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.trim_end().split(',').collect();
        sequences.push(cells[1..cells.len() - 1].concat());
        classes.push(cells[cells.len() - 1].trim().to_owned());
    }
    let labels: Vec<String> = ["A", "C", "G", "T"].map(str::to_owned).into();
    let mut names: Vec<String> = classes.clone();
    names.sort();
    names.dedup();
    let n = sequences[0].len();
    let mut schema = Schema::builder();
    let mut columns = Vec::new();
    for position in 0..n {
        schema = schema.scalar(format!("p{}", position + 1), Kind::Categorical { labels: labels.clone() });
        let code = |sequence: &String| match sequence.as_bytes()[position] {
            b'A' => 0,
            b'C' => 1,
            b'G' => 2,
            b'T' => 3,
            _ => u8::MAX,
        };
        columns.push(ColumnData::Codes8(sequences.iter().map(code).collect()));
    }
    schema = schema.scalar(TARGET, Kind::Categorical { labels: names.clone() });
    columns
        .push(ColumnData::Codes8(classes.iter().map(|it| names.iter().position(|name| name == it).unwrap_or(0) as u8).collect()));
    Ok(Junctions { rows: Dataset::from_columns(Arc::new(schema.build()?), columns, None)?, sequences, classes })
}

impl Junctions {
    /// A fold for every row for which `keep` says so: distinct sequences of each class go round at random.
    fn folds(&self, n_folds: usize, seed: u64, keep: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for row in (0..self.sequences.len()).filter(|&row| keep(row)) {
            groups.entry((&self.classes[row], &self.sequences[row])).or_default().push(row);
        }
        // A sequence of two classes is in one fold, too.
        let mut by_sequence: BTreeMap<&str, usize> = BTreeMap::new();
        let mut order: Vec<_> = groups.into_iter().collect();
        order.shuffle(&mut random);
        order.sort_by(|a, b| a.0.0.cmp(b.0.0));
        let mut fold_of = vec![usize::MAX; self.sequences.len()];
        for (next, ((_, sequence), rows)) in order.into_iter().enumerate() {
            let fold = *by_sequence.entry(sequence).or_insert(next % n_folds);
            rows.into_iter().for_each(|row| fold_of[row] = fold);
        }
        fold_of
    }

    /// Rows of a fold with their true label, and all of them, by a method that learned from the others.
    fn tried(&self, method: &str, fold_of: &[usize], fold: usize) -> Result<(u64, u64)> {
        let train = self.rows.rows_where(|row| fold_of[row as usize] != fold && fold_of[row as usize] != usize::MAX);
        let test = self.rows.rows_where(|row| fold_of[row as usize] == fold);
        let right = if method == "naive-bayes" {
            naive_bayes(&train, &test)
        } else {
            let learning = learning(method, LearnerName::Chain)?;
            let classifier = Classifier::learn(&train, TARGET, &learning, &Silent)?.classifier;
            let results = classifier.evaluate(&test, None)?;
            results.confusion.iter().enumerate().map(|(ix, row)| row[ix]).sum()
        };
        Ok((right, test.n_rows()))
    }
}

/// Rows with their true label by independent columns, with a pseudo-count of 1.
fn naive_bayes(train: &Dataset, test: &Dataset) -> u64 {
    let n = train.schema().columns().len() - 1;
    let classes = train.schema().columns()[n].kind.n_states().unwrap_or(0);
    let cells = |rows: &Dataset| -> Vec<Vec<f64>> {
        let of = |batch: &latentree::data::Batch, row: usize| {
            (0..=n).map(|column| batch.number(row, latentree::ColIx::new(column))).collect()
        };
        rows.batches().iter().flat_map(|batch| (0..batch.n_rows).map(move |row| of(batch, row))).collect()
    };
    let mut counts = vec![vec![[1.0_f64; 4]; n]; classes];
    let mut priors = vec![0.0_f64; classes];
    for row in cells(train) {
        let class = row[n] as usize;
        priors[class] += 1.0;
        (0..n).filter(|&ix| !row[ix].is_nan()).for_each(|ix| counts[class][ix][row[ix] as usize] += 1.0);
    }
    let mut right = 0;
    for row in cells(test) {
        let score = |class: usize| {
            let present = (0..n).filter(|&ix| !row[ix].is_nan());
            let of = |ix: usize| (counts[class][ix][row[ix] as usize] / counts[class][ix].iter().sum::<f64>()).ln();
            priors[class].ln() + present.map(of).sum::<f64>()
        };
        let best = (0..classes).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(0);
        right += u64::from(best == row[n] as usize);
    }
    right
}

pub(crate) fn run(args: &SpliceArgs, data: &Path) -> Result<Results> {
    let junctions = read(data)?;
    let fold_of = junctions.folds(args.folds, 0, |_| true);
    if let Some(path) = &args.write_folds {
        let lines: Vec<String> = fold_of.iter().map(usize::to_string).collect();
        std::fs::write(path, lines.join("\n")).map_err(Error::io("write", path))?;
    }
    let title = format!("Splice junctions, chain models of each class, {} folds, repeated sequences in one fold", args.folds);
    let mut results = Results::new(title, &["method", "accuracy", "CPU s"]);
    let mut whole = |name: &str, try_fold: &mut dyn FnMut(usize) -> Result<(u64, u64)>| -> Result<()> {
        let (mut right, mut rows) = (0, 0);
        let begun = cpu_seconds();
        for fold in 0..args.folds {
            let (own, n) = try_fold(fold)?;
            (right, rows) = (right + own, rows + n);
        }
        let cells = [name.to_owned(), format!("{:.4}", right as f64 / rows as f64), format!("{:.1}", cpu_seconds() - begun)];
        crate::note(&cells.join(" | "));
        results.row(cells);
        Ok(())
    };
    whole("naive-bayes", &mut |fold| junctions.tried("naive-bayes", &fold_of, fold))?;
    for method in &args.methods {
        whole(method, &mut |fold| junctions.tried(method, &fold_of, fold))?;
    }
    if !args.no_choice {
        whole("chosen", &mut |fold| {
            let inner = junctions.folds(3, 1 + fold as u64, |row| fold_of[row] != fold);
            let mut best = (0, &args.methods[0]);
            for method in &args.methods {
                let right = (0..3).map(|it| Ok(junctions.tried(method, &inner, it)?.0)).sum::<Result<u64>>()?;
                if right > best.0 {
                    best = (right, method);
                }
            }
            crate::note(&format!("fold {fold}: {}", best.1));
            junctions.tried(best.1, &fold_of, fold)
        })?;
    }
    Ok(results)
}
