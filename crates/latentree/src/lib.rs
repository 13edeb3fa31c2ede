//! latentree finds the hidden tree behind a table.
//!
//! The folders are the path of the data; each arrow is a plain public type that can be saved, printed and fed back in:
//!
//! 1. [`data`]: a table becomes batches of typed cells ([`data::Schema`], [`data::Dataset`], readers);
//! 2. [`moments`]: rows become mergeable statistics;
//! 3. [`tree`]: the shared floor, an arena tree and its splits;
//! 4. [`model`]: a tree with distributions, and its file ([`model::LatentTree`]);
//! 5. [`inference`]: exact answers, linear in the tree;
//! 6. [`report`]: a model for people and for other programs;
//! 7. [`simulate`]: known models and data from them, for tests, benches and users.
//!
//! The library never prints, keeps no global state, and gives the same bytes for the same seed and data at any number of
//! threads. Progress and cancelling go through an [`Observer`].

pub mod data;
mod error;
pub mod file;
mod index;
pub mod inference;
pub mod linalg;
pub mod model;
pub mod moments;
mod observer;
pub mod report;
pub mod simulate;
pub mod tree;

pub use error::{Error, Place, Result};
pub use index::{ColIx, NodeIx, VarIx};
pub use observer::{Observer, Silent};
