//! Tables that another program holds in memory.
//!
//! Kinds are inferred, cells decoded and rows cut into batches as if the table were read from a file, so that the same table
//! gives the same model either way. Columns are requested one at a time and need not be copied.

use std::sync::Arc;

use super::cell::{Cell, is_missing};
use super::decode::Decoder;
use super::dense::{default_batch_rows, min_count_of_schema, weight_problem};
use super::infer::{Asked, Guess, Profile};
use super::input::Input;
use super::notes::Notes;
use super::options::{KindOverride, ReadOptions};
use super::overrides::{Overrides, Told};
use super::plan::{Columns, Plan, Target, Verdict};
use super::rare::join_rare;
use super::sparse::{RowSource, Scan, SparseFile, SparseReader};
use super::unseen::{Unseen, UnseenLabels, UnseenPolicy, unseen_columns};
use super::written_number::NumberReader;
use crate::data::{Batch, Block, ColumnData, Dataset, Kind};
use crate::error::{Error, Place, Result};
use crate::index::ColIx;

/// The cells of one column as another program holds them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Numbers; NaN is missing.
    Numbers(Vec<f64>),
    /// Truth values.
    Truths(Vec<Option<bool>>),
    /// Texts by their position in a list.
    Texts {
        /// The different texts. Those that stand for missing values in a file (`NA`, `?`, nothing) do so here.
        texts: Vec<String>,
        /// The index of each cell's text; other numbers mark missing cells.
        codes: Vec<u32>,
        /// Whether the texts are all values that the column can have, in their order; else the kind and the labels are inferred.
        are_levels: bool,
    },
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Truths(values) => values.len(),
            Self::Texts { codes, .. } => codes.len(),
        }
    }

    /// Hands on the cells one by one; a problem comes back with its row.
    fn visit(&self, mut each: impl FnMut(u64, Cell<'_>) -> Result<(), String>) -> Result<(), (u64, String)> {
        let mut each = |row: usize, cell: Cell<'_>| each(row as u64, cell).map_err(|problem| (row as u64, problem));
        match self {
            Self::Numbers(values) => values.iter().enumerate().try_for_each(|(row, &value)| each(row, Cell::Number(value))),
            Self::Truths(values) => {
                values.iter().enumerate().try_for_each(|(row, value)| each(row, value.map_or(Cell::Missing, Cell::Bool)))
            }
            Self::Texts { texts, codes, .. } => codes.iter().enumerate().try_for_each(|(row, &code)| {
                let text = texts.get(code as usize);
                each(row, text.map_or(Cell::Missing, |text| Cell::Text(text.as_bytes().trim_ascii())))
            }),
        }
    }

    /// The labels of a column that says itself which it can have.
    fn levels(&self) -> Option<Vec<String>> {
        match self {
            Self::Texts { texts, are_levels: true, .. } => Some(
                texts
                    .iter()
                    .map(|text| text.trim_ascii())
                    .filter(|text| !is_missing(text.as_bytes()))
                    .map(str::to_owned)
                    .collect(),
            ),
            _ => None,
        }
    }
}

/// A dense table in memory.
pub struct MemoryTable<'a> {
    /// Names of the columns.
    pub names: &'a [String],
    /// Whether the names are the user's; otherwise columns are known by their positions.
    pub named: bool,
    /// Number of rows.
    pub n_rows: usize,
    /// Row weights.
    pub weights: Option<Vec<f64>>,
    /// Gives a column's cells; it is asked once for each.
    pub column: &'a mut dyn FnMut(usize) -> Values,
}

/// Sparse rows in memory; see [`SparseRows`](crate::data::SparseRows). Columns of a row may stand in any order, and twice: then
/// they add up.
#[derive(Debug, Clone)]
pub struct MemoryRows {
    /// Names of the columns.
    pub names: Vec<String>,
    /// Whether the names are the user's; otherwise columns are known by their positions.
    pub named: bool,
    /// Row `r` is `columns[starts[r]..starts[r + 1]]`.
    pub starts: Vec<usize>,
    /// Column indices of the stored cells.
    pub columns: Vec<u32>,
    /// Values of the stored cells.
    pub values: Vec<f64>,
    /// Row weights.
    pub weights: Option<Vec<f64>>,
}

/// A table that was taken over.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// The table.
    pub dataset: Dataset,
    /// What the user should know: columns left out, and why.
    pub warnings: Vec<String>,
    /// Columns of the given schema that the table does not have: they are missing in every row.
    pub absent: Vec<ColIx>,
    /// What the table holds and the given schema does not know.
    pub unseen: Unseen,
}

