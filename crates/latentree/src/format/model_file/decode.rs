//! A JSON document as a model or a tree, with every field checked before it is used.

use std::collections::HashMap;
use std::sync::Arc;

use super::json::Json;
use super::spectral::Record;
use super::{FORMAT, ModelFile, NEWEST, OLDEST};
use crate::data::{Kind, Schema};
use crate::error::{Error, Place, Result, Shortened};
use crate::index::{ColIx, NodeIx};
use crate::model::{Distribution, Domain, Emission, LatentTree, Provenance, Table};
use crate::tree::{Edge, Node, Tree};

/// Reads a document: format and version first, then the checksum, then the content.
pub(super) fn document(document: &Json) -> Result<ModelFile> {
    if !matches!(document, Json::Record(_)) {
        return Err(fault(format!("the file holds {}, not an object", document.sort())));
    }
    match text(document, "format")? {
        Some("latentree") => {}
        Some(other) => return Err(fault(format!("field \"format\" is {:?}, not \"latentree\"", Shortened(other)))),
        None => return Err(fault("field \"format\" is missing; a model file has \"format\": \"latentree\"")),
    }
    check_version(document)?;
    if text(document, "kind")? == Some("classifier") {
        return Err(fault("it is a classifier, one model for each label; use it to classify rows, or see it with report"));
    }
    // Topics and hierarchies have a checksum of another form, and are refused below.
    let is_other = matches!(text(document, "kind")?, Some("topics" | "clusters"));
    if let Some(written) = text(document, "checksum")?.filter(|_| !is_other) {
        let found = document.checksum();
        if written != found {
            return Err(fault(format!(
                "the checksum says {:?} but the content has {found:?}: the file was changed or damaged after it was written; \
                 fetch it again, or remove the field \"checksum\" to accept a change made by hand",
                Shortened(written)
            )));
        }
    }
    let schema = match document.get("schema") {
        None => None,
        Some(schema) => Some(Arc::new(reparse::<Schema>(schema, "schema")?)),
    };
    let provenance = match document.get("provenance") {
        None => Provenance::default(),
        Some(provenance) => reparse(provenance, "provenance")?,
    };
    let kind = text(document, "kind")?.ok_or_else(|| missing("kind"))?;
    if !matches!(kind, "latent-tree" | "tree" | "spectral") {
        let is_other = |problem: &str| Error::data(Place::default(), problem);
        let problem = match kind {
            "topics" => {
                return Err(is_other(
                    "an lda model has topics and no tree of variables; use infer for the shares of topics, score for a bound of the \
                     likelihood, report for a page and export for the words of each topic",
                ));
            }
            "clusters" => {
                return Err(is_other(
                    "a hierarchy of clusters is no distribution of variables; use infer to assign rows, report for a page and export for \
                     the tree",
                ));
            }
            _ => {
                format!("field \"kind\" is {:?}; this program knows \"latent-tree\", \"tree\" and \"spectral\"", Shortened(kind))
            }
        };
        return Err(fault(problem));
    }
    let nodes = list(document, "nodes")?;
    let (tree, edges) = read_tree(document, nodes)?;
    if kind == "tree" {
        if document.get("tables").is_some() {
            return Err(fault("a file of kind \"tree\" has no \"tables\"; with tables its kind is \"latent-tree\""));
        }
        if let Some(schema) = &schema {
            for (ix, (node, name)) in nodes.iter().zip(tree.nodes().iter().map(|node| &node.name)).enumerate() {
                if let Some(variable) = schema.find_variable(name) {
                    check_kind(node, ix, schema.scalar_kind(variable))?;
                }
            }
        }
        roots(document, &tree, None)?;
        return Ok(ModelFile::Tree { tree, schema, provenance });
    }
    if kind == "spectral" {
        let operators = document.get("spectral").ok_or_else(|| missing("spectral"))?;
        let record: Record = reparse(operators, "spectral")?;
        roots(document, &tree, None)?;
        return record.model(tree, schema, provenance).map(ModelFile::Spectral);
    }
    let schema = match schema {
        Some(schema) => schema,
        None => Arc::new(schema_of_nodes(nodes, &tree)?),
    };
    let roots = roots(document, &tree, Some(&edges))?;
    let mut builder = LatentTree::builder(Arc::clone(&schema), tree.clone()).roots(&roots).provenance(provenance);
    for (ix, (node, record)) in tree.node_ixs().zip(nodes).enumerate() {
        if tree.is_observed(node) {
            if let Some(variable) = schema.find_variable(tree.name(node)) {
                check_kind(record, ix, schema.scalar_kind(variable))?;
            }
        } else if let Some(domain) = hidden_domain(record, ix)? {
            builder = builder.hidden(node, domain);
        }
    }
    let Json::Record(tables) = document.get("tables").ok_or_else(|| missing("tables"))? else {
        return Err(fault("field \"tables\" must be an object with one entry per node"));
    };
    for (name, table) in tables {
        let node = tree.find(name).ok_or_else(|| fault(format!("tables: {:?} is not a node of the model", Shortened(name))))?;
        let distribution = distribution(table, &schema, tree.name(node))
            .map_err(|problem| fault(format!("tables: node {:?}: {problem}", Shortened(name))))?;
        builder = builder.distribution(node, distribution);
    }
    builder.build().map(ModelFile::LatentTree)
}

