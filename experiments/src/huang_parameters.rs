//! Accuracy of tables learned from samples: nine observed nodes, four hidden, as in Huang et al. 2020, §8.

use std::sync::Arc;
use std::time::Instant;

use latentree::data::{Batch, BatchSource, Kind, Schema};
use latentree::inference::Inference;
use latentree::model::{Distribution, LatentTree, Table};
use latentree::parameters::em::{Em, Smoothing};
use latentree::parameters::{MomentOptions, by_aligned_triplets, by_moments};
use latentree::report::parameter_error;
use latentree::tensor::Decomposition;
use latentree::tree::Tree;
use latentree::{ColIx, NodeIx, Result, Silent};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, Exp1};

use crate::record::Results;

/// What is run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ParameterArgs {
    /// Numbers of states of observed nodes
    #[arg(long, value_delimiter = ',', default_value = "2,10,100")]
    observed: Vec<usize>,
    /// Numbers of states of hidden nodes
    #[arg(long, value_delimiter = ',', default_value = "2,3,5")]
    hidden: Vec<usize>,
    /// Number of random models
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// Number of rows
    #[arg(long, default_value_t = 50_000)]
    rows: u64,
    /// EM to its end, too, from moments and from the truth: what no method that sees rows alone can be expected to beat. Hours
    /// for many labels
    #[arg(long)]
    to_the_end: bool,
}

/// Where tables come from.
#[derive(Debug, Clone, Copy)]
enum From {
    Moments(Decomposition),
    Triplets(Decomposition),
    Truth,
}

/// A root with `branching` hidden children, each with as many, down to `p` leaves; observed tables have Dirichlet columns, hidden
/// tables are 0.75·I + 0.25·Dirichlet.
pub(crate) fn balanced_model(p: usize, branching: usize, d: usize, k: usize, seed: u64) -> Result<LatentTree> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut tree = Tree::new();
    let mut builder = Schema::builder();
    let leaves: Vec<NodeIx> = (0..p).map(|ix| tree.add_observed(format!("x{}", ix + 1))).collect::<Result<_>>()?;
    for ix in 0..p {
        builder = builder.scalar(format!("x{}", ix + 1), Kind::numbered(d));
    }
    let mut parents: Vec<Option<NodeIx>> = vec![None; p];
    let mut level = leaves;
    while level.len() > 1 {
        let mut above = Vec::new();
        for group in level.chunks(branching) {
            let node = tree.add_next_hidden();
            parents.push(None);
            for &child in group {
                tree.connect(node, child, None)?;
                parents[child.get()] = Some(node);
            }
            above.push(node);
        }
        level = above;
    }
    let root = level[0];
    let mut dirichlet = |n: usize| -> Vec<f64> {
        let draws: Vec<f64> = (0..n).map(|_| Exp1.sample(&mut rng)).collect();
        let sum: f64 = draws.iter().sum();
        draws.iter().map(|draw| draw / sum).collect()
    };
    let mut model = LatentTree::builder(Arc::new(builder.build()?), tree.clone()).root(root);
    for node in tree.node_ixs() {
        let table = if node == root {
            Table::new(k, vec![1.0 / k as f64; k])
        } else if tree.is_observed(node) {
            Table::new(d, (0..k).flat_map(|_| dirichlet(d)).collect())
        } else {
            let rows = (0..k).flat_map(|row| {
                let noise = dirichlet(k);
                (0..k).map(move |c| 0.25 * noise[c] + if c == row { 0.75 } else { 0.0 })
            });
            Table::new(k, rows.collect::<Vec<f64>>())
        };
        model = model.distribution(node, Distribution::Discrete(table));
    }
    model.build()
}

