//! Edge lengths of a given tree by least squares on all pairs that have a distance, each weighted by its precision, with no
//! length below zero.
//!
//! Minimises `Σ_{i<j} w_ij (d_ij − Σ_{e on the way} l_e)²` over `l ≥ 0`, with `w = 1/error²` where standard errors are known (up
//! to a factor), else equal weights (Cavalli-Sforza and Edwards 1967; Fitch and Margoliash 1967; Choi et al. 2011, §6.2).
//!
//! # How
//! The design matrix has p²/2 rows and is never made. With a root anywhere, a pair's way is `depth_i + depth_j − 2 depth_u`, u
//! the lowest common ancestor, so that a product with the normal matrix takes one look at each pair: its weighted residual r goes
//! to i, to j, and −2r to u, and an edge's component is the sum over the subtree below it. For a fixed i all u follow from one
//! sweep over the nodes.
//!
//! The bound-constrained problem is solved by conjugate gradients on the free lengths with projected steps where a bound is met
//! (Dostál 1997 and 2009, *modified proportioning with reduced gradient projections*), in variables scaled by the diagonal of the
//! normal matrix: scaling keeps the bounds where they are. It starts from the lengths that the tree has, which learners leave
//! close to the optimum.
//!
//! # Cost
//! A look at each pair that has a distance, and a sweep over the nodes for each variable: O(p · n) a step for n nodes in all at
//! most, parallel, 16 n bytes for each of 32 parts: about half a second a step for p = 12,000 on two cores. Pairs that count are
//! listed once, 20 bytes each and 24 for a run of them, unless they are very many: most pairs of words have no distance. At most 3 · 10⁹ / (p · n) steps are taken, but 30 at least and 5,000 at most; what is left of the gradient then
//! decides whether it [converged](FittedLengths::converged).

use rayon::prelude::*;

use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::observer::Observer;
use crate::tree::{Rooted, Tree};

/// Parts in which pairs are summed: a fixed number, so that sums do not depend on the number of threads.
const PARTS: usize = 32;
/// Steps end when the projected gradient is this small a share of the right-hand side: all digits where they are cheap, else
/// those that data can have.
const EXACT: f64 = 1e-13;
const EXACT_OF_MANY: f64 = 1e-7;
/// Pairs of a variable and a node above which there are many.
const MANY: f64 = 1e6;
/// Pairs that are listed at most, in 320 MB and their runs; of more, each step looks for those that count.
const MAX_LISTED: usize = 1 << 24;
/// What counts as converged.
const CONVERGED: f64 = 1e-6;

/// A tree with lengths by least squares.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedLengths {
    /// The tree; edges that no pair with a distance crosses keep the length they had.
    pub tree: Tree,
    /// Weighted root mean square of the residuals: in units of standard errors where they are known, else of distances.
    pub residual: f64,
    /// Number of looks at all pairs.
    pub iterations: usize,
    /// Whether the optimum was reached to six digits of the gradient.
    pub converged: bool,
}

/// The tree with lengths that fit the distances best, none negative.
///
/// # Arguments
/// - `tree`: a tree or forest whose observed nodes are the matrix's variables, in any order. Pairs in different trees are left
///   out.
///
/// # Errors
/// [`Error::Tree`] if the observed nodes are not the matrix's variables, [`Error::Cancelled`].
///
/// # Example
/// ```
/// use latentree::distance::DistanceMatrix;
/// use latentree::structure::least_squares_lengths;
/// use latentree::tree::{Observed, Tree};
/// let tree = Tree::from_newick("(a,b,c);", &Observed::LeavesOnly)?;
/// let names = ["a", "b", "c"].map(str::to_owned).to_vec();
/// let distances = DistanceMatrix::from_fn(names, |i, j| Some((i + j) as f64))?;
/// let fitted = least_squares_lengths(&tree, &distances, &latentree::Silent)?;
/// let lengths: Vec<f64> = fitted.tree.edges().map(|edge| edge.length.unwrap()).collect();
/// assert!(lengths.iter().zip([0.0, 1.0, 2.0]).all(|(length, expected)| (length - expected).abs() < 1e-9));
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn least_squares_lengths(tree: &Tree, distances: &DistanceMatrix, observer: &dyn Observer) -> Result<FittedLengths> {
    let pairs = Pairs::new(tree, distances)?;
    let work = distances.len().max(1) as f64 * tree.n_nodes().max(1) as f64;
    let most = (3e9 / work).clamp(30.0, 5000.0) as usize;
    let exact = if work > MANY { EXACT_OF_MANY } else { EXACT };
    observer.stage("edge lengths", Some(most as u64));
    let solution = solve(&pairs, most, exact, observer)?;
    let length = |edge: &crate::tree::Edge| {
        let (a, b) = (pairs.position[edge.a.get()] as usize, pairs.position[edge.b.get()] as usize);
        // Of two neighbours the child stands later.
        Some(solution.lengths[a.max(b)])
    };
    let (sum, weight) = pairs.squares(&solution.lengths);
    let count = if pairs.least_error > 0.0 { distances.lower().iter().filter(|it| !it.is_nan()).count() as f64 } else { weight };
    let residual =
        if count > 0.0 { (sum / count).sqrt() / if pairs.least_error > 0.0 { pairs.least_error } else { 1.0 } } else { 0.0 };
    Ok(FittedLengths {
        tree: tree.with_lengths(length),
        residual,
        iterations: solution.iterations,
        converged: solution.gradient <= CONVERGED,
    })
}

