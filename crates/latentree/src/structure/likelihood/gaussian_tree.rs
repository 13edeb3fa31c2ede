//! A Gaussian latent tree fitted to a correlation matrix: messages, EM and likelihood.
//!
//! All nodes have variance one; an edge has a correlation ρ. Looking along an edge from `u` to its neighbour `v`, all that the
//! observed variables on the side of `v` say is one *composite* variable `z = aᵀx`, scaled to variance one, with correlation `r`
//! to `v` itself (an observed `v` is its own composite, `r = 1`). A hidden `v` with composites `z_d` from its other neighbours,
//! each of correlation `g_d = ρ_d r_d` to `v`, has `Λ = Σ g_d²/(1−g_d²)`, `z = Σ g_d/(1−g_d²) z_d / √(Λ(1+Λ))` and
//! `r = √(Λ/(1+Λ))`. The data enter through `S a` alone, which is passed along with `a` as far as others ask for it
//! ([`Message`]). EM's E-step for an edge is then a 2×2 problem in the composites of its two ends, and its M-step sets ρ to the
//! expected correlation (hidden scales are free, which speeds it up).

use std::ops::Range;

use super::pair_rows::Members;
use crate::index::NodeIx;
use crate::tree::{Edge, Node, Tree};

/// Correlations are kept this far from ±1.
pub(crate) const MAX_CORRELATION: f64 = 0.9995;

/// A tree's nodes in an order in which what is below a node is one range of the observed variables, and the correlations in that order.
pub(crate) struct Layout {
    /// Parents first.
    order: Vec<usize>,
    parent: Vec<Option<usize>>,
    /// The observed variables at and below each node.
    ranges: Vec<Range<usize>>,
    /// The place of each observed variable.
    place: Vec<usize>,
    /// Row by row, by place.
    correlations: Vec<f64>,
    /// Whether messages tell their members.
    has_members: bool,
}

impl Layout {
    fn row(&self, place: usize) -> &[f64] {
        let p = self.place.len();
        &self.correlations[place * p..(place + 1) * p]
    }
}

/// A composite variable that arrives at a node from one of its neighbours.
///
/// From below it has weights on its own range and covariances with everything; from above it has covariances with the range
/// below, which is all that others ask of it.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Where it comes from, or, from above, where it arrives.
    range: Range<usize>,
    /// Coefficients on the observed variables of its range; none from above.
    weights: Vec<f64>,
    /// Covariances with all observed variables, or with those of the range; none for an observed variable itself.
    covariances: Vec<f64>,
    variance: f64,
    /// Correlation with the neighbour it comes from.
    pub(crate) own: f64,
    /// Its observed variables, where they are asked for.
    pub(crate) members: Members,
}

impl Message {
    fn empty() -> Self {
        Self { range: 0..0, weights: Vec::new(), covariances: Vec::new(), variance: 0.0, own: 0.0, members: Members::default() }
    }

    /// Covariances with a range of observed variables, by place.
    fn with_range<'a>(&'a self, layout: &'a Layout, range: Range<usize>) -> &'a [f64] {
        if self.weights.is_empty() {
            &self.covariances[range.start - self.range.start..range.end - self.range.start]
        } else if self.covariances.is_empty() {
            &layout.row(self.range.start)[range]
        } else {
            &self.covariances[range]
        }
    }

    /// Sample covariance with another composite that arrives at the same node or at a neighbour of it, from another side.
    pub(crate) fn with(&self, other: &Self, layout: &Layout) -> f64 {
        let (below, other) = if self.weights.is_empty() { (other, self) } else { (self, other) };
        below.weights.iter().zip(other.with_range(layout, below.range.clone())).map(|(a, b)| a * b).sum()
    }

    /// Sample covariance with an observed variable.
    pub(crate) fn with_observed(&self, node: usize, layout: &Layout) -> f64 {
        let place = layout.place[node];
        self.with_range(layout, place..place + 1)[0]
    }

    /// Sample variance.
    pub(crate) fn variance(&self) -> f64 {
        self.variance
    }
}

/// A tree over observed nodes `0..p` and hidden nodes above, with a correlation on every edge.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GaussianTree {
    pub(crate) n_observed: usize,
    /// Neighbours and correlations; a hidden node without neighbours is gone.
    pub(crate) links: Vec<Vec<(usize, f64)>>,
}

