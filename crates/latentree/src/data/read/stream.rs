//! Rows that another program gives as Arrow record batches, once: parts of a table that is spread over processes.
//!
//! A first pass looks at the columns ([`Look`]): its parts merge, and say together what the schema is. All further passes read with that schema
//! ([`Reading`], [`StreamRows`]).

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use serde::{Deserialize, Serialize};

use super::cell::{Cell, CellSink};
use super::columnar::ColumnarTable;
use super::dense::{DenseReader, weight_problem};
use super::infer::{Asked, Guess, Profile, StoredProfile};
use super::input::Input;
use super::notes::Notes;
use super::options::{KindOverride, ReadOptions};
use super::overrides::{Overrides, unknown_column};
use super::plan::{Columns, Plan, Target, Verdict};
use super::table::{FileTable, Table};
use super::unseen::UnseenPolicy;
use super::written_number::NumberReader;
use crate::data::weights::SeenWeights;
use crate::data::{Batch, BatchSource, Schema, WeightKind, WeightScale};
use crate::error::{Error, Place, Result, Shortened};

/// Rows looked at between two checks of what is kept.
const CHUNK_ROWS: usize = 1024;

/// Record batches of one schema that come one after the other.
pub struct RecordBatches {
    table: ColumnarTable,
}

impl RecordBatches {
    /// Batches that an iterator gives.
    ///
    /// # Errors
    /// [`Error::Data`] if two columns have the same name.
    pub fn new(
        schema: &SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    ) -> Result<Self> {
        Ok(Self { table: ColumnarTable::stream(schema, Box::new(batches))? })
    }

    /// Batches that a function gives as Arrow IPC streams, each with its schema, and no bytes at the end; `None` if there are none.
    ///
    /// # Errors
    /// Those of the function, and [`Error::Format`] for bytes that are no such stream.
    pub fn from_ipc(mut next: impl FnMut() -> Result<Vec<u8>> + Send + 'static) -> Result<Option<Self>> {
        let first = next()?;
        if first.is_empty() {
            return Ok(None);
        }
        let open = |bytes: Vec<u8>| arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(bytes), None);
        let mut stream = open(first).map_err(|error| Error::format(Place::default(), "Arrow", error.to_string()))?;
        let schema = stream.schema();
        let mut is_over = false;
        let batches = std::iter::from_fn(move || {
            while !is_over {
                if let Some(batch) = stream.next() {
                    return Some(batch);
                }
                let bytes = match next() {
                    Ok(bytes) => bytes,
                    Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
                };
                is_over = bytes.is_empty();
                if !is_over {
                    match open(bytes) {
                        Ok(opened) => stream = opened,
                        Err(error) => return Some(Err(error)),
                    }
                }
            }
            None
        });
        Self::new(&schema, batches).map(Some)
    }
}

impl std::fmt::Debug for RecordBatches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordBatches").field("columns", &self.table.names()).finish_non_exhaustive()
    }
}

/// How rows are read wherever they are: the same for every pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reading {
    /// What the columns mean.
    pub schema: Arc<Schema>,
    /// The column of row weights.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weights: Option<String>,
    /// What becomes of the weights.
    #[serde(default)]
    pub scale: WeightScale,
    /// Binary columns in which every number above 0 is 1.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub positive: Vec<String>,
}

impl Reading {
    /// Rows of this schema without weights.
    #[must_use]
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, weights: None, scale: WeightScale::default(), positive: Vec::new() }
    }

    /// These settings, with a column of row weights that are frequencies.
    #[must_use]
    pub fn weights(mut self, column: Option<String>) -> Self {
        self.weights = column;
        self
    }
}

/// Rows of record batches, for one pass.
pub struct StreamRows {
    /// `None` if there are no rows.
    reader: Option<DenseReader>,
    schema: Arc<Schema>,
    scale: WeightScale,
}

impl std::fmt::Debug for StreamRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamRows").finish_non_exhaustive()
    }
}

impl StreamRows {
    /// Reads batches. Cells whose label the schema does not have are errors.
    ///
    /// # Errors
    /// [`Error::Data`] if a column of the schema is not there or has a type that cannot be read.
    pub fn open(batches: RecordBatches, reading: &Reading) -> Result<Self> {
        let RecordBatches { mut table } = batches;
        let (schema, scale) = (Arc::clone(&reading.schema), reading.scale);
        if !table.has_rows()? {
            return Ok(Self { reader: None, schema, scale });
        }
        for (ix, name) in table.names().iter().enumerate() {
            if let (Some(_), Some(reason)) = (schema.find_column(name), table.unusable(ix).filter(|_| !table.is_null(ix))) {
                return Err(Error::data(
                    Place::default().column(name),
                    format!("{reason}, and cannot be read as the schema says"),
                ));
            }
        }
        let mut options = ReadOptions::default().schema(Arc::clone(&schema)).unseen(UnseenPolicy::Error);
        options.weights.clone_from(&reading.weights);
        options.kinds = reading.positive.iter().map(|name| (name.clone(), KindOverride::Binary)).collect();
        let (reader, plan, _) = DenseReader::open(in_table(table), Arc::new(Input::memory()), &options)?;
        if let Some(&absent) = plan.absent.first() {
            let name = &schema.column(absent).name;
            return Err(Error::data(Place::default(), format!("the rows have no column {:?}", Shortened(name))));
        }
        Ok(Self { reader: Some(reader), schema, scale })
    }
}

