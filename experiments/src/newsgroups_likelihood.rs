//! Choi et al. 2011, Tables 4 and 5: likelihood and BIC of 20 newsgroups (100 words), and the best models by either criterion.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use latentree::data::{Dataset, ReadOptions, open};
use latentree::inference::Inference;
use latentree::learn::{Criterion, Learned, Learning, ParameterMethod, Source, Validation};
use latentree::structure::{Contraction, DEFAULT_CONTRACTION, LearnerName};
use latentree::{ColIx, Result, Silent};

use crate::chow_liu::select;
use crate::record::Results;

/// Which parts, and the seeds.
#[derive(Debug, Clone, Args)]
pub(crate) struct NewsgroupsArgs {
    /// Parts: gap (moments, and a few steps of EM from them), table4, refined, bic, table5
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "gap,table4,refined,bic,table5")]
    parts: Vec<String>,
    /// Seeds of the search by BIC
    #[arg(long, value_name = "N,M", value_delimiter = ',', default_value = "0,1,2")]
    seeds: Vec<u64>,
}

/// Log-likelihood, BIC and log-likelihood of the other half in the paper, by learner.
const PAPER: [(LearnerName, &str, &str, &str); 7] = [
    (LearnerName::ChowLiu, "-238,713", "-239,677", "-120,107"),
    (LearnerName::NeighborJoining, "-230,575", "-232,257", "-116,011"),
    (LearnerName::RecursiveGrouping, "-239,619", "-240,875", "-119,181"),
    (LearnerName::ChowLiuNeighborJoining, "-230,858", "-232,540", "-116,036"),
    (LearnerName::ChowLiuRecursiveGrouping, "-231,279", "-232,738", "-116,199"),
    (LearnerName::RegularisedNeighborJoining, "-235,326", "-236,553", "-118,606"),
    (LearnerName::RegularisedRecursiveGrouping, "-234,012", "-235,229", "-117,652"),
];

/// Edges are contracted as in the paper (§7.1): up to −ln 0.9.
fn as_in_the_paper(learner: LearnerName) -> Learning {
    Learning::new().structure(learner).contraction(Contraction::UpTo(DEFAULT_CONTRACTION))
}

fn learned(learning: &Learning, rows: &Dataset) -> Result<(Learned, f64)> {
    let begun = Instant::now();
    let learned = learning.run(Source::Rows(rows), &Silent)?;
    Ok((learned, begun.elapsed().as_secs_f64()))
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))
}

pub(crate) fn run(args: &NewsgroupsArgs, data: &Path) -> Result<Results> {
    let folder = data.join("news20_w100");
    let all = Dataset::read(&mut open(&folder.join("news20_w100.csv.gz"), &ReadOptions::default())?)?;
    let split = Dataset::read(&mut open(&folder.join("choi_split.csv.gz"), &ReadOptions::default())?)?;
    let rows = split.batches().iter().flat_map(|batch| (0..batch.n_rows).map(|row| batch.number(row, ColIx::new(0)) == 1.0));
    let in_train: Vec<bool> = rows.collect();
    let (train, test) = (select(&all, |row| in_train[row as usize]), select(&all, |row| !in_train[row as usize]));
    let header = ["what", "rows", "hidden", "parameters", "log-likelihood", "paper", "BIC", "paper", "test", "paper", "seconds"];
    let mut results = Results::new("Choi 2011, Tables 4 and 5: 20 newsgroups", &header);
    let has = |part: &str| args.parts.iter().any(|it| it == part);
    let mut row = |what: String, rows: &str, learned: &Learned, paper: [&str; 3], held_out: Option<f64>, seconds: f64| {
        results.row([
            what,
            rows.to_owned(),
            learned.tree().n_hidden().to_string(),
            learned.free_parameters.map(|it| it.to_string()).unwrap_or_default(),
            figure(learned.log_likelihood),
            paper[0].to_owned(),
            figure(learned.bic),
            paper[1].to_owned(),
            figure(held_out),
            paper[2].to_owned(),
            format!("{seconds:.2}"),
        ]);
        crate::note(&results.rows[results.rows.len() - 1].join(" | "));
    };
    let on_test = |learned: &Learned| -> Result<Option<f64>> {
        let Some(model) = learned.model() else { return Ok(None) };
        Ok(Some(Inference::new(model).score(&mut test.source(), &Silent, |_, _| Ok(()))?.log_likelihood))
    };
    if has("gap") {
        let clnj = || as_in_the_paper(LearnerName::ChowLiuNeighborJoining).hidden_states(Some(2));
        let (found, seconds) = learned(&clnj().parameters(ParameterMethod::Moments), &all)?;
        row("clnj, moments".to_owned(), "all", &found, ["", "", ""], None, seconds);
        for steps in [5, 20] {
            let learning = clnj().parameters(ParameterMethod::MomentsAndEm).em_iterations(Some(steps));
            let (found, seconds) = learned(&learning, &all)?;
            row(format!("clnj, moments + {steps} steps of EM"), "all", &found, ["", "", ""], None, seconds);
        }
    }
    if has("table4") {
        for (learner, likelihood, bic, _) in PAPER {
            let (found, seconds) = learned(&as_in_the_paper(learner), &all)?;
            row(learner.to_string(), "all", &found, [likelihood, bic, ""], None, seconds);
        }
        let joined = as_in_the_paper(LearnerName::NeighborJoining).parameters(ParameterMethod::Em);
        let (found, seconds) = learned(&joined, &all)?;
        row("nj, EM from latent classes".to_owned(), "all", &found, ["", "", ""], None, seconds);
    }
    if has("refined") {
        let (found, seconds) = learned(&Learning::new().select(Some(Criterion::Bic)).hidden_states(Some(2)), &all)?;
        row("refined, two states".to_owned(), "all", &found, ["-230,575", "-232,257", ""], None, seconds);
    }
    if has("bic") {
        for &seed in &args.seeds {
            let learning = Learning::new().select(Some(Criterion::Bic)).hidden_states_auto().seed(seed);
            let (found, seconds) = learned(&learning, &all)?;
            row(format!("--select bic, seed {seed}"), "all", &found, ["", "-230,925", ""], None, seconds);
        }
    }
    if has("table5") {
        for (learner, _, _, held_out) in PAPER {
            let (found, seconds) = learned(&as_in_the_paper(learner), &train)?;
            row(learner.to_string(), "training half", &found, ["", "", held_out], on_test(&found)?, seconds);
        }
        let search = Learning::new().select(Some(Criterion::Validation)).validation(Some(Validation::Fraction(0.1)));
        let (found, seconds) = learned(&search, &train)?;
        row("--select validation".to_owned(), "training half", &found, ["", "", "-116,011"], on_test(&found)?, seconds);
    }
    Ok(results)
}
