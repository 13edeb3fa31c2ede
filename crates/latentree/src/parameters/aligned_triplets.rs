//! Tables of a discrete tree by triplets that are aligned afterwards: Procedures 1 and 3 of Huang et al. (2020), as they are
//! written.
//!
//! Hidden nodes are taken from the leaves up. The group of a hidden node h are its children; one of them is its reference r.
//! Every triplet (a, b, r) of the group gives a tensor `E[y_a ⊗ y_b ⊗ y_r]`, whose decomposition gives P(h) and `E[y | h]` of the
//! three in labels of its own. Triplets of a group are aligned by the columns of r, which are in all of them. A group of two
//! takes the nearest variable outside for its third. Then every row gets a state of h, drawn from its posterior given the group,
//! and h is a variable like any other for the groups above.
//!
//! Across groups the paper (App. I) takes Π for the square root of a product that is Π² at best, which does not tell a swap from
//! the identity. Here a hidden child has the labels of its samples, so its table needs no alignment; its states are put in the
//! order in which they go with those of its parent, which is what the reference group is for.
//!
//! Drawn states carry the posterior's confusion, so that tables of hidden nodes come out too flat;
//! [`by_moments`](super::by_moments()) does not need them and is the better choice. This is here for comparison.

use std::str::FromStr;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::MomentModel;
use super::branches::nearest;
use super::discrete_tree::{discrete_roots, discrete_tree, variables_of};
use super::projection::{discrete_table, probabilities, rows_of};
use crate::data::{BatchSource, Schema};
use crate::error::{Error, Result};
use crate::index::NodeIx;
use crate::limits;
use crate::linalg::{DenseOperator, Matrix, cheapest_assignment, leading_singular_values};
use crate::model::{Distribution, LatentTree, Provenance, Table};
use crate::observer::Observer;
use crate::tensor::{Decomposition, Mixture, Options, WhitenedTensor, Whitening};
use crate::tree::Tree;

/// How the labels of hidden states are made to agree between the tables of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Alignment {
    /// By construction: one decomposition per hidden node, all else linear in its labels ([`by_moments`](super::by_moments())).
    #[default]
    Linear,
    /// Afterwards: triplets aligned by a reference node, with drawn hidden states ([`by_aligned_triplets`]).
    Huang,
}

impl Alignment {
    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Huang => "huang",
        }
    }
}

crate::named::by_name!(Alignment);

impl FromStr for Alignment {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::Linear, Self::Huang]
            .into_iter()
            .find(|alignment| alignment.name() == name)
            .ok_or_else(|| Error::option("parameters.alignment", format!("{name:?} is unknown; use linear or huang")))
    }
}

/// Labels of a variable beyond which pairs of them are not held.
const MAX_LABELS: usize = 4000;
/// Labels up to which all singular values of a pair are found.
const FEW_LABELS: usize = 48;
/// Marks a missing cell.
const MISSING: u32 = u32::MAX;

