//! Choi et al. 2011, Tables 4 and 5: the Chow–Liu tree of 20 newsgroups, from pair moments.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use latentree::data::{Batch, Block, ColumnData, Dataset, ReadOptions, open};
use latentree::inference::Inference;
use latentree::model::{Distribution, LatentTree, Table};
use latentree::moments::{PairMoments, fold};
use latentree::structure::ChowLiu;
use latentree::{ColIx, NodeIx, Result, Silent};

use crate::record::Results;

/// The rows of a data set for which `keep` holds.
pub(crate) fn select(data: &Dataset, keep: impl Fn(u64) -> bool) -> Dataset {
    let batches = data.batches().iter().map(|batch| {
        let rows: Vec<usize> = (0..batch.n_rows).filter(|&row| keep(batch.first_row + row as u64)).collect();
        let columns = data.schema().columns().iter().enumerate().map(|(ix, column)| {
            let mut chosen = ColumnData::for_kind(&column.kind, rows.len());
            rows.iter().for_each(|&row| chosen.push_number(batch.number(row, ColIx::new(ix))));
            chosen
        });
        Batch { first_row: 0, n_rows: rows.len(), block: Block::Dense(columns.collect()), weights: None }
    });
    Dataset::new(Arc::clone(data.schema()), batches.collect())
}

/// The maximum-likelihood model on a tree over observed variables alone.
fn fitted(tree: &ChowLiu, moments: &PairMoments) -> Result<LatentTree> {
    let builder = LatentTree::builder(Arc::clone(moments.schema()), tree.tree.clone()).root(NodeIx::new(0));
    let rooted = latentree::tree::Rooted::new(&tree.tree, NodeIx::new(0));
    let model = tree.tree.node_ixs().fold(builder, |builder, node| {
        let own = ColIx::new(node.get());
        let table = match rooted.parent[node.get()] {
            Some(parent) => moments.table(ColIx::new(parent.get()), own),
            None => moments.level_weights(own),
        };
        let table = table.unwrap_or_default();
        let rows = table.chunks_exact(2).flat_map(|row| {
            let sum: f64 = row.iter().sum();
            row.iter().map(move |value| value / sum)
        });
        builder.distribution(node, Distribution::Discrete(Table::new(2, rows.collect())))
    });
    model.build()
}

pub(crate) fn run(data: &Path) -> Result<Results> {
    let folder = data.join("news20_w100");
    let options = ReadOptions::default();
    let mut reader = open(&folder.join("news20_w100.csv.gz"), &options)?;
    let all = Dataset::read(&mut reader)?;
    let split = Dataset::read(&mut open(&folder.join("choi_split.csv.gz"), &options)?)?;
    let in_train: Vec<bool> = split
        .batches()
        .iter()
        .flat_map(|batch| (0..batch.n_rows).map(|row| batch.number(row, ColIx::new(0)) == 1.0).collect::<Vec<_>>())
        .collect();
    let train = select(&all, |row| in_train[row as usize]);
    let test = select(&all, |row| !in_train[row as usize]);
    let start = Instant::now();
    let moments = fold(&mut all.source(), PairMoments::new(Arc::clone(all.schema()))?, &Silent)?;
    let whole = ChowLiu::from_moments(&moments)?;
    let seconds = start.elapsed().as_secs_f64();
    let train_moments = fold(&mut train.source(), PairMoments::new(Arc::clone(train.schema()))?, &Silent)?;
    let half = ChowLiu::from_moments(&train_moments)?;
    let model = fitted(&half, &train_moments)?;
    let scored = Inference::new(&model).score(&mut test.source(), &Silent, |_, _| Ok(()))?;
    let mut results =
        Results::new("Choi 2011, Tables 4 and 5: Chow–Liu tree of 20 newsgroups (100 words)", &["figure", "paper", "ours"]);
    let (ln, parameters) = (whole.log_likelihood.unwrap_or(f64::NAN), whole.free_parameters.unwrap_or(0));
    let bic = ln - 0.5 * parameters as f64 * (all.n_rows() as f64).ln();
    let mut row = |figure: &str, paper: &str, ours: String| results.row([figure.to_owned(), paper.to_owned(), ours]);
    row("log-likelihood, all rows", "-238,713", format!("{ln:.2}"));
    row("BIC, all rows", "-239,677", format!("{bic:.2}"));
    row("free parameters", "199", parameters.to_string());
    row("log-likelihood, training half", "-119,013", format!("{:.1}", half.log_likelihood.unwrap_or(f64::NAN)));
    row("log-likelihood, test half", "-120,107", format!("{:.1}", scored.log_likelihood));
    row("seconds, moments and tree", "", format!("{seconds:.3}"));
    Ok(results)
}
