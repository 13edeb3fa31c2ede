//! A Gaussian latent tree fitted to a correlation matrix: messages, EM and likelihood.
//!
//! All nodes have variance one; an edge has a correlation ρ. Looking along an edge from `u` to its neighbour `v`, all that
//! the observed variables on the side of `v` say is one *composite* variable `z = aᵀx`, scaled to variance one, with
//! correlation `r` to `v` itself (an observed `v` is its own composite, `r = 1`). A hidden `v` with composites `z_d` from its other
//! neighbours, each of correlation `g_d = ρ_d r_d` to `v`, has
//! `Λ = Σ g_d²/(1−g_d²)`, `z = Σ g_d/(1−g_d²) z_d / √(Λ(1+Λ))` and `r = √(Λ/(1+Λ))`.
//! The data enter through `S a` alone, which is passed along with `a`. EM's E-step for an edge is then a 2×2 problem in the
//! composites of its two ends, and its M-step sets ρ to the expected correlation (hidden scales are free, which speeds it up).

use crate::index::NodeIx;
use crate::tree::{Edge, Node, Tree};

/// Correlations are kept this far from ±1.
pub(super) const LARGEST: f64 = 0.9995;

/// A composite variable that arrives at a node from one of its neighbours.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// Coefficients on the observed variables.
    pub(super) weights: Vec<f64>,
    /// Covariances with the observed variables.
    pub(super) covariances: Vec<f64>,
    /// Correlation with the neighbour it comes from.
    pub(super) own: f64,
}

impl Message {
    /// Sample covariance with another composite.
    pub(super) fn with(&self, other: &Self) -> f64 {
        self.weights.iter().zip(&other.covariances).map(|(a, b)| a * b).sum()
    }
}

/// A tree over observed nodes `0..p` and hidden nodes above, with a correlation on every edge.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GaussianTree {
    pub(super) n_observed: usize,
    /// Neighbours and correlations; a hidden node without neighbours is gone.
    pub(super) links: Vec<Vec<(usize, f64)>>,
}

impl GaussianTree {
    /// A tree with edge correlations `e^(−length)` and the signs that the data give them.
    pub(super) fn new(tree: &Tree, correlations: &[f64]) -> Self {
        let n_observed = tree.n_observed();
        let links = tree.node_ixs().map(|node| {
            let links = tree.links(node).iter();
            links.map(|link| (link.to.get(), (-link.length.unwrap_or(0.5)).exp().clamp(0.01, LARGEST))).collect()
        });
        let mut fitted = Self { n_observed, links: links.collect() };
        let nearest = fitted.nearest_observed();
        for node in 0..fitted.links.len() {
            for link in &mut fitted.links[node] {
                if correlations[nearest[node] * n_observed + nearest[link.0]] < 0.0 {
                    link.1 = -link.1;
                }
            }
        }
        fitted
    }

    /// For every node the observed one with the largest product of correlations on the way.
    fn nearest_observed(&self) -> Vec<usize> {
        let mut best: Vec<(f64, usize)> =
            (0..self.links.len()).map(|ix| (f64::from(u8::from(ix < self.n_observed)), ix)).collect();
        let order = self.order();
        let relax = |best: &mut Vec<(f64, usize)>, from: usize, to: usize, rho: f64| {
            let value = best[from].0 * rho.abs();
            if value > best[to].0 {
                best[to] = (value, best[from].1);
            }
        };
        for &(node, parent) in order.iter().rev() {
            if let Some((parent, rho)) = parent {
                relax(&mut best, node, parent, rho);
            }
        }
        for &(node, parent) in &order {
            if let Some((parent, rho)) = parent {
                relax(&mut best, parent, node, rho);
            }
        }
        best.iter().map(|&(value, ix)| if value > 0.0 { ix } else { 0 }).collect()
    }

