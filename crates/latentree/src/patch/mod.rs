//! The neighbourhood of a hidden node or an edge, as a small model of its own.
//!
//! Let h be a hidden node with neighbours c. With everything beyond the neighbours fixed, the log-likelihood of all rows is,
//! up to a constant, `Σ_rows w ln Σ_h π(h) Π_leaves P(x|h) Π_c Σ_c P(c|h) m_c(c)`, where `m_c(c)` is the probability of the
//! evidence beyond c given its state. EM on the tables of this *patch* alone, with the messages as leaves, therefore
//! increases the likelihood of the whole model, and a gain of the patch is a gain of the model. A search scores its moves on
//! patches, and the support of a split is tested on one.
//!
//! | file | content |
//! |---|---|
//! | `columns` | the rows by column, in chunks |
//! | `net` | a whole model in a form that is easy to edit; its messages |
//! | `local` | patches cut out of a net, and put back |
//! | `rearrange` | the arrangements of the branches of an edge |
//! | `upward`, `expect`, `maximise`, `exp` | EM on a patch |
//!
//! A step of EM costs rows × Σ of the table cells of messages, plus the listed cells of sparse columns.

mod columns;
mod exp;
mod expect;
mod local;
mod maximise;
mod net;
mod rearrange;
mod upward;

use std::sync::Arc;

pub(crate) use self::columns::{CHUNK, Column, Columns};
pub(crate) use self::expect::{Counts, Work};
pub(crate) use self::local::{Branch, Context, Local, through_leaf};
pub(crate) use self::maximise::Floors;
pub(crate) use self::net::{ALONE, INNER, Messages, Net, alone, identity, times, turned};

/// Messages of a neighbour: the values of all rows for each state, one state after another.
#[derive(Debug)]
pub(crate) struct Soft {
    pub(crate) n_states: usize,
    pub(crate) values: Vec<f32>,
}

/// The source of a leaf of a patch.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Column(usize),
    /// A neighbour behind a table.
    Soft(Arc<Soft>),
    /// Evidence about the node itself, which has no parameters.
    Fixed(Arc<Soft>),
    /// The node is this column.
    Identity(usize),
}

/// A hidden node: its table given its parent, or its own distribution.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) n_states: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) table: Vec<f64>,
}

/// A leaf and its parameters: for each state of its node, probabilities, mean and variance, or a rate.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) at: usize,
    pub(crate) source: Source,
    pub(crate) values: Vec<f64>,
}

/// Hidden nodes, parents before children, and their leaves.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaves: Vec<Leaf>,
    /// Log-likelihood that the other states of the only node contribute to each row, and their prior probability; both stay
    /// fixed.
    pub(crate) background: Option<(Arc<Vec<f64>>, f64)>,
}

impl Patch {
    /// Number of free parameters.
    pub(crate) fn n_free(&self, columns: &Columns) -> usize {
        let nodes: usize =
            self.nodes.iter().map(|node| node.parent.map_or(1, |parent| self.nodes[parent].n_states) * (node.n_states - 1)).sum();
        let leaf = |leaf: &Leaf| {
            self.nodes[leaf.at].n_states
                * match &leaf.source {
                    Source::Column(column) => columns.columns[*column].n_free(),
                    Source::Soft(soft) => soft.n_states - 1,
                    Source::Fixed(_) | Source::Identity(_) => 0,
                }
        };
        nodes + self.leaves.iter().map(leaf).sum::<usize>()
    }
}