fn in_table(table: ColumnarTable) -> Table {
    Table::File(FileTable::Columnar(Box::new(table)))
}

impl BatchSource for StreamRows {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        Ok(reader.next_batch()?.map(|batch| self.scale.apply(Arc::new(batch))))
    }

    fn rewind(&mut self) -> Result<()> {
        self.reader.as_mut().map_or(Ok(()), DenseReader::rewind)
    }
}

/// What is asked about the columns of rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LookOptions {
    /// The columns to learn from; all but the weights, if not given.
    pub columns: Option<Vec<String>>,
    /// Kinds by column name, as users write them; `*` is every column that is not named.
    pub kinds: Vec<(String, String)>,
    /// The column of row weights.
    pub weights: Option<String>,
    /// Labels of a categorical column that occur less often are joined.
    pub min_count: Option<u64>,
}

impl LookOptions {
    fn read_options(&self) -> Result<ReadOptions> {
        let mut options = ReadOptions { weights: self.weights.clone(), min_count: self.min_count, ..ReadOptions::default() };
        for (name, kind) in &self.kinds {
            let parsed = KindOverride::parse(kind).ok_or_else(|| {
                Error::option("read.kind", format!("{kind:?} is not categorical, binary, continuous, count or ignore"))
            })?;
            options = options.kind(name.clone(), parsed);
        }
        Ok(options)
    }
}

/// What the rows say about their columns: it is collected part by part, and merges.
#[derive(Debug, Serialize, Deserialize)]
pub struct Look {
    options: LookOptions,
    n_rows: u64,
    weights: SeenWeights,
    /// `None` before the first rows.
    columns: Option<Vec<LookedColumn>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LookedColumn {
    name: String,
    /// Why its type cannot be a variable's.
    unusable: Option<String>,
    profile: Option<StoredProfile>,
}

/// What the columns of rows turn out to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Looked {
    /// How all further passes read the rows.
    pub reading: Reading,
    /// Number of rows.
    pub n_rows: u64,
    /// Whether a row of weight w represents w rows, as it does without weights.
    pub are_frequencies: bool,
    /// What the user should know: columns left out, and why.
    pub warnings: Vec<String>,
}

impl Look {
    /// A look at no rows.
    #[must_use]
    pub fn new(options: LookOptions) -> Self {
        Self { options, n_rows: 0, weights: SeenWeights::default(), columns: None }
    }

    /// Number of rows seen.
    #[must_use]
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Looks at all rows of a part.
    ///
    /// # Errors
    /// If a column is not there, or a cell does not fit its column.
    pub fn observe(&mut self, batches: RecordBatches) -> Result<()> {
        let RecordBatches { mut table } = batches;
        let overrides = Overrides::new(&self.options.read_options()?)?;
        let names = table.names().to_vec();
        let find = |option: &str, name: &String| {
            names.iter().position(|other| other == name).ok_or_else(|| unknown_column(option, name, &names))
        };
        let weight = self.options.weights.as_ref().map(|name| find("read.weight_col", name)).transpose()?;
        let chosen: Vec<usize> = match &self.options.columns {
            Some(columns) => columns.iter().map(|name| find("read.features_cols", name)).collect::<Result<_>>()?,
            None => (0..names.len()).filter(|&ix| Some(ix) != weight).collect(),
        };
        let mut sink =
            LookSink { profiles: names.iter().map(|_| None).collect(), weight, weights: std::mem::take(&mut self.weights) };
        for &ix in &chosen {
            let told = overrides.of(&names[ix]).kind;
            if told != Some(KindOverride::Ignore) && table.unusable(ix).is_none() {
                sink.profiles[ix] = Some(Profile::new(self.asked(told)));
            }
        }
        let wanted: Vec<bool> = (0..names.len()).map(|ix| sink.profiles[ix].is_some() || Some(ix) == weight).collect();
        table.project(&wanted, &vec![false; names.len()])?;
        let mut n_rows = 0;
        loop {
            match table.read_rows(CHUNK_ROWS, &mut sink)? {
                0 => break,
                n_read => n_rows += n_read as u64,
            }
        }
        let columns = chosen.iter().map(|&ix| LookedColumn {
            name: names[ix].clone(),
            unusable: table.unusable(ix),
            profile: sink.profiles[ix].take().map(Profile::stored),
        });
        let part = Self { options: self.options.clone(), n_rows, weights: sink.weights, columns: Some(columns.collect()) };
        self.merge(part)
    }