    /// All nodes with neighbours, parents first, each with its parent and the correlation to it.
    fn order(&self) -> Vec<(usize, Option<(usize, f64)>)> {
        let mut seen = vec![false; self.links.len()];
        let mut order = Vec::with_capacity(self.links.len());
        for root in 0..self.links.len() {
            if seen[root] || (self.links[root].is_empty() && root >= self.n_observed) {
                continue;
            }
            seen[root] = true;
            let mut stack = vec![(root, None)];
            while let Some((node, parent)) = stack.pop() {
                order.push((node, parent));
                for &(to, rho) in self.links[node].iter().rev() {
                    if !seen[to] {
                        seen[to] = true;
                        stack.push((to, Some((node, rho))));
                    }
                }
            }
        }
        order
    }

    /// The composites that arrive at every node, in the order of its links.
    pub(super) fn messages(&self, correlations: &[f64]) -> Vec<Vec<Message>> {
        let p = self.n_observed;
        let order = self.order();
        let empty = Message { weights: Vec::new(), covariances: Vec::new(), own: 0.0 };
        let mut arriving: Vec<Vec<Message>> = self.links.iter().map(|links| vec![empty.clone(); links.len()]).collect();
        let slot = |at: usize, from: usize| self.links[at].iter().position(|link| link.0 == from).expect("they are neighbours");
        for &(node, parent) in order.iter().rev() {
            if let Some((parent, _)) = parent {
                let message = self.leaving(node, slot(node, parent), &arriving[node], correlations, p);
                arriving[parent][slot(parent, node)] = message;
            }
        }
        for &(node, _) in &order {
            for (ix, &(to, _)) in self.links[node].iter().enumerate() {
                let back = slot(to, node);
                if arriving[to][back].weights.is_empty() {
                    arriving[to][back] = self.leaving(node, ix, &arriving[node], correlations, p);
                }
            }
        }
        arriving
    }

    /// What a node sends along one of its links.
    fn leaving(&self, node: usize, link: usize, arriving: &[Message], correlations: &[f64], p: usize) -> Message {
        if node < p {
            let mut weights = vec![0.0; p];
            weights[node] = 1.0;
            return Message { weights, covariances: correlations[node * p..(node + 1) * p].to_vec(), own: 1.0 };
        }
        let (mut weights, mut covariances, mut information) = (vec![0.0; p], vec![0.0; p], 0.0);
        for (ix, message) in arriving.iter().enumerate().filter(|it| it.0 != link) {
            let g = (self.links[node][ix].1 * message.own).clamp(-LARGEST, LARGEST);
            let factor = g / (1.0 - g * g);
            information += g * factor;
            weights.iter_mut().zip(&message.weights).for_each(|(sum, value)| *sum += factor * value);
            covariances.iter_mut().zip(&message.covariances).for_each(|(sum, value)| *sum += factor * value);
        }
        let scale = 1.0 / (information * (1.0 + information)).max(1e-300).sqrt();
        weights.iter_mut().chain(&mut covariances).for_each(|value| *value *= scale);
        Message { weights, covariances, own: (information / (1.0 + information)).sqrt() }
    }

    /// One EM step from the composites at the present parameters.
    fn em_step(&self, arriving: &[Vec<Message>]) -> Self {
        let mut next = self.clone();
        for (u, links) in self.links.iter().enumerate() {
            for (ix, &(v, rho)) in links.iter().enumerate().filter(|(_, link)| link.0 > u) {
                let back = self.links[v].iter().position(|link| link.0 == u).expect("they are neighbours");
                let value = expected_correlation(rho, &arriving[v][back], &arriving[u][ix]);
                next.links[u][ix].1 = value;
                next.links[v][back].1 = value;
            }
        }
        next
    }

    fn change(&self, other: &Self) -> f64 {
        let pairs = self.links.iter().flatten().zip(other.links.iter().flatten());
        pairs.map(|(a, b)| (a.1 - b.1).abs()).fold(0.0, f64::max)
    }

