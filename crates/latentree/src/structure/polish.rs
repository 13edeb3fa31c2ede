//! Polish by likelihood: contract, move, swap and expand around every node, scored on composite variables.
//!
//! Each side of an edge is compressed to one composite variable, which is sufficient for a Gaussian tree, so that a change of
//! the tree around one or two nodes is scored on a tiny correlation matrix ([`local_star`](super::local_star)). Proposals with a positive
//! penalised gain are sorted and applied where they do not touch each other; a few EM steps follow; this repeats until
//! nothing gains. A hidden node costs a penalty, so that contracting one gains it and adding one pays it.
//!
//! For binary and categorical variables the correlation matrix plays the same part: the moves are scored by the Gaussian
//! likelihood of the pair statistics.

use rayon::prelude::*;

use super::gaussian_tree::{GaussianTree, LARGEST, Message};
use super::local_star::{Fit, Local};

/// What a hidden node costs, in units of log-likelihood.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Penalty {
    /// `½ ln n + ln p`: right for stars and wide trees, where chance offers many false splits.
    Constant(f64),
    /// `ln C(m, 2) + shift`, with m the degree of the contracted node: the logarithm of the number of ways to split it, right for chains, where real
    /// nodes gain little.
    Splits(f64),
}

impl Penalty {
    fn of(self, degree: usize) -> f64 {
        match self {
            Self::Constant(value) => value,
            Self::Splits(shift) => {
                let m = degree.max(2) as f64;
                ((m * (m - 1.0) / 2.0).ln() + shift).max(0.05)
            }
        }
    }
}

/// Most neighbours of a node whose surroundings are searched; wider hubs are left as they are.
const MOST_NEIGHBOURS: usize = 400;
/// Rounds of proposals.
const ROUNDS: usize = 60;
/// A proposal must gain this much.
const LEAST_GAIN: f64 = 1e-3;

/// A changed neighbourhood.
#[derive(Debug)]
struct Proposal {
    gain: f64,
    /// The nodes that hold the outer ones now.
    centres: Vec<usize>,
    /// The nodes around, and to which of the new centres each is joined.
    outer: Vec<usize>,
    second: Vec<bool>,
    /// Correlation of each outer node with its centre.
    correlations: Vec<f64>,
    /// The new centres; `None` is a new hidden node.
    first_centre: Option<usize>,
    second_centre: Option<Option<usize>>,
    between: f64,
}

/// Improves a fitted tree; `rows` is the number of rows that the correlations stand for.
pub(super) fn polish(
    tree: &mut GaussianTree,
    correlations: &[f64],
    rows: f64,
    penalty: Penalty,
    cancelled: &(dyn Fn() -> bool + Sync),
) {
    tree.em(correlations, 30, 1e-4);
    for _ in 0..ROUNDS {
        if cancelled() {
            return;
        }
        let arriving = tree.messages(correlations);
        let search = Search { tree, arriving: &arriving, rows, penalty };
        let mut proposals: Vec<Proposal> =
            (0..tree.links.len()).into_par_iter().flat_map_iter(|node| search.around(node)).collect();
        proposals.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let mut touched = vec![false; tree.links.len()];
        let mut applied = 0;
        for proposal in proposals {
            let nodes = || proposal.centres.iter().chain(&proposal.outer);
            if nodes().any(|&node| touched[node]) {
                continue;
            }
            nodes().for_each(|&node| touched[node] = true);
            apply(tree, &proposal);
            applied += 1;
        }
        if applied == 0 {
            break;
        }
        tree.em(correlations, 12, 1e-4);
    }
    tree.em(correlations, 400, 1e-6);
}

