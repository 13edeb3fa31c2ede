//! A pass over the rows: third moments of the summaries around every hidden node.
//!
//! With `d = a − a₀`, where `a₀` are the summaries of a row of zeros, the pass sums `w d₁ d₂ d₃` for every triple of a hidden node:
//! its three views, and a view with two parts of another. A non-zero cell changes the few summaries that its column is in, and all
//! other numbers of d are exactly zero: a sparse row costs its non-zero cells times the summaries of each. Second moments, which
//! are known from pairs, turn the sums into moments of `t = d + c`:
//!
//! `E[t₁t₂t₃] = E[d₁d₂d₃] + c₁E[d₂d₃] + c₂E[d₁d₃] + c₃E[d₁d₂] + c₁c₂E[d₃] + c₁c₃E[d₂] + c₂c₃E[d₁] + c₁c₂c₃`.
//!
//! Where zeros are far from the mean of a column, its digits would be lost in the difference: d is then a itself.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::branches::Views;
use super::summaries::{Summaries, SummaryPlan};
use crate::data::{Batch, Block, SparseRows};
use crate::error::Result;
use crate::moments::sums::{from_bytes, mismatch, to_bytes};
use crate::moments::{Accumulator, Sums};

/// Standard deviations that zeros may be from the mean: the cube is lost in precision.
pub(super) const FARTHEST_ZERO: f64 = 256.0;
/// More parts than a hidden node's branches are in.
const MOST_PARTS: usize = 8;
/// Sparse rows that a thread adds at once.
const ROWS_OF_A_PART: usize = 1024;

/// A triple of a hidden node: for each of three sums and each state but one, the places in `a` that are added up.
pub(super) type Triple = [Vec<Vec<usize>>; 3];

/// The triples of a hidden node, that of its views first.
pub(super) fn triples(views: &Views) -> Vec<Triple> {
    let r = views.n_states - 1;
    let of_parts =
        |parts: &[usize]| -> Vec<Vec<usize>> { (0..r).map(|c| parts.iter().map(|part| 1 + part * r + c).collect()).collect() };
    let of_view =
        |view: usize| of_parts(&(0..views.view_of.len()).filter(|&part| views.view_of[part] == view).collect::<Vec<_>>());
    let main = [of_view(0), of_view(1), of_view(2)];
    let extra = views.extra.iter().map(|&(view, b, c)| [of_view(view), of_parts(&[b]), of_parts(&[c])]);
    std::iter::once(main).chain(extra).collect()
}

/// The second moment of two sums of places in `a`.
pub(super) fn pair(second: &[f64], width: usize, a: &[usize], b: &[usize]) -> f64 {
    a.iter().flat_map(|&i| b.iter().map(move |&j| second[i * width + j])).sum()
}

/// Third moments of the summaries, as [`Summaries`] has them, from their second moments and the mean products of d.
pub(super) fn thirds(plan: &SummaryPlan, ix: usize, second: &[f64], products: &[f64]) -> Vec<f64> {
    let (views, width) = (&plan.plan.views[ix], plan.width(ix));
    let (k, origin) = (views.n_states, origin(plan, ix));
    let mean = |sum: &[usize]| pair(second, width, &[0], sum);
    let shift = |sum: &[usize]| sum.iter().map(|&place| origin[place]).sum::<f64>();
    let about = |a: &[usize], b: &[usize]| {
        let (x, y) = (shift(a), shift(b));
        pair(second, width, a, b) - x * mean(b) - y * mean(a) + x * y
    };
    let mut products = products.iter();
    let mut cells = Vec::new();
    for triple in triples(views) {
        for at in 0..k * k * k {
            // Index 0 is the constant: such cells are moments of fewer summaries.
            let index = [at / (k * k), at / k % k, at % k];
            let used: Vec<&[usize]> =
                triple.iter().zip(index).filter(|it| it.1 > 0).map(|(sums, it)| &sums[it - 1][..]).collect();
            cells.push(match used[..] {
                [] => 1.0,
                [a] => mean(a),
                [a, b] => pair(second, width, a, b),
                _ => {
                    let c = [0, 1, 2].map(|view| shift(used[view]));
                    let two = [(0, 1, 2), (1, 0, 2), (2, 0, 1)].map(|(i, j, l)| c[i] * about(used[j], used[l]));
                    let one = [(0, 1, 2), (0, 2, 1), (1, 2, 0)].map(|(i, j, l)| c[i] * c[j] * (mean(used[l]) - c[l]));
                    let product = products.next().expect("the pass has a sum for each cell");
                    product + two.iter().sum::<f64>() + one.iter().sum::<f64>() + c.iter().product::<f64>()
                }
            });
        }
    }
    cells
}

/// `a₀` of a hidden node, with zero for the constant.
fn origin(plan: &SummaryPlan, ix: usize) -> Vec<f64> {
    let zeros = plan.plan.coordinates.of_zeros();
    if !zeros.iter().all(|coordinate| coordinate.abs() <= FARTHEST_ZERO) {
        return vec![0.0; plan.width(ix)];
    }
    let mut origin = Summaries::summaries(plan, ix, zeros);
    origin[0] = 0.0;
    origin
}

