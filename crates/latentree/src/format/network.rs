//! Code shared by BIF and XMLBIF: variables and their tables as read, and conversion from and to a latent tree.
//!
//! Both formats hold a directed network of discrete variables. A latent tree rooted for its parametrisation is such a
//! network in which no variable has more than one parent. What the formats cannot say is kept in properties of the
//! variable, `latentree = …`, which other programs skip:
//!
//! - `hidden`: the node is hidden;
//! - `binary` or `categorical`: the kind of a column, where the labels do not tell;
//! - `name TEXT`, `state N TEXT`: the name, or the label of state N, that had to be replaced by one the format allows.
//!   TEXT has every byte but ASCII letters, digits, `_`, `-` and `.` written as `%` and two hexadecimal digits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ReadModelOptions;
use super::model_file::not_in_model;
use super::names::{Notes, allowed_names};
use crate::data::{Kind, Schema};
use crate::error::{Error, Place, Result, Shortened};
use crate::index::NodeIx;
use crate::model::{Distribution, Domain, LatentTree, Table};
use crate::tree::{Edge, Node, Tree};

/// Rows may miss a sum of 1 by this much: other programs write few digits.
const ROUNDING: f64 = 1e-3;
/// Numbers that `default` rows may fill in, in all: what a small file can ask for must stay small.
const MAX_DEFAULTED: usize = 1 << 26;

/// A variable as read.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
    pub(super) notes: Notes,
    pub(super) line: u64,
}

/// A variable's distribution as read.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) of: String,
    pub(super) parents: Vec<String>,
    pub(super) values: Values,
    pub(super) line: u64,
}

/// The numbers of a distribution in the order of the file.
#[derive(Debug)]
pub(super) enum Values {
    /// All at once.
    Table {
        numbers: Vec<f64>,
        /// Whether all states of the parent follow each other for one state of the child (BIF), or the other way (XMLBIF).
        parent_fastest: bool,
    },
    /// One row per state of the parent.
    Rows { default: Option<(Vec<f64>, u64)>, rows: Vec<(String, Vec<f64>, u64)> },
}

/// A file's content.
#[derive(Debug, Default)]
pub(super) struct Network {
    pub(super) variables: Vec<Variable>,
    pub(super) definitions: Vec<Definition>,
}

impl Network {
    /// The latent tree that the network is.
    ///
    /// # Errors
    /// [`Error::Tree`] if a node has two parents or there is a cycle; [`Error::Format`] with the line where something is
    /// missing, appears twice, or is not a distribution.
    pub(super) fn into_model(self, format: &'static str, options: &ReadModelOptions<'_>) -> Result<LatentTree> {
        let fault = |line: u64, problem: String| Error::format(Place::default().line(line), format, problem);
        let mut by_name: HashMap<&str, usize> = HashMap::with_capacity(self.variables.len());
        for (ix, variable) in self.variables.iter().enumerate() {
            let name = Shortened(&variable.name);
            if by_name.insert(&variable.name, ix).is_some() {
                return Err(fault(variable.line, format!("variable {name:?} is declared twice")));
            }
            if variable.labels.is_empty() {
                return Err(fault(variable.line, format!("variable {name:?} has no states")));
            }
        }
        let mut definition_of: Vec<Option<&Definition>> = vec![None; self.variables.len()];
        for definition in &self.definitions {
            let name = Shortened(&definition.of);
            let Some(&ix) = by_name.get(definition.of.as_str()) else {
                return Err(fault(definition.line, format!("probabilities of {name:?}, which is not declared")));
            };
            if definition_of[ix].replace(definition).is_some() {
                return Err(fault(definition.line, format!("probabilities of {name:?} appear twice")));
            }
            if let Some(unknown) = definition.parents.iter().find(|parent| !by_name.contains_key(parent.as_str())) {
                let unknown = Shortened(unknown);
                return Err(fault(definition.line, format!("{name:?} has a parent {unknown:?}, which is not declared")));
            }
        }
        let names: Vec<&str> =
            self.variables.iter().map(|variable| variable.notes.name.as_deref().unwrap_or(&variable.name)).collect();
        let hidden = hidden_nodes(&self.variables, &names, options)?;
        let mut edges = Vec::new();
        let mut parents = vec![None; names.len()];
        for (ix, definition) in definition_of.iter().enumerate() {
            let Some(definition) = definition else {
                let name = Shortened(names[ix]);
                return Err(fault(self.variables[ix].line, format!("variable {name:?} has no probabilities")));
            };
            match definition.parents.as_slice() {
                [] => {}
                [parent] => {
                    let parent = by_name[parent.as_str()];
                    parents[ix] = Some(parent);
                    edges.push(Edge::new(NodeIx::new(parent), NodeIx::new(ix)));
                }
                several => {
                    let shown: Vec<String> = several.iter().take(10).map(|it| format!("{:?}", Shortened(it))).collect();
                    return Err(Error::tree(format!(
                        "node {:?} has {} parents ({}); in a latent tree a node has at most one",
                        Shortened(names[ix]),
                        several.len(),
                        shown.join(", ")
                    )));
                }
            }
        }
        // Edges of a tree have no direction: two nodes that are each other's parents would look like the same edge twice.
        for (ix, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent.filter(|&parent| parents[parent] == Some(ix)) {
                let [name, other] = [Shortened(names[ix]), Shortened(names[parent])];
                return Err(Error::tree(format!("it has a cycle: {name:?} – {other:?} – {name:?}")));
            }
        }
        let nodes = names.iter().zip(&hidden).map(|(&name, &hidden)| Node { name: name.to_owned(), observed: !hidden });
        let tree = Tree::from_parts(nodes.collect(), &edges)?;
        let mut schema = Schema::builder();
        let labels: Vec<Vec<String>> = self.variables.iter().map(original_labels).collect();
        for (ix, variable) in self.variables.iter().enumerate().filter(|(ix, _)| !hidden[*ix]) {
            schema = schema.scalar(names[ix], kind(&labels[ix], variable.notes.is_binary));
        }
        let roots: Vec<NodeIx> = tree.node_ixs().filter(|node| parents[node.get()].is_none()).collect();
        let mut builder = LatentTree::builder(Arc::new(schema.build()?), tree).roots(&roots);
        let mut budget = MAX_DEFAULTED;
        for (ix, definition) in definition_of.into_iter().enumerate() {
            let definition = definition.expect("checked above");
            let parent_labels = parents[ix].map(|parent: usize| self.variables[parent].labels.as_slice());
            let table = table(definition, self.variables[ix].labels.len(), parent_labels, &mut budget)
                .map_err(|(line, problem)| fault(line, format!("node {:?}: {problem}", Shortened(names[ix]))))?;
            builder = builder.distribution(NodeIx::new(ix), Distribution::Discrete(table));
            if hidden[ix] {
                builder = builder.hidden(NodeIx::new(ix), Domain::Discrete { labels: labels[ix].clone() });
            }
        }
        builder.build()
    }
}

