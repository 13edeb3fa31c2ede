//! Stage 3, distance: additive information distances between variables.
//!
//! Along a latent tree the information distance of two variables is the sum of the distances of the edges between them
//! (Choi et al. 2011, §3; Huang et al. 2020, Def. 4.1). A pair that the data say nothing about has *no* distance, which is not a large
//! one.

mod matrix;

pub use matrix::DistanceMatrix;