/// What a pair gives to a sum.
#[derive(Clone, Copy)]
enum Summand<'a> {
    /// `w (way − d)`: the gradient at these lengths.
    Residual(&'a [f64]),
    /// `w · way`: the product with the normal matrix.
    Product(&'a [f64]),
    /// `w`: its diagonal.
    Weight,
}

/// Pairs of one variable with others that have the same lowest common ancestor with it.
struct Run<'a> {
    own: usize,
    above: usize,
    places: &'a [u32],
    distances: &'a [f64],
    weights: &'a [f64],
}

impl Run<'_> {
    /// Place, distance and weight of each pair.
    fn pairs(&self) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        let numbers = self.distances.iter().zip(self.weights);
        self.places.iter().zip(numbers).map(|(&place, (&distance, &weight))| (place as usize, distance, weight))
    }
}

/// The pairs of a matrix on a tree. Nodes are in the order of a walk from the roots, and an edge is called by its lower end.
struct Pairs<'a> {
    distances: &'a DistanceMatrix,
    /// By node of the tree, its place in the walk.
    position: Vec<u32>,
    /// By place: that of the parent, itself for a root.
    parent: Vec<u32>,
    /// By place: the end of its subtree.
    end: Vec<u32>,
    /// By place: where its tree begins.
    start: Vec<u32>,
    /// By variable of the matrix: its place.
    variable: Vec<u32>,
    /// Lengths in the tree as given.
    given: Vec<f64>,
    /// The smallest standard error: weights are `(least / error)²`. 0 where none is known.
    least_error: f64,
    /// Rows of the triangle in each part, about as many pairs in each.
    parts: Vec<std::ops::Range<usize>>,
    /// The pairs that count, by part, unless they are too many.
    listed: Option<Vec<Listed>>,
}

/// The pairs of a run of rows that count: place of the variable of the lower number, distance and weight, in the order of places.
#[derive(Default)]
struct Listed {
    /// Runs of pairs with the same variable and the same lowest common ancestor: the two places, and which pairs.
    runs: Vec<(u32, u32, std::ops::Range<usize>)>,
    places: Vec<u32>,
    distances: Vec<f64>,
    weights: Vec<f64>,
}

impl<'a> Pairs<'a> {
    fn new(tree: &Tree, distances: &'a DistanceMatrix) -> Result<Self> {
        let n = tree.n_nodes();
        let p = distances.len();
        let found = distances.names().iter().map(|name| tree.find(name).filter(|&node| tree.is_observed(node)));
        let found: Option<Vec<NodeIx>> = found.collect();
        let nodes = found.filter(|_| tree.n_observed() == p);
        let nodes = nodes.ok_or_else(|| Error::tree("its observed nodes differ from the variables of the distances"))?;
        let Rooted { parent: parents, order, .. } = Rooted::with_roots(tree, &[])?;
        let mut position = vec![0_u32; n];
        order.iter().enumerate().for_each(|(place, node)| position[node.get()] = place as u32);
        let mut parent: Vec<u32> = (0..n as u32).collect();
        let mut start: Vec<u32> = (0..n as u32).collect();
        let mut given = vec![0.0; n];
        for (place, node) in order.iter().enumerate() {
            if let Some(up) = parents[node.get()] {
                parent[place] = position[up.get()];
                start[place] = start[parent[place] as usize];
            }
        }
        for edge in tree.edges() {
            let place = position[edge.a.get()].max(position[edge.b.get()]) as usize;
            given[place] = edge.length.filter(|length| length.is_finite()).map_or(0.1, |length| length.clamp(0.0, 1e100));
        }
        let mut end: Vec<u32> = (1..=n as u32).collect();
        for place in (0..n).rev() {
            let up = parent[place] as usize;
            end[up] = end[up].max(end[place]);
        }
        let errors = distances.lower_errors().unwrap_or_default();
        let least = errors.iter().copied().filter(|error| *error > 0.0).fold(f64::INFINITY, f64::min);
        let row_of = |part: usize| ((part as f64 / PARTS as f64).sqrt() * p as f64).round() as usize;
        let parts = (0..PARTS).map(|part| row_of(part)..if part + 1 == PARTS { p } else { row_of(part + 1) }).collect();
        let variable = nodes.iter().map(|node| position[node.get()]).collect();
        let least_error = if least.is_finite() { least } else { 0.0 };
        let mut pairs = Self { distances, position, parent, end, start, variable, given, least_error, parts, listed: None };
        if distances.lower().iter().filter(|value| !value.is_nan()).count() <= MAX_LISTED {
            let mut by_place: Vec<usize> = (0..p).collect();
            by_place.sort_unstable_by_key(|&ix| pairs.variable[ix]);
            pairs.listed = Some(pairs.parts.par_iter().map(|rows| pairs.list(rows.clone(), &by_place)).collect());
        }
        Ok(pairs)
    }