fn hidden_nodes(variables: &[Variable], names: &[&str], options: &ReadModelOptions<'_>) -> Result<Vec<bool>> {
    let known: HashSet<&str> = names.iter().copied().collect();
    if let Some(unknown) = options.hidden.iter().find(|name| !known.contains(name.as_str())) {
        return Err(not_in_model(unknown));
    }
    let asked: HashSet<&str> = options.hidden.iter().map(String::as_str).collect();
    let columns: Option<HashSet<&str>> = options.data_columns.map(|columns| columns.iter().map(String::as_str).collect());
    if let Some(columns) = &columns
        && !names.iter().any(|name| columns.contains(name))
    {
        let shown: Vec<String> = names.iter().take(5).map(|name| format!("{:?}", Shortened(name))).collect();
        let more = if names.len() > shown.len() { ", …" } else { "" };
        let problem = format!("none of its nodes is a column of the data ({}{more}); check the names", shown.join(", "));
        return Err(Error::data(Place::default(), problem));
    }
    let is_hidden = |(variable, name): (&Variable, &&str)| {
        variable.notes.hidden || asked.contains(name) || columns.as_ref().is_some_and(|columns| !columns.contains(name))
    };
    Ok(variables.iter().zip(names).map(is_hidden).collect())
}

fn original_labels(variable: &Variable) -> Vec<String> {
    let mut labels = variable.labels.clone();
    for (state, label) in &variable.notes.states {
        if let Some(place) = labels.get_mut(*state) {
            place.clone_from(label);
        }
    }
    labels
}

/// The kind of a column with these labels: only `0` and `1` say by themselves which of two labels is the event.
fn kind(labels: &[String], is_binary: Option<bool>) -> Kind {
    match labels {
        [no, yes] if is_binary.unwrap_or(no == "0" && yes == "1") => Kind::Binary { labels: [no.clone(), yes.clone()] },
        _ => Kind::Categorical { labels: labels.to_vec() },
    }
}