/// Which numbers of d a coordinate is in.
#[derive(Debug, Clone, Copy)]
struct Target {
    weight: f64,
    /// The number among those of all hidden nodes.
    at: u32,
    /// Which of the views, times [`MOST_PARTS`], and which of its parts.
    part: u32,
}

/// The plan as sparse rows need it: by coordinate instead of by hidden node.
#[derive(Debug)]
struct Targets {
    targets: Vec<Target>,
    /// Where those of each coordinate start, and their number.
    starts: Vec<usize>,
    /// Where the numbers of d of each hidden node start, and their number; the same of their sums.
    numbers: Vec<usize>,
    sums: Vec<usize>,
    /// Whether sparse rows can be taken by their cells: d of a row of zeros is zero.
    by_cells: bool,
}

impl Targets {
    fn new(plan: &SummaryPlan) -> Self {
        let views = &plan.plan.views;
        let n = plan.plan.coordinates.len();
        let (mut numbers, mut sums, mut starts) = (vec![0], vec![0], vec![0; n + 1]);
        for (ix, views) in views.iter().enumerate() {
            let r = views.n_states - 1;
            numbers.push(numbers[ix] + views.view_of.len() * r);
            sums.push(sums[ix] + (1 + views.extra.len()) * r.pow(3));
            views.coordinates.iter().flatten().for_each(|&place| starts[place + 1] += r);
        }
        (0..n).for_each(|place| starts[place + 1] += starts[place]);
        let mut next = starts.clone();
        let mut targets = vec![Target { weight: 0.0, at: 0, part: 0 }; starts[n]];
        for (ix, (views, directions)) in views.iter().zip(&plan.directions).enumerate() {
            let r = views.n_states - 1;
            for (part, (places, weights)) in views.coordinates.iter().zip(directions).enumerate() {
                for (&place, weights) in places.iter().zip(weights.chunks_exact(r)) {
                    for (c, &weight) in weights.iter().enumerate() {
                        let at = (numbers[ix] + part * r + c) as u32;
                        targets[next[place]] = Target { weight, at, part: (ix * MOST_PARTS + part) as u32 };
                        next[place] += 1;
                    }
                }
            }
        }
        let by_cells = plan.plan.coordinates.of_zeros().iter().all(|coordinate| coordinate.abs() <= FARTHEST_ZERO);
        Self { targets, starts, numbers, sums, by_cells }
    }
}

/// The [`Targets`] of a plan, made where they are first needed. They follow from the plan, so that they neither count in
/// comparisons nor travel.
#[derive(Debug, Clone, Default)]
struct SharedTargets(Arc<OnceLock<Targets>>);

impl PartialEq for SharedTargets {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Sums of products of three summaries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SummaryTriples {
    plan: Arc<SummaryPlan>,
    weight: f64,
    /// Of each hidden node those of its triples.
    sums: Vec<Vec<f64>>,
    #[serde(skip)]
    targets: SharedTargets,
}

impl SummaryTriples {
    pub(super) fn new(plan: Arc<SummaryPlan>) -> Self {
        let size = |views: &Views| (1 + views.extra.len()) * (views.n_states - 1).pow(3);
        let sums = plan.plan.views.iter().map(|views| vec![0.0; size(views)]).collect();
        Self { plan, weight: 0.0, sums, targets: SharedTargets::default() }
    }