/// The tables counted with the hidden states shown.
pub(crate) fn complete(truth: &LatentTree, source: &mut dyn BatchSource) -> Result<LatentTree> {
    let schema = Arc::clone(source.schema());
    let column = |node: NodeIx| schema.find_column(truth.tree().name(node)).map_or(0, ColIx::get);
    let columns: Vec<usize> = truth.tree().node_ixs().map(column).collect();
    let states = |node: NodeIx| truth.n_states(node).unwrap_or(1);
    let mut counts: Vec<Vec<f64>> =
        truth.tree().node_ixs().map(|node| vec![1e-9; states(node) * truth.parent(node).map_or(1, states)]).collect();
    while let Some(batch) = source.next_batch()? {
        let batch: &Batch = &batch;
        let code = |row: usize, node: NodeIx| batch.number(row, ColIx::new(columns[node.get()])) as usize;
        for row in 0..batch.n_rows {
            for node in truth.tree().node_ixs() {
                let above = truth.parent(node).map_or(0, |parent| code(row, parent));
                counts[node.get()][above * states(node) + code(row, node)] += 1.0;
            }
        }
    }
    let mut builder = LatentTree::builder(Arc::clone(truth.schema()), truth.tree().clone()).roots(&truth.rooted().roots);
    for node in truth.tree().node_ixs() {
        let rows = counts[node.get()].chunks(states(node)).flat_map(|row| {
            let sum: f64 = row.iter().sum();
            row.iter().map(move |count| count / sum)
        });
        builder = builder.distribution(node, Distribution::Discrete(Table::new(states(node), rows.collect())));
    }
    builder.build()
}

pub(crate) fn run(args: &ParameterArgs) -> Result<Results> {
    let title = format!(
        "Tables from samples: 9 observed, 4 hidden nodes, N = {}, mean of {} random models from seed {}; ‖A − ÂΠ‖_F per table",
        args.rows, args.seeds, args.first_seed
    );
    let header =
        ["d", "k", "method", "observed", "ratio to complete data", "hidden", "hidden, complete data", "models", "seconds"];
    let mut results = Results::new(title, &header);
    let mut methods = vec![
        ("moments, jacobi", From::Moments(Decomposition::Sidiwo), 0),
        ("moments, svtd", From::Moments(Decomposition::Svtd), 0),
        ("moments, tpm", From::Moments(Decomposition::Tpm), 0),
        ("aligned triplets with drawn states, tpm", From::Triplets(Decomposition::Tpm), 0),
        ("moments, jacobi + em", From::Moments(Decomposition::Sidiwo), 20),
    ];
    if args.to_the_end {
        methods.push(("moments, jacobi + em to its end", From::Moments(Decomposition::Sidiwo), 2000));
        methods.push(("likelihood's maximum, from the truth", From::Truth, 2000));
    }
    for &d in &args.observed {
        for &k in &args.hidden {
            let mut sums = vec![(0.0, 0.0, 0.0, 0.0, 0.0, 0); methods.len()];
            for seed in args.first_seed..args.first_seed + args.seeds {
                let truth = balanced_model(9, 3, d, k, seed)?;
                let inference = Inference::new(&truth);
                let counted = complete(&truth, &mut inference.sampler(args.rows, seed).with_hidden()?)?;
                let Some(best) = parameter_error(&truth, &counted)? else { continue };
                let data = inference.sample(args.rows, seed)?;
                for ((_, start_of, steps), sum) in methods.iter().zip(&mut sums) {
                    let start = Instant::now();
                    let mut found = match start_of {
                        From::Moments(decomposition) => {
                            let options = MomentOptions::new(k).decomposition(*decomposition);
                            by_moments(truth.tree(), &mut data.source(), None, &options, &Silent)?.model
                        }
                        From::Triplets(decomposition) => {
                            let found = by_aligned_triplets(truth.tree(), &mut data.source(), k, *decomposition, seed, &Silent);
                            // A triplet that does not tell so many states apart gives no model.
                            let Ok(found) = found else { continue };
                            found.model
                        }
                        From::Truth => truth.clone(),
                    };
                    if *steps > 0 {
                        let em = Em::new().iterations(*steps).tolerance(1e-10).smoothing(Smoothing::none());
                        found = em.fit(&found, &data, &Silent)?.model;
                    }
                    let seconds = start.elapsed().as_secs_f64();
                    if let Some(error) = parameter_error(&truth, &found)? {
                        sum.0 += error.observed;
                        sum.1 += best.observed;
                        sum.2 += error.hidden;
                        sum.3 += best.hidden;
                        sum.4 += seconds;
                        sum.5 += 1;
                    }
                }
            }
            for ((name, _, _), sum) in methods.iter().zip(&sums).filter(|it| it.1.5 > 0) {
                let n = f64::from(sum.5);
                results.row([
                    d.to_string(),
                    k.to_string(),
                    (*name).to_owned(),
                    format!("{:.4}", sum.0 / n),
                    format!("{:.2}", sum.0 / sum.1),
                    format!("{:.4}", sum.2 / n),
                    format!("{:.4}", sum.3 / n),
                    format!("{} of {}", sum.5, args.seeds),
                    format!("{:.3}", sum.4 / n),
                ]);
            }
        }
    }
    Ok(results)
}
