//! Learning end to end: from rows, moments or distances to a model and a summary of it.
//!
//! [`LearnOptions`] holds all options, grouped by stage. [`Learning::run`] runs the stages: moments of the rows, a tree
//! ([`structure`](crate::structure)), its parameters ([`parameters`](crate::parameters), [`em`](crate::parameters::em)) and their
//! likelihood. By default, a search ([`selection`](crate::selection)) finds tree and parameters together.
//!
//! # Which parameters
//! | method | continuous columns only | others |
//! | --- | --- | --- |
//! | `auto` | by lengths | by lengths with symmetric distances, else moments and EM |
//! | `distances` | by lengths | by lengths with symmetric distances, else refused |
//! | `moments` | by lengths | by moments |
//! | `em`, `moments+em` | EM of a Gaussian tree | EM from a latent class model, from moments |
//!
//! If a number of hidden states is set, hidden variables are discrete even if all columns are continuous: moments and EM find Gaussian
//! leaves for each state. For more than two states, distances and moments use indicators of quantile bins, because a number by itself
//! distinguishes at most two states.
//!
//! # Order of states
//! The states of hidden variables are sorted at the end, for every method: see
//! [`LatentTree::with_ordered_states`](crate::model::LatentTree::with_ordered_states).
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
mod cautions;
mod learned;
mod learning;
mod model;
mod moments;
mod moments_file;
mod options;
mod parameters;
mod private;
mod recorder;
mod rivals;
mod run;
mod sampled;
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
pub(crate) use private::has_private_triples;
pub use structure::tree_over;

pub use crate::parameters::em::EmStart;
pub use crate::parameters::{HiddenStates, ParameterMethod};
pub use crate::selection::{Criterion, Effort};
