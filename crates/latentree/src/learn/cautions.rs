//! Warnings about tables that cannot support a tree.

use std::collections::HashSet;
use std::sync::Arc;

use super::run::Run;
use crate::data::{Rows, kind_option};
use crate::error::{Result, Shortened};
use crate::index::ColIx;
use crate::information;
use crate::model::LatentTree;
use crate::moments::{PairMoments, Summary, fold};
use crate::observer::{Observer, Unwarned};
use crate::parameters::em::rows_log_likelihood;
use crate::parameters::independent;
use crate::structure::{LearnerName, describe_forest_without};
use crate::{NodeIx, VarIx};

/// Number of rows below which any dependence may be due to chance.
const FEW_ROWS: u64 = 10;
/// Why a search gives several trees.
pub(super) const APART: &str = ": no edge between them gains more than it costs";
/// Maximum number of columns named in a warning.
const NAMED: usize = 5;
/// Maximum number of columns that are compared with each other.
const MOST_COMPARED: usize = 2_000;
/// Fewest rows with the second most frequent label of columns that are copies.
const FEW_COPIES: f64 = 5.0;

impl Run<'_> {
    /// Warns of tables that are too small or too uninformative for a tree, and of a BIC below that of independent variables.
    /// For a `searched` model, also says why it has several trees.
    pub(super) fn warn_of_table(&self, searched: Option<&LatentTree>, bic: Option<f64>, rows: &dyn Rows) -> Result<()> {
        let schema = Arc::clone(rows.schema());
        let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(&schema)), &Unwarned(self.observer))?;
        let (n_rows, n_variables) = (summary.n_rows(), schema.variables().len());
        let is_constant = |ix: &VarIx| match &schema.variable(*ix).columns[..] {
            [column] => n_rows > 1 && summary.columns()[column.get()].has_one_value(),
            _ => false,
        };
        if let Some(model) = searched {
            let is_left_out = |node: NodeIx| model.variable(node).is_some_and(|variable| is_constant(&variable));
            let forest = describe_forest_without(model.tree(), APART, &is_left_out);
            forest.iter().for_each(|message| self.observer.warn(message));
        }
        if n_rows < FEW_ROWS {
            let are = if n_rows == 1 { "is only 1 row" } else { &format!("are only {n_rows} rows") };
            self.observer.warn(&format!("there {are}: any dependence in the model may be due to chance"));
        }
        if n_variables < 3 && self.tree.is_none() && self.options.structure.learner == LearnerName::Auto {
            let are = if n_variables == 1 { "is only 1" } else { "are only 2" };
            self.observer.warn(&format!("hidden variables need three variables or more, and there {are}: none were looked for"));
        }
        let constant: Vec<VarIx> = schema.variable_ixs().filter(is_constant).collect();
        if !constant.is_empty() {
            let names = constant.iter().take(NAMED).map(|&ix| format!("{:?}", Shortened(&schema.variable(ix).name)));
            let names = names.collect::<Vec<_>>().join(", ");
            let more = if constant.len() > NAMED { format!(" and {} more", constant.len() - NAMED) } else { String::new() };
            let have = if constant.len() == 1 { "column has" } else { "columns have" };
            self.observer.warn(&format!(
                "{} {have} the same value in all rows and cannot depend on anything: {names}{more}",
                constant.len()
            ));
        }
        let Some(bic) = bic else { return Ok(()) };
        let model = independent(&schema, &summary)?;
        let log_likelihood = rows_log_likelihood(&model, rows, &Unwarned(self.observer))?;
        let alone = information::bic(log_likelihood, model.n_free_parameters(), summary.total_weight());
        if information::falls_short(bic, alone) {
            self.observer.warn(&format!(
                "BIC {bic:.2} is below the {alone:.2} of independent variables: these rows do not justify the tree; search by BIC, or use more rows"
            ));
        }
        Ok(())
    }
}

