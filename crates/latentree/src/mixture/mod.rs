//! Mixtures and topic models by moments: clusters a table in a few passes, with reproducible results.
//!
//! A mixture of k components with independent columns (or documents of k topics) has low-rank second and third moments.
//! Estimating them takes three passes over the rows, each an [`Accumulator`](crate::moments::Accumulator) that streams and
//! merges, and never needs a d×d×d array:
//!
//! 1. a summary of each column ([`Summary`](crate::moments::Summary));
//! 2. the second moment, as a matrix up to 2,000 features and as products with a few vectors above that;
//! 3. the third moment in k whitened coordinates, as a whole or slice by slice.
//!
//! A [decomposition](crate::tensor) yields the components. [`fit_mixture`] turns them into a model: a star
//! [`LatentTree`](crate::model::LatentTree), which supports everything latent trees do, or a
//! [`TopicModel`](crate::model::TopicModel). EM may follow.
//!
//! Reference: Ruffini (2019), "Learning latent variable models", ch. 1–5.

pub(crate) mod bytes;
mod coherence;
mod component_means;
mod document_moves;
mod family;
mod fit;
mod fitted;
mod group_measure;
mod labels;
mod measures;
mod method;
mod moments;
mod options;
pub(crate) mod pair_sums;
mod relevance;
mod stability;
mod star;
#[cfg(test)]
mod tests;
mod topic_em;
pub(crate) mod whitened_sums;

pub(crate) use coherence::WordPairs;
pub use coherence::{COHERENCE_WORDS, WordCoherence, coherence, word_coherence};
pub use component_means::component_means;
pub use family::MixtureFamily;
pub use fit::fit_mixture;
pub use fitted::{MixtureFit, MixtureModel, Tried};
pub use labels::labels;
pub use measures::Agreement;
pub use method::MixtureMethod;
pub use options::{Concentration, MixtureOptions, NumberOfComponents};
pub use relevance::{RELEVANCE_LAMBDA, relevance, relevant_of_star, relevant_of_topics};
pub(crate) use relevance::{own_words_of_star, own_words_of_topics};
pub use stability::stability;