/// Learns all tables of a tree of discrete leaves by aligned triplets.
///
/// # Errors
/// [`Error::Tree`] if the tree does not fit the schema, has observed inner nodes or a hidden node of fewer than three neighbours;
/// [`Error::Data`] for a column that is not discrete or has more than 4,000 labels, and for a hidden node whose triplets do not
/// tell k states apart; those of the source, and [`Error::Cancelled`].
pub fn by_aligned_triplets(
    tree: &Tree,
    source: &mut dyn BatchSource,
    hidden_states: usize,
    decomposition: Decomposition,
    seed: u64,
    observer: &dyn Observer,
) -> Result<MomentModel> {
    let schema = Arc::clone(source.schema());
    let mut warnings = Vec::new();
    let tree = discrete_tree(tree, &schema, &mut warnings)?;
    let variable_of = variables_of(&tree, &schema)?;
    limits::check("parameters.hidden_states", hidden_states, 1..=limits::MAX_HIDDEN_STATES)?;
    let labels = check(&tree, &schema, &variable_of, hidden_states)?;
    observer.stage("rows", source.n_rows_hint());
    let (codes, weights) = read(source, &tree, &variable_of)?;
    observer.stage("triplets", None);
    let mut groups = Groups { tree: &tree, codes, weights, labels, k: hidden_states, decomposition, seed };
    let rooted = discrete_roots(&tree, &schema)?;
    let mut distributions: Vec<Option<Table>> = vec![None; tree.n_nodes()];
    for &node in rooted.order.iter().rev() {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        if tree.is_observed(node) {
            match rooted.parent[node.get()] {
                None => distributions[node.get()] = Some(groups.frequencies(node, None)),
                Some(parent) if tree.is_observed(parent) => {
                    distributions[node.get()] = Some(groups.frequencies(node, Some(parent)));
                }
                Some(_) => {}
            }
            continue;
        }
        let children: Vec<NodeIx> =
            tree.links(node).iter().map(|link| link.to).filter(|&to| rooted.parent[to.get()] == Some(node)).collect();
        let near = nearest(&tree, node, rooted.parent[node.get()], &variable_of, 1);
        let outside = near.first().and_then(|&variable| tree.find(&schema.variables()[variable].name));
        let group = groups.learn(node, &children, outside)?;
        for (&child, means) in children.iter().zip(&group.means) {
            let mut table = discrete_table(means);
            if !tree.is_observed(child) {
                let order = in_the_order_of_the_parent(&table);
                table = groups.relabel(child, &order, &table);
                distributions[child.get()] = distributions[child.get()].take().map(|own| reordered(&own, &order));
                for &below in tree.links(child).iter().map(|link| &link.to).filter(|it| rooted.parent[it.get()] == Some(child)) {
                    distributions[below.get()] = distributions[below.get()].take().map(|own| with_rows(&own, &order));
                }
            }
            distributions[child.get()] = Some(table);
        }
        groups.draw(node, &children, &group, &distributions);
        if rooted.parent[node.get()].is_none() {
            distributions[node.get()] = Some(Table::new(group.weights.len(), group.weights.clone()));
        }
    }
    let mut builder = LatentTree::builder(schema, tree.clone()).roots(&rooted.roots);
    for (node, table) in tree.node_ixs().zip(distributions) {
        builder = builder.distribution(node, Distribution::Discrete(table.expect("every node was visited")));
    }
    Ok(MomentModel { model: builder.provenance(Provenance::default()).build()?, warnings })
}

/// Whether triplets can be taken of the tree; the number of labels of each node.
fn check(tree: &Tree, schema: &Schema, variable_of: &[Option<usize>], k: usize) -> Result<Vec<usize>> {
    if k < 2 {
        return Err(Error::option("hidden states", format!("{k} is fewer than two")));
    }
    let mut labels = Vec::with_capacity(tree.n_nodes());
    for node in tree.node_ixs() {
        let Some(variable) = variable_of[node.get()] else {
            if tree.degree(node) < 3 {
                let problem = format!(
                    "hidden node {} has fewer than three neighbours, which moments do not determine; fit it by EM (`parameters.method` em)",
                    tree.name(node)
                );
                return Err(Error::tree(problem));
            }
            labels.push(k);
            continue;
        };
        let name = tree.name(node);
        let column = schema.variables()[variable].columns[0];
        let n_labels = schema.column(column).kind.n_states().filter(|_| !schema.variables()[variable].is_group);
        let place = || crate::error::Place::default().column(name);
        match n_labels {
            None => {
                return Err(Error::data(
                    place(),
                    "aligned triplets are for columns of labels; use `parameters.alignment` linear",
                ));
            }
            Some(n) if n > MAX_LABELS => {
                return Err(Error::data(
                    place(),
                    format!("it has {n} labels, too many for triplets; use `parameters.alignment` linear"),
                ));
            }
            Some(n) => labels.push(n),
        }
        if tree.degree(node) > 1 {
            return Err(Error::tree(format!(
                "observed node {name} is an inner node; aligned triplets support only observed leaves"
            )));
        }
    }
    Ok(labels)
}

/// The codes of all observed nodes and the rows' weights.
fn read(source: &mut dyn BatchSource, tree: &Tree, variable_of: &[Option<usize>]) -> Result<(Vec<Vec<u32>>, Vec<f64>)> {
    let schema = Arc::clone(source.schema());
    let (mut codes, mut weights) = (vec![Vec::new(); tree.n_nodes()], Vec::new());
    let mut numbers = Vec::new();
    while let Some(batch) = source.next_batch()? {
        weights.extend((0..batch.n_rows).map(|row| batch.weight(row)));
        for (codes, variable) in codes.iter_mut().zip(variable_of) {
            let Some(variable) = variable else { continue };
            let column = schema.variables()[*variable].columns[0].get();
            crate::coordinates::column_numbers(&batch, column, 0..batch.n_rows, &mut numbers);
            codes.extend(numbers.iter().map(|value| if value.is_nan() { MISSING } else { *value as u32 }));
        }
    }
    source.rewind()?;
    Ok((codes, weights))
}