    /// Up to `steps` EM steps, accelerated by squared extrapolation (SQUAREM, Varadhan and Roland 2008) that is taken back
    /// where it would lower the likelihood; ends when a step changes no correlation by more than `tolerance`.
    pub(super) fn em(&mut self, correlations: &[f64], steps: usize, tolerance: f64) {
        let mut done = 0;
        while done < steps {
            let first = self.em_step(&self.messages(correlations));
            done += 1;
            if self.change(&first) < tolerance || done >= steps {
                *self = first;
                return;
            }
            let arriving = first.messages(correlations);
            let second = first.em_step(&arriving);
            done += 1;
            let (mut rr, mut vv) = (0.0, 0.0);
            let triples = || self.links.iter().flatten().zip(first.links.iter().flatten()).zip(second.links.iter().flatten());
            for ((a, b), c) in triples() {
                rr += (b.1 - a.1).powi(2);
                vv += (c.1 - 2.0 * b.1 + a.1).powi(2);
            }
            let alpha = if vv > 0.0 { -(rr / vv).sqrt() } else { -1.0 };
            if alpha >= -1.0 {
                *self = second;
                continue;
            }
            let mut leapt = second.clone();
            let values = triples().map(|((a, b), c)| {
                let (r, v) = (b.1 - a.1, c.1 - 2.0 * b.1 + a.1);
                (a.1 - 2.0 * alpha * r + alpha * alpha * v).clamp(-LARGEST, LARGEST)
            });
            let values: Vec<f64> = values.collect();
            leapt.links.iter_mut().flatten().zip(values).for_each(|(link, value)| link.1 = value);
            let (after, before) = (leapt.messages(correlations), second.messages(correlations));
            *self = if leapt.ln_likelihood_of(&after) >= second.ln_likelihood_of(&before) { leapt } else { second };
        }
    }

    /// Log-likelihood per row from the composites at the present parameters, without the constant −½p ln 2π.
    ///
    /// From the leaves up: the density of what is below a node is that of its children's composites, corrected by their marginals.
    pub(super) fn ln_likelihood_of(&self, arriving: &[Vec<Message>]) -> f64 {
        let mut sum = -0.5 * self.n_observed as f64;
        let mut place = vec![usize::MAX; self.links.len()];
        for (node, parent) in self.order() {
            place[node] = parent.map_or(usize::MAX, |parent| parent.0);
            let below = self.links[node].iter().zip(&arriving[node]).filter(|(link, _)| link.0 != place[node]);
            if node < self.n_observed {
                for (link, message) in below {
                    let g = (link.1 * message.own).clamp(-LARGEST, LARGEST);
                    let (own, shared, noise) = (message.with(message), message.covariances[node], 1.0 - g * g);
                    sum -= 0.5 * (noise.ln() + (own - 2.0 * g * shared + g * g) / noise - own);
                }
                continue;
            }
            let (mut information, mut weights, mut covariances) = (0.0, vec![0.0; self.n_observed], vec![0.0; self.n_observed]);
            for (link, message) in below {
                let g = (link.1 * message.own).clamp(-LARGEST, LARGEST);
                let (own, noise) = (message.with(message), 1.0 - g * g);
                let factor = g / noise;
                information += g * factor;
                weights.iter_mut().zip(&message.weights).for_each(|(sum, value)| *sum += factor * value);
                covariances.iter_mut().zip(&message.covariances).for_each(|(sum, value)| *sum += factor * value);
                sum -= 0.5 * (noise.ln() + own / noise - own);
            }
            let quadratic: f64 = weights.iter().zip(&covariances).map(|(a, b)| a * b).sum();
            sum -= 0.5 * ((1.0 + information).ln() - quadratic / (1.0 + information));
        }
        sum
    }

    /// Correlations of the observed variables implied by the tree, row by row.
    pub(super) fn implied(&self) -> Vec<f64> {
        let p = self.n_observed;
        let mut implied = vec![0.0; p * p];
        for start in 0..p {
            let mut stack = vec![(start, usize::MAX, 1.0)];
            while let Some((node, from, value)) = stack.pop() {
                if node < p {
                    implied[start * p + node] = value;
                }
                stack.extend(self.links[node].iter().filter(|link| link.0 != from).map(|&(to, rho)| (to, node, value * rho)));
            }
        }
        implied
    }

    /// Log-likelihood per row of standardised data with these correlations, without the constant −½p ln 2π.
    pub(super) fn ln_likelihood(&self, correlations: &[f64]) -> f64 {
        self.ln_likelihood_of(&self.messages(correlations))
    }

