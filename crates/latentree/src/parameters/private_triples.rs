//! Tables of yes/no columns from private pairs, and a private pass over triples.
//!
//! For two-valued columns, everything that [`by_moments`](super::by_moments()) collects is a function of pairs, except for the
//! third moments of the summaries around each hidden node. So only these are asked of rows, once, after the pairs. Entries are
//! divided by the size that independent summaries would have, a row's entries together are cut to a Euclidean length, and
//! noise hides that length.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::by_moments::{MomentModel, MomentOptions, Problem};
use super::discrete_tree::discrete_tree;
use super::summaries::{Summaries, SummaryPlan};
use super::summary_triples::{Triple, pair, triples};
use crate::coordinates::{Coordinates, extend_standards};
use crate::data::{Batch, Schema};
use crate::error::{Error, Place, Result};
use crate::index::ColIx;
use crate::linalg::Matrix;
use crate::moments::sums::{from_bytes, mismatch, to_bytes};
use crate::moments::{Accumulator, ColumnSummary, PairMoments, Sums};
use crate::privacy::{Bounds, Noised, Privacy, draws};
use crate::tree::Tree;

/// Units of a sum.
const UNIT: f64 = 1_048_576.0;
/// A row's entries are cut to this many times the length that they would have if they were independent.
const LENGTH: f64 = 4.0;

/// What is summed, and how much noise is added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    schema: Schema,
    bounds: Bounds,
    summary: SummaryPlan,
    /// What each entry is multiplied by.
    scales: Vec<f64>,
    /// The greatest length of a row's entries.
    length: f64,
    /// Standard deviation of the noise of each site.
    sigma: f64,
}

/// Third moments of cut rows, with noise after [`add_noise`](Noised::add_noise).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrivateTriples {
    plan: Arc<Plan>,
    sums: Vec<i64>,
    noises: u64,
    /// Rows that were cut. Never leaves a site.
    cut: u64,
}

/// A tree whose tables need a private pass.
pub(crate) struct PrivateTables<'a> {
    problem: Problem<'a>,
    plan: Arc<SummaryPlan>,
    /// Covariances of the coordinates.
    covariances: Matrix,
    seconds: Vec<Vec<f64>>,
}

/// What private pairs say about each column.
pub(crate) fn column_summaries(moments: &PairMoments) -> Vec<ColumnSummary> {
    let n = moments.total_weight();
    let of = |ix: usize| {
        let levels = moments.level_weights(ColIx::new(ix)).unwrap_or_default();
        ColumnSummary { weight: n, levels, ..ColumnSummary::default() }
    };
    (0..moments.schema().columns().len()).map(of).collect()
}

impl<'a> PrivateTables<'a> {
    /// Plans the pass for a tree of yes/no columns.
    ///
    /// # Errors
    /// [`Error::Tree`] if the tree does not fit the columns.
    pub(crate) fn new(tree: &Tree, moments: &PairMoments, columns: &'a [ColumnSummary], options: &MomentOptions) -> Result<Self> {
        let schema = Arc::clone(moments.schema());
        let mut warnings = Vec::new();
        let tree = discrete_tree(tree, &schema, &mut warnings)?;
        let none = vec![None; schema.variables().len()];
        let coordinates = Coordinates::new(&schema, columns, &none);
        let covariances = covariances(moments, columns);
        let mut problem = Problem::new(tree, schema, columns, coordinates, options)?;
        problem.warnings.splice(0..0, warnings);
        let local = |views: &super::branches::Views| {
            let places: Vec<usize> = views.coordinates.iter().flatten().copied().collect();
            places.iter().flat_map(|&i| places.iter().map(move |&j| (i, j))).map(|(i, j)| covariances[(i, j)]).collect()
        };
        let pairs: Vec<Vec<f64>> = problem.plan.views.iter().map(local).collect();
        let plan = problem.summarise(&pairs, moments.total_weight());
        let seconds = (0..plan.plan.views.len()).map(|ix| cross(&plan, &covariances, ix, ix)).collect();
        Ok(Self { problem, plan, covariances, seconds })
    }