    fn asked(&self, told: Option<KindOverride>) -> Asked {
        Asked { told, min_count: self.options.min_count.unwrap_or(0), ..Asked::default() }
    }

    /// Joins what was seen of other rows.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if these have other columns, [`Error::Data`] if their cells do not fit together.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.n_rows += other.n_rows;
        self.weights.merge(&other.weights);
        let Some(others) = other.columns else { return Ok(()) };
        let Some(own) = self.columns.take() else {
            self.columns = Some(others);
            return Ok(());
        };
        let overrides = Overrides::new(&self.options.read_options()?)?;
        if !own.iter().map(|it| &it.name).eq(others.iter().map(|it| &it.name)) {
            return Err(Error::Mismatch {
                left: "one part of the rows".to_owned(),
                right: "another".to_owned(),
                problem: "they have other columns".to_owned(),
            });
        }
        let joined = own.into_iter().zip(others).map(|(own, other)| {
            let asked = self.asked(overrides.of(&own.name).kind);
            let profile = match (own.profile, other.profile) {
                (Some(one), Some(two)) => {
                    let mut joined = Profile::from_stored(asked, one);
                    let merged = joined.merge(Profile::from_stored(asked, two));
                    merged.map_err(|problem| Error::data(Place::default().column(&own.name), problem))?;
                    Some(joined.stored())
                }
                // A part in which the column has no values may not have its type.
                (one, two) => one.or(two),
            };
            Ok(LookedColumn { unusable: own.unusable.or(other.unusable).filter(|_| profile.is_none()), profile, ..own })
        });
        self.columns = Some(joined.collect::<Result<_>>()?);
        Ok(())
    }

    /// What the columns are.
    ///
    /// # Errors
    /// [`Error::Data`] if there are no rows or no column is a variable, [`Error::Option`] if an option does not fit the columns.
    pub fn finish(self, weight_kind: WeightKind) -> Result<Looked> {
        let n_rows = self.n_rows;
        let columns = self.columns.filter(|_| n_rows > 0).ok_or_else(|| Error::data(Place::default(), "there are no rows"))?;
        // Weights were read; they are no column here.
        let options = ReadOptions { weights: None, ..self.options.read_options()? };
        let overrides = Overrides::new(&options)?;
        let names: Vec<String> = columns.iter().map(|it| it.name.clone()).collect();
        let min_count = self.options.min_count.unwrap_or(0);
        let mut looked: Vec<Option<LookedColumn>> = columns.into_iter().map(Some).collect();
        let mut notes = Notes::default();
        let described = Columns { place: Place::default(), names: &names, named: true };
        let mut plan = Plan::infer(&described, &options, &overrides, |ix, told| {
            let Some(LookedColumn { name, unusable, profile }) = looked[ix].take() else {
                return Ok(Verdict::Leave(String::new()));
            };
            let Some(stored) = profile else { return Ok(Verdict::Leave(unusable.unwrap_or_default())) };
            let mut profile = Profile::from_stored(Asked { told: told.kind, min_count, ..Asked::default() }, stored);
            let (guess, joined) = profile.guess(&name);
            match guess {
                Guess::Leave(reason) => Ok(Verdict::Leave(reason)),
                Guess::Kind(kind) => {
                    notes.add(&name, &profile, n_rows, told, joined);
                    Ok(Verdict::Kind(kind, profile.resolution()))
                }
                // Rows have no numbers that mean something to all parts.
                Guess::Problem(_, problem) => Err(Error::data(Place::default().column(&name), problem)),
            }
        })?;
        plan.warnings.append(&mut notes.finish());
        let positive =
            plan.targets.iter().zip(&names).filter(|(target, _)| matches!(target, Target::Column(ix) if plan.thresholds[*ix]));
        let positive = positive.map(|(_, name)| name.clone()).collect();
        let scale = if self.options.weights.is_some() { self.weights.scale(weight_kind)? } else { WeightScale::default() };
        let reading = Reading { schema: plan.schema, weights: self.options.weights, scale, positive };
        Ok(Looked { reading, n_rows, are_frequencies: scale == WeightScale::default(), warnings: plan.warnings })
    }
}

struct LookSink {
    profiles: Vec<Option<Profile>>,
    weight: Option<usize>,
    weights: SeenWeights,
}

impl CellSink for LookSink {
    #[inline]
    fn cell(&mut self, row: u64, column: usize, cell: Cell<'_>) -> Result<(), String> {
        if self.weight == Some(column) {
            let weight = NumberReader::new(None, false).read(cell)?;
            if let Some(problem) = weight_problem(weight) {
                return Err(problem);
            }
            self.weights.add(row, weight);
        }
        match &mut self.profiles[column] {
            Some(profile) => profile.observe(row, cell),
            None => Ok(()),
        }
    }
}
