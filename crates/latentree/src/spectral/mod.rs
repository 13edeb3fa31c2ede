//! Spectral inference: answers about observed columns without hidden parameters.
//!
//! In a latent tree, what a branch of a hidden node has to say about the rest passes through the node's k states. A summary of
//! the branch by k numbers that tells the states apart therefore says as much as the branch itself. [`spectral`] finds such
//! summaries by one pass over the rows, and their moments by another: of the two sides of every edge, and of the three branches
//! of every hidden node. Products of these moments and of inverses of the pairs are probabilities of the observed columns
//! (Parikh, Song and Xing, *A spectral algorithm for latent tree graphical models*, 2011). No starts are needed and no hidden
//! states are found.
//!
//! The first number of every summary is 1, so all estimates sum to 1, and all single marginals are those of the data.
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
