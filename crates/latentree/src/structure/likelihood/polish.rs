//! Polish by likelihood: contract, move, swap and expand around every node, scored on composite variables.
//!
//! Each side of an edge is compressed to one composite variable, which is sufficient for a Gaussian tree, so that a change of the
//! tree around one or two nodes is scored on a tiny correlation matrix ([`local_star`](super::local_star)). Proposals with a
//! positive penalised gain are sorted and applied where they do not touch each other; a few EM steps follow; this repeats until
//! nothing gains. A hidden node costs a penalty, so that contracting one gains it and adding one pays it.
//!
//! For binary and categorical variables the correlation matrix plays the same part: the moves are scored by the Gaussian
//! likelihood of the pair statistics.

use rayon::prelude::*;

use super::gaussian_tree::{GaussianTree, Layout, MAX_CORRELATION, Message};
use super::local_star::{Fit, Local};
use super::pair_rows::{Members, PairRows};

/// What a tree costs, in units of log-likelihood: minus the logarithm of its prior probability.
///
/// *Which tree.* There are `(p+h−2)! / (h! Π(d−1)!)` trees with p observed and h interchangeable hidden nodes of given degrees d
/// (Cayley's formula by degrees). Chance offers the best of so many, and the logarithm of their number is what it gains by that:
/// splitting off s of the m neighbours of a node costs `ln C(m, s) − ln m + ln((p+h−1)/(h+1))`, which is `ln C(m, 2)` for a pair
/// of a wide star and `ln 3` for a quartet in a long chain.
///
/// *How resolved.* Of the p − 2 hidden nodes that a tree of leaves can have each is there with an unknown probability π (Beta(½,
/// ½), integrated out): where nearly all are there, as in a chain, one more is expected, and where few are, as in a star, it is
/// not.
///
/// *How long.* A hidden node's edge has a correlation ρ, uniform a priori; Laplace's approximation of its evidence costs
/// `½ ln(G/π) − ln(1 − ρ̂)`, G the gain in log-likelihood over ρ = 1: a long edge that is barely seen is cheap, one close to
/// nothing is dear.
#[derive(Debug, Clone)]
pub(crate) struct Penalty {
    ln_factorials: Vec<f64>,
    /// The cost of this many hidden nodes.
    hidden: Vec<f64>,
}

impl Penalty {
    /// For trees over `n_observed` variables: `adaptive` as described, otherwise without the second part and two units less for every node.
    pub(crate) fn new(n_observed: usize, adaptive: bool) -> Self {
        let mut ln_factorials = vec![0.0];
        for n in 1..=4 * n_observed + 8 {
            ln_factorials.push(ln_factorials[n - 1] + (n as f64).ln());
        }
        let most = n_observed.saturating_sub(2);
        let mut resolved = 0.0;
        let hidden = (0..=2 * n_observed + 2).map(|n| {
            let trees = ln_factorials[(n_observed + n).saturating_sub(2)] - ln_factorials[n];
            if !adaptive {
                return trees - 2.0 * n as f64;
            }
            let cost = trees - resolved;
            if n < most {
                resolved += ((n as f64 + 0.5) / ((most - n) as f64 - 0.5)).ln();
            }
            cost
        });
        let hidden = hidden.collect();
        Self { ln_factorials, hidden }
    }

    /// The part of one node's degree.
    fn degree(&self, degree: usize) -> f64 {
        -self.ln_factorials[degree.saturating_sub(1)]
    }

    /// The part of the number of hidden nodes.
    fn hidden(&self, n_hidden: usize) -> f64 {
        self.hidden[n_hidden.min(self.hidden.len() - 1)]
    }

    /// The part of an edge without which the log-likelihood is less by `loss`.
    fn edge(loss: f64, rho: f64) -> f64 {
        0.5 * (loss.max(0.5) / std::f64::consts::PI).ln() - (1.0 - rho.abs()).max(1e-3).ln()
    }

    /// The cost of a whole tree, without the lengths of its edges.
    pub(crate) fn of(&self, tree: &GaussianTree) -> f64 {
        tree.links.iter().map(|links| self.degree(links.len())).sum::<f64>() + self.hidden(tree.n_hidden())
    }
}