/// Takes over a dense table. Of the options, those about kinds and the schema matter.
///
/// # Errors
/// As [`open`](super::open), with row and column, and [`Error::Data`] if columns or weights do not have the table's length.
///
/// # Example
/// ```
/// use latentree::data::{Kind, MemoryTable, ReadOptions, Values, from_values};
/// let names = ["smokes".to_owned(), "age".to_owned()];
/// let mut column = |ix| match ix {
///     0 => Values::Truths(vec![Some(true), None, Some(false)]),
///     _ => Values::Numbers(vec![31.5, 42.0, f64::NAN]),
/// };
/// let table = MemoryTable { names: &names, named: true, n_rows: 3, weights: None, column: &mut column };
/// let loaded = from_values(table, &ReadOptions::default())?;
/// assert_eq!(loaded.dataset.schema().columns()[1].kind, Kind::Continuous);
/// # Ok::<(), latentree::Error>(())
/// ```
pub fn from_values(table: MemoryTable<'_>, options: &ReadOptions) -> Result<Loaded> {
    let MemoryTable { names, named, n_rows, weights, column } = table;
    if n_rows == 0 {
        return Err(Error::data(Place::default(), "no rows"));
    }
    check_weights(weights.as_deref(), n_rows)?;
    let overrides = Overrides::new(options)?;
    let columns = Columns { place: Place::default(), names, named };
    let mut read = |ix: usize| {
        let values = column(ix);
        if values.len() != n_rows {
            let problem = format!("{} rows where the table has {n_rows}", values.len());
            return Err(Error::data(Place::default().column(&names[ix]), problem));
        }
        Ok(values)
    };
    let mut decoded: Vec<Option<ColumnData>> = names.iter().map(|_| None).collect();
    let mut unseen = Vec::new();
    let mut decode = |values: &Values, kind: &Kind, threshold: bool, decimal_comma: Option<bool>, name: &str| {
        let (cells, labels) = decode(values, kind, threshold, decimal_comma, name, options.unseen_policy())?;
        unseen.extend(labels);
        Ok::<_, Error>(cells)
    };
    let plan = match &options.schema {
        Some(_) if options.min_count.is_some() => return Err(min_count_of_schema()),
        Some(schema) => {
            let plan = Plan::fit(schema, &columns, options, &overrides)?;
            for (ix, target) in plan.targets.iter().enumerate() {
                if let Target::Column(to) = *target {
                    let kind = &schema.columns()[to].kind;
                    decoded[ix] = Some(decode(&read(ix)?, kind, plan.thresholds[to], None, &names[ix])?);
                }
            }
            plan
        }
        None => {
            let mut notes = Notes::default();
            let min_count = options.min_count.unwrap_or(0);
            let mut plan = Plan::infer(&columns, options, &overrides, |ix, told| {
                let values = read(ix)?;
                let (verdict, decimal_comma) =
                    infer(&values, (n_rows as u64, weights.as_deref()), told, min_count, &names[ix], &mut notes)?;
                if let Verdict::Kind(kind, _) = &verdict {
                    let kind = told.fixed_kind().unwrap_or_else(|| kind.clone());
                    let threshold = told.kind == Some(KindOverride::Binary) && told.labels.is_none();
                    decoded[ix] = Some(decode(&values, &kind, threshold, decimal_comma, &names[ix])?);
                }
                Ok(verdict)
            })?;
            plan.warnings.append(&mut notes.finish());
            plan
        }
    };
    let mut data: Vec<Option<ColumnData>> = plan.schema.columns().iter().map(|_| None).collect();
    for (target, cells) in plan.targets.iter().zip(decoded) {
        if let Target::Column(to) = *target {
            data[to] = cells;
        }
    }
    let mut data: Vec<ColumnData> = data
        .into_iter()
        .zip(plan.schema.columns())
        .map(|(cells, column)| cells.unwrap_or_else(|| ColumnData::for_kind(&column.kind, 0)))
        .collect();
    let batches = cut(&mut data, weights.as_deref(), n_rows, options);
    let columns = unseen_columns(&plan.schema, false, &plan.unknown, |_| None);
    let unseen = Unseen { columns, labels: unseen };
    Ok(Loaded { dataset: Dataset::new(plan.schema, batches), warnings: plan.warnings, absent: plan.absent, unseen })
}