impl GaussianTree {
    /// A tree with edge correlations `e^(−length)` and the signs that the data give them.
    pub(crate) fn new(tree: &Tree, correlations: &[f64]) -> Self {
        let n_observed = tree.n_observed();
        let links = tree.node_ixs().map(|node| {
            let links = tree.links(node).iter();
            links.map(|link| (link.to.get(), (-link.length.unwrap_or(0.5)).exp().clamp(0.01, MAX_CORRELATION))).collect()
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

    /// The order of nodes and variables in which messages are computed; good as long as no links change.
    pub(crate) fn layout(&self, correlations: &[f64], has_members: bool) -> Layout {
        let p = self.n_observed;
        let mut layout = Layout {
            order: Vec::with_capacity(self.links.len()),
            parent: vec![None; self.links.len()],
            ranges: vec![0..0; self.links.len()],
            place: vec![0; p],
            correlations: vec![0.0; p * p],
            has_members,
        };
        let mut n_placed = 0;
        for (node, parent) in self.order() {
            layout.parent[node] = parent.map(|parent| parent.0);
            layout.ranges[node] = n_placed..n_placed;
            if node < p {
                layout.place[node] = n_placed;
                n_placed += 1;
                layout.ranges[node].end = n_placed;
            }
            layout.order.push(node);
        }
        for &node in layout.order.iter().rev() {
            if let Some(parent) = layout.parent[node] {
                layout.ranges[parent].end = layout.ranges[parent].end.max(layout.ranges[node].end);
            }
        }
        for i in 0..p {
            let row = &mut layout.correlations[layout.place[i] * p..(layout.place[i] + 1) * p];
            for (place, value) in layout.place.iter().zip(&correlations[i * p..(i + 1) * p]) {
                row[*place] = *value;
            }
        }
        layout
    }

    /// The composites that arrive at every node, in the order of its links.
    pub(crate) fn messages(&self, layout: &Layout) -> Vec<Vec<Message>> {
        let p = self.n_observed;
        let mut arriving: Vec<Vec<Message>> = self.links.iter().map(|links| vec![Message::empty(); links.len()]).collect();
        let member = |node: usize| if layout.has_members { Members::one(node) } else { Members::default() };
        let slot = |at: usize, from: usize| self.links[at].iter().position(|link| link.0 == from).expect("they are neighbours");
        for &node in layout.order.iter().rev() {
            let Some(parent) = layout.parent[node] else { continue };
            let range = layout.ranges[node].clone();
            let message = if node < p {
                let place = layout.place[node];
                // Nothing below an observed node adds to what it says itself.
                let members = member(node);
                Message { range: place..place + 1, weights: vec![1.0], covariances: Vec::new(), variance: 1.0, own: 1.0, members }
            } else {
                self.upward(node, parent, range, &arriving[node], layout)
            };
            arriving[parent][slot(parent, node)] = message;
        }
        for &node in &layout.order {
            let below: Vec<usize> =
                (0..self.links[node].len()).filter(|&ix| Some(self.links[node][ix].0) != layout.parent[node]).collect();
            if below.is_empty() {
                continue;
            }
            let pairs = if node < p { Vec::new() } else { self.pairs(&arriving[node], layout) };
            for ix in below {
                let to = self.links[node][ix].0;
                let range = layout.ranges[to].clone();
                let message = if node < p {
                    let covariances = layout.row(layout.place[node])[range.clone()].to_vec();
                    Message { range, weights: Vec::new(), covariances, variance: 1.0, own: 1.0, members: member(node) }
                } else {
                    self.downward(node, ix, range, &arriving[node], &pairs, layout)
                };
                arriving[to][slot(to, node)] = message;
            }
        }
        arriving
    }

    /// Factor of a composite in what a hidden node says, and the information it adds.
    fn factor(&self, node: usize, link: usize, message: &Message) -> (f64, f64) {
        let g = (self.links[node][link].1 * message.own).clamp(-MAX_CORRELATION, MAX_CORRELATION);
        let factor = g / (1.0 - g * g);
        (factor, g * factor)
    }

    /// What a hidden node sends to its parent.
    fn upward(&self, node: usize, parent: usize, range: Range<usize>, arriving: &[Message], layout: &Layout) -> Message {
        let p = self.n_observed;
        let (mut weights, mut covariances, mut information) = (vec![0.0; range.len()], vec![0.0; p], 0.0);
        for (ix, message) in arriving.iter().enumerate().filter(|it| self.links[node][it.0].0 != parent) {
            let (factor, more) = self.factor(node, ix, message);
            information += more;
            let at = message.range.start - range.start..message.range.end - range.start;
            weights[at].iter_mut().zip(&message.weights).for_each(|(sum, value)| *sum += factor * value);
            let values = message.with_range(layout, 0..p);
            covariances.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
        }
        let scale = 1.0 / (information * (1.0 + information)).max(1e-300).sqrt();
        weights.iter_mut().chain(&mut covariances).for_each(|value| *value *= scale);
        let variance = weights.iter().zip(&covariances[range.clone()]).map(|(a, b)| a * b).sum();
        let to = self.links[node].iter().position(|link| link.0 == parent);
        let members = self.members(node, to, scale, arriving, layout);
        Message { range, weights, covariances, variance, own: (information / (1.0 + information)).sqrt(), members }
    }

    /// Sample covariances of all composites that arrive at a node.
    fn pairs(&self, arriving: &[Message], layout: &Layout) -> Vec<f64> {
        let m = arriving.len();
        let mut pairs = vec![0.0; m * m];
        for i in 0..m {
            pairs[i * m + i] = arriving[i].variance;
            for j in 0..i {
                let value = arriving[i].with(&arriving[j], layout);
                pairs[i * m + j] = value;
                pairs[j * m + i] = value;
            }
        }
        pairs
    }

    /// What a hidden node sends to a child.
    fn downward(
        &self,
        node: usize,
        link: usize,
        range: Range<usize>,
        arriving: &[Message],
        pairs: &[f64],
        layout: &Layout,
    ) -> Message {
        let m = arriving.len();
        let (mut covariances, mut information) = (vec![0.0; range.len()], 0.0);
        let mut factors = vec![0.0; m];
        for (ix, message) in arriving.iter().enumerate().filter(|it| it.0 != link) {
            let (factor, more) = self.factor(node, ix, message);
            factors[ix] = factor;
            information += more;
            let values = message.with_range(layout, range.clone());
            covariances.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
        }
        let scale = 1.0 / (information * (1.0 + information)).max(1e-300).sqrt();
        covariances.iter_mut().for_each(|value| *value *= scale);
        let quadratic: f64 = (0..m * m).map(|at| factors[at / m] * factors[at % m] * pairs[at]).sum();
        let variance = quadratic * scale * scale;
        let members = self.members(node, Some(link), scale, arriving, layout);
        let own = (information / (1.0 + information)).sqrt();
        Message { range, weights: Vec::new(), covariances, variance, own, members }
    }

    /// The members of what a hidden node sends along a link.
    fn members(&self, node: usize, to: Option<usize>, scale: f64, arriving: &[Message], layout: &Layout) -> Members {
        if !layout.has_members {
            return Members::default();
        }
        let parts = arriving.iter().enumerate().filter(|it| Some(it.0) != to);
        Members::gathered(parts.map(|(ix, message)| (scale * self.factor(node, ix, message).0, &message.members)))
    }

    /// One EM step from the composites at the present parameters.
    fn em_step(&self, layout: &Layout) -> Self {
        let arriving = self.messages(layout);
        let mut next = self.clone();
        for (u, links) in self.links.iter().enumerate() {
            for (ix, &(v, rho)) in links.iter().enumerate().filter(|(_, link)| link.0 > u) {
                let back = self.links[v].iter().position(|link| link.0 == u).expect("they are neighbours");
                let value = expected_correlation(rho, &arriving[v][back], &arriving[u][ix], layout);
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
    pub(crate) fn em(&mut self, correlations: &[f64], steps: usize, tolerance: f64) {
        let layout = self.layout(correlations, false);
        let mut done = 0;
        while done < steps {
            let first = self.em_step(&layout);
            done += 1;
            if self.change(&first) < tolerance || done >= steps {
                *self = first;
                return;
            }
            let second = first.em_step(&layout);
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
                (a.1 - 2.0 * alpha * r + alpha * alpha * v).clamp(-MAX_CORRELATION, MAX_CORRELATION)
            });
            let values: Vec<f64> = values.collect();
            leapt.links.iter_mut().flatten().zip(values).for_each(|(link, value)| link.1 = value);
            *self = if leapt.ln_likelihood_of(&layout) >= second.ln_likelihood_of(&layout) { leapt } else { second };
        }
    }

    /// Log-likelihood per row from the composites at the present parameters, without the constant −½p ln 2π.
    ///
    /// From the leaves up: the density of what is below a node is that of its children's composites, corrected by their
    /// marginals.
    fn ln_likelihood_of(&self, layout: &Layout) -> f64 {
        let arriving = self.messages(layout);
        let mut sum = -0.5 * self.n_observed as f64;
        for &node in &layout.order {
            let below = self.links[node].iter().zip(&arriving[node]).filter(|(link, _)| Some(link.0) != layout.parent[node]);
            if node < self.n_observed {
                for (link, message) in below {
                    let g = (link.1 * message.own).clamp(-MAX_CORRELATION, MAX_CORRELATION);
                    let (own, shared, noise) = (message.variance, message.with_observed(node, layout), 1.0 - g * g);
                    sum -= 0.5 * (noise.ln() + (own - 2.0 * g * shared + g * g) / noise - own);
                }
                continue;
            }
            let (mut information, mut quadratic) = (0.0, 0.0);
            let mut before: Vec<(f64, &Message)> = Vec::with_capacity(self.links[node].len());
            for (link, message) in below {
                let g = (link.1 * message.own).clamp(-MAX_CORRELATION, MAX_CORRELATION);
                let (own, noise) = (message.variance, 1.0 - g * g);
                let factor = g / noise;
                information += g * factor;
                quadratic += factor * factor * own;
                let crossed: f64 = before.iter().map(|(other, earlier)| other * earlier.with(message, layout)).sum();
                quadratic += 2.0 * factor * crossed;
                before.push((factor, message));
                sum -= 0.5 * (noise.ln() + own / noise - own);
            }
            sum -= 0.5 * ((1.0 + information).ln() - quadratic / (1.0 + information));
        }
        sum
    }

    /// Correlations of the observed variables implied by the tree, row by row.
    pub(crate) fn implied(&self) -> Vec<f64> {
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
    pub(crate) fn ln_likelihood(&self, correlations: &[f64]) -> f64 {
        self.ln_likelihood_of(&self.layout(correlations, false))
    }

    /// Number of hidden nodes.
    pub(crate) fn n_hidden(&self) -> usize {
        self.links[self.n_observed..].iter().filter(|links| !links.is_empty()).count()
    }

    /// The tree with lengths −ln|ρ|; hidden nodes renumbered.
    pub(crate) fn to_tree(&self, names: &[String]) -> Tree {
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
fn expected_correlation(rho: f64, from_u: &Message, from_v: &Message, layout: &Layout) -> f64 {
    let (ru, rv) = (from_u.own.min(1.0), from_v.own.min(1.0));
    let kappa = rho * ru * rv;
    let det = 1.0 - kappa * kappa;
    let (cuu, cuv, cvv) = (from_u.variance, from_u.with(from_v, layout), from_v.variance);
    // Regression of (u, v) on the composites: cov(x, z) · var(z)⁻¹.
    let gain = |a: f64, b: f64| [(a - b * kappa) / det, (b - a * kappa) / det];
    let (ku, kv) = (gain(ru, rho * rv), gain(rho * ru, rv));
    let quadratic = |x: [f64; 2], y: [f64; 2]| x[0] * (cuu * y[0] + cuv * y[1]) + x[1] * (cuv * y[0] + cvv * y[1]);
    let suu = quadratic(ku, ku) + 1.0 - (ku[0] * ru + ku[1] * rho * rv);
    let svv = quadratic(kv, kv) + 1.0 - (kv[0] * rho * ru + kv[1] * rv);
    let suv = quadratic(ku, kv) + rho - (ku[0] * rho * ru + ku[1] * rv);
    (suv / (suu * svv).max(1e-300).sqrt()).clamp(-MAX_CORRELATION, MAX_CORRELATION)
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