    /// The sums of some sparse rows, one after the other.
    fn of_cells(
        plan: &SummaryPlan,
        targets: &Targets,
        batch: &Batch,
        rows: &SparseRows,
        part: std::ops::Range<usize>,
    ) -> Vec<f64> {
        let mut sums = vec![0.0; targets.sums[plan.plan.views.len()]];
        let mut numbers = vec![0.0; targets.numbers[plan.plan.views.len()]];
        // The parts of each hidden node that the row has changed.
        let mut parts = vec![0_u8; plan.plan.views.len()];
        let (mut changed, mut n_changed) = (vec![0_u32; parts.len() + 1], 0);
        let mut scratch = Vec::new();
        for row in part {
            for (column, value) in rows.row(row) {
                plan.plan.coordinates.beyond_zero(column, value, |place, amount| {
                    for target in &targets.targets[targets.starts[place]..targets.starts[place + 1]] {
                        numbers[target.at as usize] += amount * target.weight;
                        let views = target.part / MOST_PARTS as u32;
                        let parts = &mut parts[views as usize];
                        // Written in any case, and kept if it is the first: without a branch that nothing can foretell.
                        changed[n_changed] = views;
                        n_changed += usize::from(*parts == 0);
                        *parts |= 1 << (target.part % MOST_PARTS as u32);
                    }
                });
            }
            let weight = batch.weight(row);
            for &ix in &changed[..std::mem::take(&mut n_changed)] {
                let ix = ix as usize;
                let own = &mut numbers[targets.numbers[ix]..targets.numbers[ix + 1]];
                // A product needs three parts.
                if std::mem::take(&mut parts[ix]).count_ones() >= 3 {
                    let sums = &mut sums[targets.sums[ix]..targets.sums[ix + 1]];
                    add_products(&plan.plan.views[ix], own, weight, sums, &mut scratch);
                }
                own.fill(0.0);
            }
        }
        sums
    }
}

/// Adds the products of a row's numbers d of one hidden node; `scratch` is any vector.
#[inline]
fn add_products(views: &Views, d: &[f64], weight: f64, sums: &mut [f64], scratch: &mut Vec<f64>) {
    if views.n_states == 2 {
        let mut of_view = [0.0; 3];
        for (&view, x) in views.view_of.iter().zip(d) {
            of_view[view] += x;
        }
        sums[0] += weight * of_view[0] * of_view[1] * of_view[2];
        for (sum, &(view, b, c)) in sums[1..].iter_mut().zip(&views.extra) {
            *sum += weight * of_view[view] * d[b] * d[c];
        }
        return;
    }
    let r = views.n_states - 1;
    scratch.clear();
    scratch.resize(3 * r, 0.0);
    for (&view, part) in views.view_of.iter().zip(d.chunks_exact(r)) {
        scratch[view * r..][..r].iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    let (of_view, of_part) = (|view: usize| &scratch[view * r..][..r], |part: usize| &d[part * r..][..r]);
    let main = (of_view(0), of_view(1), of_view(2));
    let extra = views.extra.iter().map(|&(view, b, c)| (of_view(view), of_part(b), of_part(c)));
    for (sums, (a, b, c)) in sums.chunks_exact_mut(r.pow(3)).zip(std::iter::once(main).chain(extra)) {
        for (plane, x) in sums.chunks_exact_mut(r * r).zip(a) {
            for (line, y) in plane.chunks_exact_mut(r).zip(b) {
                let factor = weight * x * y;
                line.iter_mut().zip(c).for_each(|(sum, z)| *sum += factor * z);
            }
        }
    }
}

impl Accumulator for SummaryTriples {
    /// Mean products, in the order of the nodes, their triples and the states.
    type Output = Vec<Vec<f64>>;

    const NAME: &'static str = "summary-triples";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let shared = self.targets.clone();
        let targets = shared.0.get_or_init(|| Targets::new(&plan));
        match &batch.block {
            Block::Sparse(rows) if targets.by_cells => {
                let starts: Vec<usize> = (0..batch.n_rows).step_by(ROWS_OF_A_PART).collect();
                let of_part = |&start: &usize| {
                    let part = start..(start + ROWS_OF_A_PART).min(batch.n_rows);
                    Self::of_cells(&plan, targets, batch, rows, part)
                };
                let parts: Vec<Vec<f64>> = starts.par_iter().map(of_part).collect();
                for part in parts {
                    self.sums.iter_mut().flatten().zip(part).for_each(|(sum, more)| *sum += more);
                }
            }
            _ => {
                let origins: Vec<Vec<f64>> = (0..plan.plan.views.len()).map(|ix| origin(&plan, ix)).collect();
                plan.plan.strips(batch, |numbers, rows| {
                    self.sums.par_iter_mut().enumerate().for_each(|(ix, sums)| {
                        let mut all = Summaries::summaries(&plan, ix, numbers);
                        let mut scratch = Vec::new();
                        for (row, a) in rows.clone().zip(all.chunks_exact_mut(plan.width(ix))) {
                            a.iter_mut().zip(&origins[ix]).for_each(|(a, zero)| *a -= zero);
                            add_products(&plan.plan.views[ix], &a[1..], batch.weight(row), sums, &mut scratch);
                        }
                    });
                });
            }
        }
        self.weight += (0..batch.n_rows).map(|row| batch.weight(row)).sum::<f64>();
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.plan != other.plan {
            return Err(mismatch());
        }
        self.weight += other.weight;
        self.sums.iter_mut().flatten().zip(other.sums.into_iter().flatten()).for_each(|(own, other)| *own += other);
        Ok(())
    }

    fn empty(&self) -> Self {
        Self { targets: self.targets.clone(), ..Self::new(Arc::clone(&self.plan)) }
    }

    fn visit_sums(&mut self, visit: &mut dyn FnMut(Sums<'_>)) -> Result<()> {
        visit(Sums::Weights(std::slice::from_mut(&mut self.weight)));
        self.sums.iter_mut().for_each(|sums| visit(Sums::Reals(sums)));
        Ok(())
    }

    fn finish(mut self) -> Result<Self::Output> {
        let weight = self.weight.max(f64::MIN_POSITIVE);
        self.sums.iter_mut().flatten().for_each(|sum| *sum /= weight);
        Ok(self.sums)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let triples: Self = from_bytes(bytes)?;
        let fits = triples.sums.iter().map(Vec::len).eq(Self::new(Arc::clone(&triples.plan)).sums.iter().map(Vec::len));
        if fits { Ok(triples) } else { Err(mismatch()) }
    }
}
