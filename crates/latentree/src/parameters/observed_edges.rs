//! Edges between observed variables with many labels, and the alternatives to their joint tables.
//!
//! The table of an edge between columns of `d_a` and `d_b` labels has `(d_a − 1)(d_b − 1)` free parameters more than
//! independence: 15 million for two columns of 4,000 labels. Three ways are compared by BIC, as gains over independence:
//!
//! | way | gain |
//! | --- | --- |
//! | the table | `n Î − ½ ln n (d_a − 1)(d_b − 1)`, Î the empirical mutual information |
//! | a hidden node of k states on the edge | `n Î_k − ½ ln n (k − 1)(d_a + d_b − 1)`, Î_k the information of the [best fit](PairFit) of rank k |
//! | no edge | 0 |
//!
//! Only edges whose table is larger than the hidden node's are looked at. Counts stay sparse: an edge costs as many cells as
//! label pairs occur.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::pair_fit::PairFit;
use crate::coordinates::column_numbers;
use crate::data::{Batch, BatchSource, Kind, Schema};
use crate::error::Result;
use crate::index::NodeIx;
use crate::information;
use crate::model::{Distribution, LatentTree};
use crate::moments::sums::{from_bytes, mismatch, to_bytes};
use crate::moments::{Accumulator, fold};
use crate::observer::Observer;
use crate::tree::Tree;

/// Weighted counts of the label pairs of some pairs of columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PairCounts {
    columns: Vec<(usize, usize)>,
    #[serde(with = "super::summaries::tables")]
    counts: Vec<BTreeMap<(u32, u32), f64>>,
}

impl PairCounts {
    /// No rows yet of these pairs.
    pub(crate) fn of_columns(columns: Vec<(usize, usize)>) -> Self {
        Self { counts: vec![BTreeMap::new(); columns.len()], columns }
    }
}

impl Accumulator for PairCounts {
    type Output = Vec<BTreeMap<(u32, u32), f64>>;

    const NAME: &'static str = "pair-counts";

    fn observe(&mut self, batch: &Batch) -> Result<()> {
        self.counts.par_iter_mut().zip(&self.columns).for_each(|(counts, &(a, b))| {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            column_numbers(batch, a, 0..batch.n_rows, &mut first);
            column_numbers(batch, b, 0..batch.n_rows, &mut second);
            for (row, (a, b)) in first.iter().zip(&second).enumerate() {
                if !a.is_nan() && !b.is_nan() {
                    *counts.entry((*a as u32, *b as u32)).or_default() += batch.weight(row);
                }
            }
        });
        Ok(())
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.columns != other.columns {
            return Err(mismatch());
        }
        for (own, other) in self.counts.iter_mut().zip(other.counts) {
            other.into_iter().for_each(|(key, weight)| *own.entry(key).or_default() += weight);
        }
        Ok(())
    }

    fn empty(&self) -> Self {
        Self { columns: self.columns.clone(), counts: vec![BTreeMap::new(); self.columns.len()] }
    }

    fn finish(self) -> Result<Self::Output> {
        Ok(self.counts)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes)
    }
}

/// A tree without the edges whose tables do not pay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slimmed {
    /// The tree without these edges.
    pub(crate) tree: Tree,
    /// Edges that get a hidden node, with the fit of their ends.
    bridges: Vec<(NodeIx, NodeIx, PairFit)>,
    /// The changes, in words.
    pub(crate) notes: Vec<String>,
}

impl Slimmed {
    /// The tree with a hidden node on each edge that gets one.
    ///
    /// # Errors
    /// None for a tree whose names are unique.
    pub(crate) fn bridged_tree(&self) -> Result<Tree> {
        let mut tree = self.tree.clone();
        for (a, b, _) in &self.bridges {
            let hidden = tree.add_next_hidden();
            tree.connect(*a, hidden, None)?;
            tree.connect(hidden, *b, None)?;
        }
        Ok(tree)
    }

    /// A model of [`tree`](Self::tree) with the hidden nodes of [`bridged_tree`](Self::bridged_tree), whose tables are those of
    /// the fits.
    ///
    /// # Errors
    /// None for a model of the tree.
    pub(crate) fn bridge(&self, model: LatentTree) -> Result<LatentTree> {
        self.bridges.iter().try_fold(model, |model, (a, b, fit)| {
            // From b downwards nothing changes; b itself now follows the hidden node.
            let model = model.rerooted(*b)?;
            let mut tree = model.tree().clone();
            let hidden = tree.add_next_hidden();
            tree.connect(*a, hidden, None)?;
            tree.connect(hidden, *b, None)?;
            let roots: Vec<NodeIx> = model.rooted().roots.iter().copied().filter(|root| root != b).collect();
            let mut builder = LatentTree::builder(Arc::clone(model.schema()), tree).roots(&roots);
            for node in model.tree().node_ixs() {
                builder = builder.distribution(node, model.distribution(node).clone());
            }
            builder = builder.distribution(hidden, Distribution::Discrete(fit.class_given_first()));
            builder = builder.distribution(*b, Distribution::Discrete(fit.second_given_class()));
            builder.build()
        })
    }
}