fn check_weights(weights: Option<&[f64]>, n_rows: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != n_rows {
        return Err(Error::data(Place::default(), format!("{} weights for {n_rows} rows", weights.len())));
    }
    let problem =
        |weight: f64| weight_problem(weight).or_else(|| weight.is_infinite().then(|| "the row's weight is infinite".to_owned()));
    let bad = weights.iter().enumerate().find_map(|(row, &weight)| Some((row, problem(weight)?)));
    match bad {
        Some((row, problem)) => Err(Error::data(Place::default().row(row as u64 + 1), problem)),
        None if weights.iter().all(|&weight| weight == 0.0) => Err(Error::data(Place::default(), "all weights are zero")),
        None => Ok(()),
    }
}

/// What a column is, and whether its numbers have decimal commas, where they are not plain.
fn infer(
    values: &Values,
    (n_rows, weights): (u64, Option<&[f64]>),
    told: &Told,
    min_count: u64,
    name: &str,
    notes: &mut Notes,
) -> Result<(Verdict, Option<bool>)> {
    let place = |row: Option<u64>| Place { row: row.map(|row| row + 1), ..Place::default().column(name) };
    if let (Some(labels), None | Some(KindOverride::Categorical)) = (values.levels(), told.kind) {
        return Ok((levels(values, labels, min_count, name, notes), None));
    }
    let mut profile = Profile::new(Asked { told: told.kind, min_count, ..Asked::default() });
    values.visit(|row, cell| profile.observe(row, cell)).map_err(|(row, problem)| Error::data(place(Some(row)), problem))?;
    let (guess, joined) = profile.guess(name);
    match guess {
        Guess::Leave(reason) => Ok((Verdict::Leave(reason), None)),
        Guess::Kind(kind) => {
            notes.add(name, &profile, n_rows, told, joined);
            // Rows of weight 0 are as if they were not there.
            let resolution = match weights.filter(|weights| kind == Kind::Continuous && weights.contains(&0.0)) {
                None => profile.resolution(),
                Some(weights) => {
                    let mut seen = Profile::new(Asked { told: told.kind, min_count, ..Asked::default() });
                    let observe = |row, cell: super::cell::Cell<'_>| {
                        if weights[row as usize] > 0.0 { seen.observe(row, cell) } else { Ok(()) }
                    };
                    values.visit(observe).map_err(|(row, problem)| Error::data(place(Some(row)), problem))?;
                    seen.resolution()
                }
            };
            Ok((Verdict::Kind(kind, resolution), profile.decimal_comma()))
        }
        Guess::Problem(row, problem) => Err(Error::data(place(row), problem)),
    }
}

/// What a column is that says itself which labels it can have.
fn levels(values: &Values, labels: Vec<String>, min_count: u64, name: &str, notes: &mut Notes) -> Verdict {
    if labels.is_empty() {
        return Verdict::Leave("it has no values".to_owned());
    }
    let Values::Texts { texts, codes, .. } = values else { return Verdict::Kind(Kind::Categorical { labels }, None) };
    if min_count < 2 {
        return Verdict::Kind(Kind::Categorical { labels }, None);
    }
    let mut counts = vec![0; texts.len()];
    for &code in codes {
        if let Some(count) = counts.get_mut(code as usize) {
            *count += 1;
        }
    }
    let counted = texts.iter().zip(counts).map(|(text, count)| (count, text.trim_ascii().to_owned()));
    match join_rare(counted.filter(|(_, label)| !is_missing(label.as_bytes())).collect(), min_count) {
        Ok((labels, note)) => {
            notes.joined(name, note);
            Verdict::Kind(Kind::Categorical { labels }, None)
        }
        Err(reason) => Verdict::Leave(reason),
    }
}

/// The codes or numbers of a column, and its labels that the kind does not have.
fn decode(
    values: &Values,
    kind: &Kind,
    threshold: bool,
    decimal_comma: Option<bool>,
    name: &str,
    unseen: UnseenPolicy,
) -> Result<(ColumnData, Option<UnseenLabels>)> {
    let mut decoder = Decoder::new(kind, threshold, NumberReader::new(decimal_comma, false), unseen);
    let mut data = ColumnData::for_kind(kind, values.len());
    values
        .visit(|_, cell| decoder.push(cell, &mut data))
        .map_err(|(row, problem)| Error::data(Place::default().column(name).row(row + 1), problem))?;
    Ok((data, decoder.unseen(name)))
}

