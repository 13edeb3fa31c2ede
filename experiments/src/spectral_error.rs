//! Parikh et al. 2011, Figure 2: relative errors of joint probabilities by spectral methods and by EM.
//!
//! The drawings of the trees are not in the text of the paper. Ours: broadN is a hidden root with N − 1 hidden children of three leaves each, deepN a chain of N hidden
//! nodes with two leaves each. Rows of tables are drawn uniformly, again until the smallest singular value is 0.2 (observed) or 0.3 (hidden); root states have 0.2
//! at least. With m parameters, maximum likelihood has a mean error of √(2m / πN).

use std::sync::Arc;
use std::time::Instant;

use latentree::data::{Dataset, Kind, Schema};
use latentree::format::ModelFile;
use latentree::inference::Inference;
use latentree::learn::{EmStart, Learning, ParameterMethod, Source};
use latentree::model::{Distribution, Domain, LatentTree, Table};
use latentree::spectral::{Evaluator, Linkers};
use latentree::structure::LearnerName;
use latentree::tree::Tree;
use latentree::{Error, NodeIx, Result, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::record::Results;

const LABELS: usize = 6;
const STATES: usize = 2;
const TEST_ROWS: u64 = 1000;

/// Trees, rows and models.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ErrorArgs {
    /// Trees: broadN or deepN
    #[arg(long, value_delimiter = ',', default_value = "deep4,broad4,deep5,broad9")]
    trees: Vec<String>,
    /// Numbers of training rows
    #[arg(long, value_delimiter = ',', default_value = "200,1000,5000,20000,100000")]
    rows: Vec<u64>,
    /// Models drawn for each tree
    #[arg(long, default_value_t = 10)]
    models: u64,
    /// Methods
    #[arg(long, value_delimiter = ',', default_value = "stacked,single,hierarchical,moments,moments+em,em-,em+,chow-liu")]
    methods: Vec<String>,
}

fn tree(name: &str) -> Result<Tree> {
    let unknown = || Error::option("--trees", format!("{name:?} is not broadN or deepN"));
    let number = |text: &str| text.parse::<usize>().ok().filter(|n| (2..100).contains(n)).ok_or_else(unknown);
    let mut tree = Tree::new();
    let mut leaves = 0;
    let mut add = |tree: &mut Tree, at: NodeIx, n: usize| -> Result<()> {
        for _ in 0..n {
            leaves += 1;
            let leaf = tree.add_observed(format!("x{leaves}"))?;
            tree.connect(at, leaf, None)?;
        }
        Ok(())
    };
    let root = tree.add_hidden("h1")?;
    if let Some(n) = name.strip_prefix("broad") {
        for ix in 1..number(n)? {
            let child = tree.add_hidden(format!("h{}", ix + 1))?;
            tree.connect(root, child, None)?;
            add(&mut tree, child, 3)?;
        }
    } else {
        let n = number(name.strip_prefix("deep").ok_or_else(unknown)?)?;
        let mut last = root;
        add(&mut tree, root, 2)?;
        for ix in 1..n {
            let next = tree.add_hidden(format!("h{}", ix + 1))?;
            tree.connect(last, next, None)?;
            add(&mut tree, next, 2)?;
            last = next;
        }
    }
    Ok(tree)
}

