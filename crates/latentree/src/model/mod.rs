//! Stage 5, model: a tree with its distributions ([`LatentTree`]), checked when built, and its file ([`ModelFile`]).

mod correlation_lengths;
mod distribution;
mod file;
mod format;
mod latent_tree;
mod provenance;
mod reroot;
mod size;
mod state_order;
#[cfg(test)]
pub(crate) mod test_models;

pub use distribution::{Distribution, Emission, Table};
pub(crate) use file::check_length;
pub use file::{ModelFile, ReadModelOptions, read_model, read_model_from};
pub(crate) use format::escape;
pub use format::{to_bif, to_xmlbif};
pub use latent_tree::{Domain, Family, LatentTree, LatentTreeBuilder};
pub use provenance::{PoorPair, Provenance};
pub use reroot::Marginal;
pub(crate) use size::{least_model_bytes, model_bytes, table_bytes};
pub(crate) use state_order::values_of;
