//! Relative errors of joint probabilities by spectral methods and by EM: Parikh et al. 2011, Figure 2 and §7.2, and Song et al.
//! 2013, Figure 2.
//!
//! The drawings of the trees are not in the text of the papers. Ours: broadN is a hidden root with N − 1 hidden children of
//! three leaves each, deepN a chain of N hidden nodes with two leaves each; chainN is a hidden Markov model of N positions,
//! binaryN a balanced binary tree of N leaves, randomN a random one. Rows of tables are drawn uniformly; with two states, again
//! until the smallest singular value is 0.2 (observed) or 0.3 (hidden); states of the root have 0.2 at least there. With m
//! parameters, maximum likelihood has a mean error of √(2m / πN).

use std::sync::Arc;

use latentree::data::{Batch, Block, ColumnData, Dataset, Kind, MISSING_CODE8, Schema};
use latentree::format::ModelFile;
use latentree::inference::Inference;
use latentree::learn::{EmStart, Learning, ParameterMethod, Source};
use latentree::model::{Distribution, Domain, LatentTree, Table};
use latentree::simulate::{Shape, Simulation};
use latentree::spectral::{Evaluator, Linkers};
use latentree::structure::LearnerName;
use latentree::tree::Tree;
use latentree::{Error, NodeIx, Result, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::record::Results;

const TEST_ROWS: u64 = 1000;

/// Trees, rows and models.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ErrorArgs {
    /// Trees: broadN, deepN, chainN, binaryN or randomN, each with /LABELS/STATES/LEARNED
    #[arg(long, value_delimiter = ',', default_value = "deep4/6/2/2,broad4/6/2/2,deep5/6/2/2,broad9/6/2/2")]
    trees: Vec<String>,
    /// Numbers of training rows
    #[arg(long, value_delimiter = ',', default_value = "200,1000,5000,20000,100000")]
    rows: Vec<u64>,
    /// Models drawn for each tree
    #[arg(long, default_value_t = 10)]
    models: u64,
    /// First seed of the models
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Share of the training cells that are missing, at random
    #[arg(long, default_value_t = 0.0)]
    missing: f64,
    /// Methods
    #[arg(long, value_delimiter = ',', default_value = "stacked,single,hierarchical,moments,moments+em,em-,em+,chow-liu")]
    methods: Vec<String>,
}

/// A tree, the labels of its leaves, the states of its hidden nodes, and those that are learned.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    name: String,
    labels: usize,
    states: usize,
    learned: usize,
}

impl Setting {
    pub(crate) fn new(text: &str) -> Result<Self> {
        let unknown = || Error::option("--trees", format!("{text:?} is not TREE/LABELS/STATES/LEARNED"));
        let parts: Vec<&str> = text.split('/').collect();
        let [name, numbers @ ..] = &parts[..] else { return Err(unknown()) };
        let numbers: Vec<usize> = numbers.iter().filter_map(|it| it.parse().ok()).filter(|it| (2..100).contains(it)).collect();
        let [labels, states, learned] = numbers[..] else { return Err(unknown()) };
        Ok(Self { name: (*name).to_owned(), labels, states, learned })
    }

    /// The states that are learned.
    pub(crate) fn learned(&self) -> usize {
        self.learned
    }

    /// The tree; `seed` is of random ones.
    fn tree(&self, seed: u64) -> Result<Tree> {
        let of = |shape: Shape, n: &str| -> Result<Tree> {
            let n = n.parse().map_err(|_| Error::option("--trees", format!("{:?} has no number of leaves", self.name)))?;
            Ok(Simulation::new(shape, n).seed(seed).model()?.tree().clone())
        };
        if let Some(n) = self.name.strip_prefix("chain") {
            return of(Shape::Hmm, n);
        }
        if let Some(n) = self.name.strip_prefix("random") {
            return of(Shape::Random { max_degree: Some(3) }, n);
        }
        tree(&self.name)
    }

    /// A random model.
    pub(crate) fn model(&self, seed: u64) -> Result<LatentTree> {
        model(&self.tree(seed)?, self.labels, self.states, seed)
    }
}

/// Halves of leaves, halves of these, and so on; the two nodes under the root are neighbours.
fn binary(tree: &mut Tree, leaves: std::ops::Range<usize>) -> Result<NodeIx> {
    if leaves.len() == 1 {
        return tree.add_observed(format!("x{}", leaves.start + 1));
    }
    let node = tree.add_hidden(format!("h{}_{}", leaves.start + 1, leaves.end))?;
    let middle = leaves.start + leaves.len() / 2;
    for half in [leaves.start..middle, middle..leaves.end] {
        let child = binary(tree, half)?;
        tree.connect(node, child, None)?;
    }
    Ok(node)
}