/// Most neighbours of a node whose surroundings are searched; wider hubs are left as they are.
const MAX_NEIGHBOURS: usize = 400;
/// Most neighbours of two joined nodes between which they are moved and swapped: it costs the fourth power of their number. Wider
/// ones are first split.
const MAX_ACROSS: usize = 100;
/// Rounds of proposals.
const ROUNDS: usize = 60;
/// Rounds without a better tree after which the best is taken: two proposals that undo each other would go on forever, because each
/// is scored before EM has moved the rest of the tree.
const MAX_IDLE_ROUNDS: usize = 8;
/// Least cost of a split: one that the data do not support at all is not made.
const FLOOR: f64 = 0.02;
/// Steps of a local fit that decides.
pub(crate) const STEPS: usize = 600;
/// A tree is better if its penalised log-likelihood is larger by this much.
const MIN_PROGRESS: f64 = 0.01;
/// A proposal must gain this much.
const MIN_GAIN: f64 = 1e-3;

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

/// Improves a fitted tree; `rows` are the numbers of rows behind the correlations.
pub(crate) fn polish(
    tree: &mut GaussianTree,
    correlations: &[f64],
    rows: &PairRows,
    penalty: &Penalty,
    cancelled: &(dyn Fn() -> bool + Sync),
) {
    tree.em(correlations, 30, 1e-4);
    let (mut best, mut best_score, mut idle) = (tree.clone(), f64::NEG_INFINITY, 0);
    for _ in 0..ROUNDS {
        if cancelled() {
            return;
        }
        let layout = tree.layout(correlations, rows.has_missing());
        let arriving = tree.messages(&layout);
        let search = Search { tree, layout: &layout, arriving: &arriving, rows, penalty, n_hidden: tree.n_hidden() };
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
        let score = rows.mean() * tree.ln_likelihood(correlations) - penalty.of(tree);
        if score > best_score + MIN_PROGRESS {
            (best, best_score, idle) = (tree.clone(), score, 0);
        } else {
            idle += 1;
        }
        if idle == MAX_IDLE_ROUNDS {
            *tree = best;
            break;
        }
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
pub(crate) struct Surroundings {
    outer: Vec<usize>,
    matrix: Vec<f64>,
    bounds: Vec<f64>,
    /// Correlation with the present centre.
    pub(crate) g: Vec<f64>,
    tolerance: f64,
    /// Rows of a pair where no cells are missing.
    rows: f64,
    /// Variances of what is left unexplained, row by row; empty where no cells are missing.
    variances: Vec<f64>,
}

impl Surroundings {
    pub(crate) fn new(parts: &[(usize, &Message, f64)], layout: &Layout, rows: &PairRows) -> Self {
        let m = parts.len();
        let mut matrix = vec![0.0; m * m];
        for i in 0..m {
            matrix[i * m + i] = parts[i].1.variance();
            for j in 0..i {
                let value = parts[i].1.with(parts[j].1, layout);
                matrix[i * m + j] = value;
                matrix[j * m + i] = value;
            }
        }
        let scale: Vec<f64> = (0..m).map(|i| matrix[i * m + i].max(1e-12).sqrt()).collect();
        for i in 0..m {
            for j in 0..m {
                matrix[i * m + j] = if i == j {
                    1.0
                } else {
                    (matrix[i * m + j] / (scale[i] * scale[j])).clamp(-MAX_CORRELATION, MAX_CORRELATION)
                };
            }
        }
        let g: Vec<f64> = parts.iter().map(|part| part.2 * part.1.own).collect();
        let members: Vec<&Members> = parts.iter().map(|part| &part.1.members).collect();
        let variances = rows.variances(&members, &matrix, &g);
        Self {
            outer: parts.iter().map(|part| part.0).collect(),
            matrix,
            bounds: parts.iter().map(|part| part.1.own).collect(),
            g,
            tolerance: MIN_GAIN / rows.mean(),
            rows: rows.mean(),
            variances,
        }
    }

    /// The number of rows that a gain counts for which the pairs of some composites decide.
    pub(crate) fn rows_of(&self, decides: impl Fn(usize) -> bool) -> f64 {
        if self.variances.is_empty() {
            return self.rows;
        }
        let m = self.outer.len();
        let members: Vec<usize> = (0..m).filter(|&ix| decides(ix)).collect();
        let pairs = members.iter().enumerate().flat_map(|(at, &i)| members[..at].iter().map(move |&j| i * m + j));
        let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), at| (sum + self.variances[at], count + 1.0));
        if count > 0.0 { count / sum } else { self.rows }
    }

    pub(crate) fn local(&self) -> Local<'_> {
        Local { correlations: &self.matrix, bounds: &self.bounds, tolerance: self.tolerance }
    }

    /// Edge correlations from the correlations of the composites.
    fn edges(&self, g: &[f64]) -> Vec<f64> {
        g.iter().zip(&self.bounds).map(|(g, own)| (g / own.max(1e-6)).clamp(-MAX_CORRELATION, MAX_CORRELATION)).collect()
    }
}