fn fault(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), FORMAT, problem)
}

fn missing(field: &str) -> Error {
    fault(format!("field {field:?} is missing"))
}

fn check_version(document: &Json) -> Result<()> {
    let number = |key: &str| match document.get(key) {
        None => Ok(None),
        Some(&Json::Unsigned(number)) => Ok(Some(number)),
        Some(other) => Err(fault(format!("field {key:?} must be a whole number, is {}", other.sort()))),
    };
    let found = number("version")?.ok_or_else(|| missing("version"))?;
    let needed = number("minimum_version")?.unwrap_or(found);
    if needed > found {
        return Err(fault(format!("field \"minimum_version\" is {needed}, more than \"version\", {found}")));
    }
    // A newer writer states from which reader on its file can be read: what it added may then be left unread.
    if found < OLDEST || needed > NEWEST {
        let remedy = if found < OLDEST {
            "save the model again with a current version of latentree"
        } else {
            "use a newer version of latentree, or save the model again with this one"
        };
        let place = Box::default();
        return Err(Error::Version { place, format: FORMAT, found, oldest: OLDEST, newest: NEWEST, remedy });
    }
    Ok(())
}

fn text<'a>(record: &'a Json, key: &str) -> Result<Option<&'a str>> {
    match record.get(key) {
        None => Ok(None),
        Some(Json::Text(text)) => Ok(Some(text)),
        Some(other) => Err(fault(format!("field {key:?} must be a string, is {}", other.sort()))),
    }
}

fn list<'a>(record: &'a Json, key: &str) -> Result<&'a [Json]> {
    match record.get(key).ok_or_else(|| missing(key))? {
        Json::List(values) => Ok(values),
        Json::Floats(_) => Err(fault(format!("field {key:?} must not be a list of numbers"))),
        other => Err(fault(format!("field {key:?} must be a list, is {}", other.sort()))),
    }
}

/// Reads a part that has its own deserializer.
fn reparse<T: serde::de::DeserializeOwned>(value: &Json, field: &str) -> Result<T> {
    let mut printed = String::new();
    value.print(&mut printed);
    serde_json::from_str(&printed).map_err(|error| {
        let message = error.to_string();
        // The position is one in a copy that the user never sees.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        fault(format!("field {field:?}: {message}"))
    })
}

