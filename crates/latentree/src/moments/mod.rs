//! Moments: mergeable statistics of rows.
//!
//! Everything that touches rows is a pass that folds batches into an [`Accumulator`]: observe, merge, finish, and bytes in
//! and out. [`fold`] runs a pass on the cores of this machine; on a cluster the same accumulator runs per partition and its
//! bytes are merged; in a federation each site sends only its accumulator. What comes after never sees where rows live.
//!
//! [`PairMoments`] holds the first and second moments of all columns: enough for every distance and structure learner.
//! [`BlockMoments`] keeps those of blocks of rows apart, to draw samples from. [`Summary`] describes each column by itself.

mod accumulator;
mod blocks;
pub(crate) mod chosen_rows;
mod executor;
mod pair;
mod sample;
mod summary;
pub(crate) mod sums;
pub(crate) mod wire;

pub use accumulator::{Accumulator, Sums};
pub use blocks::BlockMoments;
pub use executor::fold;
pub use pair::{PairMoments, PairOptions};
pub use sample::Sample;
pub use summary::{ColumnSummary, Summary};
