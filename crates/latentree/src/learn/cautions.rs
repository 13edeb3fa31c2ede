//! Warnings about tables that cannot support a tree.

use std::sync::Arc;

use super::run::Run;
use crate::data::Rows;
use crate::error::{Result, Shortened};
use crate::information;
use crate::model::LatentTree;
use crate::moments::{ColumnSummary, Summary, fold};
use crate::observer::{Observer as _, Unwarned};
use crate::parameters::em::rows_log_likelihood;
use crate::parameters::independent;
use crate::structure::{LearnerName, describe_forest_without};
use crate::{NodeIx, VarIx};

/// Number of rows below which any dependence may be due to chance.
const FEW_ROWS: u64 = 10;
/// Why a search gives several trees.
pub(super) const APART: &str = ": what joins them is too weak to raise BIC";
/// Maximum number of columns named in a warning.
const NAMED: usize = 5;

impl Run<'_> {
    /// Warns of tables that are too small or too uninformative for a tree, and of a BIC below that of independent variables.
    /// For a `searched` model, also says why it has several trees.
    pub(super) fn warn_of_table(&self, searched: Option<&LatentTree>, bic: Option<f64>, rows: &dyn Rows) -> Result<()> {
        let schema = Arc::clone(rows.schema());
        let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(&schema)), &Unwarned(self.observer))?;
        let (n_rows, n_variables) = (summary.n_rows(), schema.variables().len());
        let is_constant = |ix: &VarIx| match &schema.variable(*ix).columns[..] {
            [column] => n_rows > 1 && has_one_value(&summary.columns()[column.get()]),
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
        // Smoothing slightly lowers every likelihood.
        if bic < alone - 1e-4 * alone.abs() - 0.5 {
            self.observer.warn(&format!(
                "BIC {bic:.2} is below the {alone:.2} of independent variables: these rows do not justify the tree; search by BIC, or use more rows"
            ));
        }
        Ok(())
    }
}

fn has_one_value(column: &ColumnSummary) -> bool {
    match (&column.levels[..], column.range) {
        ([], Some((low, high))) => low == high,
        ([], None) => false,
        (levels, _) => levels.iter().filter(|&&weight| weight > 0.0).count() == 1,
    }
}