fn table(
    definition: &Definition,
    n_states: usize,
    parent_labels: Option<&[String]>,
    budget: &mut usize,
) -> Result<Table, (u64, String)> {
    let n_rows = parent_labels.map_or(1, <[String]>::len);
    let n_values = n_states.checked_mul(n_rows).ok_or((definition.line, "the table is too large".to_owned()))?;
    let check = |row: &[f64], line: u64| {
        let found = row.len();
        if found == n_states { Ok(()) } else { Err((line, format!("a row of {found} numbers for {n_states} states"))) }
    };
    let mut values = Vec::new();
    match &definition.values {
        Values::Table { numbers, parent_fastest } => {
            if numbers.len() != n_values {
                let found = numbers.len();
                return Err((definition.line, format!("{found} numbers for a table of {n_rows} × {n_states}")));
            }
            if *parent_fastest {
                values.extend((0..n_values).map(|ix| numbers[(ix % n_states) * n_rows + ix / n_states]));
            } else {
                values.clone_from(numbers);
            }
            for row in values.chunks_exact_mut(n_states) {
                normalise(row).map_err(|problem| {
                    let hint = match (parent_labels, parent_fastest) {
                        (None, _) => "",
                        (_, true) => " (a table lists all states of the parent for the child's first state, then for its second)",
                        (_, false) => {
                            " (a table lists all states of the child for the parent's first state, then for its second)"
                        }
                    };
                    (definition.line, format!("{problem}{hint}"))
                })?;
            }
        }
        Values::Rows { default, rows } => {
            let labels = parent_labels.unwrap_or_default();
            let position: HashMap<&str, usize> = labels.iter().enumerate().map(|(ix, label)| (label.as_str(), ix)).collect();
            let mut given: Vec<Option<&(String, Vec<f64>, u64)>> = vec![None; n_rows];
            for row in rows {
                let (label, numbers, line) = row;
                let label = Shortened(label);
                let &state = position.get(row.0.as_str()).ok_or_else(|| (*line, format!("the parent has no state {label:?}")))?;
                check(numbers, *line)?;
                if given[state].replace(row).is_some() {
                    return Err((*line, format!("the row of the parent's state {label:?} appears twice")));
                }
            }
            if let Some((numbers, line)) = default {
                check(numbers, *line)?;
                let n_filled = given.iter().filter(|row| row.is_none()).count().saturating_mul(n_states);
                *budget = budget.checked_sub(n_filled).ok_or((*line, "default rows fill too many numbers".to_owned()))?;
            }
            for (state, row) in given.iter().enumerate() {
                let (numbers, line) = match (row, default) {
                    (Some((_, numbers, line)), _) | (None, Some((numbers, line))) => (numbers, *line),
                    (None, None) => {
                        let label = labels.get(state).map_or("", String::as_str);
                        return Err((definition.line, format!("no row for the parent's state {:?}", Shortened(label))));
                    }
                };
                let mut row = numbers.clone();
                normalise(&mut row).map_err(|problem| (line, problem))?;
                values.extend(row);
            }
        }
    }
    Ok(Table::new(n_states, values))
}

/// Scales a row to the sum 1 if it is off by rounding; rows as exact as a model needs keep every bit.
fn normalise(row: &mut [f64]) -> Result<(), String> {
    if let Some(bad) = row.iter().find(|value| !(0.0..=1.0 + ROUNDING).contains(*value)) {
        return Err(format!("{bad} is not a probability"));
    }
    let sum: f64 = row.iter().sum();
    if (sum - 1.0).abs() > ROUNDING {
        return Err(format!("probabilities sum to {sum}, not 1"));
    }
    let off = (sum - 1.0).abs() > Table::TOLERANCE || row.iter().any(|value| *value > 1.0);
    if off {
        row.iter_mut().for_each(|value| *value = (*value / sum).min(1.0));
    }
    Ok(())
}

/// A node as written: the name and labels that the format allows, and what has to be said beside.
pub(super) struct Written<'a> {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
    pub(super) notes: Notes,
    pub(super) parent: Option<NodeIx>,
    pub(super) table: &'a Table,
}

/// The nodes of a model for a format that allows these names and labels.
///
/// # Errors
/// [`Error::Data`] naming the first node that is not discrete.
pub(super) fn written<'a>(
    model: &'a LatentTree,
    format: &str,
    name_is_allowed: fn(&str) -> bool,
    label_is_allowed: fn(&str) -> bool,
) -> Result<Vec<Written<'a>>> {
    let tree = model.tree();
    let names = allowed_names(tree.nodes().iter().map(|node| node.name.as_str()), name_is_allowed);
    let mut nodes = Vec::with_capacity(names.len());
    for (node, name) in tree.node_ixs().zip(names) {
        let original = tree.name(node);
        let (Distribution::Discrete(table), Domain::Discrete { labels: originals }) =
            (model.distribution(node), model.domain(node))
        else {
            let problem = format!(
                "node {:?} is not discrete, and {format} has discrete nodes only; export json, dot or graphml instead",
                Shortened(original)
            );
            return Err(Error::data(Place::default(), problem));
        };
        let labels = allowed_names(originals.iter().map(String::as_str), label_is_allowed);
        let column_kind = model.variable(node).and_then(|variable| model.schema().scalar_kind(variable));
        let is_binary = column_kind.map(|kind| matches!(kind, Kind::Binary { .. }));
        let notes = Notes {
            hidden: !tree.is_observed(node),
            is_binary: is_binary.filter(|_| column_kind != Some(&kind(originals, None))),
            name: (name != original).then(|| original.to_owned()),
            states: (0..labels.len())
                .filter(|&state| labels[state] != originals[state])
                .map(|state| (state, originals[state].clone()))
                .collect(),
        };
        nodes.push(Written { name, labels, notes, parent: model.parent(node), table });
    }
    Ok(nodes)
}