/// Names the pairs of columns of which one repeats the other: equal numbers, or labels that correspond one to one.
pub(super) fn warn_of_copies(moments: &PairMoments, observer: &dyn Observer) {
    let schema = moments.schema();
    let scalar: Vec<ColIx> = (schema.variables().iter())
        .filter_map(|variable| if let [column] = variable.columns[..] { Some(column) } else { None })
        .collect();
    if scalar.len() > MOST_COMPARED {
        return;
    }
    let spreads: Vec<Option<Spread>> = scalar.iter().map(|&column| Spread::of(moments, column)).collect();
    let mut copies: Vec<(ColIx, ColIx)> = Vec::new();
    for (place, (&column, spread)) in scalar.iter().zip(&spreads).enumerate() {
        let Some(spread) = spread else { continue };
        // The first column that it repeats.
        let earlier = scalar.iter().zip(&spreads).take(place);
        let is_same = |(other, of): &(&ColIx, &Option<Spread>)| {
            of.as_ref().is_some_and(|of| of.is_like(spread)) && are_copies(moments, **other, column)
        };
        if let Some((&other, _)) = earlier.clone().find(is_same) {
            copies.push((other, column));
        }
    }
    let Some(&(_, last)) = copies.last() else { return };
    let name = |column: ColIx| format!("{:?}", Shortened(&schema.column(column).name));
    let shown: Vec<String> = copies.iter().take(NAMED).map(|&(one, two)| format!("{} and {}", name(one), name(two))).collect();
    let more = if copies.len() > NAMED { format!("; and {} more pairs", copies.len() - NAMED) } else { String::new() };
    let option = kind_option(if copies.len() == 1 { &schema.column(last).name } else { "NAME" }, "ignore");
    observer.warn(&format!(
        "columns with the same content in every row: {}{more}; they look like strong dependence, so leave one of each pair out ({option})",
        shown.join("; ")
    ));
}

/// What two columns have in common if they are copies.
#[derive(Debug)]
struct Spread {
    weight: f64,
    /// Of numbers mean and variance, of labels the sorted weights.
    values: Vec<f64>,
    are_labels: bool,
}

impl Spread {
    /// That of a column with two values or more, each label in several rows.
    fn of(moments: &PairMoments, column: ColIx) -> Option<Self> {
        let weight = moments.weight(column);
        let labels = moments.level_weights(column).map(|mut weights| {
            weights.retain(|&weight| weight > 0.0);
            weights.sort_by(|a, b| b.total_cmp(a));
            weights
        });
        let mean_weight = weight / moments.n_rows() as f64;
        let are_labels = labels.is_some();
        let values = match labels {
            Some(weights) => weights,
            None => vec![moments.mean(column)?, moments.variance(column).filter(|&variance| variance > 0.0)?],
        };
        // Rare marks are in the same rows by chance.
        let is_common = !are_labels || values.get(1).is_some_and(|&second| second >= FEW_COPIES * mean_weight);
        is_common.then_some(Self { weight, values, are_labels })
    }

    fn is_like(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        let all_near = || self.values.iter().zip(&other.values).all(|(&a, &b)| near(a, b));
        let have_kind = self.are_labels == other.are_labels && self.values.len() == other.values.len();
        have_kind && near(self.weight, other.weight) && all_near()
    }
}

/// Whether columns that are spread alike are so in the same rows.
fn are_copies(moments: &PairMoments, one: ColIx, two: ColIx) -> bool {
    let weight = moments.weight(one);
    if (moments.pair_weight(one, two) - weight).abs() > 1e-9 * weight {
        return false;
    }
    match moments.sparse_table(one, two) {
        Some(entries) => {
            let mut seen = (HashSet::new(), HashSet::new());
            entries.iter().filter(|entry| entry.2 > 1e-9 * weight).all(|entry| seen.0.insert(entry.0) && seen.1.insert(entry.1))
        }
        None => moments.correlation(one, two).is_some_and(|correlation| correlation > 1.0 - 1e-11),
    }
}