/// The tree, and the edges as they stand in the file, sources first.
fn read_tree(document: &Json, nodes: &[Json]) -> Result<(Tree, Vec<Edge>)> {
    let mut tree = Vec::with_capacity(nodes.len());
    for (ix, node) in nodes.iter().enumerate() {
        let at = |error: Error| within(error, &format!("nodes[{ix}]"));
        let name = text(node, "name").map_err(at)?.ok_or_else(|| at(missing("name")))?;
        let observed = match node.get("observed") {
            Some(Json::Bool(observed)) => *observed,
            Some(other) => return Err(at(fault(format!("field \"observed\" must be true or false, is {}", other.sort())))),
            None => return Err(at(missing("observed"))),
        };
        tree.push(Node { name: name.to_owned(), observed });
    }
    let names = Tree::from_parts(tree.clone(), &[])?;
    let mut edges = Vec::new();
    for (ix, edge) in list(document, "edges")?.iter().enumerate() {
        let at = |error: Error| within(error, &format!("edges[{ix}]"));
        let end = |key: &str| {
            let name = text(edge, key)?.ok_or_else(|| missing(key))?;
            names.find(name).ok_or_else(|| fault(format!("field {key:?}: no node is named {:?}", Shortened(name))))
        };
        let number = |key: &str| match edge.get(key) {
            None => Ok(None),
            Some(value) => match value.number() {
                Some(number) => Ok(Some(number)),
                None => Err(fault(format!("field {key:?} must be a number, is {}", value.sort()))),
            },
        };
        edges.push(Edge {
            a: end("source").map_err(at)?,
            b: end("target").map_err(at)?,
            length: number("distance").map_err(at)?,
            support: number("support").map_err(at)?,
            bootstrap: number("bootstrap").map_err(at)?,
        });
    }
    Ok((Tree::from_parts(tree, &edges)?, edges))
}

/// The same error with the part of the file named in front of its problem.
fn within(error: Error, part: &str) -> Error {
    match error {
        Error::Format { problem, .. } => fault(format!("{part}: {problem}")),
        other => other,
    }
}

/// The roots in their order. Edges, where their direction matters, must point away from them.
fn roots(document: &Json, tree: &Tree, edges: Option<&[Edge]>) -> Result<Vec<NodeIx>> {
    let find = |name: &str, field: &str| {
        tree.find(name).ok_or_else(|| fault(format!("field {field:?}: no node is named {:?}", Shortened(name))))
    };
    let root = text(document, "root")?.map(|name| find(name, "root")).transpose()?;
    let mut named = Vec::from_iter(root);
    if document.get("roots").is_some() {
        named.clear();
        for entry in list(document, "roots")? {
            let Json::Text(name) = entry else {
                return Err(fault(format!("field \"roots\" must hold names of nodes, holds {}", entry.sort())));
            };
            named.push(find(name, "roots")?);
        }
        if root.is_some_and(|root| named.first() != Some(&root)) {
            return Err(fault("field \"root\" is not the first of \"roots\""));
        }
    }
    let Some(edges) = edges else { return Ok(named) };
    let mut parent: Vec<Option<NodeIx>> = vec![None; tree.n_nodes()];
    for edge in edges {
        if let Some(earlier) = parent[edge.b.get()].replace(edge.a) {
            return Err(fault(format!(
                "edges: {:?} is the target of two edges, from {:?} and from {:?}; edges point away from the root",
                Shortened(tree.name(edge.b)),
                Shortened(tree.name(earlier)),
                Shortened(tree.name(edge.a))
            )));
        }
    }
    let mut is_named = vec![false; tree.n_nodes()];
    for &root in &named {
        let name = Shortened(tree.name(root));
        if let Some(parent) = parent[root.get()] {
            let parent = Shortened(tree.name(parent));
            return Err(fault(format!(
                "root {name:?} is the target of the edge from {parent:?}; edges point away from the root"
            )));
        }
        if std::mem::replace(&mut is_named[root.get()], true) {
            return Err(fault(format!("field \"roots\" names {name:?} twice")));
        }
    }
    let others = tree.node_ixs().filter(|node| parent[node.get()].is_none() && !is_named[node.get()]);
    named.extend(others);
    Ok(named)
}