/// Looks at the tables of a tree's observed edges; `None` if all of them pay.
///
/// # Errors
/// Those of the source, and [`Error::Cancelled`](crate::Error::Cancelled).
pub(crate) fn slimmed(
    tree: &Tree,
    source: &mut dyn BatchSource,
    hidden_states: usize,
    observer: &dyn Observer,
) -> Result<Option<Slimmed>> {
    let schema = Arc::clone(source.schema());
    let labels = |node: NodeIx| labels(tree, &schema, node);
    let wide: Vec<_> = tree
        .edges()
        .filter_map(|edge| Some((edge, labels(edge.a)?, labels(edge.b)?)))
        .filter(|&(_, (_, a), (_, b))| table_size(a, b) > hidden_size(a, b, hidden_states))
        .collect();
    if wide.is_empty() {
        return Ok(None);
    }
    observer.stage("observed edges", source.n_rows_hint());
    let columns: Vec<(usize, usize)> = wide.iter().map(|&(_, (a, _), (b, _))| (a, b)).collect();
    let counts = fold(source, PairCounts::of_columns(columns), observer)?.finish()?;
    source.rewind()?;
    let ways: Vec<Way> =
        wide.par_iter().zip(&counts).map(|(&(_, (_, n_a), (_, n_b)), counts)| way(counts, n_a, n_b, hidden_states)).collect();
    if ways.iter().all(|way| matches!(way, Way::Table)) {
        return Ok(None);
    }
    let mut slimmed = Slimmed { tree: tree.clone(), bridges: Vec::new(), notes: Vec::new() };
    let (mut cut, mut bridged) = (Vec::new(), Vec::new());
    for (&(edge, (_, n_a), (_, n_b)), way) in wide.iter().zip(ways) {
        let text = format!("{} ({n_a} labels) and {} ({n_b})", tree.name(edge.a), tree.name(edge.b));
        match way {
            Way::Table => continue,
            Way::Cut => cut.push(text),
            Way::Hidden(fit) => {
                bridged.push(text);
                slimmed.bridges.push((edge.a, edge.b, fit));
            }
        }
        slimmed.tree.disconnect(edge.a, edge.b);
    }
    let note = |pairs: &[String], what: &str| {
        let first = pairs.first()?;
        Some(match pairs.len() {
            1 => format!("the joint table of {first} has more parameters than the rows justify: {what}"),
            n => format!("{n} joint tables have more parameters than the rows justify (first: {first}): {what}"),
        })
    };
    slimmed.notes.extend(note(&cut, "modelled as independent"));
    slimmed.notes.extend(note(&bridged, &format!("replaced by a hidden variable with {hidden_states} states")));
    Ok(Some(slimmed))
}

/// What becomes of an edge.
enum Way {
    Table,
    Hidden(PairFit),
    Cut,
}

fn table_size(n_a: usize, n_b: usize) -> f64 {
    (n_a as f64 - 1.0) * (n_b as f64 - 1.0)
}

fn hidden_size(n_a: usize, n_b: usize, k: usize) -> f64 {
    (k as f64 - 1.0) * (n_a as f64 + n_b as f64 - 1.0)
}

fn way(counts: &BTreeMap<(u32, u32), f64>, n_a: usize, n_b: usize, k: usize) -> Way {
    let weight: f64 = counts.values().sum();
    let half_ln = information::bic_cost(weight.max(1.0));
    let table = information(counts, n_a, n_b) - half_ln * table_size(n_a, n_b);
    let fit = PairFit::new(counts, n_a, n_b, k);
    let hidden = fit.information(counts) - half_ln * hidden_size(n_a, n_b, k);
    if table > 0.0 && table >= hidden {
        Way::Table
    } else if hidden > 0.0 {
        Way::Hidden(fit)
    } else {
        Way::Cut
    }
}