    fn list(&self, rows: std::ops::Range<usize>, by_place: &[usize]) -> Listed {
        let mut listed = Listed::default();
        for i in rows {
            let begin = listed.places.len();
            self.row(i, by_place.iter().copied().filter(|&j| j < i), |to, distance, weight| {
                listed.places.push(to as u32);
                listed.distances.push(distance);
                listed.weights.push(weight);
            });
            let own = self.variable[i] as usize;
            let (places, runs) = (&listed.places[begin..], &mut listed.runs);
            self.segments(own, |above, range| {
                let place = |of: usize| begin + places.partition_point(|&place| (place as usize) < of);
                let run = place(range.start)..place(range.end);
                if !run.is_empty() {
                    runs.push((own as u32, above as u32, run));
                }
            });
        }
        listed
    }

    /// Calls `pair(place of j, distance, weight)` for those of the pairs (i, j) that count.
    fn row(&self, i: usize, others: impl Iterator<Item = usize>, mut pair: impl FnMut(usize, f64, f64)) {
        let first = self.start[self.variable[i] as usize];
        let from = i * i.saturating_sub(1) / 2;
        let values = &self.distances.lower()[from..from + i];
        let errors = self.distances.lower_errors().map(|errors| &errors[from..from + i]);
        for j in others {
            let (to, value) = (self.variable[j] as usize, values[j]);
            if value.is_nan() || self.start[to] != first {
                continue;
            }
            let weight = match errors {
                Some(errors) if self.least_error > 0.0 => {
                    let share = self.least_error / errors[j];
                    if share > 0.0 { share.min(1.0).powi(2) } else { 0.0 }
                }
                _ => 1.0,
            };
            pair(to, value, weight);
        }
    }

