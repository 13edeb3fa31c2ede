//! Stage 5, model: a tree with its distributions ([`LatentTree`]), checked when built, and its file.

mod distribution;
mod latent_tree;
mod provenance;
mod reroot;

pub use distribution::{Distribution, Emission, Table};
pub use latent_tree::{Domain, Family, LatentTree, LatentTreeBuilder};
pub use provenance::Provenance;
pub use reroot::Marginal;
