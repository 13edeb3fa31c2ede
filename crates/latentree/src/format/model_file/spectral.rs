//! A spectral model as a part of a JSON document.
//!
//! The field `spectral` has the operators by the edges and hidden nodes that they belong to, in the order that follows from the tree; a hidden node of m neighbours
//! has m − 2 entries, and there are edges between these.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::Schema;
use crate::error::{Error, Place, Result};
use crate::model::Provenance;
use crate::spectral::{Linkers, Parts, SpectralEdge, SpectralMethod, SpectralModel, Summary};
use crate::tree::Tree;

use super::FORMAT;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    method: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    linkers: Option<Linkers>,
    /// Weight of the rows.
    weight: f64,
    marginals: Vec<Vec<f64>>,
    edges: Vec<EdgeRecord>,
    joints: Vec<JointRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeRecord {
    between: String,
    rank: usize,
    link: Vec<f64>,
    labels: Vec<f64>,
    singular_values: Vec<f64>,
    noise: f64,
    #[serde(default)]
    summaries: [Summary; 2],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JointRecord {
    node: String,
    tensor: Vec<f64>,
}

impl Record {
    pub(super) fn new(model: &SpectralModel) -> Self {
        let parts = model.parts();
        let edges = model.edges().map(|(between, edge)| EdgeRecord {
            between,
            rank: edge.rank,
            link: edge.link.clone(),
            labels: edge.labels.clone(),
            singular_values: edge.values.clone(),
            noise: edge.noise,
            summaries: edge.summaries.clone(),
        });
        let joints = model.joint_names().zip(&parts.joints);
        Self {
            method: model.method().name().to_owned(),
            linkers: match model.method() {
                SpectralMethod::Spectral(linkers) => Some(linkers),
                SpectralMethod::Hierarchical => None,
            },
            weight: parts.weight,
            marginals: parts.marginals.clone(),
            edges: edges.collect(),
            joints: joints.map(|(node, tensor)| JointRecord { node: node.to_owned(), tensor: tensor.clone() }).collect(),
        }
    }

    /// The model, with all shapes and numbers checked.
    pub(super) fn model(self, tree: Tree, schema: Option<Arc<Schema>>, provenance: Provenance) -> Result<SpectralModel> {
        let fault = |problem: String| Error::format(Place::default(), FORMAT, problem);
        let schema = schema.ok_or_else(|| fault("field \"schema\" is missing".to_owned()))?;
        let method = match (self.method.as_str(), self.linkers) {
            ("spectral", linkers) => SpectralMethod::Spectral(linkers.unwrap_or_default()),
            ("hierarchical", None) => SpectralMethod::Hierarchical,
            (other, _) => return Err(fault(format!("spectral: field \"method\" is {other:?}, or does not go with \"linkers\""))),
        };
        let between: Vec<String> = self.edges.iter().map(|edge| edge.between.clone()).collect();
        let nodes: Vec<String> = self.joints.iter().map(|joint| joint.node.clone()).collect();
        let edge = |edge: EdgeRecord| SpectralEdge {
            rank: edge.rank,
            link: edge.link,
            labels: edge.labels,
            values: edge.singular_values,
            noise: edge.noise,
            summaries: edge.summaries,
        };
        let parts = Parts {
            method,
            weight: self.weight,
            marginals: self.marginals,
            joints: self.joints.into_iter().map(|joint| joint.tensor).collect(),
            edges: self.edges.into_iter().map(edge).collect(),
        };
        let model = SpectralModel::new(schema, tree, parts, provenance)
            .map_err(|error| fault(format!("spectral: {}", error.problem())))?;
        if !model.edges().map(|it| it.0).eq(between) || !model.joint_names().eq(nodes.iter().map(String::as_str)) {
            return Err(fault(
                "spectral: the edges and nodes of its operators are not those of the tree, in their order".to_owned(),
            ));
        }
        Ok(model)
    }
}
