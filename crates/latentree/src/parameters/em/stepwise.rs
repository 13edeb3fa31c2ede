//! A step after every batch (Cappé and Moulines 2009): `n ← (1 − η_t) n + η_t (W / w_b) n_b`, `η_t = (t + 2)^−exponent`, with `n_b` the
//! expected counts of batch `b` of weight `w_b`, and `W` the weight of all rows.

use std::sync::Arc;

use super::ExpectedCounts;
use super::maximise::Smoothing;
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::inference::emission_size;
use crate::model::{Distribution, Emission, Family, LatentTree};
use crate::moments::Accumulator as _;
use crate::observer::Observer;

/// Steps from full counts through all batches, `passes` times.
pub(super) fn run(
    start: &ExpectedCounts,
    rows: &dyn Rows,
    smoothing: &Smoothing,
    passes: usize,
    exponent: f64,
    observer: &dyn Observer,
) -> Result<Arc<LatentTree>> {
    if start.model.family() == Family::Gaussian {
        return Err(Error::option("stepwise", "is not for Gaussian trees; their complete tables become a covariance matrix"));
    }
    let weight = start.weight();
    let mut average = start.clone();
    let mut model = Arc::clone(&start.model);
    let mut step = 0_u32;
    for _ in 0..passes {
        let mut source = rows.open()?;
        while let Some(batch) = source.next_batch()? {
            if observer.cancelled() {
                return Err(Error::Cancelled);
            }
            let mut counts = ExpectedCounts::new(Arc::clone(&model));
            counts.observe(&batch)?;
            if counts.weight() <= 0.0 {
                continue;
            }
            let rate = f64::from(step + 2).powf(-exponent);
            step += 1;
            recentre(&mut counts, &average.layout.shifts);
            let scale = rate * weight / counts.weight();
            for (own, new) in average.sums.counts.iter_mut().zip(&counts.sums.counts) {
                *own = (1.0 - rate) * *own + scale * new;
            }
            model = Arc::new(average.maximise(smoothing)?);
            average.model = Arc::clone(&model);
        }
    }
    Ok(model)
}

/// Measures the sums of continuous leaves from other shifts.
fn recentre(counts: &mut ExpectedCounts, shifts: &[f64]) {
    let model = Arc::clone(&counts.model);
    for node in model.tree().node_ixs() {
        let (Distribution::Emission(emission), Some(variable)) = (model.distribution(node), model.variable(node)) else {
            continue;
        };
        let columns = &model.schema().variable(variable).columns;
        let members: Vec<&Emission> = match emission {
            Emission::Group(members) => members.iter().collect(),
            single => vec![single],
        };
        let mut at = counts.layout.range(node).start;
        for (member, column) in members.into_iter().zip(columns) {
            let size = emission_size(member);
            if matches!(member, Emission::Gaussian { .. }) {
                let moved = counts.layout.shifts[column.get()] - shifts[column.get()];
                for sums in counts.sums.counts[at..at + size].chunks_exact_mut(3) {
                    sums[2] += 2.0 * moved * sums[1] + moved * moved * sums[0];
                    sums[1] += moved * sums[0];
                }
            }
            at += size;
        }
    }
}
