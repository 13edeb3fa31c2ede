//! The local executor: a pass on the cores of this machine.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::prelude::*;

use super::Accumulator;
use crate::data::{Batch, BatchSource};
use crate::error::{Error, Result};
use crate::observer::Observer;

/// Batches read ahead of the one being observed when there is one lane.
const READ_AHEAD: usize = 2;

/// Folds what is left of a source into an accumulator, on the current rayon pool. Rows that are [elsewhere](crate::data::Remote) are sent the
/// accumulator instead.
///
/// A thread of its own reads ahead while batches are observed. With one lane batches are observed in their order, and the
/// accumulator is parallel inside; with more, batch `i` goes to lane `i mod lanes`, lanes are observed in parallel and merged
/// in the order of lanes. Both orders follow from the batches alone, so the result has the same bytes at any number of
/// threads. Memory does not grow with the number of rows: at most two rounds of batches are held.
///
/// The observer hears the number of rows done; the caller has announced the stage, with
/// [`n_rows_hint`](BatchSource::n_rows_hint) as its total.
///
/// # Errors
/// Those of the source and of the accumulator, and [`Error::Cancelled`].
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use latentree::data::{ColumnData, Dataset, Kind, Schema};
/// use latentree::moments::{PairMoments, fold};
/// use latentree::{ColIx, Silent};
/// let schema = Arc::new(Schema::builder().scalar("a", Kind::binary()).scalar("b", Kind::binary()).build()?);
/// let columns = vec![ColumnData::Codes8(vec![0, 1, 1, 0]), ColumnData::Codes8(vec![0, 1, 0, 0])];
/// let data = Dataset::from_columns(Arc::clone(&schema), columns, None)?;
/// let moments = fold(&mut data.source(), PairMoments::new(schema)?, &Silent)?;
/// assert_eq!(moments.table(ColIx::new(0), ColIx::new(1)), Some(vec![2.0, 0.0, 1.0, 1.0]));
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn fold<A: Accumulator>(source: &mut dyn BatchSource, accumulator: A, observer: &dyn Observer) -> Result<A> {
    if let Some(remote) = source.remote() {
        let answer = super::wire::answered(remote, &accumulator, source)?;
        return if observer.cancelled() { Err(Error::Cancelled) } else { Ok(answer) };
    }
    let lanes = accumulator.lanes().max(1);
    let (sender, receiver) = sync_channel::<Result<Arc<Batch>>>(if lanes == 1 { READ_AHEAD } else { lanes });
    std::thread::scope(|scope| {
        scope.spawn(move || {
            loop {
                let message = match source.next_batch() {
                    Ok(None) => return,
                    Ok(Some(batch)) => Ok(batch),
                    Err(error) => Err(error),
                };
                let last = message.is_err();
                // Sending fails when the fold has stopped early: nobody waits for more.
                if sender.send(message).is_err() || last {
                    return;
                }
            }
        });
        // The receiver moves in so that it is gone, and the reader freed, when this returns early.
        if lanes == 1 { in_order(receiver, accumulator, observer) } else { in_lanes(receiver, accumulator, lanes, observer) }
    })
}

fn in_order<A: Accumulator>(batches: Receiver<Result<Arc<Batch>>>, mut accumulator: A, observer: &dyn Observer) -> Result<A> {
    let mut done = 0;
    for batch in batches {
        let batch = batch?;
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        accumulator.observe(&batch)?;
        done += batch.n_rows as u64;
        observer.progress(done);
    }
    accumulator.settle();
    if observer.cancelled() { Err(Error::Cancelled) } else { Ok(accumulator) }
}

fn in_lanes<A: Accumulator>(
    batches: Receiver<Result<Arc<Batch>>>,
    accumulator: A,
    n_lanes: usize,
    observer: &dyn Observer,
) -> Result<A> {
    let mut done = 0;
    let mut lanes = vec![accumulator];
    loop {
        let round = batches.iter().take(n_lanes).collect::<Result<Vec<_>>>()?;
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        while lanes.len() < round.len() {
            lanes.push(lanes[0].empty());
        }
        let results: Vec<Result<()>> = lanes.par_iter_mut().zip(&round).map(|(lane, batch)| lane.observe(batch)).collect();
        results.into_iter().collect::<Result<()>>()?;
        done += round.iter().map(|batch| batch.n_rows as u64).sum::<u64>();
        observer.progress(done);
        if round.len() < n_lanes {
            break;
        }
    }
    lanes.par_iter_mut().for_each(Accumulator::settle);
    let mut lanes = lanes.into_iter();
    let mut whole = lanes.next().expect("there is at least one lane");
    lanes.try_for_each(|lane| whole.merge(lane))?;
    Ok(whole)
}
