//! Results for each row, with the row's id and the columns that are copied through.

use std::path::Path;
use std::sync::Arc;

use latentree::data::{BatchSource as _, CachedRows, Carried, ReadOptions, Reader, ResultWriter, Value};
use latentree::model::LatentTree;
use latentree::{Error, Result};

use super::read_options;
use crate::data_args::DataArgs;
use crate::printer::Printer;

/// Why `--keep` is rejected.
const NO_OTHERS: &str = "it applies only to tables; other columns of sparse files and events are variables";

/// Reading options that carry the ids of rows along. `--keep` and imputation also carry the columns that are not in the model, and
/// imputation carries the text of the other columns.
pub(super) fn carrying(args: &DataArgs, keep: bool, impute: bool) -> Result<ReadOptions> {
    if keep && (args.events.is_some() || args.text) {
        return Err(Error::option("--keep", NO_OTHERS));
    }
    Ok(read_options(args)?.carry_keys(true).carry_others(keep || impute).carry_variables(impute))
}

/// Whether rows have ids: those of `--id`, or of events or documents.
fn has_ids(args: &DataArgs) -> bool {
    args.id.is_some() || args.events.is_some() || args.text || args.meds || args.omop
}

/// The ids of all rows, and what they are called; `None` if rows have none.
pub(super) fn row_ids(rows: &CachedRows<Reader>, args: &DataArgs) -> Result<Option<(String, Vec<String>)>> {
    if !has_ids(args) {
        return Ok(None);
    }
    let options = carrying(args, false, false)?;
    let mut reader = rows.of_source(|reader| reader.reopen(&options.schema(Arc::clone(reader.schema()))))?;
    let mut ids = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        let carried = reader.carried();
        ids.extend((0..batch.n_rows).map(|row| carried.cell(row, 0).unwrap_or_default().to_owned()));
    }
    Ok(reader.carried().names().first().cloned().map(|name| (name, ids)))
}

/// Fails if `--keep` is used for data whose only columns are variables.
pub(super) fn check_keep(keep: bool, reader: &Reader) -> Result<()> {
    if keep && reader.is_sparse() { Err(Error::option("--keep", NO_OTHERS)) } else { Ok(()) }
}

/// Notes that the id column is also evidence, because the model was learned with it.
pub(super) fn note_id(args: &DataArgs, model: &LatentTree, printer: &Printer) {
    if let Some(id) = args.id.as_deref().filter(|id| model.schema().find_column(id).is_some()) {
        printer.note(&format!(
            "--id {id}: the column is a variable of the model and counts as evidence; learn with --id {id} to leave it out"
        ));
    }
}

/// Writes the results of rows.
pub(super) struct RowTable {
    writer: ResultWriter,
    has_id: bool,
    n_carried: usize,
}

impl RowTable {
    /// Starts a table with the ids or numbers of rows, the copied columns, and these results.
    pub(super) fn create(path: &Path, reader: &Reader, args: &DataArgs, results: &[String]) -> Result<Self> {
        let carried = reader.carried().names();
        let has_id = has_ids(args);
        let mut header: Vec<&str> = if has_id { Vec::new() } else { vec!["row"] };
        header.extend(carried.iter().chain(results).map(String::as_str));
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = header.iter().find(|name| !seen.insert(**name)) {
            let option = if has_id && carried.first().is_some_and(|id| id == twice) { "--id" } else { "--keep" };
            let problem = format!("a column of the results is called {twice:?}, too; rename the column of the data");
            return Err(Error::option(option, problem));
        }
        Ok(Self { writer: ResultWriter::create(path, &header)?, has_id, n_carried: carried.len() })
    }

    /// Names of the copied columns.
    pub(super) fn kept<'r>(&self, reader: &'r Reader) -> &'r [String] {
        &reader.carried().names()[usize::from(self.has_id)..]
    }

    /// Appends a row of a batch, given its zero-based number in the batch and in all.
    pub(super) fn write<'v>(
        &mut self,
        row: usize,
        number: u64,
        carried: &'v Carried,
        results: impl Iterator<Item = Value<'v>>,
    ) -> Result<()> {
        let mut values = Vec::with_capacity(1 + self.n_carried);
        if !self.has_id {
            values.push(Value::Integer(number + 1));
        }
        values.extend((0..self.n_carried).map(|column| carried.cell(row, column).map_or(Value::Missing, Value::Text)));
        values.extend(results);
        self.writer.write_row(&values)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}