    /// The pass, at this price for each site.
    pub(crate) fn pass(&self, privacy: &Privacy, rho: f64) -> PrivateTriples {
        let mut scales = Vec::new();
        for (ix, second) in self.seconds.iter().enumerate() {
            let of = |sums: &[Vec<usize>]| -> Vec<f64> {
                sums.iter().map(|parts| pair(second, self.plan.width(ix), parts, parts).max(1e-6).sqrt()).collect()
            };
            for triple in triples(&self.plan.plan.views[ix]) {
                let [a, b, c] = triple.map(|sums| of(&sums));
                scales.extend(
                    a.iter()
                        .flat_map(|x| b.iter().flat_map(move |y| [(x, y)]))
                        .flat_map(|(x, y)| c.iter().map(move |z| 1.0 / (x * y * z)).collect::<Vec<_>>()),
                );
            }
        }
        let schema = (*self.problem.schema).clone();
        let bounds = Bounds::new(&schema, privacy);
        let length = LENGTH * (scales.len().max(1) as f64).sqrt();
        let sigma = length / (2.0 * rho).sqrt();
        PrivateTriples::with(Arc::new(Plan { schema, bounds, summary: (*self.plan).clone(), scales, length, sigma }))
    }

    /// The model, from the answer to the pass.
    ///
    /// # Errors
    /// Those of building a model.
    pub(crate) fn model(self, moments: &PairMoments, answer: &PrivateTriples, options: &MomentOptions) -> Result<MomentModel> {
        let n = moments.total_weight();
        let plan = &self.plan;
        let sums = answer.sums.iter().zip(&answer.plan.scales);
        let mut means = sums.map(|(&sum, scale)| sum as f64 / UNIT / scale / n);
        let mut thirds = Vec::new();
        for (ix, second) in self.seconds.iter().enumerate() {
            let (k, width) = (plan.plan.views[ix].n_states, plan.width(ix));
            let mut third = Vec::new();
            for triple in triples(&plan.plan.views[ix]) {
                // Index 0 is the constant: such entries are second moments.
                for at in 0..k * k * k {
                    let index = [at / (k * k), at / k % k, at % k];
                    let used: Vec<&Vec<usize>> =
                        triple.iter().zip(index).filter(|(_, it)| *it > 0).map(|(sums, it)| &sums[it - 1]).collect();
                    third.push(match used[..] {
                        [] => 1.0,
                        [_] => 0.0,
                        [a, b] => pair(second, width, a, b),
                        _ => means.next().unwrap_or(0.0),
                    });
                }
            }
            thirds.push(third);
        }
        let edges = plan.edges.iter().map(|&(a, b)| cross(plan, &self.covariances, a, b)).collect();
        let mut neighbours = Vec::new();
        for it in &plan.neighbours {
            let column = it.features.column;
            let p = moments.mean(ColIx::new(column)).unwrap_or(0.0);
            let deviation = moments.variance(ColIx::new(column)).unwrap_or(0.0).sqrt();
            let mut with: Vec<f64> = vec![p];
            with.extend(plan.combinations(it.views).iter().map(|row| {
                deviation * row.iter().map(|&(place, weight)| weight * self.covariances[(column, place)]).sum::<f64>()
            }));
            neighbours.push(1.0 - p);
            neighbours.extend(with[1..].iter().map(|it| -it));
            neighbours.extend(with);
        }
        let observed = plan.observed.iter().map(|it| {
            let (parent, child) = (ColIx::new(it.parent), ColIx::new(it.features.column));
            let cells = moments.table(parent, child).unwrap_or_default();
            cells.iter().enumerate().map(|(at, &cell)| ((at as u32 / 2, at as u32 % 2), cell.max(0.0))).collect()
        });
        let observed: Vec<BTreeMap<(u32, u32), f64>> = observed.collect();
        let summaries = Summaries::of_known(Arc::clone(plan), n, [self.seconds, thirds, edges], neighbours, observed);
        self.problem.solve(&summaries, options)
    }
}

/// Covariances of the coordinates of yes/no columns, which have variance one.
fn covariances(moments: &PairMoments, columns: &[ColumnSummary]) -> Matrix {
    let schema = moments.schema();
    let scales: Vec<f64> = (columns.iter().zip(schema.columns()))
        .map(|(summary, column)| {
            let mut standards = Vec::new();
            extend_standards(&column.kind, summary, &mut standards);
            standards[0].1
        })
        .collect();
    Matrix::from_fn(columns.len(), columns.len(), |i, j| {
        if i == j {
            return 1.0;
        }
        let covariance = moments.covariance(ColIx::new(i), ColIx::new(j)).unwrap_or(0.0);
        (covariance * scales[i] * scales[j]).clamp(-1.0, 1.0)
    })
}