/// Cuts columns into batches from their ends, so that no cell is in memory twice for long. Columns without cells are missing.
fn cut(columns: &mut [ColumnData], weights: Option<&[f64]>, n_rows: usize, options: &ReadOptions) -> Vec<Batch> {
    let step = options.batch_rows.unwrap_or(default_batch_rows(columns.len())).max(1);
    let mut starts: Vec<usize> = (0..n_rows).step_by(step).collect();
    let mut batches = Vec::with_capacity(starts.len());
    while let Some(start) = starts.pop() {
        let end = n_rows.min(start + step);
        let block = columns.iter_mut().map(|column| match column {
            ColumnData::Codes8(codes) if codes.is_empty() => ColumnData::Codes8(vec![crate::data::MISSING_CODE8; end - start]),
            ColumnData::Codes(codes) if codes.is_empty() => ColumnData::Codes(vec![crate::data::MISSING_CODE; end - start]),
            ColumnData::Reals(values) if values.is_empty() => ColumnData::Reals(vec![f64::NAN; end - start]),
            ColumnData::Codes8(codes) => ColumnData::Codes8(codes.split_off(start)),
            ColumnData::Codes(codes) => ColumnData::Codes(codes.split_off(start)),
            ColumnData::Reals(values) => ColumnData::Reals(values.split_off(start)),
        });
        let block = Block::Dense(block.collect());
        let weights = weights.map(|weights| weights[start..end].to_vec());
        batches.push(Batch { first_row: start as u64, n_rows: end - start, block, weights });
    }
    batches.reverse();
    batches
}

/// Takes over sparse rows. Of the options, those about kinds and the schema matter.
///
/// # Errors
/// As [`open`](super::open), with row and column, and [`Error::Data`] if the parts do not fit together.
pub fn from_sparse_rows(rows: MemoryRows, options: &ReadOptions) -> Result<Loaded> {
    let MemoryRows { names, named, starts, columns, values, weights } = rows;
    let n_rows = starts.len().saturating_sub(1);
    let fits = starts.first() == Some(&0)
        && starts.is_sorted()
        && starts.last() == Some(&columns.len())
        && columns.len() == values.len()
        && columns.iter().all(|&column| (column as usize) < names.len());
    if !fits {
        return Err(Error::data(Place::default(), "not valid sparse rows: starts, columns and values do not fit together"));
    }
    check_weights(weights.as_deref(), n_rows)?;
    let infinite = values.iter().position(|value| value.is_infinite());
    if let Some(cell) = infinite {
        let row = starts.partition_point(|&start| start <= cell);
        let place = Place::default().row(row as u64).column(&names[columns[cell] as usize]);
        return Err(Error::data(place, "the number is infinite; leave a missing value as NaN"));
    }
    let mut source = Box::new(HeldRows { starts, columns, values, next: 0 });
    let scan = Scan::run(&mut *source)?;
    let file = SparseFile {
        source,
        scan,
        names,
        named,
        is_open: false,
        is_presence: false,
        key_name: None,
        notes: Vec::new(),
        only: None,
    };
    let (mut reader, plan) = SparseReader::open(file, Arc::new(Input::memory()), options)?;
    let mut batches = Vec::new();
    while let Some(mut batch) = reader.next_batch()? {
        let first = batch.first_row as usize;
        batch.weights = weights.as_ref().map(|weights| weights[first..first + batch.n_rows].to_vec());
        batches.push(batch);
    }
    let (skipped, labels) = reader.unseen();
    let unseen = Unseen { columns: unseen_columns(&plan.schema, false, &plan.unknown, |ix| Some(skipped[ix])), labels };
    Ok(Loaded { dataset: Dataset::new(plan.schema, batches), warnings: plan.warnings, absent: plan.absent, unseen })
}

struct HeldRows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    next: usize,
}

