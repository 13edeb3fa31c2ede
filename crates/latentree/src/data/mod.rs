//! Data: the meaning of a table ([`Schema`]), its cells ([`Batch`], [`Dataset`]) and the readers.
//!
//! A reader is a [`BatchSource`]: it yields batches of bounded size and can be rewound. Files larger than memory are therefore
//! processed batch by batch, as often as a method needs. A [`Dataset`] is a table in memory.

mod batch;
pub(crate) mod content_hash;
mod dataset;
mod digest;
mod listed;
mod read;
mod remote;
pub(crate) mod row_order;
mod rows;
mod schema;
pub(crate) mod select;
mod source;
mod weights;
mod write;

pub use batch::{Batch, Block, ColumnData, MISSING_CODE, MISSING_CODE8, SparseRows};
pub use dataset::Dataset;
pub(crate) use digest::digest;
pub use read::{
    Carried, ClinicalFormat, FileColumn, ItemFile, ItemFilter, KindOverride, Loaded, MemoryRows, MemoryTable, OTHER_LABEL,
    PartFiles, ReadOptions, Reader, TextEncoding, TimeFilter, Values, from_sparse_rows, from_values, open,
};
pub use read::{DocumentLimit, DocumentNames, StopList, StopWords, TextOptions, open_texts};
#[cfg(feature = "columnar")]
pub use read::{Look, LookOptions, Looked, Reading, RecordBatches, StreamRows};
pub use read::{Unseen, UnseenColumns, UnseenLabels, UnseenName, UnseenPolicy};
pub(crate) use read::{kind_option, read_columns, table_columns};
pub use remote::{Remote, RemoteRows};
pub use rows::{CachedRows, JournaledRows, Reopened, Rows};
pub use schema::{Column, Kind, Schema, SchemaBuilder, Variable};
pub use select::SelectedRows;
pub(crate) use select::select_rows;
pub use source::BatchSource;
pub use weights::{WeightKind, WeightScale, WeightedRows};
pub use write::{ResultWriter, TableWriter, Value};
