//! Choi et al. 2011, §7.1 (Figure 8): structure recovery on simulated Gaussian trees with edge correlations in [0.2, 0.8].

use std::time::Instant;

use latentree::distance::{DistanceMatrix, DistanceOptions, estimate};
use latentree::inference::Inference;
use latentree::linalg::Cholesky;
use latentree::model::LatentTree;
use latentree::moments::{PairMoments, fold};
use latentree::simulate::{Shape, Simulation};
use latentree::structure::{
    ChowLiuNeighborJoining, ChowLiuRecursiveGrouping, CorrelationSample, NeighborJoining, RecursiveGrouping,
    SpectralNeighborJoining, StructureLearner, by_likelihood, maximum_likelihood,
};
use latentree::tree::{Tree, robinson_foulds, same_structure};
use latentree::{Result, Silent};
use rayon::prelude::*;

use crate::record::Results;

/// What is run: the shape, the numbers of rows and of seeds.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ChoiArgs {
    /// Shapes: double-star, hmm, complete
    #[arg(long, value_delimiter = ',', default_value = "double-star,hmm,complete")]
    shapes: Vec<String>,
    /// Numbers of rows
    #[arg(long, value_delimiter = ',', default_value = "100,200,500,1000,2000,5000,10000,20000,50000,100000,200000")]
    rows: Vec<u64>,
    /// Number of seeds
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// Learners: nj, rg, clrg, clnj, snj, default
    #[arg(long, value_delimiter = ',', default_value = "nj,rg,clrg,clnj,snj,default")]
    learners: Vec<String>,
}

struct Outcome {
    wrong: f64,
    robinson_foulds: f64,
    hidden_error: f64,
    kl: f64,
    seconds: f64,
    note: String,
}

/// Kullback–Leibler divergence of two zero-mean Gaussians given by correlation matrices.
fn divergence(truth: &[f64], estimate: &[f64], p: usize) -> f64 {
    let (Some(a), Some(b)) = (Cholesky::new(truth, p), Cholesky::new(estimate, p)) else { return f64::NAN };
    0.5 * (b.ln_determinant() - a.ln_determinant() + b.trace_of_solution(truth) - p as f64)
}

fn moments_of(model: &LatentTree, rows: u64, seed: u64) -> Result<[PairMoments; 3]> {
    let inference = Inference::new(model);
    let data = inference.sample(rows, seed)?;
    let empty = || PairMoments::new(model.schema().clone());
    let half = |remainder: u64| -> Result<PairMoments> {
        let mut source = data.source();
        fold(&mut latentree::data::SelectedRows::new(&mut source, move |row| row % 2 == remainder), empty()?, &Silent)
    };
    Ok([fold(&mut data.source(), empty()?, &Silent)?, half(0)?, half(1)?])
}

fn learn(name: &str, distances: &DistanceMatrix, samples: &[CorrelationSample; 3]) -> Result<(Tree, Option<Vec<f64>>, String)> {
    let plain = |tree: Tree| (tree, None, String::new());
    Ok(match name {
        "nj" => plain(NeighborJoining::new().learn(distances, &Silent)?),
        "rg" => plain(RecursiveGrouping::default().learn(distances, &Silent)?),
        "clrg" => plain(ChowLiuRecursiveGrouping::default().learn(distances, &Silent)?),
        "clnj" => plain(ChowLiuNeighborJoining::default().learn(distances, &Silent)?),
        "snj" => plain(SpectralNeighborJoining::new().learn(distances, &Silent)?),
        _ => {
            let starts = [
                SpectralNeighborJoining::new().learn(distances, &Silent)?,
                ChowLiuNeighborJoining::default().learn(distances, &Silent)?,
            ];
            let [whole, first, second] = samples;
            let found = by_likelihood(&starts, whole, Some(&[first.clone(), second.clone()]), &Silent)?;
            (found.tree, Some(found.implied), found.penalty.to_owned())
        }
    })
}