struct Search<'a> {
    tree: &'a GaussianTree,
    layout: &'a Layout,
    arriving: &'a [Vec<Message>],
    rows: &'a PairRows,
    penalty: &'a Penalty,
    n_hidden: usize,
}

impl Search<'_> {
    fn around(&self, node: usize) -> Vec<Proposal> {
        let links = &self.tree.links[node];
        if links.is_empty() || links.len() > MAX_NEIGHBOURS {
            return Vec::new();
        }
        let hidden = |node: usize| node >= self.tree.n_observed;
        let mut proposals = Vec::new();
        if hidden(node) {
            let star = Surroundings::new(&self.parts(node, usize::MAX), self.layout, self.rows);
            let base = star.local().one(star.g.clone(), STEPS);
            for &(other, rho) in links {
                if hidden(other) && other > node && self.tree.links[other].len() + links.len() <= MAX_ACROSS + 2 {
                    self.across(node, other, rho, &mut proposals);
                } else if !hidden(other) {
                    self.contract_into_observed(node, other, &star, &base, &mut proposals);
                }
            }
            self.expand(node, &star, &base, &mut proposals);
        } else if links.len() >= 2 {
            self.around_observed(node, &mut proposals);
        }
        proposals.retain(|proposal| proposal.gain > MIN_GAIN);
        proposals
    }

    /// What a change of degrees and of the number of hidden nodes costs.
    fn cost(&self, before: &[usize], after: &[usize], added: isize) -> f64 {
        let sum = |degrees: &[usize]| degrees.iter().map(|&degree| self.penalty.degree(degree)).sum::<f64>();
        let hidden = |n: usize| self.penalty.hidden(n);
        sum(after) - sum(before) + hidden(self.n_hidden.saturating_add_signed(added)) - hidden(self.n_hidden)
    }

    fn parts(&self, node: usize, except: usize) -> Vec<(usize, &Message, f64)> {
        let links = self.tree.links[node].iter().zip(&self.arriving[node]);
        links.filter(|(link, _)| link.0 != except).map(|(link, message)| (link.0, message, link.1)).collect()
    }

    /// The neighbours of two joined hidden nodes, which of them belong to the second, and the fits with two hidden nodes and with
    /// one.
    fn joined(&self, u: usize, v: usize, rho: f64) -> (Surroundings, Fit, Fit, Vec<bool>) {
        let (mine, theirs) = (self.parts(u, v), self.parts(v, u));
        let n_first = mine.len();
        let around = Surroundings::new(&[mine, theirs].concat(), self.layout, self.rows);
        let second: Vec<bool> = (0..around.outer.len()).map(|i| i >= n_first).collect();
        let base = around.local().two(&second, around.g.clone(), rho, STEPS);
        let start: Vec<f64> = base.g.iter().enumerate().map(|(i, g)| if second[i] { g * base.rho } else { *g }).collect();
        let one = around.local().one(start, STEPS);
        (around, base, one, second)
    }

    /// Contracting an edge between hidden nodes, or moving and swapping neighbours across it.
    fn across(&self, u: usize, v: usize, rho: f64, proposals: &mut Vec<Proposal>) {
        let (around, base, one, second) = self.joined(u, v, rho);
        let (n_first, n_second) = (self.tree.links[u].len() - 1, self.tree.links[v].len() - 1);
        let m = n_first + n_second;
        let local = around.local();
        let rows = around.rows_of(|_| true);
        let loss = rows * (base.ln_likelihood - one.ln_likelihood);
        proposals.push(Proposal {
            gain: -loss + (Penalty::edge(loss, base.rho) - self.cost(&[n_first + 1, n_second + 1], &[m], -1)).max(FLOOR),
            centres: vec![u, v],
            outer: around.outer.clone(),
            second: vec![false; m],
            correlations: around.edges(&one.g),
            first_centre: Some(u),
            second_centre: None,
            between: 1.0,
        });
        let mut best: Option<(Fit, Vec<bool>, f64)> = None;
        let mut consider = |second: Vec<bool>| {
            let fit = local.two(&second, base.g.clone(), base.rho, 12);
            let size = second.iter().filter(|&&it| it).count();
            let cost = self.cost(&[n_first + 1, n_second + 1], &[m - size + 1, size + 1], 0);
            let gain = rows * (fit.ln_likelihood - base.ln_likelihood) - cost;
            // A start of few steps may be short of its best by a little.
            if gain > best.as_ref().map_or(-2.0, |best| best.2) {
                best = Some((fit, second, gain));
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
        if let Some((rough, second, gain)) = best {
            let fit = local.two(&second, rough.g, rough.rho, STEPS);
            proposals.push(Proposal {
                gain: gain + rows * (fit.ln_likelihood - rough.ln_likelihood),
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

    /// Contracting a hidden node, whose star is fitted, into an observed neighbour.
    fn contract_into_observed(
        &self,
        hidden: usize,
        observed: usize,
        star: &Surroundings,
        base: &Fit,
        proposals: &mut Vec<Proposal>,
    ) {
        let m = star.outer.len();
        let at = star.outer.iter().position(|&node| node == observed).expect("they are neighbours");
        let direct = star.local().around_observed(at);
        let loss = star.rows_of(|_| true) * (base.ln_likelihood - direct.ln_likelihood);
        let degree = self.tree.links[observed].len();
        let cost = self.cost(&[m, degree], &[degree + m - 2], -1);
        let without = |values: Vec<f64>| values.into_iter().enumerate().filter(|it| it.0 != at).map(|it| it.1).collect();
        proposals.push(Proposal {
            gain: -loss + (Penalty::edge(loss, base.g[at]) - cost).max(FLOOR),
            centres: vec![hidden, observed],
            outer: star.outer.iter().copied().filter(|&node| node != observed).collect(),
            second: vec![false; m - 1],
            correlations: without(star.edges(&direct.g)),
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
        let around = Surroundings::new(&parts, self.layout, self.rows);
        let with_node: Vec<f64> = parts
            .iter()
            .map(|part| {
                let scale = part.1.variance().max(1e-12).sqrt();
                (part.1.with_observed(observed, self.layout) / scale).clamp(-MAX_CORRELATION, MAX_CORRELATION)
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
            let local = Local { correlations: &matrix, bounds: &bounds, tolerance: around.tolerance };
            let base = local.around_observed(0);
            let start = base.g.iter().enumerate().map(|(i, g)| if i == 0 { 0.95 } else { g / 0.95 }).collect();
            let fit = local.one(start, STEPS);
            let edges: Vec<f64> =
                fit.g.iter().zip(&bounds).map(|(g, own)| (g / own.max(1e-6)).clamp(-MAX_CORRELATION, MAX_CORRELATION)).collect();
            let gain = around.rows_of(|ix| members.contains(&ix)) * (fit.ln_likelihood - base.ln_likelihood);
            let outer: Vec<usize> = members.iter().map(|&i| around.outer[i]).collect();
            Proposal {
                gain: gain - (Penalty::edge(gain, edges[0]) + self.cost(&[m], &[k, m + 2 - k], 1)).max(FLOOR),
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
    fn expand(&self, node: usize, around: &Surroundings, base: &Fit, proposals: &mut Vec<Proposal>) {
        let m = around.outer.len();
        if m < 4 {
            return;
        }
        let local = around.local();
        let residual = |i: usize, j: usize| {
            let (gi, gj) = (base.g[i], base.g[j]);
            let excess = (around.matrix[i * m + j] - gi * gj) * (gi * gj).signum();
            excess / ((1.0 - gi * gi) * (1.0 - gj * gj)).sqrt()
        };
        let mut pairs: Vec<(f64, usize, usize)> =
            (0..m).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| (residual(i, j), i, j)).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut best: Option<(Fit, Vec<bool>, f64)> = None;
        let cost = |size: usize| self.cost(&[m], &[m - size + 1, size + 1], 1);
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
                let rows = around.rows_of(|at| second[at]);
                if rows * (grown.ln_likelihood - fit.ln_likelihood) <= cost(size + 1) - cost(size) {
                    second[at] = false;
                    break;
                }
                fit = grown;
                size += 1;
            }
            let gain = around.rows_of(|at| second[at]) * (fit.ln_likelihood - base.ln_likelihood) - cost(size);
            if best.as_ref().is_none_or(|best| gain > best.2) {
                best = Some((fit, second, gain));
            }
        }
        if let Some((rough, second, _)) = best {
            let fit = local.two(&second, rough.g, rough.rho, STEPS);
            let gain = around.rows_of(|at| second[at]) * (fit.ln_likelihood - base.ln_likelihood);
            let size = second.iter().filter(|&&it| it).count();
            proposals.push(Proposal {
                gain: gain - (Penalty::edge(gain, fit.rho) + cost(size)).max(FLOOR),
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
mod tests;
