//! Evidence: the known values of a row.

use std::ops::Range;

use crate::data::{Batch, Block, ColumnData, Kind, MISSING_CODE, MISSING_CODE8, SparseRows};
use crate::error::{Error, Result, Shortened};
use crate::index::{ColIx, NodeIx};
use crate::model::{Domain, LatentTree};

/// The evidence of one row: any column and any hidden node may be set.
///
/// # Example
/// ```no_run
/// # fn example(model: &latentree::model::LatentTree) -> latentree::Result<()> {
/// let mut evidence = latentree::inference::Evidence::none(model);
/// evidence.set(model, "smoker", "yes")?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    columns: Vec<f64>,
    hidden: Vec<f64>,
}

impl Evidence {
    /// Nothing is known.
    #[must_use]
    pub fn none(model: &LatentTree) -> Self {
        Self { columns: vec![f64::NAN; model.schema().columns().len()], hidden: vec![f64::NAN; model.tree().n_nodes()] }
    }

    /// One row of a batch that has the model's schema.
    #[must_use]
    pub fn row(model: &LatentTree, batch: &Batch, row: usize) -> Self {
        let n_columns = model.schema().columns().len();
        Self { columns: (0..n_columns).map(|ix| batch.number(row, ColIx::new(ix))).collect(), ..Self::none(model) }
    }

    /// Sets a node, or a member column of a group, from what a user wrote: a label, or a number.
    ///
    /// # Errors
    /// [`Error::Query`] if there is no such node, or it does not have this value.
    pub fn set(&mut self, model: &LatentTree, name: &str, value: &str) -> Result<()> {
        let problem = |expected: String| Error::query(format!("{name}={:?}: {expected}", Shortened(value)));
        let discrete = |labels: &[String]| -> Result<f64> {
            let found = labels.iter().position(|label| label == value).or_else(|| {
                let number: f64 = value.parse().ok()?;
                labels.iter().position(|label| label.parse() == Ok(number))
            });
            // True is true, unless there is a label True besides.
            let mut alike = labels.iter().enumerate().filter(|(_, label)| label.eq_ignore_ascii_case(value)).map(|it| it.0);
            let found = found.or_else(|| alike.next().filter(|_| alike.next().is_none()));
            let known = || labels.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if labels.len() > 8 { ", …" } else { "" };
            found.map(|code| code as f64).ok_or_else(|| problem(format!("{name} has the values {}{more}", known())))
        };
        let parsed = |needed: &str| match value.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            // `inf` is no number that a user can mean.
            Ok(number) if number.is_infinite() && value.contains(|c: char| c.is_ascii_digit()) => {
                Err(problem("the number is too large".to_owned()))
            }
            _ => Err(problem(format!("{needed} is needed"))),
        };
        let number = || parsed("a number");
        let count = || {
            const NEEDED: &str = "a count 0, 1, 2, …";
            let number = parsed(NEEDED)?;
            let is_count = number >= 0.0 && number.fract() == 0.0;
            if is_count { Ok(number) } else { Err(problem(format!("{NEEDED} is needed"))) }
        };
        if let Some(node) = model.tree().find(name) {
            if let Some(variable) = model.variable(node) {
                let variable = model.schema().variable(variable);
                if variable.is_group {
                    let member = &model.schema().column(variable.columns[0]).name;
                    return Err(Error::query(format!("{name:?} is a group; set its members, such as {member:?}")));
                }
            }
            let value = match model.domain(node) {
                Domain::Discrete { labels } => discrete(labels)?,
                Domain::Count => count()?,
                _ => number()?,
            };
            self.set_node(model, node, value);
            return Ok(());
        }
        let Some(column) = model.schema().find_column(name) else {
            return Err(model.find(name).expect_err("the name was not found"));
        };
        self.columns[column.get()] = match &model.schema().column(column).kind {
            Kind::Continuous => number()?,
            Kind::Count => count()?,
            kind => discrete(kind.labels().unwrap_or_default())?,
        };
        Ok(())
    }

    /// Sets a scalar node to a code or a number.
    pub fn set_node(&mut self, model: &LatentTree, node: NodeIx, value: f64) {
        match model.variable(node) {
            Some(variable) => self.columns[model.schema().variable(variable).columns[0].get()] = value,
            None => self.hidden[node.get()] = value,
        }
    }

    /// Returns whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.iter().chain(&self.hidden).all(|value| value.is_nan())
    }

    /// The code or number of a scalar node, `None` if not known.
    #[must_use]
    pub fn node(&self, model: &LatentTree, node: NodeIx) -> Option<f64> {
        let value = match model.variable(node) {
            Some(variable) => self.columns[model.schema().variable(variable).columns[0].get()],
            None => self.hidden[node.get()],
        };
        (!value.is_nan()).then_some(value)
    }
}

