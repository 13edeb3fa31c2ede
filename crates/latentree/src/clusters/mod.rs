//! Hierarchical clustering by moments: rows are split in two, and each side is split again.
//!
//! A split fits two components to the moments of its rows, even if there are more: it takes the two leading directions of the
//! second moment and, in their plane, the rotation that makes all slices of the third moment as diagonal as possible, in
//! closed form ([`two_component_angle`](crate::tensor::two_component_angle)). The slices run over all features; the third
//! index is not whitened (Ruffini 2019, eq. 5.7).
//!
//! - [`SplitMethod::Alignment`] (`d-sidiwo`, Algorithm 5): each row goes to the direction it is more aligned with. Uses raw
//!   moments and no model. If there are continuous columns, rows are centred at the mean of the node and a constant is added
//!   as one more feature, so that the origin of the numbers does not matter; each of the leading directions of the covariance
//!   is refined by EM, and the split with the largest gain is taken.
//! - [`SplitMethod::Model`] (`sidiwo`, Algorithm 4): the directions are pseudo-centres of a mixture of two components, and
//!   each row goes to the more probable one.
//!
//! EM may refine the two sides of each split (§6.3). Each inner node keeps its rule, so that new rows are assigned the same
//! way. For two components, eq. 5.7 is a single norm, and its minimum is that of the sum of squares; for more components, the
//! Jacobi method of [`Decomposition::Sidiwo`](crate::tensor::Decomposition::Sidiwo) minimises the sum of squares, not the sum
//! of norms in eq. 5.7.

mod centres;
mod learn;
mod options;
mod split;
mod table;
#[cfg(test)]
mod tests;

pub use learn::{ClusterFit, fit_clusters};
pub use options::{ClusterOptions, Extent, SplitMethod};
