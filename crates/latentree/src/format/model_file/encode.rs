//! A model or a tree as a JSON document.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::json::Json;
use super::spectral::Record;
use super::{FIRST, NEWEST};
use crate::data::{Kind, Schema};
use crate::index::NodeIx;
use crate::model::{Distribution, Domain, Emission, LatentTree, Provenance, Table};
use crate::spectral::SpectralModel;
use crate::tree::{Edge, Rooted, Tree};

/// The document of a model with tables.
pub(super) fn latent_tree(model: &LatentTree) -> Json {
    let schema = model.schema();
    let tree = model.tree();
    let nodes = tree.node_ixs().map(|node| match (model.variable(node), model.domain(node)) {
        (Some(_), _) => node_record(tree, node, Some(schema)),
        (None, Domain::Discrete { labels }) => {
            let Json::Record(mut fields) = node_record(tree, node, None) else { unreachable!("a node is a record") };
            fields.push(("kind".to_owned(), Json::text("categorical")));
            fields.push(("states".to_owned(), texts(labels)));
            Json::Record(fields)
        }
        (None, _) => {
            let Json::Record(mut fields) = node_record(tree, node, None) else { unreachable!("a node is a record") };
            fields.push(("kind".to_owned(), Json::text("continuous")));
            Json::Record(fields)
        }
    });
    let tables = tree.node_ixs().map(|node| {
        let table = match model.distribution(node) {
            Distribution::Discrete(table) if model.parent(node).is_none() => {
                Json::record([("prior", Json::numbers(table.given(0)))])
            }
            Distribution::Discrete(table) => given(table),
            Distribution::Emission(emission) => emission_record(emission, model, node),
            &Distribution::LinearGaussian { mean, coefficient, variance } => Json::record([
                ("mean", Json::Float(mean)),
                ("coefficient", Json::Float(coefficient)),
                ("variance", Json::Float(variance)),
            ]),
        };
        (tree.name(node).to_owned(), table)
    });
    document(
        "latent-tree",
        Some(schema),
        nodes.collect(),
        tree,
        Some(model.rooted()),
        Some(Json::Record(tables.collect())),
        model.provenance(),
    )
}

/// The document of a model of operators; the tree is written as seen from its centre.
pub(super) fn spectral(model: &SpectralModel) -> Json {
    let (tree, schema) = (model.tree(), model.schema());
    let nodes = tree.node_ixs().map(|node| node_record(tree, node, Some(schema))).collect();
    let rooted = (tree.n_nodes() > 0).then(|| Rooted::new(tree, tree.center()));
    let operators = reparsed(&Record::new(model));
    document("spectral", Some(schema), nodes, tree, rooted.as_ref(), Some(operators), model.provenance())
}

/// The document of a tree without tables; it is written as seen from its centre.
pub(super) fn tree(tree: &Tree, schema: Option<&Schema>, provenance: &Provenance) -> Json {
    let nodes = tree.node_ixs().map(|node| node_record(tree, node, schema)).collect();
    let rooted = (tree.n_nodes() > 0).then(|| Rooted::new(tree, tree.center()));
    document("tree", schema, nodes, tree, rooted.as_ref(), None, provenance)
}

fn document(
    kind: &'static str,
    schema: Option<&Schema>,
    nodes: Vec<Json>,
    tree: &Tree,
    rooted: Option<&Rooted>,
    tables: Option<Json>,
    provenance: &Provenance,
) -> Json {
    let version = if kind == "spectral" { NEWEST } else { FIRST };
    let mut fields = vec![
        ("format", Json::text("latentree")),
        ("version", Json::Unsigned(version)),
        ("minimum_version", Json::Unsigned(version)),
        ("kind", Json::text(kind)),
    ];
    if let Some(schema) = schema {
        fields.push(("schema", reparsed(schema)));
    }
    fields.push(("nodes", Json::List(nodes)));
    let is_parent = |a: NodeIx, b: NodeIx| rooted.is_some_and(|rooted| rooted.parent[b.get()] == Some(a));
    let edges = insertion_order(tree).into_iter().map(|edge| {
        let (source, target) = if is_parent(edge.a, edge.b) { (edge.a, edge.b) } else { (edge.b, edge.a) };
        let mut fields = vec![("source", Json::text(tree.name(source))), ("target", Json::text(tree.name(target)))];
        for (key, number) in [("distance", edge.length), ("support", edge.support), ("bootstrap", edge.bootstrap)] {
            if let Some(number) = number.filter(|number| number.is_finite()) {
                fields.push((key, Json::Float(number)));
            }
        }
        Json::record(fields)
    });
    fields.push(("edges", Json::List(edges.collect())));
    if let Some(rooted) = rooted {
        fields.push(("root", Json::text(tree.name(rooted.roots[0]))));
        if rooted.roots.len() > 1 {
            fields.push(("roots", Json::List(rooted.roots.iter().map(|&root| Json::text(tree.name(root))).collect())));
        }
    }
    if let Some(tables) = tables {
        fields.push((if kind == "spectral" { "spectral" } else { "tables" }, tables));
    }
    fields.push(("provenance", reparsed(provenance)));
    let mut document = Json::record(fields);
    let checksum = document.checksum();
    if let Json::Record(fields) = &mut document {
        fields.insert(4, ("checksum".to_owned(), Json::Text(checksum)));
    }
    document
}

