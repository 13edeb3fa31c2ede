//! Models and trees to export.

use super::{Format, ModelFile};
use crate::error::{Error, Place, Result};
use crate::index::NodeIx;
use crate::model::{Domain, LatentTree};
use crate::tree::Tree;

/// What can be exported: a tree, and the model it is part of, if it is.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub(super) tree: &'a Tree,
    pub(super) model: Option<&'a LatentTree>,
    pub(crate) file: Option<&'a ModelFile>,
}

impl<'a> View<'a> {
    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// The model, if there is more than a tree.
    #[must_use]
    pub fn model(&self) -> Option<&'a LatentTree> {
        self.model
    }

    /// The tree with a length on every edge: its own, or those of the model.
    #[must_use]
    pub fn with_lengths(&self) -> Tree {
        match self.model {
            Some(model) if self.tree.edges().any(|edge| edge.length.is_none()) => model.correlation_lengths(),
            _ => self.tree.clone(),
        }
    }

    pub(super) fn labels(&self, node: NodeIx) -> Option<&'a [String]> {
        self.model.and_then(|model| model.domain(node).labels())
    }

    /// What a node's values are, in the words of the model file.
    pub(crate) fn kind(&self, node: NodeIx) -> Option<&'static str> {
        let model = self.model?;
        let variable = model.variable(node).and_then(|variable| model.schema().scalar_kind(variable));
        Some(match (variable, model.domain(node)) {
            (Some(kind), _) => kind.name(),
            (None, Domain::Discrete { .. }) => "categorical",
            (None, Domain::Continuous) => "continuous",
            (None, Domain::Count) => "count",
            (None, Domain::Group) => "group",
        })
    }

    pub(super) fn need_model(&self, format: Format) -> Result<&'a LatentTree> {
        self.model.ok_or_else(|| {
            let problem = match self.file {
                Some(ModelFile::Spectral(_)) => format!("a spectral model has no tables, and {format} is a format of tables; learn with `parameters.method` moments+em"),
                _ => format!("a tree without tables cannot be written as {format}; learn its parameters first"),
            };
            Error::data(Place::default(), problem)
        })
    }
}

impl<'a> From<&'a LatentTree> for View<'a> {
    fn from(model: &'a LatentTree) -> Self {
        Self { tree: model.tree(), model: Some(model), file: None }
    }
}

impl<'a> From<&'a Tree> for View<'a> {
    fn from(tree: &'a Tree) -> Self {
        Self { tree, model: None, file: None }
    }
}

impl<'a> From<&'a ModelFile> for View<'a> {
    fn from(file: &'a ModelFile) -> Self {
        let model = match file {
            ModelFile::LatentTree(model) => Some(model),
            ModelFile::Spectral(_) | ModelFile::Tree { .. } => None,
        };
        Self { tree: file.tree(), model, file: Some(file) }
    }
}