/// Replaces the links among the proposal's nodes.
fn apply(tree: &mut GaussianTree, proposal: &Proposal) {
    let Proposal { centres, outer, second, correlations, first_centre, second_centre, between, .. } = proposal;
    for &centre in centres {
        let inside = |node: usize| centres.contains(&node) || outer.contains(&node);
        let removed: Vec<usize> = tree.links[centre].iter().map(|link| link.0).filter(|&node| inside(node)).collect();
        for node in removed {
            tree.links[centre].retain(|link| link.0 != node);
            tree.links[node].retain(|link| link.0 != centre);
        }
    }
    let mut place = |centre: Option<usize>| {
        centre.unwrap_or_else(|| {
            tree.links.push(Vec::new());
            tree.links.len() - 1
        })
    };
    let first = place(*first_centre);
    let second_node = second_centre.map(&mut place);
    let mut join = |a: usize, b: usize, rho: f64| {
        tree.links[a].push((b, rho));
        tree.links[b].push((a, rho));
    };
    for ((&node, &in_second), &rho) in outer.iter().zip(second).zip(correlations) {
        join(if in_second { second_node.unwrap_or(first) } else { first }, node, rho);
    }
    if let Some(second_node) = second_node {
        join(first, second_node, *between);
    }
}

/// Composites gathered around some nodes.
struct Surroundings {
    outer: Vec<usize>,
    matrix: Vec<f64>,
    bounds: Vec<f64>,
    /// Correlation with the present centre.
    g: Vec<f64>,
}

impl Surroundings {
    fn new(parts: &[(usize, &Message, f64)]) -> Self {
        let m = parts.len();
        let mut matrix = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                let value = parts[i].1.with(parts[j].1);
                matrix[i * m + j] = value;
                matrix[j * m + i] = value;
            }
        }
        let scale: Vec<f64> = (0..m).map(|i| matrix[i * m + i].max(1e-12).sqrt()).collect();
        for i in 0..m {
            for j in 0..m {
                matrix[i * m + j] =
                    if i == j { 1.0 } else { (matrix[i * m + j] / (scale[i] * scale[j])).clamp(-LARGEST, LARGEST) };
            }
        }
        Self {
            outer: parts.iter().map(|part| part.0).collect(),
            matrix,
            bounds: parts.iter().map(|part| part.1.own).collect(),
            g: parts.iter().map(|part| part.2 * part.1.own).collect(),
        }
    }

    fn local(&self) -> Local<'_> {
        Local { correlations: &self.matrix, bounds: &self.bounds }
    }

    /// Edge correlations from the correlations of the composites.
    fn edges(&self, g: &[f64]) -> Vec<f64> {
        g.iter().zip(&self.bounds).map(|(g, own)| (g / own.max(1e-6)).clamp(-LARGEST, LARGEST)).collect()
    }
}

struct Search<'a> {
    tree: &'a GaussianTree,
    arriving: &'a [Vec<Message>],
    rows: f64,
    penalty: Penalty,
}