fn node_record(tree: &Tree, node: NodeIx, schema: Option<&Schema>) -> Json {
    let name = tree.name(node);
    let observed = tree.is_observed(node);
    let mut fields = vec![("name", Json::text(name)), ("observed", Json::Bool(observed))];
    let variable = schema.filter(|_| observed).and_then(|schema| Some((schema, schema.find_variable(name)?)));
    if let Some((schema, variable)) = variable {
        let kind = schema.scalar_kind(variable);
        fields.push(("kind", Json::text(kind.map_or("group", Kind::name))));
        if let Some(labels) = kind.and_then(Kind::labels) {
            fields.push(("states", texts(labels)));
        }
    }
    Json::record(fields)
}

fn texts(labels: &[String]) -> Json {
    Json::List(labels.iter().map(Json::text).collect())
}

fn given(table: &Table) -> Json {
    Json::record([("given", Json::List(table.rows().map(Json::numbers).collect()))])
}

fn emission_record(emission: &Emission, model: &LatentTree, node: NodeIx) -> Json {
    match emission {
        Emission::Categorical(table) => given(table),
        Emission::Gaussian { means, variances } => {
            Json::record([("means", Json::numbers(means)), ("variances", Json::numbers(variances))])
        }
        Emission::Poisson { rates } => Json::record([("rates", Json::numbers(rates))]),
        Emission::Group(members) => {
            let variable = model.variable(node).expect("a group is a variable");
            let columns = &model.schema().variable(variable).columns;
            let members = members
                .iter()
                .zip(columns)
                .map(|(member, &column)| (model.schema().column(column).name.clone(), emission_record(member, model, node)));
            Json::record([("members", Json::Record(members.collect()))])
        }
    }
}

/// A value with its own serialization, as part of the document.
fn reparsed(value: &impl serde::Serialize) -> Json {
    let text = serde_json::to_string(value).expect("plain data is JSON");
    Json::read(text.as_bytes(), u64::MAX).expect("what was just written can be read")
}

/// The edges in an order in which adding them one by one gives every node its links in the order it has them, so that a
/// tree that is read back is the same to the last link. Near the order of [`Tree::edges`] otherwise.
fn insertion_order(tree: &Tree) -> Vec<Edge> {
    let edges: Vec<Edge> = tree.edges().collect();
    let by_ends: HashMap<(NodeIx, NodeIx), usize> = edges.iter().enumerate().map(|(ix, edge)| ((edge.a, edge.b), ix)).collect();
    let mut later: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    let mut n_earlier = vec![0_u8; edges.len()];
    for node in tree.node_ixs() {
        let ixs = tree.links(node).iter().map(|link| by_ends[&(node.min(link.to), node.max(link.to))]);
        for (earlier, next) in ixs.clone().zip(ixs.skip(1)) {
            later[earlier].push(next);
            n_earlier[next] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..edges.len()).filter(|&ix| n_earlier[ix] == 0).map(Reverse).collect();
    let mut ordered = Vec::with_capacity(edges.len());
    while let Some(Reverse(ix)) = ready.pop() {
        ordered.push(edges[ix]);
        for &next in &later[ix] {
            n_earlier[next] -= 1;
            if n_earlier[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    // Such an order always exists: edges that constrain each other share a node, and a tree has no cycle to close a circle.
    assert_eq!(ordered.len(), edges.len(), "a tree has no cycle");
    ordered
}
