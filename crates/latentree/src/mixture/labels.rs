//! The component of each row.

use super::fitted::MixtureModel;
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::inference::Inference;
use crate::observer::Observer;

/// The most probable component of each row.
///
/// # Errors
/// Any error from reading the rows, and [`Error::Cancelled`].
pub fn labels(model: &MixtureModel, rows: &dyn Rows, seed: u64, observer: &dyn Observer) -> Result<Vec<usize>> {
    let mut source = rows.open()?;
    let mut labels = Vec::new();
    let inference = match model {
        MixtureModel::Star(model) => Some((Inference::new(model), model.rooted().roots[0])),
        MixtureModel::Topics(_) => None,
    };
    observer.stage("labels", rows.n_rows_hint());
    while let Some(batch) = source.next_batch()? {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        match (model, &inference) {
            (MixtureModel::Topics(model), _) => {
                let shares = model.shares(&batch, seed);
                labels.extend(shares.chunks_exact(model.n_topics()).map(largest));
            }
            (_, Some((inference, root))) => {
                let posterior = inference.posterior(&batch, &[*root])?;
                labels.extend((0..batch.n_rows).map(|row| largest(posterior.row(row))));
            }
            _ => unreachable!("a star has its inference"),
        }
        observer.progress(labels.len() as u64);
    }
    Ok(labels)
}

/// Index of the largest value, the first one in case of ties; 0 if all values are NaN.
fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best })
}