/// What one hidden node's triplets give.
struct Group {
    weights: Vec<f64>,
    /// `P(y, h)` of each child, up to a factor for each state of h.
    means: Vec<Matrix>,
}

struct Groups<'a> {
    tree: &'a Tree,
    codes: Vec<Vec<u32>>,
    weights: Vec<f64>,
    labels: Vec<usize>,
    k: usize,
    decomposition: Decomposition,
    seed: u64,
}

impl Groups<'_> {
    /// How often the labels of an observed node occur, for each label of an observed parent.
    fn frequencies(&self, node: NodeIx, parent: Option<NodeIx>) -> Table {
        let n = self.labels[node.get()];
        let mut counts = Matrix::zeros(parent.map_or(1, |parent| self.labels[parent.get()]), n);
        for (row, (&code, weight)) in self.codes[node.get()].iter().zip(&self.weights).enumerate() {
            let above = parent.map_or(0, |parent| self.codes[parent.get()][row]);
            if code != MISSING && above != MISSING {
                counts[(above as usize, code as usize)] += weight;
            }
        }
        rows_of(&counts)
    }

    fn learn(&self, node: NodeIx, children: &[NodeIx], outside: Option<NodeIx>) -> Result<Group> {
        let reference = children[0];
        let mut triplets: Vec<[NodeIx; 3]> = Vec::new();
        match (&children[1..], outside) {
            ([only], Some(outside)) => triplets.push([*only, outside, reference]),
            (others, _) => {
                for pair in others.chunks(2) {
                    let second = pair.get(1).copied().unwrap_or(others[0]);
                    triplets.push([pair[0], second, reference]);
                }
            }
        }
        let mut found: Vec<Option<Matrix>> = vec![None; children.len()];
        let (mut weights, mut columns): (Vec<f64>, Option<Matrix>) = (vec![0.0; self.k], None);
        for triplet in &triplets {
            let mut mixture = self.decompose(*triplet).map_err(|error| self.no_states(node, triplet, &error))?;
            let reference_means = &mixture.means[2];
            let first = columns.get_or_insert_with(|| reference_means.clone());
            let cost = |c: usize, own: usize| {
                (0..first.n_rows()).map(|i| (first[(i, c)] - reference_means[(i, own)]).powi(2)).sum::<f64>()
            };
            let costs: Vec<f64> = (0..self.k * self.k).map(|at| cost(at / self.k, at % self.k)).collect();
            let order = cheapest_assignment(&costs, self.k);
            for (view, member) in triplet.iter().enumerate() {
                let Some(place) = children.iter().position(|child| child == member) else { continue };
                let own = std::mem::replace(&mut mixture.means[view], Matrix::zeros(0, 0));
                let aligned = Matrix::from_fn(own.n_rows(), self.k, |i, c| own[(i, order[c])]);
                found[place].get_or_insert(aligned);
            }
            for (weight, &own) in weights.iter_mut().zip(&order) {
                *weight += mixture.weights[own] / triplets.len() as f64;
            }
        }
        let means = found.into_iter().map(|it| it.expect("every child is in a triplet")).collect();
        Ok(Group { weights: probabilities(&weights), means })
    }

    fn no_states(&self, node: NodeIx, triplet: &[NodeIx; 3], error: &Error) -> Error {
        let names: Vec<&str> = triplet.iter().map(|&it| self.tree.name(it)).collect();
        Error::data(
            crate::error::Place::default(),
            format!(
                "hidden node {} cannot have {} states according to its triplet {} ({error}); ask for fewer hidden states, or use `parameters.alignment` linear",
                self.tree.name(node),
                self.k,
                names.join(", ")
            ),
        )
    }

    /// The states that three variables have in common.
    fn decompose(&self, triplet: [NodeIx; 3]) -> Result<Mixture> {
        let codes = triplet.map(|node| self.codes[node.get()].as_slice());
        let labels = triplet.map(|node| self.labels[node.get()]);
        let shared = |row: &usize| codes.iter().all(|codes| codes[*row] != MISSING);
        let rows: Vec<usize> = (0..self.weights.len()).filter(shared).collect();
        let total: f64 = rows.iter().map(|&row| self.weights[row]).sum::<f64>().max(f64::MIN_POSITIVE);
        let pair = |a: usize, b: usize| {
            let mut counts = Matrix::zeros(labels[a], labels[b]);
            rows.iter().for_each(|&row| counts[(codes[a][row] as usize, codes[b][row] as usize)] += self.weights[row] / total);
            counts
        };
        let pairs = [pair(0, 1), pair(0, 2), pair(1, 2)];
        let noise = 1.0 / total.sqrt();
        let whitening = if labels.iter().all(|&n| n <= FEW_LABELS) {
            Whitening::of_views(&pairs, self.k, noise)?
        } else {
            let factors = pairs.each_ref().map(|pair| {
                leading_singular_values(&DenseOperator { cells: pair.cells(), n_cols: pair.n_cols() }, self.k + 1, self.seed)
            });
            Whitening::of_view_factors(factors.each_ref(), self.k, noise)?
        };
        let mut cells = vec![0.0; self.k.pow(3)];
        let maps = [0, 1, 2].map(|view| whitening.whitener(view));
        for &row in &rows {
            let [a, b, c] = [0, 1, 2].map(|view| maps[view].row(codes[view][row] as usize));
            for (plane, x) in cells.chunks_exact_mut(self.k * self.k).zip(a) {
                for (line, y) in plane.chunks_exact_mut(self.k).zip(b) {
                    let factor = self.weights[row] / total * x * y;
                    line.iter_mut().zip(c).for_each(|(cell, z)| *cell += factor * z);
                }
            }
        }
        let tensor = WhitenedTensor::tensor(self.k, &cells)?;
        let components = self.decomposition.decompose(&tensor, &Options::new().seed(self.seed))?;
        let mut firsts = labels.map(|n| vec![0.0; n]);
        for &row in &rows {
            firsts.iter_mut().zip(codes).for_each(|(first, codes)| first[codes[row] as usize] += self.weights[row] / total);
        }
        Mixture::recover(&whitening, &components, Some(&firsts.each_ref().map(Vec::as_slice)))
    }

    /// Puts the states of a hidden child into another order in its samples, and in its table.
    fn relabel(&mut self, child: NodeIx, order: &[usize], table: &Table) -> Table {
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
        self.codes[child.get()].iter_mut().for_each(|code| *code = place[*code as usize]);
        reordered(table, order)
    }

    /// Draws a state of a hidden node for every row from its posterior given the group.
    fn draw(&mut self, node: NodeIx, children: &[NodeIx], group: &Group, distributions: &[Option<Table>]) {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ (node.get() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let tables: Vec<&Table> = children.iter().filter_map(|child| distributions[child.get()].as_ref()).collect();
        let mut posterior = vec![0.0; self.k];
        let drawn = (0..self.weights.len()).map(|row| {
            posterior.copy_from_slice(&group.weights);
            for (child, table) in children.iter().zip(&tables) {
                let code = self.codes[child.get()][row];
                if code != MISSING {
                    posterior.iter_mut().enumerate().for_each(|(c, p)| *p *= table.given(c)[code as usize]);
                }
                let sum: f64 = posterior.iter().sum();
                if sum > 0.0 {
                    posterior.iter_mut().for_each(|p| *p /= sum);
                }
            }
            let mut left: f64 = rng.random();
            let state = posterior.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            state.unwrap_or(self.k - 1) as u32
        });
        let drawn: Vec<u32> = drawn.collect();
        self.codes[node.get()] = drawn;
    }
}

/// The order of a child's states in which each goes most with the parent's state of the same number.
fn in_the_order_of_the_parent(table: &Table) -> Vec<usize> {
    let k = table.n_states();
    let costs: Vec<f64> = (0..k * k).map(|at| -table.given(at / k)[at % k]).collect();
    cheapest_assignment(&costs, k)
}

/// A table whose own states are in another order.
fn reordered(table: &Table, order: &[usize]) -> Table {
    Table::new(order.len(), table.rows().flat_map(|row| order.iter().map(|&old| row[old]).collect::<Vec<f64>>()).collect())
}

/// A table whose parent's states are in another order.
fn with_rows(table: &Table, order: &[usize]) -> Table {
    let cells: Vec<f64> = order.iter().flat_map(|&old| table.given(old).to_vec()).collect();
    rows_of(&Matrix::new(order.len(), table.n_states(), cells))
}
