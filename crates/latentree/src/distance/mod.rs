//! Distance: additive information distances between variables.
//!
//! Along a latent tree, the information distance between two variables is the sum of the lengths of the edges between them
//! (Choi et al. 2011, §3; Huang et al. 2020, Def. 4.1). A pair about which the data contain no information has *no* distance, as
//! opposed to a large one.
//!
//! [`estimate`] computes a [`DistanceMatrix`] from pair moments with one of the [`Estimator`]s. [`DistanceMatrix::read`] and
//! [`write`](DistanceMatrix::write) load and store it.

mod correlations;
mod determinants;
mod estimate;
mod estimator;
mod features;
mod file;
mod from_rows;
mod judge;
mod matrix;
mod near;
mod table;
#[cfg(test)]
mod tests;
mod variable;

pub use crate::coordinates::FoundCoordinates;
pub use correlations::from_correlations;
pub use determinants::determinants;
pub use estimate::{choose_estimator, estimate};
pub use estimator::{DistanceOptions, Estimator};
pub use file::check_distances_path;
pub use from_rows::{RowMoments, from_rows, moments_for, pair_moments};
pub(crate) use from_rows::{bins_for, fold_for};
pub use matrix::DistanceMatrix;