fn tree(name: &str) -> Result<Tree> {
    let unknown = || Error::option("--trees", format!("{name:?} is not broadN, deepN, chainN, binaryN or randomN"));
    let number = |text: &str| text.parse::<usize>().ok().filter(|n| (2..100).contains(n)).ok_or_else(unknown);
    let mut tree = Tree::new();
    if let Some(n) = name.strip_prefix("binary") {
        let n = number(n)?.max(4);
        let halves = [binary(&mut tree, 0..n / 2)?, binary(&mut tree, n / 2..n)?];
        tree.connect(halves[0], halves[1], None)?;
        return Ok(tree);
    }
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

/// A table; one of two rows has a smaller singular value that is not less than this.
fn table(rng: &mut ChaCha8Rng, n_rows: usize, n: usize, least: f64) -> Vec<f64> {
    loop {
        let rows: Vec<Vec<f64>> = (0..n_rows).map(|_| dirichlet(rng, n)).collect();
        let [a, b] = &rows[..] else { return rows.concat() };
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (aa, bb, ab) = (product(a, a), product(b, b), product(a, b));
        let smaller = (aa + bb) / 2.0 - (((aa - bb) / 2.0).powi(2) + ab * ab).sqrt();
        if smaller.max(0.0).sqrt() >= least {
            return rows.concat();
        }
    }
}

fn model(tree: &Tree, labels: usize, states: usize, seed: u64) -> Result<LatentTree> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut schema = Schema::builder();
    for node in tree.node_ixs().filter(|&node| tree.is_observed(node)) {
        schema = schema.scalar(tree.name(node), Kind::numbered(labels));
    }
    let root = tree.node_ixs().find(|&node| !tree.is_observed(node)).unwrap_or(NodeIx::new(0));
    let mut builder = LatentTree::builder(Arc::new(schema.build()?), tree.clone()).root(root);
    for node in tree.node_ixs() {
        let values = match (node == root, tree.is_observed(node)) {
            (true, _) if states == 2 => {
                let share = rng.random_range(0.2..0.8);
                vec![share, 1.0 - share]
            }
            (true, _) => dirichlet(&mut rng, states),
            (_, true) => table(&mut rng, states, labels, 0.2),
            (_, false) => table(&mut rng, states, states, 0.3),
        };
        if !tree.is_observed(node) {
            builder = builder.hidden(node, Domain::numbered(states));
        }
        let n = if tree.is_observed(node) { labels } else { states };
        builder = builder.distribution(node, Distribution::Discrete(Table::new(n, values)));
    }
    builder.build()
}

pub(crate) fn learning(method: &str, tree: &Tree, states: usize) -> Result<Learning> {
    let base = Learning::new().hidden_states(Some(states)).tree(Some(tree.clone()));
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
        "em1e-4" => em(1e-4),
        "chow-liu" => Learning::new().structure(LearnerName::ChowLiu).parameters(ParameterMethod::Moments),
        other => return Err(Error::option("--methods", format!("{other:?} is not a method"))),
    })
}

/// Errors of all test rows, the share that is clipped, and CPU seconds.
fn one(method: &str, setting: &Setting, truth: &LatentTree, train: &Dataset, test: &Dataset) -> Result<(Vec<f64>, f64, f64)> {
    let begun = cpu_seconds();
    let file = match method {
        "mossel-roch" => crate::mossel_roch::learn(truth, train)?.into(),
        _ => learning(method, truth.tree(), setting.learned)?.run(Source::Rows(train), &Silent)?.file,
    };
    let seconds = cpu_seconds() - begun;
    let (mut errors, mut clipped) = (Vec::new(), 0);
    for batch in test.batches() {
        let exact = Inference::new(truth).log_likelihood(batch)?;
        let own = match &file {
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

/// CPU seconds of this process.
pub(crate) fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |ix: usize| fields.get(ix).and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The rows with a share of their cells missing, at random.
fn with_missing(rows: &Dataset, share: f64, seed: u64) -> Dataset {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut column = |column: &ColumnData| match column {
        ColumnData::Codes8(codes) => ColumnData::Codes8(
            codes.iter().map(|&code| if rng.random_range(0.0..1.0) < share { MISSING_CODE8 } else { code }).collect(),
        ),
        other => other.clone(),
    };
    let mut batch = |batch: &Arc<Batch>| {
        let block = match &batch.block {
            Block::Dense(columns) => Block::Dense(columns.iter().map(&mut column).collect()),
            sparse => sparse.clone(),
        };
        Batch { block, ..(**batch).clone() }
    };
    Dataset::new(Arc::clone(rows.schema()), rows.batches().iter().map(&mut batch).collect())
}

/// The middle value.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

pub(crate) fn run(args: &ErrorArgs) -> Result<Results> {
    let title = format!("Relative error of {TEST_ROWS} joint probabilities, {} models", args.models);
    let header = [
        "tree",
        "rows",
        "method",
        "mean error",
        "× maximum likelihood",
        "median error",
        "worst model's median",
        "clipped",
        "CPU s",
    ];
    let mut results = Results::new(title, &header);
    for name in &args.trees {
        let setting = Setting::new(name)?;
        for &n_rows in &args.rows {
            for method in &args.methods {
                let (mut means, mut clipped, mut seconds, mut parameters) = (0.0, 0.0, 0.0, 0);
                let mut medians = Vec::new();
                for seed in args.seed..args.seed + args.models {
                    let truth = setting.model(seed)?;
                    parameters = truth.n_free_parameters();
                    let inference = Inference::new(&truth);
                    let (train, test) = (inference.sample(n_rows, 1000 + seed)?, inference.sample(TEST_ROWS, 2000 + seed)?);
                    let train = if args.missing > 0.0 { with_missing(&train, args.missing, 3000 + seed) } else { train };
                    let (mut errors, share, time) = one(method, &setting, &truth, &train, &test)?;
                    means += errors.iter().sum::<f64>() / errors.len() as f64;
                    medians.push(median(&mut errors));
                    clipped += share;
                    seconds += time;
                }
                let n = args.models as f64;
                let best = (2.0 * parameters as f64 / (std::f64::consts::PI * n_rows as f64)).sqrt();
                let middle = median(&mut medians);
                let worst = medians[medians.len() - 1];
                let cells =
                    [means / n, means / n / best, middle, worst, clipped / n, seconds / n].map(|value| format!("{value:.4}"));
                crate::note(&format!("{name} {n_rows} {method} {}", cells.join(" ")));
                results.row([name.clone(), n_rows.to_string(), method.clone()].into_iter().chain(cells));
            }
        }
    }
    Ok(results)
}
