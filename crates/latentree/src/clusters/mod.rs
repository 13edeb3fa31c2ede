//! Hierarchies of clusters by moments: rows are split in two, and each side again.
//!
//! A split asks the moments of its rows for two components, whether there are two or more: the best two directions of the
//! second moment, and in them the rotation that makes all slices of the third as diagonal as possible, in closed form
//! ([`two_component_angle`](crate::tensor::two_component_angle)). Slices keep all features, unwhitened in the third index
//! (Ruffini 2019, eq. 5.7).
//!
//! - [`SplitMethod::Alignment`] (`d-sidiwo`, Algorithm 5): rows go to the direction they are more aligned with. Raw moments,
//!   no model. Where there are continuous columns, rows are measured from the mean of the node, with a constant as one more
//!   feature, so that the origin of the numbers does not matter; each of the leading directions of the covariance is refined
//!   by EM, and the split that gains most is taken.
//! - [`SplitMethod::Model`] (`sidiwo`, Algorithm 4): the directions are pseudo-centres of a mixture of two, and rows go to
//!   the more probable one.
//!
//! EM may refine the two sides of each split (§6.3). Every inner node keeps its rule, so that new rows are assigned as the
//! old ones were. For two components eq. 5.7 is one norm, and its minimum that of the sum of squares; for more the Jacobi
//! method of [`Decomposition::Sidiwo`](crate::tensor::Decomposition::Sidiwo) minimises the sum of squares, not eq. 5.7's sum
//! of norms.

mod centres;
mod learn;
mod options;
mod split;
mod table;
#[cfg(test)]
mod tests;

pub use learn::{ClusterFit, fit_clusters};
pub use options::{ClusterOptions, Extent, SplitMethod};
