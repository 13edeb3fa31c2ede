//! Options that say how a data file is read; every verb that takes DATA has them.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::group_file::GroupFile;

/// How a data file is read. Options that were passed become part of a model's provenance.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Reading data")]
pub(crate) struct DataArgs {
    /// Treat the first row as data; columns are named x1, x2, …
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_header: bool,
    /// Read long events: the columns with the row (patient), the item (code) and, optionally, a value. Without a value, an item
    /// is present or absent. Values of the same item in a row are added up; an absent item counts as 0
    #[arg(long, value_name = "ROW,ITEM[,VALUE]")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<String>,
    /// File with column names, one per line, for a sparse file or a table with --no-header
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) names: Option<PathBuf>,
    /// Encoding of the text: utf-8, utf-16, latin-1, windows-1252 and others [default: utf-8]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encoding: Option<String>,
    /// Read text as a table of word counts: a document is a row, a word a column. Every file is a document (of a directory, all text
    /// files in it); see --split and --column. Words are runs of letters and digits with at
    /// least one letter (13th, but not 13), in lower case
    #[arg(long, help_heading = "Reading text")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) text: bool,
    /// Column of a table (CSV, Parquet, …) that holds the texts: a row is a document, called by --id or by its number
    #[arg(long, value_name = "COLUMN", help_heading = "Reading text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<String>,
    /// Cut files into documents: one begins where a line matches this regular expression, and the line is its name
    #[arg(long, value_name = "REGEX", help_heading = "Reading text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<String>,
    /// Words to leave out: languages (en, it, de, fr, es, pt, nl) and files of words, comma-separated; auto for the language whose list
    /// covers most of the text; or none [default: auto]
    #[arg(long, value_name = "LISTS|auto|none", help_heading = "Reading text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<String>,
    /// Leave out words in fewer documents: a whole number of them (2), or, with a decimal point, a share of all (0.01; 1.0 is 100%, 1 is one document)
    /// [default: 2]
    #[arg(long, value_name = "N|SHARE", help_heading = "Reading text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_df: Option<String>,
    /// Leave out words in more documents: a whole number of them, or, with a decimal point, a share of all (0.5; 1.0 is 100%)
    #[arg(long, value_name = "N|SHARE", help_heading = "Reading text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_df: Option<String>,
    /// JSON file with the kinds and labels of columns
    #[arg(long, value_name = "FILE.json")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<PathBuf>,
    /// Kind of a column: categorical, binary, continuous, count or ignore; * stands for every column
    #[arg(long, value_name = "NAME=KIND")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) kind: Vec<String>,
    /// Values that mean missing, besides empty fields, NA, N/A, NaN, NaT, null, <NA>, ?, . and spreadsheet errors: in all columns
    /// (--na 999,unknown), or in one (--na age=99); repeat for more columns
    #[arg(long, value_name = "[NAME=]VALUE[,VALUE]", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) na: Vec<String>,
    /// Merge labels of a categorical column that occur fewer than N times into "(other)"; only if kinds are inferred, not with a
    /// model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_count: Option<u64>,
    /// Combine columns into vector-valued variables, as listed in a CSV file of items (columns or codes) and groups. Its columns
    /// are "item" and "group", the only two, or those named after a colon: phecodes.csv.gz:code,phecode. Items that the data lack
    /// are ignored; columns without a group are unchanged
    #[arg(long, value_name = "FILE.csv[:ITEM,GROUP]")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<GroupFile>,
    /// Roll columns up: those of a group become one, which is 1 if any of them is; counts are added. The file lists items (columns
    /// or codes) and groups as for --group; an item listed under several groups belongs to the first. With --meds or --omop, an
    /// item that is not listed follows its nearest ancestor that is
    #[arg(long, value_name = "FILE.csv[:ITEM,GROUP]")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollup: Option<GroupFile>,
    /// What becomes of items without a group when others are rolled up: keep them as they are, or drop them [default: keep]
    #[arg(long, value_name = "keep|drop", value_parser = ["keep", "drop"], requires = "rollup")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unmapped: Option<String>,
    /// Name columns (items, or groups of --rollup) by their descriptions in this file, in all output. Its columns are "item" and
    /// "text", the only two, or those named after a colon. Models know the items too: query accepts both
    #[arg(long, value_name = "FILE.csv[:ITEM,TEXT]")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) descriptions: Option<GroupFile>,
    /// Read DATA as a MEDS data set: the folder above "data", with descriptions from metadata/codes.parquet
    #[arg(long, conflicts_with_all = ["omop", "events"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) meds: bool,
    /// Read DATA as an OMOP data set: the folder with condition_occurrence, and with concept for names
    #[arg(long, conflicts_with = "events")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) omop: bool,
    /// With --meds: only subjects of this split, such as train, tuning or held_out
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subject_split: Option<String>,
    /// Events and sparse files: only items that match, such as 'DIAGNOSIS//*' (* ? [...], in quotes); repeat for more patterns. With
    /// a model, all of its items must match
    #[arg(long, value_name = "GLOB")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) codes: Vec<String>,
    /// Events and sparse files: only items that at least N rows have; no effect with a model [default: 20 with --meds and --omop]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_rows: Option<u64>,
    /// Events and sparse files: only items that at most this share of the rows have, such as 0.5; no effect with a model
    #[arg(long, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_share: Option<f64>,
    /// Events, sparse files and text: only the most frequent items or words, as many as make this share of all occurrences, such as
    /// 0.9; no effect with a model
    #[arg(long, value_name = "SHARE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) coverage: Option<f64>,
    /// Events and sparse files: only rows with at least N of the items that remain
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_items: Option<u64>,
    /// Events: only rows whose ids are listed in this file, one per line. Listed ids without events are rows of zeros
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subjects: Option<PathBuf>,
    /// Events: the column of times, such as 2021-03-04 or 2021-03-04T12:30:05 [default: that of --meds or --omop]
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
    /// Events: only those from this year, month, day or time on. Rows without any are rows of zeros
    #[arg(long, value_name = "DATE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    /// Events: only those up to this year, month, day or time, including all of it
    #[arg(long, value_name = "DATE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
    /// Column of row weights, numbers ≥ 0. Rows with weight 0 do not count
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights: Option<String>,
    /// Meaning of the weights: sampling (how many members of a population a row stands for; rescaled to sum to the number of rows
    /// with a positive weight, which is n in BIC) or frequency (how often a row was observed: whole numbers, whose sum is n)
    /// [default: sampling]
    #[arg(long, value_name = "KIND", value_parser = ["sampling", "frequency"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weight_kind: Option<String>,
    /// Column that identifies rows, such as a patient number. It is not a variable, and becomes the first column of the tables
    /// that infer and score write
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// How to treat labels and event items that the model (or --schema) does not know: missing (with a note that counts them) or
    /// error [default: missing; error for --schema]
    #[arg(long, value_name = "missing|error")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unseen: Option<String>,
}
