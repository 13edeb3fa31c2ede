//! Options for reading a data file.

use std::path::PathBuf;
use std::sync::Arc;

use super::TextEncoding;
use super::clinical::ClinicalFormat;
use super::inheritance::Inheritance;
use super::item_file::ItemFile;
use super::items::ItemFilter;
use super::text::TextOptions;
use super::times::TimeFilter;
use super::unseen::UnseenPolicy;
use crate::data::Schema;

/// What a user says a column is, against what its values look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KindOverride {
    /// Every distinct value is a label.
    Categorical,
    /// Two labels; counts above 0 become 1.
    Binary,
    /// A real number.
    Continuous,
    /// A number of events.
    Count,
    /// The column is not a variable.
    Ignore,
}

impl KindOverride {
    /// The kind named as users write it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "categorical" => Self::Categorical,
            "binary" => Self::Binary,
            "continuous" => Self::Continuous,
            "count" => Self::Count,
            "ignore" => Self::Ignore,
            _ => return None,
        })
    }

    /// The name users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Categorical => "categorical",
            Self::Binary => "binary",
            Self::Continuous => "continuous",
            Self::Count => "count",
            Self::Ignore => "ignore",
        }
    }
}

/// How to read a data file; the default infers as much as possible.
///
/// # Example
/// ```
/// use latentree::data::{KindOverride, ReadOptions};
/// let options = ReadOptions::default().header(false).kind("x3", KindOverride::Count).weights("x9");
/// assert!(!options.header);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Whether CSV and TSV files begin with the column names; without them columns are `x1`, `x2`, ….
    pub header: bool,
    /// Long events: the columns of the row id, the item and, optionally, the value.
    pub events: Option<(String, String, Option<String>)>,
    /// Text: how it becomes documents and words. Columns are counts of words.
    pub text: Option<Box<TextOptions>>,
    /// Names of the columns of a sparse file, or of a text table without header, one a line.
    pub names: Option<PathBuf>,
    /// The schema the file must fit, such as a model's.
    pub schema: Option<Arc<Schema>>,
    /// A JSON file with the kinds of some columns.
    pub schema_file: Option<PathBuf>,
    /// Kinds by column name; `*` is every column that is not named.
    pub kinds: Vec<(String, KindOverride)>,
    /// Values of tables that mean missing, by column name; `*` is every column but ids and weights. Numbers are missing however they are
    /// written.
    pub na: Vec<(String, String)>,
    /// A CSV file `item,group` that joins columns into vector-valued variables.
    pub group: Option<PathBuf>,
    /// The columns of that file that hold the item and the group; otherwise those called `item` and `group`, or the two it has.
    pub group_columns: Option<(String, String)>,
    /// A file of items and groups: the columns of a group become one. Whether any is 1, or the sum of counts.
    pub rollup: Option<ItemFile>,
    /// Whether items without a group are dropped when others are rolled up.
    pub drop_unmapped: bool,
    /// A file of items and descriptions, which become the names of columns.
    pub descriptions: Option<ItemFile>,
    /// Which items and rows of sparse files and events are read.
    pub items: ItemFilter,
    /// The time of events, and between which times they count.
    pub times: TimeFilter,
    /// The folder is a clinical data set in this format.
    pub clinical: Option<ClinicalFormat>,
    /// Ancestors of items, of which one that is not listed for the roll-up takes the group.
    pub(crate) inheritance: Option<Arc<Inheritance>>,
    /// The column of row weights.
    pub weights: Option<String>,
    /// Labels of a categorical column that occur less often are joined as [`OTHER_LABEL`](super::OTHER_LABEL).
    pub min_count: Option<u64>,
    /// The encoding of a text file; UTF-8 if not given.
    pub encoding: Option<TextEncoding>,
    /// What becomes of labels that the schema does not have; if not given, they are missing where the schema is a model's
    /// (`schema`), and an error where it is the user's own (`schema_file`).
    pub unseen: Option<UnseenPolicy>,
    /// The column that names rows: not a variable, and carried along (see [`Reader::carried`](super::Reader::carried)).
    pub id: Option<String>,
    /// Whether the row id of events is carried along.
    pub carry_keys: bool,
    /// Whether columns of a table that are not in the schema are carried along; sparse files and events have none.
    pub carry_others: bool,
    /// Whether variables are carried along, too, as a text file writes them.
    pub carry_variables: bool,
    /// Rows per batch; chosen by the number of columns if not given.
    pub batch_rows: Option<usize>,
    /// Bytes that cells may take between the look at the columns and the first pass, which then does not parse the file again; by default 0.
    pub keep_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            header: true,
            events: None,
            text: None,
            names: None,
            schema: None,
            schema_file: None,
            kinds: Vec::new(),
            na: Vec::new(),
            group: None,
            group_columns: None,
            rollup: None,
            drop_unmapped: false,
            descriptions: None,
            items: ItemFilter::default(),
            times: TimeFilter::default(),
            clinical: None,
            inheritance: None,
            weights: None,
            min_count: None,
            encoding: None,
            unseen: None,
            id: None,
            carry_keys: false,
            carry_others: false,
            carry_variables: false,
            batch_rows: None,
            keep_bytes: 0,
        }
    }
}

