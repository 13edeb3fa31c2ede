//! Model selection: the tree and the numbers of states.
//!
//! - [`by_bic`] searches trees and numbers of states by the Bayesian information criterion, for a model that explains the
//!   data with few parameters;
//! - [`by_validation`] chooses among candidates by the likelihood of held-out rows, for a model that predicts well. The two
//!   criteria favour different models;
//! - [`scored_candidates`] lists what Chow–Liu grouping could add to the Chow–Liu tree, with gains of BIC, for a rule or a
//!   person to choose from.

mod islands;
mod options;
mod regularised;
mod search;
mod shape;
mod states;
mod surgery;
#[cfg(test)]
mod tests;
mod validation;

pub use options::{Criterion, Effort, SelectionOptions};
pub use regularised::{Candidates, LocalLearner, ScoredCandidate, scored_candidates};
pub use search::{BicSearch, by_bic, improved, levels};
pub use states::states_by_bic;
pub use validation::{CandidateScore, FIRST_STATES, MOST_WORK, Selected, ValidationSearch, by_validation};