fn labels(node: &Json, ix: usize) -> Result<Option<Vec<String>>> {
    if node.get("states").is_none() {
        return Ok(None);
    }
    let states = list(node, "states").map_err(|error| within(error, &format!("nodes[{ix}]")))?;
    let label = |state: &Json| match state {
        Json::Text(label) => Ok(label.clone()),
        other => Err(fault(format!("nodes[{ix}]: field \"states\" must hold strings, holds {}", other.sort()))),
    };
    states.iter().map(label).collect::<Result<_>>().map(Some)
}

fn kind_name(node: &Json, ix: usize) -> Result<Option<&str>> {
    text(node, "kind").map_err(|error| within(error, &format!("nodes[{ix}]")))
}

/// Checks that what a node says of itself is what the schema says; `None` is a group.
fn check_kind(node: &Json, ix: usize, kind: Option<&Kind>) -> Result<()> {
    let expected = kind.map_or("group", Kind::name);
    if let Some(found) = kind_name(node, ix)?
        && found != expected
    {
        let found = Shortened(found);
        return Err(fault(format!("nodes[{ix}]: field \"kind\" is {found:?} but the schema says {expected:?}")));
    }
    if let Some(labels) = labels(node, ix)?
        && kind.and_then(Kind::labels) != Some(&labels)
    {
        return Err(fault(format!("nodes[{ix}]: field \"states\" differs from the schema's labels")));
    }
    Ok(())
}

fn hidden_domain(node: &Json, ix: usize) -> Result<Option<Domain>> {
    match (kind_name(node, ix)?, labels(node, ix)?) {
        (None | Some("categorical" | "binary"), Some(labels)) => Ok(Some(Domain::Discrete { labels })),
        (None | Some("categorical" | "binary"), None) => Ok(None),
        (Some("continuous"), None) => Ok(Some(Domain::Continuous)),
        (Some("continuous"), Some(_)) => Err(fault(format!("nodes[{ix}]: a continuous node has no \"states\""))),
        (Some(other), _) => {
            let other = Shortened(other);
            Err(fault(format!("nodes[{ix}]: field \"kind\" of a hidden node is categorical or continuous, not {other:?}")))
        }
    }
}

/// The schema of a file that has none: the observed nodes in their order.
fn schema_of_nodes(nodes: &[Json], tree: &Tree) -> Result<Schema> {
    let mut builder = Schema::builder();
    for (ix, (node, part)) in nodes.iter().zip(tree.nodes()).enumerate().filter(|(_, (_, part))| part.observed) {
        let labels = labels(node, ix)?;
        let kind = match (kind_name(node, ix)?, labels) {
            (None | Some("categorical"), Some(labels)) => Kind::Categorical { labels },
            (Some("binary"), Some(labels)) => {
                let labels = labels.try_into().map_err(|_| fault(format!("nodes[{ix}]: a binary node has two \"states\"")))?;
                Kind::Binary { labels }
            }
            (Some("binary"), None) => Kind::binary(),
            (Some("continuous"), None) => Kind::Continuous,
            (Some("count"), None) => Kind::Count,
            (kind, _) => {
                let kind = Shortened(kind.unwrap_or_default());
                let problem = "in a file without \"schema\" an observed node is binary, categorical (with \"states\"), \
                               continuous or count";
                return Err(fault(format!("nodes[{ix}]: {problem}; its \"kind\" is {kind:?}")));
            }
        };
        builder = builder.scalar(&part.name, kind);
    }
    builder.build()
}

