//! Model: a tree with its distributions ([`LatentTree`]), validated on construction. [`format`](crate::format) reads and writes
//! it.

mod clusters;
mod correlation_lengths;
mod distribution;
mod edge_information;
pub(crate) mod features;
mod implied_distances;
mod latent_tree;
mod provenance;
mod reroot;
mod size;
mod state_order;
#[cfg(test)]
pub(crate) mod test_models;
mod topics;

pub use clusters::{ClusterNode, ClusterTree, Linear, SplitRule};
pub use distribution::{Distribution, Emission, Table};
pub use edge_information::edge_information;
pub use latent_tree::{Domain, Family, LatentTree, LatentTreeBuilder};
pub use provenance::{PoorPair, Provenance};
pub use reroot::Marginal;
pub(crate) use size::{least_model_bytes, model_bytes, table_bytes};
pub(crate) use state_order::values_of;
pub use topics::TopicModel;
