//! Spectral inference: queries on observed columns without hidden parameters.
//!
//! In a latent tree, all dependence between a branch of a hidden node and the rest passes through the node's k states. A
//! summary of the branch by k numbers that distinguishes the states is therefore as informative as the branch itself.
//! [`spectral`] finds such summaries in one pass over the rows, and their moments in another: for the two sides of each edge,
//! and for the three branches of each hidden node. Products of these moments and of inverses of the pair moments are
//! probabilities of the observed columns (Parikh, Song and Xing, *A spectral algorithm for latent tree graphical models*,
//! 2011). The method needs no starting values and does not recover hidden states.
//!
//! The first number of each summary is 1, so all estimates sum to 1, and all single marginals are those of the data.
//!
//! # Example
//! ```
//! use latentree::Silent;
//! use latentree::inference::Inference;
//! use latentree::simulate::{ParameterFamily, Shape, Simulation};
//! use latentree::spectral::{Evaluator, SpectralOptions, spectral};
//! let family = ParameterFamily::Categorical { states: 4, hidden_states: 2, separation: 0.8 };
//! let truth = Simulation::new(Shape::Star, 6).family(family).model()?;
//! let rows = Inference::new(&truth).sample(20_000, 0)?;
//! let fit = spectral(truth.tree(), &mut rows.source(), &SpectralOptions::new(Some(2)), &Silent)?;
//! let score = Evaluator::new(&fit.model).score(&mut rows.source(), &Silent, |_, _| Ok(()))?;
//! let by_truth = Inference::new(&truth).score(&mut rows.source(), &Silent, |_, _| Ok(()))?;
//! assert!((score.mean_log_likelihood() - by_truth.mean_log_likelihood()).abs() < 0.01);
//! # Ok::<(), latentree::Error>(())
//! ```

mod estimate;
mod evaluate;
mod hierarchical;
mod labels;
mod linkers;
mod messages;
mod model;
mod network;
pub(crate) mod pair_tables;
pub(crate) mod patterns;
mod plan;
mod quick;
mod step;
#[cfg(test)]
mod tests;
pub(crate) mod triples;

pub use estimate::{SpectralFit, SpectralOptions, spectral};
pub use evaluate::{Evaluator, RowScores, SpectralAnswer, SpectralImputation, SpectralScore};
pub use hierarchical::hierarchical;
pub use linkers::Linkers;
pub(crate) use linkers::Summary;
pub(crate) use model::Parts;
pub use model::{SpectralEdge, SpectralMethod, SpectralModel};