/// `n Î`: the gain of the table over independence, in nats over all rows.
fn information(counts: &BTreeMap<(u32, u32), f64>, n_a: usize, n_b: usize) -> f64 {
    let (mut first, mut second, mut total) = (vec![0.0; n_a], vec![0.0; n_b], 0.0);
    for (&(a, b), weight) in counts {
        first[a as usize] += weight;
        second[b as usize] += weight;
        total += weight;
    }
    let positive = counts.iter().filter(|it| *it.1 > 0.0);
    positive.map(|(&(a, b), weight)| weight * (weight * total / (first[a as usize] * second[b as usize])).ln()).sum()
}

/// The column of an observed node and its number of labels, if it has labels.
fn labels(tree: &Tree, schema: &Schema, node: NodeIx) -> Option<(usize, usize)> {
    let variable = schema.find_variable(tree.name(node)).filter(|_| tree.is_observed(node))?;
    let n_states = schema.scalar_kind(variable).and_then(Kind::n_states)?;
    Some((schema.variable(variable).columns[0].get(), n_states))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::data::{ColumnData, Dataset};
    use crate::inference::Inference;
    use crate::model::Table;
    use crate::observer::Silent;

    /// Two columns of `d` labels: independent, copies of each other, or both from one of three classes of labels.
    fn pair(d: u32, n: usize, how: &str) -> Dataset {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let schema = Schema::builder().scalar("a", Kind::numbered(d as usize)).scalar("b", Kind::numbered(d as usize));
        let rows = (0..n).map(|_| match how {
            "independent" => (rng.random_range(0..d), rng.random_range(0..d)),
            "copies" => {
                let a = rng.random_range(0..d);
                (a, a)
            }
            _ => {
                let class = rng.random_range(0..2) * (d / 2);
                (class + rng.random_range(0..d / 2), class + rng.random_range(0..d / 2))
            }
        });
        let (a, b) = rows.unzip();
        let columns = vec![ColumnData::Codes(a), ColumnData::Codes(b)];
        let columns = if d <= 255 { columns.into_iter().map(narrow).collect() } else { columns };
        Dataset::from_columns(Arc::new(schema.build().unwrap()), columns, None).unwrap()
    }

    fn narrow(column: ColumnData) -> ColumnData {
        let ColumnData::Codes(codes) = column else { unreachable!() };
        ColumnData::Codes8(codes.into_iter().map(|code| code as u8).collect())
    }

    fn joined(schema: &Schema) -> Tree {
        let mut tree = Tree::new();
        let nodes: Vec<NodeIx> =
            schema.variables().iter().map(|variable| tree.add_observed(variable.name.clone()).unwrap()).collect();
        tree.connect(nodes[0], nodes[1], None).unwrap();
        tree
    }

    #[test]
    fn the_way_follows_what_the_columns_have_in_common() {
        for (how, n_bridges, n_edges) in [("independent", 0, 0), ("classes", 1, 0)] {
            let data = pair(300, 4000, how);
            let found = slimmed(&joined(data.schema()), &mut data.source(), 2, &Silent).unwrap().unwrap();
            assert_eq!((found.bridges.len(), found.tree.n_edges(), found.notes.len()), (n_bridges, n_edges, 1), "{how}");
        }
        // 1,521 parameters are worth their price where one column tells the other.
        let data = pair(40, 4000, "copies");
        assert_eq!(slimmed(&joined(data.schema()), &mut data.source(), 2, &Silent).unwrap(), None);
    }

    #[test]
    fn a_hidden_node_on_an_edge_has_the_likelihood_of_its_fit() {
        let data = pair(60, 3000, "classes");
        let tree = joined(data.schema());
        let found = slimmed(&tree, &mut data.source(), 2, &Silent).unwrap().unwrap();
        let fit = &found.bridges[0].2;
        let model = LatentTree::builder(Arc::clone(data.schema()), found.tree.clone())
            .roots(&[NodeIx::new(0), NodeIx::new(1)])
            .distribution(NodeIx::new(0), Distribution::Discrete(Table::new(60, fit.first_marginal())))
            .distribution(NodeIx::new(1), Distribution::Discrete(Table::new(60, vec![1.0 / 60.0; 60])))
            .build()
            .unwrap();
        let bridged = found.bridge(model).unwrap();
        assert_eq!(bridged.tree().n_hidden(), 1);
        let counts = PairCounts { columns: vec![(0, 1)], counts: vec![BTreeMap::new()] };
        let counts = fold(&mut data.source(), counts, &Silent).unwrap().finish().unwrap().remove(0);
        let score = Inference::new(&bridged).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap().log_likelihood;
        let expected: f64 = counts.iter().map(|(&(a, b), weight)| weight * fit.probability(a as usize, b as usize).ln()).sum();
        assert!((score - expected).abs() < 1e-6 * expected.abs(), "{score} {expected}");
    }
}