    /// Calls `each` with the pairs of a part that count, in runs with the same i and the same lowest common ancestor.
    #[inline]
    fn for_each(&self, part: usize, mut each: impl FnMut(Run<'_>)) {
        let Some(listed) = self.listed.as_ref().map(|parts| &parts[part]) else {
            let mut ancestor = vec![0_u32; self.parent.len()];
            for i in self.parts[part].clone() {
                let own = self.variable[i] as usize;
                self.segments(own, |above, range| ancestor[range].fill(above as u32));
                self.row(i, 0..i, |to, distance, weight| {
                    let (places, distances, weights) = (&[to as u32], &[distance], &[weight]);
                    each(Run { own, above: ancestor[to] as usize, places, distances, weights });
                });
            }
            return;
        };
        for (own, above, run) in &listed.runs {
            let (own, above) = (*own as usize, *above as usize);
            let (places, distances) = (&listed.places[run.clone()], &listed.distances[run.clone()]);
            each(Run { own, above, places, distances, weights: &listed.weights[run.clone()] });
        }
    }

    /// Calls `each` with a node on the way to the root and the places, in up to two ranges for each node, whose lowest common
    /// ancestor with a place it is: what the node has below it, but for the child on the way.
    fn segments(&self, own: usize, mut each: impl FnMut(usize, std::ops::Range<usize>)) {
        let (mut at, mut below) = (own, own..own);
        loop {
            let range = at..self.end[at] as usize;
            each(at, range.start..below.start);
            each(at, below.end..range.end);
            let up = self.parent[at] as usize;
            if up == at {
                return;
            }
            (at, below) = (up, range);
        }
    }

    fn depths(&self, lengths: &[f64]) -> Vec<f64> {
        let mut depth = vec![0.0; lengths.len()];
        for place in 0..lengths.len() {
            let up = self.parent[place] as usize;
            if up != place {
                depth[place] = depth[up] + lengths[place];
            }
        }
        depth
    }

    /// For each edge the sum of a summand over the pairs that cross it.
    fn crossing(&self, summand: Summand<'_>) -> Vec<f64> {
        let n = self.parent.len();
        let depth = match summand {
            Summand::Residual(lengths) | Summand::Product(lengths) => self.depths(lengths),
            Summand::Weight => vec![0.0; n],
        };
        let partial = (0..self.parts.len()).into_par_iter().map(|part| {
            let mut sums = vec![0.0; n];
            self.for_each(part, |run| {
                let depth_of_rest = depth[run.own] - 2.0 * depth[run.above];
                let mut total = 0.0;
                for (to, distance, weight) in run.pairs() {
                    let way = depth_of_rest + depth[to];
                    let value = match summand {
                        Summand::Residual(_) => weight * (way - distance),
                        Summand::Product(_) => weight * way,
                        Summand::Weight => weight,
                    };
                    sums[to] += value;
                    total += value;
                }
                sums[run.own] += total;
                sums[run.above] -= 2.0 * total;
            });
            sums
        });
        let partial: Vec<Vec<f64>> = partial.collect();
        let mut sums = vec![0.0; n];
        for part in &partial {
            sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        for place in (0..n).rev() {
            let up = self.parent[place] as usize;
            if up != place {
                sums[up] += sums[place];
            } else {
                sums[place] = 0.0;
            }
        }
        sums
    }

    /// Sums of weighted squared residuals and of weights.
    fn squares(&self, lengths: &[f64]) -> (f64, f64) {
        let depth = self.depths(lengths);
        let partial = (0..self.parts.len()).into_par_iter().map(|part| {
            let (mut sum, mut weights) = (0.0, 0.0);
            self.for_each(part, |run| {
                let depth_of_rest = depth[run.own] - 2.0 * depth[run.above];
                for (to, distance, weight) in run.pairs() {
                    sum += weight * (depth_of_rest + depth[to] - distance).powi(2);
                    weights += weight;
                }
            });
            (sum, weights)
        });
        let partial: Vec<(f64, f64)> = partial.collect();
        partial.iter().fold((0.0, 0.0), |(sum, weights), part| (sum + part.0, weights + part.1))
    }
}

struct Solution {
    lengths: Vec<f64>,
    iterations: usize,
    /// Norm of the projected gradient over that of the right-hand side.
    gradient: f64,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The problem in variables `y = √h · length`, h the diagonal of the normal matrix.
struct Scaled<'a> {
    pairs: &'a Pairs<'a>,
    /// 1/√h, 0 for edges that no pair crosses.
    scale: Vec<f64>,
}

impl Scaled<'_> {
    fn lengths(&self, y: &[f64]) -> Vec<f64> {
        y.iter().zip(&self.scale).map(|(y, scale)| y * scale).collect()
    }

    fn scaled(&self, mut sums: Vec<f64>) -> Vec<f64> {
        sums.iter_mut().zip(&self.scale).for_each(|(sum, scale)| *sum *= scale);
        sums
    }

    fn gradient(&self, y: &[f64]) -> Vec<f64> {
        self.scaled(self.pairs.crossing(Summand::Residual(&self.lengths(y))))
    }

    fn product(&self, y: &[f64]) -> Vec<f64> {
        self.scaled(self.pairs.crossing(Summand::Product(&self.lengths(y))))
    }

    /// The largest eigenvalue of the normal matrix, nearly, by the power method.
    fn largest_eigenvalue(&self, steps: usize) -> f64 {
        let mut vector: Vec<f64> = self.scale.iter().map(|scale| f64::from(u8::from(*scale > 0.0))).collect();
        let mut value = 1.0;
        for _ in 0..steps {
            let norm = dot(&vector, &vector).sqrt();
            if norm <= 0.0 {
                break;
            }
            vector.iter_mut().for_each(|it| *it /= norm);
            vector = self.product(&vector);
            value = dot(&vector, &vector).sqrt();
        }
        value.max(1e-300)
    }
}

/// The free gradient (where the variable is above 0) and the part of it at the bound that points inwards.
fn split_gradient(y: &[f64], gradient: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let free = y.iter().zip(gradient).map(|(y, g)| if *y > 0.0 { *g } else { 0.0 }).collect();
    let chopped = y.iter().zip(gradient).map(|(y, g)| if *y > 0.0 { 0.0 } else { g.min(0.0) }).collect();
    (free, chopped)
}

fn solve(pairs: &Pairs<'_>, most: usize, exact: f64, observer: &dyn Observer) -> Result<Solution> {
    let diagonal = pairs.crossing(Summand::Weight);
    let scale = diagonal.iter().map(|h| if *h > 1e-280 { h.sqrt().recip() } else { 0.0 }).collect();
    let scaled = Scaled { pairs, scale };
    let n = diagonal.len();
    let zero = vec![0.0; n];
    let right = scaled.gradient(&zero);
    let norm = dot(&right, &right).sqrt();
    let keep = |lengths: Vec<f64>| -> Vec<f64> {
        let known = scaled.scale.iter().zip(&pairs.given);
        lengths.iter().zip(known).map(|(length, (scale, given))| if *scale > 0.0 { *length } else { *given }).collect()
    };
    if norm.is_nan() || norm <= 0.0 {
        return Ok(Solution { lengths: keep(zero), iterations: 2, gradient: 0.0 });
    }
    let root = |scale: &f64| if *scale > 0.0 { scale.recip() } else { 0.0 };
    let mut y: Vec<f64> = pairs.given.iter().zip(&scaled.scale).map(|(length, scale)| length * root(scale)).collect();
    let mut gradient = scaled.gradient(&y);
    let step = 1.0 / (1.1 * scaled.largest_eigenvalue(6));
    let (mut free, mut chopped) = split_gradient(&y, &gradient);
    let mut direction = free.clone();
    let mut iterations = 10;
    let size = |free: &[f64], chopped: &[f64]| (dot(free, free) + dot(chopped, chopped)).sqrt() / norm;
    while iterations < most && size(&free, &chopped) > exact {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        observer.progress(iterations as u64);
        let reduced: f64 = free.iter().zip(&y).map(|(free, y)| free * free.min(y / step)).sum();
        if dot(&chopped, &chopped) > reduced {
            // Too much is left at the bounds: those that want to leave them do.
            let product = scaled.product(&chopped);
            let curvature = dot(&chopped, &product);
            iterations += 1;
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let along = dot(&gradient, &chopped) / curvature;
            y.iter_mut().zip(&chopped).for_each(|(y, d)| *y -= along * d);
            gradient.iter_mut().zip(&product).for_each(|(g, h)| *g -= along * h);
            (free, chopped) = split_gradient(&y, &gradient);
            direction.clone_from(&free);
            continue;
        }
        let product = scaled.product(&direction);
        let curvature = dot(&direction, &product);
        iterations += 1;
        if curvature.is_nan() || curvature <= 0.0 {
            break;
        }
        let along = dot(&gradient, &direction) / curvature;
        let room = y.iter().zip(&direction).filter(|(_, d)| **d > 0.0).map(|(y, d)| y / d).fold(f64::INFINITY, f64::min);
        if along <= room {
            y.iter_mut().zip(&direction).for_each(|(y, d)| *y = (*y - along * d).max(0.0));
            gradient.iter_mut().zip(&product).for_each(|(g, h)| *g -= along * h);
            if iterations.is_multiple_of(64) {
                gradient = scaled.gradient(&y);
                iterations += 1;
            }
            (free, chopped) = split_gradient(&y, &gradient);
            let turn = dot(&free, &product) / curvature;
            direction.iter_mut().zip(&free).for_each(|(d, free)| *d = free - turn * *d);
        } else {
            // To the bound, and from there one projected step of the plain gradient, which fixes many bounds at once.
            y.iter_mut().zip(&direction).for_each(|(y, d)| *y = (*y - room * d).max(0.0));
            gradient.iter_mut().zip(&product).for_each(|(g, h)| *g -= room * h);
            (free, _) = split_gradient(&y, &gradient);
            y.iter_mut().zip(&free).for_each(|(y, g)| *y = (*y - step * g).max(0.0));
            gradient = scaled.gradient(&y);
            iterations += 1;
            (free, chopped) = split_gradient(&y, &gradient);
            direction.clone_from(&free);
        }
    }
    let gradient = size(&free, &chopped);
    Ok(Solution { lengths: keep(scaled.lengths(&y)), iterations, gradient })
}

#[cfg(test)]
mod tests;