fn dirichlet(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    let weights: Vec<f64> = (0..n).map(|_| -rng.random_range(f64::MIN_POSITIVE..1.0).ln()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// A table of two rows whose smaller singular value is not less than this.
fn table(rng: &mut ChaCha8Rng, n: usize, least: f64) -> Vec<f64> {
    loop {
        let (a, b) = (dirichlet(rng, n), dirichlet(rng, n));
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (aa, bb, ab) = (product(&a, &a), product(&b, &b), product(&a, &b));
        let smaller = (aa + bb) / 2.0 - (((aa - bb) / 2.0).powi(2) + ab * ab).sqrt();
        if smaller.max(0.0).sqrt() >= least {
            return [a, b].concat();
        }
    }
}

fn model(tree: &Tree, seed: u64) -> Result<LatentTree> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut schema = Schema::builder();
    for node in tree.node_ixs().filter(|&node| tree.is_observed(node)) {
        schema = schema.scalar(tree.name(node), Kind::numbered(LABELS));
    }
    let root = NodeIx::new(0);
    let mut builder = LatentTree::builder(Arc::new(schema.build()?), tree.clone()).root(root);
    for node in tree.node_ixs() {
        let values = match (node == root, tree.is_observed(node)) {
            (true, _) => {
                let share = rng.random_range(0.2..0.8);
                vec![share, 1.0 - share]
            }
            (_, true) => table(&mut rng, LABELS, 0.2),
            (_, false) => table(&mut rng, STATES, 0.3),
        };
        if !tree.is_observed(node) {
            builder = builder.hidden(node, Domain::numbered(STATES));
        }
        let n = if tree.is_observed(node) { LABELS } else { STATES };
        builder = builder.distribution(node, Distribution::Discrete(Table::new(n, values)));
    }
    builder.build()
}

fn learning(method: &str, tree: &Tree) -> Result<Learning> {
    let base = Learning::new().hidden_states(Some(STATES)).tree(Some(tree.clone()));
    let em = |tolerance: f64| {
        base.clone().parameters(ParameterMethod::Em).start(Some(EmStart::Random)).restarts(5).em_tolerance(Some(tolerance))
    };
    let spectral = |linkers: Linkers| -> Result<Learning> {
        let mut options = base.clone().parameters(ParameterMethod::Spectral).options().clone();
        options.set("parameters.linkers", linkers.name().into())?;
        Ok(Learning::with_options(options).tree(Some(tree.clone())))
    };
    Ok(match method {
        "stacked" => spectral(Linkers::Stacked)?,
        "single" => spectral(Linkers::Single)?,
        "hierarchical" => base.parameters(ParameterMethod::Hierarchical),
        "moments" => base.parameters(ParameterMethod::Moments),
        "moments+em" => base.parameters(ParameterMethod::MomentsAndEm).em_tolerance(Some(1e-8)),
        "em-" => em(1e-2),
        "em+" => em(5e-4),
        "chow-liu" => Learning::new().structure(LearnerName::ChowLiu).parameters(ParameterMethod::Moments),
        other => return Err(Error::option("--methods", format!("{other:?} is not a method"))),
    })
}

/// Errors of all test rows, the share that is clipped, and seconds.
fn one(method: &str, truth: &LatentTree, train: &Dataset, test: &Dataset) -> Result<(Vec<f64>, f64, f64)> {
    let begun = Instant::now();
    let learned = learning(method, truth.tree())?.run(Source::Rows(train), &Silent)?;
    let seconds = begun.elapsed().as_secs_f64();
    let (mut errors, mut clipped) = (Vec::new(), 0);
    for batch in test.batches() {
        let exact = Inference::new(truth).log_likelihood(batch)?;
        let own = match &learned.file {
            ModelFile::Spectral(model) => {
                let scores = Evaluator::new(model).log_likelihood(batch)?;
                clipped += scores.clipped;
                scores.values
            }
            ModelFile::LatentTree(model) => Inference::new(model).log_likelihood(batch)?,
            _ => return Err(Error::option("--methods", "a tree has no probabilities")),
        };
        errors.extend(own.iter().zip(&exact).map(|(own, exact)| (own - exact).exp_m1().abs()));
    }
    Ok((errors, clipped as f64 / TEST_ROWS as f64, seconds))
}

pub(crate) fn run(args: &ErrorArgs) -> Result<Results> {
    let title =
        format!("Parikh 2011, Figure 2: relative error of {TEST_ROWS} joint probabilities, mean of {} models", args.models);
    let header = ["tree", "rows", "method", "mean error", "× maximum likelihood", "median error", "clipped", "seconds"];
    let mut results = Results::new(title, &header);
    for name in &args.trees {
        let tree = tree(name)?;
        for &n_rows in &args.rows {
            for method in &args.methods {
                let (mut means, mut medians, mut clipped, mut seconds, mut parameters) = (0.0, 0.0, 0.0, 0.0, 0);
                for seed in 0..args.models {
                    let truth = model(&tree, seed)?;
                    parameters = truth.n_free_parameters();
                    let inference = Inference::new(&truth);
                    let (train, test) = (inference.sample(n_rows, 1000 + seed)?, inference.sample(TEST_ROWS, 2000 + seed)?);
                    let (mut errors, share, time) = one(method, &truth, &train, &test)?;
                    errors.sort_by(f64::total_cmp);
                    means += errors.iter().sum::<f64>() / errors.len() as f64;
                    medians += errors[errors.len() / 2];
                    clipped += share;
                    seconds += time;
                }
                let n = args.models as f64;
                let best = (2.0 * parameters as f64 / (std::f64::consts::PI * n_rows as f64)).sqrt();
                let cells =
                    [means / n, means / n / best, medians / n, clipped / n, seconds / n].map(|value| format!("{value:.4}"));
                crate::note(&format!("{name} {n_rows} {method} {}", cells.join(" ")));
                results.row([name.clone(), n_rows.to_string(), method.clone()].into_iter().chain(cells));
            }
        }
    }
    Ok(results)
}