impl ReadOptions {
    /// Sets whether text tables begin with column names.
    #[must_use]
    pub fn header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// Reads long events: the columns of the row id, the item and the value.
    #[must_use]
    pub fn events(mut self, row: impl Into<String>, item: impl Into<String>, value: Option<String>) -> Self {
        self.events = Some((row.into(), item.into(), value));
        self
    }

    /// Reads text as a table of word counts.
    #[must_use]
    pub fn text(mut self, text: TextOptions) -> Self {
        self.text = Some(Box::new(text));
        self
    }

    /// Takes the columns' names from a file.
    #[must_use]
    pub fn names(mut self, names: impl Into<PathBuf>) -> Self {
        self.names = Some(names.into());
        self
    }

    /// Fits the file to this schema.
    #[must_use]
    pub fn schema(mut self, schema: Arc<Schema>) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Takes kinds from a JSON file.
    #[must_use]
    pub fn schema_file(mut self, schema_file: impl Into<PathBuf>) -> Self {
        self.schema_file = Some(schema_file.into());
        self
    }

    /// Says what a column is; `*` is every column that is not named.
    #[must_use]
    pub fn kind(mut self, name: impl Into<String>, kind: KindOverride) -> Self {
        self.kinds.push((name.into(), kind));
        self
    }

    /// Says that a value of a column means missing; `*` is every column.
    ///
    /// # Example
    /// ```
    /// use latentree::data::{self, BatchSource as _, ReadOptions};
    /// let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("people.csv");
    /// std::fs::write(&path, "age,smokes\n31.5,0\n99,1\n42.5,unknown\n")?;
    /// let options = ReadOptions::default().na("age", "99").na("*", "unknown");
    /// let reader = data::open(&path, &options)?;
    /// assert_eq!(reader.schema().columns()[1].kind, data::Kind::binary());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn na(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.na.push((name.into(), value.into()));
        self
    }

    /// Joins columns into vector-valued variables by a CSV file `item,group`.
    #[must_use]
    pub fn group(mut self, group: impl Into<PathBuf>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Names the columns of the item and of the group in the file of [`group`](Self::group).
    #[must_use]
    pub fn group_columns(mut self, item: impl Into<String>, group: impl Into<String>) -> Self {
        self.group_columns = Some((item.into(), group.into()));
        self
    }

    /// Joins columns: those of a group become one.
    #[must_use]
    pub fn rollup(mut self, rollup: ItemFile) -> Self {
        self.rollup = Some(rollup);
        self
    }

    /// Names columns by their descriptions.
    #[must_use]
    pub fn descriptions(mut self, descriptions: ItemFile) -> Self {
        self.descriptions = Some(descriptions);
        self
    }

    /// Chooses items and rows of sparse files and events.
    #[must_use]
    pub fn items(mut self, items: ItemFilter) -> Self {
        self.items = items;
        self
    }

    /// Reads a folder of a clinical format.
    #[must_use]
    pub fn clinical(mut self, format: ClinicalFormat) -> Self {
        self.clinical = Some(format);
        self
    }

    /// Takes row weights from a column.
    #[must_use]
    pub fn weights(mut self, weights: impl Into<String>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Joins the labels that occur less often than this in their column.
    #[must_use]
    pub fn min_count(mut self, min_count: u64) -> Self {
        self.min_count = Some(min_count);
        self
    }

    /// Reads text in this encoding.
    #[must_use]
    pub fn encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// Says what becomes of labels that the schema does not have.
    #[must_use]
    pub fn unseen(mut self, unseen: UnseenPolicy) -> Self {
        self.unseen = Some(unseen);
        self
    }

    /// What becomes of labels that the schema does not have, by these options or by default.
    pub(super) fn unseen_policy(&self) -> UnseenPolicy {
        let by_default = if self.schema.is_some() { UnseenPolicy::Missing } else { UnseenPolicy::Error };
        self.unseen.unwrap_or(by_default)
    }

    /// Names the column that holds the rows' ids.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Carries the row id of events along.
    #[must_use]
    pub fn carry_keys(mut self, carry: bool) -> Self {
        self.carry_keys = carry;
        self
    }

    /// Carries the variables of a text file along as they are written.
    #[must_use]
    pub fn carry_variables(mut self, carry: bool) -> Self {
        self.carry_variables = carry;
        self
    }

    /// Carries columns along that are not in the schema.
    #[must_use]
    pub fn carry_others(mut self, carry: bool) -> Self {
        self.carry_others = carry;
        self
    }

    /// Sets the rows per batch.
    #[must_use]
    pub fn batch_rows(mut self, batch_rows: usize) -> Self {
        self.batch_rows = Some(batch_rows);
        self
    }
    /// Keeps the cells of the look at the columns for the first pass, while they take no more than these bytes.
    #[must_use]
    pub fn keep_bytes(mut self, keep_bytes: u64) -> Self {
        self.keep_bytes = keep_bytes;
        self
    }
}
