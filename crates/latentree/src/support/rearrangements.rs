//! Rearrangements of edges of a Gaussian model, fitted on composite correlations.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Alternative, Compared};

use crate::error::Result;
use crate::index::NodeIx;
use crate::model::{Distribution, LatentTree};
use crate::structure::likelihood::gaussian_tree::{GaussianTree, MAX_CORRELATION};
use crate::structure::likelihood::polish::{STEPS, Surroundings};
use crate::structure::{CorrelationSample, WishartCorrelations};

/// Number of EM steps for the first look at a rearrangement.
const ROUGH_STEPS: usize = 12;
/// Maximum number of moves and swaps to fit to the end, taking the most promising ones.
const MOST_FITTED: usize = 6;
/// Number of branches per end up to which all swaps are considered.
const MOST_SWAPPED: usize = 12;

/// Compares each of the given edges of a Gaussian model with its rearrangements.
pub(crate) fn gaussian_comparisons(
    model: &LatentTree,
    sample: &CorrelationSample,
    edges: &[[NodeIx; 2]],
) -> Vec<([NodeIx; 2], Compared)> {
    let (tree, place) = gaussian_tree(model);
    let layout = tree.layout(sample.correlations(), sample.pair_rows().has_missing());
    let arriving = tree.messages(&layout);
    let parts = |node: usize, except: usize| {
        let links = tree.links[node].iter().zip(&arriving[node]);
        links.filter(move |(link, _)| link.0 != except).map(|(link, message)| (link.0, message, link.1)).collect::<Vec<_>>()
    };
    let compare = |&[u, v]: &[NodeIx; 2]| {
        let (a, b) = (place[u.get()], place[v.get()]);
        let rho = tree.links[a].iter().find(|link| link.0 == b).map_or(0.5, |link| link.1);
        let (mine, theirs) = (parts(a, b), parts(b, a));
        let sizes = [mine.len(), theirs.len()];
        let around = Surroundings::new(&[mine, theirs].concat(), &layout, sample.pair_rows());
        ([u, v], around.compared(sizes, rho))
    };
    edges.par_iter().map(compare).collect()
}

/// For each of the given edges of a Gaussian model, the share of replicates in which its present arrangement is the best.
/// Correlations are drawn as they would vary between samples with the same number of rows, and the arrangements are fitted to
/// them.
pub(crate) fn gaussian_bootstrap(
    model: &LatentTree,
    sample: &CorrelationSample,
    edges: &[[NodeIx; 2]],
    (n_replicates, seed): (usize, u64),
) -> Result<Vec<f64>> {
    let wishart = WishartCorrelations::new(sample)?;
    let survivors = (0..n_replicates).into_par_iter().map(|replicate| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(replicate as u64);
        let drawn = CorrelationSample::from_lower(sample.names().to_vec(), &wishart.draw(&mut rng), sample.rows());
        gaussian_comparisons(model, &drawn, edges).iter().map(|(_, compared)| usize::from(compared.is_best())).collect()
    });
    let zero = || vec![0_usize; edges.len()];
    let counts = survivors.reduce(zero, |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect());
    Ok(counts.into_iter().map(|count| count as f64 / n_replicates.max(1) as f64).collect())
}

impl Surroundings {
    fn compared(&self, sizes: [usize; 2], rho: f64) -> Compared {
        let m = sizes[0] + sizes[1];
        let second: Vec<bool> = (0..m).map(|branch| branch >= sizes[0]).collect();
        let local = self.local();
        let rows = self.rows_of(|_| true);
        let present = local.two(&second, self.g.clone(), rho, STEPS);
        let start = present.g.iter().zip(&second).map(|(g, &second)| if second { g * present.rho } else { *g }).collect();
        let merged = local.one(start, STEPS);
        let alternative = |ln_likelihood: f64, n_parameters: usize| Alternative {
            ln_likelihood: rows * ln_likelihood,
            n_parameters: n_parameters as f64,
            rows: Vec::new(),
        };
        let mut rough: Vec<(f64, Vec<bool>, Vec<f64>)> = Vec::new();
        let mut look = |flipped: &[usize]| {
            let mut moved = second.clone();
            flipped.iter().for_each(|&branch| moved[branch] = !moved[branch]);
            let mirrored: Vec<bool> = moved.iter().map(|it| !it).collect();
            if !rough.iter().any(|it| it.1 == moved || it.1 == mirrored) {
                let fit = local.two(&moved, present.g.clone(), present.rho, ROUGH_STEPS);
                let mut start = fit.g;
                start.push(fit.rho);
                rough.push((fit.ln_likelihood, moved, start));
            }
        };
        for branch in (0..m).filter(|&branch| sizes[usize::from(second[branch])] >= 3) {
            look(&[branch]);
        }
        // If there are many branches, only those with the weakest ties to their end.
        let loosest = |side: bool| {
            let mut own: Vec<usize> = (0..m).filter(|&branch| second[branch] == side).collect();
            own.sort_by(|&a, &b| present.g[a].abs().total_cmp(&present.g[b].abs()).then(a.cmp(&b)));
            own.truncate(MOST_SWAPPED);
            own
        };
        for &a in &loosest(false) {
            for &b in &loosest(true) {
                look(&[a, b]);
            }
        }
        rough.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let others = rough.into_iter().take(MOST_FITTED).map(|(_, moved, mut start)| {
            let rho = start.pop().unwrap_or(rho);
            alternative(local.two(&moved, start, rho, STEPS).ln_likelihood, m + 1)
        });
        Compared {
            n: rows,
            scale: 1.0,
            present: alternative(present.ln_likelihood, m + 1),
            merged: alternative(merged.ln_likelihood, m),
            rearranged: others.collect(),
        }
    }
}

/// The tree of a model with the correlations of its edges, observed nodes first in the order of the variables, and the index
/// of each node in it.
fn gaussian_tree(model: &LatentTree) -> (GaussianTree, Vec<usize>) {
    let tree = model.tree();
    let n_observed = model.schema().variables().len();
    let mut place = vec![0; tree.n_nodes()];
    model.schema().variable_ixs().enumerate().for_each(|(ix, variable)| place[model.node_of(variable).get()] = ix);
    model.hidden().enumerate().for_each(|(ix, node)| place[node.get()] = n_observed + ix);
    let mut links = vec![Vec::new(); tree.n_nodes()];
    let mut variance = vec![1.0; tree.n_nodes()];
    let mut slope = vec![0.0; tree.n_nodes()];
    for &node in &model.rooted().order {
        if let Distribution::LinearGaussian { coefficient, variance: own, .. } = *model.distribution(node) {
            let above = model.parent(node).map_or(0.0, |parent| variance[parent.get()]);
            variance[node.get()] = own + coefficient * coefficient * above;
            slope[node.get()] = coefficient * (above / variance[node.get()]).sqrt();
        }
    }
    for node in tree.node_ixs() {
        for link in tree.links(node) {
            let rho: f64 = if model.parent(link.to) == Some(node) { slope[link.to.get()] } else { slope[node.get()] };
            links[place[node.get()]].push((place[link.to.get()], rho.clamp(-MAX_CORRELATION, MAX_CORRELATION)));
        }
    }
    (GaussianTree { n_observed, links }, place)
}