    /// Number of hidden nodes.
    pub(super) fn n_hidden(&self) -> usize {
        self.links[self.n_observed..].iter().filter(|links| !links.is_empty()).count()
    }

    /// The tree with lengths −ln|ρ|; hidden nodes renumbered.
    pub(super) fn to_tree(&self, names: &[String]) -> Tree {
        let mut nodes: Vec<Node> = names.iter().map(|name| Node { name: name.clone(), observed: true }).collect();
        let mut place: Vec<usize> = (0..self.n_observed).collect();
        for (ix, links) in self.links.iter().enumerate().skip(self.n_observed) {
            place.push(nodes.len());
            if !links.is_empty() {
                nodes.push(Node { name: format!("\u{0}{ix}"), observed: false });
            }
        }
        let edges = self.links.iter().enumerate().flat_map(|(u, links)| links.iter().map(move |&(v, rho)| (u, v, rho)));
        let edges = edges
            .filter(|(u, v, _)| u < v)
            .map(|(u, v, rho)| Edge::with_length(NodeIx::new(place[u]), NodeIx::new(place[v]), -rho.abs().max(1e-12).ln()));
        let edges: Vec<Edge> = edges.collect();
        Tree::from_parts(nodes, &edges).expect("moves keep it a tree").relabel_hidden()
    }
}

/// The expected correlation of the ends of an edge given the composites of both sides.
fn expected_correlation(rho: f64, from_u: &Message, from_v: &Message) -> f64 {
    let (ru, rv) = (from_u.own.min(1.0), from_v.own.min(1.0));
    let kappa = rho * ru * rv;
    let det = 1.0 - kappa * kappa;
    let (cuu, cuv, cvv) = (from_u.with(from_u), from_u.with(from_v), from_v.with(from_v));
    // Regression of (u, v) on the composites: cov(x, z) · var(z)⁻¹.
    let gain = |a: f64, b: f64| [(a - b * kappa) / det, (b - a * kappa) / det];
    let (ku, kv) = (gain(ru, rho * rv), gain(rho * ru, rv));
    let quadratic = |x: [f64; 2], y: [f64; 2]| x[0] * (cuu * y[0] + cuv * y[1]) + x[1] * (cuv * y[0] + cvv * y[1]);
    let suu = quadratic(ku, ku) + 1.0 - (ku[0] * ru + ku[1] * rho * rv);
    let svv = quadratic(kv, kv) + 1.0 - (kv[0] * rho * ru + kv[1] * rv);
    let suv = quadratic(ku, kv) + rho - (ku[0] * rho * ru + ku[1] * rv);
    (suv / (suu * svv).max(1e-300).sqrt()).clamp(-LARGEST, LARGEST)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::linalg::Cholesky;
    use crate::simulate::{Shape, Simulation};

    #[test]
    fn the_likelihood_is_that_of_the_dense_matrix_and_em_never_lowers_it() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for seed in 0..20 {
            let model = Simulation::new(Shape::Random { max_degree: Some(5) }, 9).observed_inner(0.3).seed(seed).model().unwrap();
            let p = 9;
            let truth = GaussianTree::new(model.tree(), &vec![1.0; p * p]);
            // A sample correlation matrix that no tree fits exactly.
            let implied = truth.implied();
            let mut sample = implied.clone();
            for i in 0..p {
                for j in 0..i {
                    let value = 0.9 * implied[i * p + j] + rng.random_range(-0.04..0.04);
                    sample[i * p + j] = value;
                    sample[j * p + i] = value;
                }
            }
            let mut tree = truth.clone();
            let mut last = f64::NEG_INFINITY;
            for _ in 0..30 {
                let factor = Cholesky::new(&tree.implied(), p).unwrap();
                let exact = -0.5 * (factor.ln_determinant() + factor.trace_of_solution(&sample));
                let value = tree.ln_likelihood(&sample);
                assert!((value - exact).abs() < 1e-9, "{value} {exact}");
                assert!(value >= last - 1e-10);
                last = value;
                tree.em(&sample, 4, 0.0);
            }
        }
    }
}