/// The cells of one column, or the states of a hidden node, in some rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cells<'a> {
    /// Nothing known in any row.
    Missing,
    /// Codes, [`MISSING_CODE8`] where missing.
    Codes8(&'a [u8]),
    /// Codes, [`MISSING_CODE`] where missing.
    Codes(&'a [u32]),
    /// Numbers, NaN where missing.
    Reals(&'a [f64]),
}

impl Cells<'_> {
    /// Code of a discrete cell.
    pub(crate) fn code(&self, row: usize) -> Option<usize> {
        match self {
            Self::Missing => None,
            Self::Codes8(codes) => (codes[row] != MISSING_CODE8).then(|| usize::from(codes[row])),
            Self::Codes(codes) => (codes[row] != MISSING_CODE).then(|| codes[row] as usize),
            Self::Reals(values) => (!values[row].is_nan()).then(|| values[row] as usize),
        }
    }

    /// The number in a cell, NaN if missing.
    pub(crate) fn number(&self, row: usize) -> f64 {
        match self {
            Self::Missing => f64::NAN,
            Self::Reals(values) => values[row],
            _ => self.code(row).map_or(f64::NAN, |code| code as f64),
        }
    }
}

/// The evidence of a block of rows.
#[derive(Debug)]
pub(crate) struct EvidenceBlock<'a> {
    pub(crate) n_rows: usize,
    columns: Vec<Cells<'a>>,
    /// By node; empty when no hidden node is known.
    hidden: Vec<Cells<'a>>,
}

impl<'a> EvidenceBlock<'a> {
    /// A scalar column.
    pub(crate) fn column(&self, column: ColIx) -> Cells<'a> {
        self.columns[column.get()]
    }

    /// A hidden node.
    pub(crate) fn hidden(&self, node: NodeIx) -> Cells<'a> {
        self.hidden.get(node.get()).copied().unwrap_or(Cells::Missing)
    }

    /// Calls `visit` with rows of a batch as a block.
    pub(crate) fn with_batch<R>(
        batch: &Batch,
        rows: Range<usize>,
        is_small: &[bool],
        visit: impl FnOnce(&EvidenceBlock<'_>) -> R,
    ) -> R {
        let n_rows = rows.len();
        match &batch.block {
            Block::Dense(columns) => {
                let columns = columns.iter().map(|column| match column {
                    ColumnData::Codes8(codes) => Cells::Codes8(&codes[rows.clone()]),
                    ColumnData::Codes(codes) => Cells::Codes(&codes[rows.clone()]),
                    ColumnData::Reals(values) => Cells::Reals(&values[rows.clone()]),
                });
                visit(&EvidenceBlock { n_rows, columns: columns.collect(), hidden: Vec::new() })
            }
            Block::Sparse(sparse) => {
                let dense = densify(sparse, rows, is_small);
                let columns = dense.iter().map(|column| match column {
                    ColumnData::Codes8(codes) => Cells::Codes8(codes),
                    ColumnData::Codes(codes) => Cells::Codes(codes),
                    ColumnData::Reals(values) => Cells::Reals(values),
                });
                visit(&EvidenceBlock { n_rows, columns: columns.collect(), hidden: Vec::new() })
            }
        }
    }

    /// Calls `visit` with the same evidence in `n_rows` rows.
    pub(crate) fn with_repeated<R>(evidence: &Evidence, n_rows: usize, visit: impl FnOnce(&EvidenceBlock<'_>) -> R) -> R {
        Self::with_rows(std::slice::from_ref(evidence), n_rows, visit)
    }

    /// Calls `visit` with one row per evidence; a single one is repeated `n_rows` times.
    pub(crate) fn with_rows<R>(evidence: &[Evidence], n_rows: usize, visit: impl FnOnce(&EvidenceBlock<'_>) -> R) -> R {
        let row = |row: usize| &evidence[if evidence.len() == 1 { 0 } else { row }];
        let gather = |value: &dyn Fn(&Evidence) -> f64| (0..n_rows).map(|ix| value(row(ix))).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = (0..evidence[0].columns.len()).map(|ix| gather(&|it| it.columns[ix])).collect();
        let hidden: Vec<Vec<f64>> = (0..evidence[0].hidden.len()).map(|ix| gather(&|it| it.hidden[ix])).collect();
        let block = EvidenceBlock {
            n_rows,
            columns: columns.iter().map(|values| Cells::Reals(values)).collect(),
            hidden: hidden.iter().map(|values| Cells::Reals(values)).collect(),
        };
        visit(&block)
    }
}

/// Rows of a sparse batch as dense columns; `is_small[column]` says whether its codes fit a byte (numbers do not).
fn densify(sparse: &SparseRows, rows: Range<usize>, is_small: &[bool]) -> Vec<ColumnData> {
    let n_rows = rows.len();
    let mut columns: Vec<ColumnData> = is_small
        .iter()
        .map(|&small| if small { ColumnData::Codes8(vec![0; n_rows]) } else { ColumnData::Reals(vec![0.0; n_rows]) })
        .collect();
    for (at, row) in rows.enumerate() {
        for (column, value) in sparse.row(row) {
            match &mut columns[column] {
                ColumnData::Codes8(codes) => codes[at] = if value.is_nan() { MISSING_CODE8 } else { value as u8 },
                ColumnData::Codes(codes) => codes[at] = value as u32,
                ColumnData::Reals(values) => values[at] = value,
            }
        }
    }
    columns
}