impl Search<'_> {
    fn around(&self, node: usize) -> Vec<Proposal> {
        let links = &self.tree.links[node];
        if links.is_empty() || links.len() > MOST_NEIGHBOURS {
            return Vec::new();
        }
        let hidden = |node: usize| node >= self.tree.n_observed;
        let mut proposals = Vec::new();
        if hidden(node) {
            for &(other, rho) in links {
                if hidden(other) && other > node && self.tree.links[other].len() <= MOST_NEIGHBOURS {
                    self.across(node, other, rho, &mut proposals);
                } else if !hidden(other) {
                    self.contract_into_observed(node, other, &mut proposals);
                }
            }
            self.expand(node, &mut proposals);
        } else if links.len() >= 2 {
            self.around_observed(node, &mut proposals);
        }
        proposals.retain(|proposal| proposal.gain > LEAST_GAIN);
        proposals
    }

    fn parts(&self, node: usize, except: usize) -> Vec<(usize, &Message, f64)> {
        let links = self.tree.links[node].iter().zip(&self.arriving[node]);
        links.filter(|(link, _)| link.0 != except).map(|(link, message)| (link.0, message, link.1)).collect()
    }

    /// Contracting an edge between hidden nodes, or moving and swapping neighbours across it.
    fn across(&self, u: usize, v: usize, rho: f64, proposals: &mut Vec<Proposal>) {
        let (mine, theirs) = (self.parts(u, v), self.parts(v, u));
        let (n_first, n_second) = (mine.len(), theirs.len());
        let around = Surroundings::new(&[mine, theirs].concat());
        let m = n_first + n_second;
        let local = around.local();
        let second: Vec<bool> = (0..m).map(|i| i >= n_first).collect();
        let base = local.two(&second, around.g.clone(), rho, 60);
        let start: Vec<f64> = base.g.iter().enumerate().map(|(i, g)| if second[i] { g * base.rho } else { *g }).collect();
        let one = local.one(start, 60);
        proposals.push(Proposal {
            gain: self.rows * (one.ln_likelihood - base.ln_likelihood) + self.penalty.of(m),
            centres: vec![u, v],
            outer: around.outer.clone(),
            second: vec![false; m],
            correlations: around.edges(&one.g),
            first_centre: Some(u),
            second_centre: None,
            between: 1.0,
        });
        let mut best: Option<(Fit, Vec<bool>)> = None;
        let mut consider = |second: Vec<bool>| {
            let fit = local.two(&second, base.g.clone(), base.rho, 12);
            if fit.ln_likelihood > best.as_ref().map_or(base.ln_likelihood, |best| best.0.ln_likelihood) {
                best = Some((fit, second));
            }
        };
        for i in 0..m {
            if (if second[i] { n_second } else { n_first }) >= 3 {
                let mut moved = second.clone();
                moved[i] = !moved[i];
                consider(moved);
            }
        }
        if n_first == 2 || n_second == 2 {
            for i in 0..n_first {
                for j in n_first..m {
                    let mut swapped = second.clone();
                    (swapped[i], swapped[j]) = (true, false);
                    consider(swapped);
                }
            }
        }
        if let Some((fit, second)) = best {
            let fit = local.two(&second, fit.g, fit.rho, 60);
            proposals.push(Proposal {
                gain: self.rows * (fit.ln_likelihood - base.ln_likelihood),
                centres: vec![u, v],
                outer: around.outer.clone(),
                second,
                correlations: around.edges(&fit.g),
                first_centre: Some(u),
                second_centre: Some(Some(v)),
                between: fit.rho,
            });
        }
    }

    /// Contracting a hidden node into an observed neighbour.
    fn contract_into_observed(&self, hidden: usize, observed: usize, proposals: &mut Vec<Proposal>) {
        let mut parts = self.parts(hidden, usize::MAX);
        let at = parts.iter().position(|part| part.0 == observed).expect("they are neighbours");
        parts.swap(0, at);
        let around = Surroundings::new(&parts);
        let base = around.local().one(around.g.clone(), 60);
        let direct = around.local().around_observed();
        proposals.push(Proposal {
            gain: self.rows * (direct.ln_likelihood - base.ln_likelihood) + self.penalty.of(parts.len()),
            centres: vec![hidden, observed],
            outer: around.outer[1..].to_vec(),
            second: vec![false; parts.len() - 1],
            correlations: around.edges(&direct.g)[1..].to_vec(),
            first_centre: Some(observed),
            second_centre: None,
            between: 1.0,
        });
    }

    /// A new hidden node beside an observed one, over two of its neighbours or over all.
    fn around_observed(&self, observed: usize, proposals: &mut Vec<Proposal>) {
        let parts = self.parts(observed, usize::MAX);
        let p = self.tree.n_observed;
        // The node's own composite is itself; a neighbour's message holds its covariance with it.
        let m = parts.len();
        let around = Surroundings::new(&parts);
        let with_node: Vec<f64> = parts
            .iter()
            .map(|part| {
                let scale = part.1.with(part.1).max(1e-12).sqrt();
                (part.1.covariances[observed] / scale).clamp(-LARGEST, LARGEST)
            })
            .collect();
        debug_assert!(observed < p);
        let try_members = |members: &[usize]| -> Proposal {
            let k = members.len() + 1;
            let mut matrix = vec![1.0; k * k];
            for (a, &i) in members.iter().enumerate() {
                matrix[a + 1] = with_node[i];
                matrix[(a + 1) * k] = with_node[i];
                for (b, &j) in members.iter().enumerate() {
                    matrix[(a + 1) * k + b + 1] = around.matrix[i * m + j];
                }
            }
            let bounds: Vec<f64> = std::iter::once(1.0).chain(members.iter().map(|&i| around.bounds[i])).collect();
            let local = Local { correlations: &matrix, bounds: &bounds };
            let base = local.around_observed();
            let start = base.g.iter().enumerate().map(|(i, g)| if i == 0 { 0.95 } else { g / 0.95 }).collect();
            let fit = local.one(start, 80);
            let edges: Vec<f64> =
                fit.g.iter().zip(&bounds).map(|(g, own)| (g / own.max(1e-6)).clamp(-LARGEST, LARGEST)).collect();
            let outer: Vec<usize> = members.iter().map(|&i| around.outer[i]).collect();
            Proposal {
                gain: self.rows * (fit.ln_likelihood - base.ln_likelihood) - self.penalty.of(m + 1),
                centres: vec![observed],
                second: vec![true; outer.len()],
                outer,
                correlations: edges[1..].to_vec(),
                first_centre: Some(observed),
                second_centre: Some(None),
                between: edges[0],
            }
        };
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for i in 0..m {
            for j in 0..i {
                let noise = ((1.0 - with_node[i].powi(2)) * (1.0 - with_node[j].powi(2))).sqrt();
                let partial = (around.matrix[i * m + j] - with_node[i] * with_node[j]) / noise;
                pairs.push((partial.abs(), i, j));
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let candidates = pairs.iter().take(3).map(|&(_, i, j)| try_members(&[j, i]));
        let mut all: Vec<Proposal> = candidates.collect();
        if m > 2 {
            all.push(try_members(&(0..m).collect::<Vec<_>>()));
        }
        proposals.extend(all.into_iter().max_by(|a, b| a.gain.total_cmp(&b.gain)));
    }

    /// A new hidden node over the neighbours of a hidden node that its star explains worst.
    fn expand(&self, node: usize, proposals: &mut Vec<Proposal>) {
        let parts = self.parts(node, usize::MAX);
        let m = parts.len();
        if m < 4 {
            return;
        }
        let around = Surroundings::new(&parts);
        let local = around.local();
        let base = local.one(around.g.clone(), 60);
        let residual = |i: usize, j: usize| {
            let (gi, gj) = (base.g[i], base.g[j]);
            let excess = (around.matrix[i * m + j] - gi * gj) * (gi * gj).signum();
            excess / ((1.0 - gi * gi) * (1.0 - gj * gj)).sqrt()
        };
        let mut pairs: Vec<(f64, usize, usize)> =
            (0..m).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| (residual(i, j), i, j)).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut best: Option<(Fit, Vec<bool>)> = None;
        for &(excess, i, j) in pairs.iter().take(4) {
            if excess <= 0.0 {
                break;
            }
            let mut second = vec![false; m];
            (second[i], second[j]) = (true, true);
            let start: Vec<f64> = base.g.iter().enumerate().map(|(at, g)| if second[at] { g / 0.9 } else { *g }).collect();
            let mut fit = local.two(&second, start, 0.9, 25);
            // More members join while that raises the likelihood.
            let mut size = 2;
            while size + 2 < m {
                let pull = |at: usize| (0..m).filter(|&other| second[other]).map(|other| residual(at, other)).sum::<f64>();
                let next = (0..m).filter(|&at| !second[at]).map(|at| (pull(at), at)).max_by(|a, b| a.0.total_cmp(&b.0));
                let Some((_, at)) = next else { break };
                second[at] = true;
                let grown = local.two(&second, fit.g.clone(), fit.rho, 15);
                if grown.ln_likelihood <= fit.ln_likelihood {
                    second[at] = false;
                    break;
                }
                fit = grown;
                size += 1;
            }
            if best.as_ref().is_none_or(|best| fit.ln_likelihood > best.0.ln_likelihood) {
                best = Some((fit, second));
            }
        }
        if let Some((fit, second)) = best {
            let fit = local.two(&second, fit.g, fit.rho, 60);
            proposals.push(Proposal {
                gain: self.rows * (fit.ln_likelihood - base.ln_likelihood) - self.penalty.of(m),
                centres: vec![node],
                outer: around.outer.clone(),
                second,
                correlations: around.edges(&fit.g),
                first_centre: Some(node),
                second_centre: Some(None),
                between: fit.rho,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::Inference;
    use crate::moments::{PairMoments, fold};
    use crate::observer::Silent;
    use crate::simulate::{Shape, Simulation};
    use crate::tree::same_structure;
    use crate::{ColIx, NodeIx};

    fn sample_correlations(model: &crate::model::LatentTree, rows: u64, seed: u64) -> Vec<f64> {
        let inference = Inference::new(model);
        let mut source = inference.sampler(rows, seed);
        let moments = fold(&mut source, PairMoments::new(model.schema().clone()).unwrap(), &Silent).unwrap();
        let p = model.schema().columns().len();
        let entry = |i: usize, j: usize| if i == j { 1.0 } else { moments.correlation(ColIx::new(i), ColIx::new(j)).unwrap() };
        (0..p * p).map(|at| entry(at / p, at % p)).collect()
    }

    #[test]
    fn the_true_tree_is_reached_from_a_star_and_from_itself() {
        let model = Simulation::new(Shape::DoubleStar, 12).seed(3).model().unwrap();
        let rows = 20_000;
        let correlations = sample_correlations(&model, rows, 1);
        let names: Vec<String> = (1..=12).map(|ix| format!("x{ix}")).collect();
        let star = Simulation::new(Shape::Star, 12).model().unwrap();
        for start in [star.tree(), model.tree()] {
            let mut tree = GaussianTree::new(start, &correlations);
            let before = {
                tree.em(&correlations, 500, 1e-8);
                tree.ln_likelihood(&correlations)
            };
            polish(&mut tree, &correlations, rows as f64, Penalty::Constant(8.0), &|| false);
            assert!(tree.ln_likelihood(&correlations) >= before - 1e-6);
            let found = tree.to_tree(&names);
            assert!(same_structure(&found, model.tree()), "{}", found.to_newick(Some(NodeIx::new(12))));
        }
    }

    #[test]
    fn polishing_the_true_tree_does_not_lower_the_penalised_likelihood() {
        let (rows, cost) = (1e5, 0.5 * 1e5_f64.ln() + 14.0_f64.ln());
        for seed in 0..6 {
            let model =
                Simulation::new(Shape::Random { max_degree: Some(5) }, 14).observed_inner(0.3).seed(seed).model().unwrap();
            let correlations = sample_correlations(&model, rows as u64, seed);
            let mut truth = GaussianTree::new(model.tree(), &correlations);
            let mut tree = truth.clone();
            polish(&mut tree, &correlations, rows, Penalty::Constant(cost), &|| false);
            truth.em(&correlations, 2000, 1e-9);
            let objective = |tree: &GaussianTree| rows * tree.ln_likelihood(&correlations) - cost * tree.n_hidden() as f64;
            // Local fits end after a fixed number of steps, so that a gain is known to within a fraction of a unit.
            assert!(objective(&tree) >= objective(&truth) - 1.0, "seed {seed}");
        }
    }
}
