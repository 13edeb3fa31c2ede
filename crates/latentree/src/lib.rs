//! latentree finds the hidden tree behind a table.
//!
//! ```
//! use latentree::{Evidence, Inference, Learning};
//!
//! // 5,000 simulated patients and 40 diagnoses, with missing cells.
//! let mut table = latentree::open("../../examples/clinic.csv")?;
//! let learned = Learning::new().learn(&mut table)?;
//! assert!(learned.tree().find("h1").is_some());
//!
//! // How probable is diabetes, given two other diagnoses?
//! let model = learned.model().expect("rows give a tree with all its probabilities");
//! let mut evidence = Evidence::none(model);
//! evidence.set(model, "obesity", "1")?;
//! evidence.set(model, "hypertension", "1")?;
//! let answer = Inference::new(model).query(&evidence, &[model.find("type_2_diabetes")?])?;
//! let (_, probabilities) = &answer.marginals[0];
//! assert!((probabilities[1] - 0.55).abs() < 0.05);
//! # Ok::<(), latentree::Error>(())
//! ```
//!
//! [`open`] and [`Learning::learn`] use the defaults. Call [`data::open`] to control how a file is read, and [`Learning::run`] to
//! learn from moments or distances, or to follow and cancel the work through an [`Observer`].
//!
//! # The path of the data
//! Modules follow the path of the data. The types between them are plain and public: they can be saved, printed and fed back in.
//! A module imports only modules before it; `scripts/module_order` checks this.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`data`] | turns a table into batches of typed cells ([`data::Schema`], [`data::Dataset`], readers and writers) |
//! | [`moments`] | turns rows into mergeable statistics ([`moments::PairMoments`]) |
//! | [`privacy`] | adds noise to counts, and keeps account of it |
//! | `coordinates` | reduces variables with many labels to a few numbers |
//! | [`distance`] | turns statistics into additive distances ([`distance::DistanceMatrix`]) |
//! | [`structure`] | turns distances into a tree |
//! | [`model`] | a tree with distributions ([`model::LatentTree`]) |
//! | [`mod@format`] | reads and writes models and trees: JSON, Newick, BIF, XMLBIF, DOT, GraphML, text |
//! | [`inference`] | exact answers, linear in the tree ([`inference::Inference`]) |
//! | [`parameters`] | turns a tree and statistics into a model; [`parameters::em`] fits it to rows by maximum likelihood |
//! | [`mixture`] | turns rows into mixtures and topics by moments |
//! | [`clusters`] | splits rows into a hierarchy by moments |
//! | `patch` | neighbourhoods of hidden nodes as small models, with the messages of the rest |
//! | [`selection`] | chooses the tree and the numbers of states |
//! | [`support`] | says how sure each split is, and takes out those that the data do not support |
//! | [`report`] | goodness of fit, comparisons, the page |
//! | [`learn`] | the whole path in one call |
//! | [`federation`] | the same path across sites that exchange files and no rows |
//! | [`simulate`] | known models, for tests, benches and users |
//!
//! The shared base modules are [`tree`] (an arena tree and its splits), [`linalg`], [`tensor`] (third moments and their
//! components), [`mod@file`], [`limits`], `journal`, `information` (mutual information and BIC), the [`Observer`] and the
//! [`Error`] type.
//!
//! # A known model
//! ```
//! use latentree::simulate::{ParameterFamily, Shape, Simulation};
//! use latentree::{Evidence, Inference};
//!
//! // A known model: one hidden variable with two states behind five binary ones.
//! let family = ParameterFamily::Categorical { states: 2, hidden_states: 2, separation: 0.7 };
//! let model = Simulation::new(Shape::Star, 5).family(family).model()?;
//! let inference = Inference::new(&model);
//!
//! // The posterior of the hidden variable given x1 = 1, and the likelihood of this evidence.
//! let mut evidence = Evidence::none(&model);
//! evidence.set(&model, "x1", "1")?;
//! let answer = inference.query(&evidence, &[model.find("h1")?])?;
//! let prior = inference.query(&Evidence::none(&model), &[model.find("x1")?, model.find("h1")?])?;
//! let probability = prior.marginals[0].1[1];
//! assert!((answer.log_evidence - probability.ln()).abs() < 1e-12);
//! assert!((answer.marginals[0].1[1] - prior.marginals[1].1[1]).abs() > 0.1);
//!
//! // Rows drawn from it: x1 is 1 as often as that. And how probable each of them is.
//! let rows = inference.sample(1000, 0)?;
//! let first = &rows.batches()[0];
//! let share = (0..first.n_rows).filter(|&row| first.number(row, latentree::ColIx::new(0)) == 1.0).count() as f64 / 1000.0;
//! assert!((share - probability).abs() < 0.05);
//! let log_likelihoods = inference.log_likelihood(first)?;
//! assert_eq!(log_likelihoods.len(), 1000);
//! # Ok::<(), latentree::Error>(())
//! ```
//!
//! The library never prints, keeps no global state but the names of its temporary files
//! ([`remove_unfinished`](file::remove_unfinished)), and gives the same bytes for the same seed and data at any number of
//! threads. Progress and cancelling go through an [`Observer`].

pub mod classifier;
pub mod clusters;
mod coordinates;
pub mod data;
pub mod distance;
mod error;
pub mod federation;
pub mod file;
pub mod format;
mod index;
pub mod inference;
mod information;
mod journal;
pub mod learn;
pub mod limits;
pub mod linalg;
mod memory;
pub mod mixture;
pub mod model;
pub mod moments;
mod named;
mod observer;
pub mod parameters;
pub mod passes;
mod patch;
pub mod privacy;
pub mod report;
pub mod selection;
mod short_forms;
pub mod simulate;
pub mod spectral;
pub mod structure;
pub mod support;
pub mod tensor;
#[cfg(test)]
mod test_data;
pub mod tree;

pub use error::{Error, Place, Result};
pub use index::{ColIx, NodeIx, VarIx};
pub use inference::{Evidence, Inference};
pub use journal::Journal;
pub use learn::{LearnOptions, Learned, Learning, Source};
pub use memory::MemoryBudget;
pub use model::LatentTree;
pub use named::{counted, spelled};
pub use observer::{Observer, Silent};
pub use short_forms::open;
