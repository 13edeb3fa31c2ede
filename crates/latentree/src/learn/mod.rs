//! Learning from one end to the other: rows, moments or distances in, a model with all that is to be said about it out.
//!
//! [`LearnOptions`] are all the options, each part with the stage that it belongs to; [`Learning::run`] goes through the stages: moments of the rows, a tree
//! ([`structure`](crate::structure)), its parameters ([`parameters`](crate::parameters), [`em`](crate::parameters::em)) and their likelihood.
//!
//! # Which parameters
//! | method | continuous columns only | others |
//! | --- | --- | --- |
//! | `auto` | by lengths | by lengths with symmetric distances, else moments and EM |
//! | `distances` | by lengths | by lengths with symmetric distances, else refused |
//! | `moments` | by lengths | by moments |
//! | `em`, `moments+em` | EM of a Gaussian tree | EM from a latent class model, from moments |
//!
//! A number of hidden states that is asked for makes hidden variables discrete over continuous columns, too: moments and EM find Gaussian leaves for each state. For more
//! than two states, distances and moments see numbers through the indicators of quantile bins, since a number by itself shows two at most.
//!
//! # Order of states
//! The states of hidden variables are sorted at the end, whatever found them: see [`LatentTree::with_ordered_states`](crate::model::LatentTree::with_ordered_states).
//!
//! # Example
//! ```
//! use latentree::Silent;
//! use latentree::inference::Inference;
//! use latentree::learn::{Learning, Source};
//! use latentree::simulate::{ParameterFamily, Shape, Simulation};
//! let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.8 };
//! let truth = Simulation::new(Shape::Star, 6).family(family).model()?;
//! let rows = Inference::new(&truth).sample(2000, 0)?;
//! let learned = Learning::new().run(Source::Rows(&rows), &Silent)?;
//! assert!(latentree::tree::same_structure(learned.tree(), truth.tree()));
//! let by_truth = Inference::new(&truth).score(&mut rows.source(), &Silent, |_, _| Ok(()))?;
//! assert!(learned.log_likelihood.is_some_and(|value| value > by_truth.log_likelihood));
//! # Ok::<(), latentree::Error>(())
//! ```

mod candidates;
mod learned;
mod learning;
mod model;
mod moments;
mod moments_file;
mod options;
mod parameters;
mod recorder;
mod run;
mod search;
mod spectral;
mod split;
mod splits;
mod structure;
#[cfg(test)]
mod tests;

pub use learned::{Learned, Stage};
pub use learning::{Learning, Source, Validation};
pub use moments_file::MomentsFile;
pub use options::LearnOptions;
pub use structure::tree_over;

pub use crate::parameters::em::EmStart;
pub use crate::parameters::{HiddenStates, ParameterMethod};
pub use crate::selection::{Criterion, Effort};
