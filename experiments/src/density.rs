//! Density estimation: mean test log-likelihood on eight public sets, by one command with the same options for all.
//!
//! The model is chosen on the validation rows; the test rows are scored once, at the end.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use latentree::data::{CachedRows, Dataset, ReadOptions, open};
use latentree::inference::Inference;
use latentree::learn::{Criterion, Learning, Source, Validation};
use latentree::{Error, MemoryBudget, Result, Silent};

use crate::record::Results;

/// Published mean test log-likelihoods, and the score to reach.
struct Set {
    name: &'static str,
    chow_liu: &'static str,
    latent_tree: &'static str,
    hidden_chow_liu: &'static str,
    id_spn: &'static str,
    wanted: f64,
}

const fn set(name: &'static str, anchors: [&'static str; 4], wanted: f64) -> Set {
    let [chow_liu, latent_tree, hidden_chow_liu, id_spn] = anchors;
    Set { name, chow_liu, latent_tree, hidden_chow_liu, id_spn, wanted }
}

const SETS: [Set; 8] = [
    set("nltcs", ["-6.76", "-6.49", "-5.99", "-6.02"], -6.00),
    set("msnbc", ["-6.54", "-6.52", "-6.05", "-6.04"], -6.05),
    set("plants", ["-16.52", "-16.39", "-14.26", "-12.54"], -12.50),
    set("baudio", ["-44.38", "-41.90", "-39.77", "-39.79"], -39.60),
    set("jester", ["-58.23", "-55.17", "-52.46", "-52.86"], -52.40),
    set("dna", ["-87.66", "-87.60", "-79.05", "-81.21"], -79.85),
    set("kosarek", ["-11.49", "-10.87", "-10.66", "-10.60"], -10.65),
    set("bbc", ["-261.77", "-255.76", "-251.04", "-248.93"], -245.5),
];

/// Which sets, and the seed.
#[derive(Debug, Clone, Args)]
pub(crate) struct DensityArgs {
    /// Only these sets
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    only: Vec<String>,
    /// Seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

pub(crate) fn run(args: &DensityArgs, data: &Path) -> Result<Results> {
    let header =
        ["set", "chosen", "validation", "test", "wanted", "Chow–Liu", "LTM (Choi)", "HCLT", "ID-SPN", "candidates", "seconds"];
    let mut results = Results::new("Density estimation: mean test log-likelihood, `--select validation` for all", &header);
    if let Some(unknown) = args.only.iter().find(|name| SETS.iter().all(|set| set.name != **name)) {
        return Err(Error::option("--only", format!("{unknown:?} is not one of the eight sets")));
    }
    let mut total = 0.0;
    for set in SETS.iter().filter(|set| args.only.is_empty() || args.only.iter().any(|name| name == set.name)) {
        let begun = Instant::now();
        let file = |part: &str| data.join("debd").join(set.name).join(format!("{}.{part}.csv.gz", set.name));
        let train = open(&file("train"), &ReadOptions::default().header(false))?;
        let options = ReadOptions::default().header(false).schema(Arc::clone(latentree::data::BatchSource::schema(&train)));
        let validation = Dataset::read(&mut open(&file("valid"), &options)?)?;
        let learning =
            Learning::new().select(Some(Criterion::Validation)).validation(Some(Validation::Rows(validation))).seed(args.seed);
        let learned = learning.run(Source::Rows(&CachedRows::new(train, MemoryBudget::of_machine())), &Silent)?;
        let seconds = begun.elapsed().as_secs_f64();
        let Some(model) = learned.model() else { continue };
        let test = Inference::new(model).score(&mut open(&file("test"), &options)?, &Silent, |_, _| Ok(()))?;
        let chosen = learned.candidates.iter().max_by(|a, b| a.validation.total_cmp(&b.validation));
        let chosen = chosen.map(|it| format!("{}, k = {}, {:.4}", it.tree, it.hidden_states, it.smoothing)).unwrap_or_default();
        let score = test.mean_log_likelihood();
        let mark = if score >= set.wanted { "" } else { " (missed)" };
        results.row([
            set.name.to_owned(),
            chosen,
            format!("{:.3}", learned.validation.unwrap_or(f64::NAN)),
            format!("{score:.3}{mark}"),
            format!("{}", set.wanted),
            set.chow_liu.to_owned(),
            set.latent_tree.to_owned(),
            set.hidden_chow_liu.to_owned(),
            set.id_spn.to_owned(),
            learned.candidates.len().to_string(),
            format!("{seconds:.1}"),
        ]);
        total += seconds;
        crate::note(&results.rows[results.rows.len() - 1].join(" | "));
        for it in &learned.candidates {
            crate::note(&format!(
                "  {} k {} smoothing {:.4}: {:.4}, {} passes",
                it.tree, it.hidden_states, it.smoothing, it.validation, it.passes
            ));
        }
    }
    let mut row = vec![String::new(); header.len()];
    row[0] = "all".to_owned();
    row[header.len() - 1] = format!("{total:.1}");
    results.row(row);
    Ok(results)
}