impl RowSource for HeldRows {
    fn next_row(&mut self, row: &mut Vec<(u32, f64)>) -> Result<bool> {
        let Some(&end) = self.starts.get(self.next + 1) else { return Ok(false) };
        let range = self.starts[self.next]..end;
        row.extend(self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied()));
        self.next += 1;
        Ok(true)
    }

    fn rewind(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_in_memory_is_read_as_its_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let n_rows = 10_000;
        let mut text = "id,answer,yes,size,word,none\n".to_owned();
        let columns = [
            Values::Numbers((0..n_rows).map(|row| (row / 2 * 3) as f64).collect()),
            Values::Numbers((0..n_rows).map(|row| if row % 7 == 0 { f64::NAN } else { (row % 5 + 1) as f64 }).collect()),
            Values::Truths((0..n_rows).map(|row| (row % 3 > 0).then_some(row % 2 == 0)).collect()),
            Values::Numbers((0..n_rows).map(|row| row as f64 / 8.0).collect()),
            Values::Texts {
                texts: ["b", "NA", "a"].map(str::to_owned).to_vec(),
                codes: (0..n_rows).map(|row| row as u32 % 4).collect(),
                are_levels: false,
            },
            Values::Numbers(vec![f64::NAN; n_rows]),
        ];
        for row in 0..n_rows {
            let answer = if row % 7 == 0 { String::new() } else { (row % 5 + 1).to_string() };
            let yes = if row % 3 > 0 { (row % 2 == 0).to_string() } else { String::new() };
            let word = ["b", "NA", "a", ""][row % 4];
            text += &format!("{},{answer},{yes},{},{word},\n", row / 2 * 3, row as f64 / 8.0);
        }
        std::fs::write(&path, text).unwrap();
        let mut reader = super::super::open(&path, &ReadOptions::default()).unwrap();
        let expected = Dataset::read(&mut reader).unwrap();
        let names = ["id", "answer", "yes", "size", "word", "none"].map(str::to_owned);
        let mut column = |ix: usize| columns[ix].clone();
        let table = MemoryTable { names: &names, named: true, n_rows, weights: None, column: &mut column };
        let loaded = from_values(table, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.dataset, expected);
        assert_eq!(loaded.warnings, reader.warnings());
        // With the schema that was found, columns come in any order and may be absent.
        let options = ReadOptions::default().schema(Arc::clone(expected.schema()));
        let names = ["word", "size"].map(str::to_owned);
        let mut column = |ix: usize| columns[[4, 3][ix]].clone();
        let table = MemoryTable { names: &names, named: true, n_rows, weights: None, column: &mut column };
        let part = from_values(table, &options).unwrap();
        assert_eq!(part.absent.len(), 3);
        let (Block::Dense(part), Block::Dense(whole)) = (&part.dataset.batches()[1].block, &expected.batches()[1].block) else {
            panic!("dense")
        };
        assert_eq!((&part[3], &part[4]), (&whole[3], &whole[4]));
        assert!((0..4096).all(|row| part[1].number(row).is_nan()));
    }

    #[test]
    fn levels_are_kept_also_where_no_row_has_them() {
        let names = ["size".to_owned()];
        let texts = ["small", "NA", "large", "huge"].map(str::to_owned).to_vec();
        let mut column = |_| Values::Texts { texts: texts.clone(), codes: vec![2, 0, 1, 9], are_levels: true };
        let table = MemoryTable { names: &names, named: true, n_rows: 4, weights: None, column: &mut column };
        let loaded = from_values(table, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.dataset.schema().columns()[0].kind.labels().unwrap(), ["small", "large", "huge"]);
        let Block::Dense(block) = &loaded.dataset.batches()[0].block else { panic!("dense") };
        assert_eq!(block[0], ColumnData::Codes8(vec![1, 0, 255, 255]));
    }

    #[test]
    fn sparse_rows_that_do_not_fit_together_are_refused() {
        let names: Vec<String> = ["a", "b"].map(str::to_owned).to_vec();
        let rows = MemoryRows {
            names,
            named: true,
            starts: vec![0, 2, 2, 3],
            columns: vec![1, 0, 1],
            values: vec![1.0, 1.0, 1.0],
            weights: Some(vec![1.0, 2.0, 0.0]),
        };
        let loaded = from_sparse_rows(rows.clone(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.dataset.n_rows(), 3);
        let Block::Sparse(block) = &loaded.dataset.batches()[0].block else { panic!("sparse") };
        assert_eq!(block.columns, [0, 1, 1]);
        assert_eq!(loaded.dataset.batches()[0].weights, Some(vec![1.0, 2.0, 0.0]));
        let wrong = [
            MemoryRows { starts: vec![0, 3, 2, 3], ..rows.clone() },
            MemoryRows { starts: vec![], columns: vec![], values: vec![], weights: None, ..rows.clone() },
            MemoryRows { columns: vec![1, 0, 2], ..rows.clone() },
            MemoryRows { values: vec![1.0], ..rows.clone() },
            MemoryRows { weights: Some(vec![1.0]), ..rows.clone() },
            MemoryRows { weights: Some(vec![1.0, -1.0, 1.0]), ..rows.clone() },
            MemoryRows { values: vec![1.0, f64::INFINITY, 1.0], ..rows },
        ];
        for rows in wrong {
            assert!(from_sparse_rows(rows, &ReadOptions::default()).is_err());
        }
    }
}