fn one(shape: Shape, p: usize, rows: u64, seed: u64, learners: &[String]) -> Result<Vec<Outcome>> {
    let model = Simulation::new(shape, p).seed(seed).model()?;
    let moments = moments_of(&model, rows, seed)?;
    let samples = [0, 1, 2].map(|ix| CorrelationSample::from_moments(&moments[ix]));
    let [whole, first, second] = samples;
    let samples = [whole?, first?, second?];
    // Every pair keeps a distance: the learners of the paper do not know "no distance".
    let distances = estimate(&moments[0], &DistanceOptions::new().significance(None), &Silent)?;
    let lengths = model.tree().path_lengths()?;
    let truth: Vec<f64> = (0..p * p).map(|at| (-lengths.get(at / p, at % p).unwrap_or(f64::INFINITY)).exp()).collect();
    let best_kl = divergence(&truth, &maximum_likelihood(model.tree(), &samples[0]).1, p);
    learners
        .iter()
        .map(|name| {
            let start = Instant::now();
            let (tree, implied, note) = learn(name, &distances, &samples)?;
            let seconds = start.elapsed().as_secs_f64();
            let implied = implied.unwrap_or_else(|| maximum_likelihood(&tree, &samples[0]).1);
            Ok(Outcome {
                wrong: f64::from(u8::from(!same_structure(model.tree(), &tree))),
                robinson_foulds: robinson_foulds(model.tree(), &tree)?.distance as f64,
                hidden_error: (tree.n_hidden() as f64 - model.tree().n_hidden() as f64).abs(),
                kl: divergence(&truth, &implied, p) / best_kl,
                seconds,
                note,
            })
        })
        .collect()
}

pub(crate) fn run(args: &ChoiArgs) -> Result<Results> {
    let header = [
        "tree",
        "rows",
        "learner",
        "wrong trees",
        "Robinson–Foulds",
        "hidden-count error",
        "KL / KL of ML on the true tree",
        "seconds",
        "penalties",
    ];
    let title = format!(
        "Choi 2011, §7.1: Gaussian trees, edge correlations in [0.2, 0.8], {} seeds from {}",
        args.seeds, args.first_seed
    );
    let mut results = Results::new(title, &header);
    for name in &args.shapes {
        let (shape, p) = match name.as_str() {
            "double-star" => (Shape::DoubleStar, 80),
            "hmm" => (Shape::Hmm, 80),
            "complete" => (Shape::Complete { degree: 5 }, 81),
            other => return Err(latentree::Error::option("--shapes", format!("{other:?} is not double-star, hmm or complete"))),
        };
        for &rows in &args.rows {
            let seeds: Vec<u64> = (args.first_seed..args.first_seed + args.seeds).collect();
            let outcomes: Vec<Vec<Outcome>> =
                seeds.par_iter().map(|&seed| one(shape, p, rows, seed, &args.learners)).collect::<Result<_>>()?;
            for (ix, learner) in args.learners.iter().enumerate() {
                let mean = |value: &dyn Fn(&Outcome) -> f64| {
                    outcomes.iter().map(|it| value(&it[ix])).sum::<f64>() / outcomes.len() as f64
                };
                let mut notes: Vec<&str> =
                    outcomes.iter().map(|it| it[ix].note.as_str()).filter(|note| !note.is_empty()).collect();
                notes.sort_unstable();
                let notes: Vec<String> =
                    notes.chunk_by(|a, b| a == b).map(|same| format!("{} {}", same.len(), same[0])).collect();
                results.row([
                    name.clone(),
                    rows.to_string(),
                    learner.clone(),
                    format!("{:.2}", mean(&|it| it.wrong)),
                    format!("{:.2}", mean(&|it| it.robinson_foulds)),
                    format!("{:.2}", mean(&|it| it.hidden_error)),
                    format!("{:.3}", mean(&|it| it.kl)),
                    format!("{:.3}", mean(&|it| it.seconds)),
                    notes.join("; "),
                ]);
            }
        }
    }
    Ok(results)
}