fn distribution(table: &Json, schema: &Schema, node: &str) -> Result<Distribution, String> {
    let number = |key: &str| {
        let value = table.get(key).ok_or_else(|| format!("field {key:?} is missing"))?;
        value.number().ok_or_else(|| format!("field {key:?} must be a number, is {}", value.sort()))
    };
    match keys(table)?.as_slice() {
        ["prior"] => {
            Ok(Distribution::Discrete(rows(std::slice::from_ref(&table.get("prior").cloned().unwrap_or(Json::Null)), "prior")?))
        }
        ["given"] => Ok(Distribution::Discrete(given(table)?)),
        ["coefficient", "mean", "variance"] => Ok(Distribution::LinearGaussian {
            mean: number("mean")?,
            coefficient: number("coefficient")?,
            variance: number("variance")?,
        }),
        ["members"] => {
            let Some(Json::Record(members)) = table.get("members") else {
                return Err("field \"members\" must be an object with one entry per member".to_owned());
            };
            let variable = schema.find_variable(node).map(|variable| schema.variable(variable));
            let variable =
                variable.filter(|variable| variable.is_group).ok_or("has \"members\" but is not a group of the schema")?;
            let positions: HashMap<ColIx, usize> =
                variable.columns.iter().enumerate().map(|(ix, &column)| (column, ix)).collect();
            let mut emissions: Vec<Option<Emission>> = vec![None; variable.columns.len()];
            for (name, member) in members {
                let position = schema.find_column(name).and_then(|column| positions.get(&column).copied());
                let position = position.ok_or_else(|| format!("{:?} is not a member of the group", Shortened(name)))?;
                let emission = emission(member).map_err(|problem| format!("member {:?}: {problem}", Shortened(name)))?;
                emissions[position] = Some(emission);
            }
            if let Some(absent) = emissions.iter().position(Option::is_none) {
                let name = &schema.column(variable.columns[absent]).name;
                return Err(format!("member {:?} is missing", Shortened(name)));
            }
            Ok(Distribution::Emission(Emission::Group(emissions.into_iter().flatten().collect())))
        }
        _ => Ok(Distribution::Emission(emission(table)?)),
    }
}

fn keys(table: &Json) -> Result<Vec<&str>, String> {
    let Json::Record(fields) = table else { return Err(format!("must be an object, is {}", table.sort())) };
    let mut keys: Vec<&str> = fields.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    Ok(keys)
}

/// A distribution that a leaf or a member of a group may have.
fn emission(table: &Json) -> Result<Emission, String> {
    match keys(table)?.as_slice() {
        ["given"] => Ok(Emission::Categorical(given(table)?)),
        ["means", "variances"] => Ok(Emission::Gaussian {
            means: numbers(table.get("means"), "means")?,
            variances: numbers(table.get("variances"), "variances")?,
        }),
        ["rates"] => Ok(Emission::Poisson { rates: numbers(table.get("rates"), "rates")? }),
        keys => Err(format!(
            "has the fields {:?}; expected \"prior\", or \"given\", or \"means\" and \"variances\", or \"rates\", or \"members\", \
             or \"mean\", \"coefficient\" and \"variance\"",
            Shortened(&keys.join(", "))
        )),
    }
}

fn numbers(value: Option<&Json>, field: &str) -> Result<Vec<f64>, String> {
    let values = match value {
        Some(Json::Floats(values)) => return Ok(values.clone()),
        Some(Json::List(values)) => values,
        _ => return Err(format!("field {field:?} must be a list of numbers")),
    };
    let number = |value: &Json| value.number().ok_or_else(|| format!("field {field:?} holds {}, not a number", value.sort()));
    values.iter().map(number).collect()
}

fn given(table: &Json) -> Result<Table, String> {
    match table.get("given") {
        Some(Json::List(list)) => rows(list, "given"),
        _ => Err("field \"given\" must be a list of lists, one per state of the parent".to_owned()),
    }
}

fn rows(list: &[Json], field: &str) -> Result<Table, String> {
    let mut values = Vec::new();
    let mut n_states = 0;
    for (ix, row) in list.iter().enumerate() {
        let row = numbers(Some(row), field)?;
        if row.is_empty() || (ix > 0 && row.len() != n_states) {
            return Err(format!("field {field:?}: list {} has {} numbers, others {n_states}", ix + 1, row.len()));
        }
        n_states = row.len();
        values.extend(row);
    }
    if values.is_empty() {
        return Err(format!("field {field:?} is empty"));
    }
    Ok(Table::new(n_states, values))
}