/// `E[a_h a_gᵀ]` of two hidden nodes.
fn cross(plan: &SummaryPlan, covariances: &Matrix, a: usize, b: usize) -> Vec<f64> {
    let (left, right) = (plan.combinations(a), plan.combinations(b));
    let mut cells = vec![0.0; (left.len() + 1) * (right.len() + 1)];
    cells[0] = 1.0;
    for (i, x) in left.iter().enumerate() {
        for (j, y) in right.iter().enumerate() {
            let terms = x.iter().flat_map(|&(p, u)| y.iter().map(move |&(q, v)| u * v * covariances[(p, q)]));
            cells[(i + 1) * (right.len() + 1) + j + 1] = terms.sum();
        }
    }
    cells
}

impl PrivateTriples {
    fn with(plan: Arc<Plan>) -> Self {
        Self { sums: vec![0; plan.scales.len()], plan, noises: 0, cut: 0 }
    }

    /// The standard deviation of the noise of an entry, of all sites together, in rows of typical size.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.plan.sigma * (self.noises as f64).sqrt()
    }
}

impl Noised for PrivateTriples {
    fn cost(&self) -> f64 {
        self.plan.length.powi(2) / (2.0 * self.plan.sigma.powi(2))
    }

    fn add_noise(&mut self) -> Result<u64> {
        let noise = draws(self.plan.sigma * UNIT, self.sums.len())?;
        self.sums.iter_mut().zip(noise).for_each(|(sum, noise)| *sum = sum.wrapping_add(noise));
        self.noises += 1;
        Ok(std::mem::take(&mut self.cut))
    }
}

impl Accumulator for PrivateTriples {
    type Output = Self;

    const NAME: &'static str = "private-triples";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        if batch.weights.is_some() {
            return Err(Error::option("read.weights", "private runs take rows without weights"));
        }
        let plan = Arc::clone(&self.plan);
        let cut = plan.bounds.cut(&plan.schema, batch);
        let all: Vec<Vec<Triple>> = plan.summary.plan.views.iter().map(triples).collect();
        let mut entries = vec![0.0; plan.scales.len()];
        plan.summary.plan.strips(&cut, |numbers, rows| {
            let summaries: Vec<Vec<f64>> = (0..all.len()).map(|ix| Summaries::summaries(&plan.summary, ix, numbers)).collect();
            for row in 0..rows.len() {
                let mut next = entries.iter_mut();
                for (ix, triples) in all.iter().enumerate() {
                    let width = plan.summary.width(ix);
                    let a = &summaries[ix][row * width..(row + 1) * width];
                    let sum = |places: &Vec<usize>| places.iter().map(|&place| a[place]).sum::<f64>();
                    for [x, y, z] in triples {
                        for x in x.iter().map(sum) {
                            for y in y.iter().map(sum) {
                                for z in z.iter().map(sum) {
                                    if let Some(entry) = next.next() {
                                        *entry = x * y * z;
                                    }
                                }
                            }
                        }
                    }
                }
                entries.iter_mut().zip(&plan.scales).for_each(|(entry, scale)| *entry *= scale);
                let length = entries.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
                let factor = if length > plan.length { plan.length / length } else { 1.0 };
                self.cut += u64::from(length > plan.length);
                // Cut towards 0, so that the length stays within its bound.
                let units = entries.iter().map(|entry| (entry * factor * UNIT).trunc() as i64);
                self.sums.iter_mut().zip(units).for_each(|(sum, unit)| *sum += unit);
            }
        });
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(mismatch());
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(own, other)| *own += other);
        self.noises += other.noises;
        self.cut += other.cut;
        Ok(())
    }

    fn empty(&self) -> Self {
        Self::with(Arc::clone(&self.plan))
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        visit(Sums::LongCounts(std::slice::from_mut(&mut self.noises)));
        visit(Sums::Noisy(&mut self.sums));
        Ok(())
    }

    fn finish(self) -> Result<Self> {
        Ok(self)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let triples: Self = from_bytes(bytes)?;
        let plan = &triples.plan;
        let is_sound = plan.scales.len() == triples.sums.len() && plan.sigma > 0.0 && plan.length > 0.0 && plan.sigma.is_finite();
        if !is_sound || plan.bounds.ranges.len() != plan.schema.columns().len() {
            return Err(Error::format(Place::default(), "private triples", "sums, columns and noise do not fit together"));
        }
        Ok(triples)
    }
}
