//! The Python module `latentree._latentree`: conversions only. The public interface is in `python/latentree`.
//!
//! - [`table`]: NumPy arrays become a [`Table`](table::Table);
//! - [`learn`]: a table, moments or distances become a [`Model`](model::Model);
//! - [`model`]: queries to a model;
//! - [`mixture`]: mixtures, topics and hierarchies;
//! - [`classifier`]: files of classifiers;
//! - [`moments`]: statistics that can be updated, merged and serialised;
//! - [`events`]: files of events become sparse rows;
//! - [`distributed`]: rows that are elsewhere;
//! - [`text`]: text becomes word counts, and models of words give topics;
//! - [`command_line`]: the command `latentree`;
//! - [`worker`]: runs all work on other threads, without holding the interpreter lock, and stops at Ctrl-C;
//! - [`error`]: conversion of errors.

mod classifier;
mod command_line;
mod distributed;
mod error;
mod events;
mod learn;
mod mixture;
mod model;
mod moments;
mod spectral;
mod table;
mod text;
mod worker;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _latentree {
    #[pymodule_export]
    use super::classifier::{read_classifier, write_classifier};
    #[pymodule_export]
    use super::command_line::run_command_line;
    #[pymodule_export]
    use super::distributed::{learn_remote, merge, observe, task_reading};
    #[pymodule_export]
    use super::error::python_message;
    #[pymodule_export]
    use super::events::read_events;
    #[pymodule_export]
    use super::learn::{learn, learn_distances, option_arguments, option_paths};
    #[pymodule_export]
    use super::mixture::{
        GroupModel, cluster_stability, coherence, family_kind, fit_cluster_model, fit_mixture_model, mixture_stability,
        relevance, star_means, write_mixture_page,
    };
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::moments::Moments;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::text::{read_text, topics};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
