//! Passes over rows that are held elsewhere.
//!
//! Learning sees rows only through what passes collect. A pass is an accumulator that is sent out empty, as bytes with a name
//! and a version, and comes back after it has seen all rows. Whoever holds part of the rows calls [`observe`], whoever
//! coordinates calls [`merge`], and [`RemoteRows`](crate::data::RemoteRows) presents the two as rows to learn from.
//!
//! Counts do not depend on how rows are split, and sums only up to rounding; the same pieces in the same order give the same
//! bytes. A new pass is an [`Accumulator`] with a name, and a line in the registry below.

use crate::coordinates::Coordinates;
use crate::coordinates::compressed::Compressed;
use crate::coordinates::feature_cross::FeatureCross;
use crate::coordinates::neighbours::Codes;
use crate::data::BatchSource;
use crate::error::{Error, Result};
use crate::mixture::WordPairs;
use crate::mixture::pair_sums::PairSums;
use crate::mixture::whitened_sums::WhitenedSums;
use crate::moments::chosen_rows::{ChosenRows, RowChoice, RowCounts};
use crate::moments::sums::from_bytes;
use crate::moments::wire::{View, Wire, check_version, invalid, schema_hash, to_wire, without_views};
use crate::moments::{Accumulator, BlockMoments, PairMoments, Sample, Summary, Sums, fold};
use crate::observer::Silent;
use crate::parameters::em::ExpectedCounts;
use crate::parameters::local_pairs::LocalPairs;
use crate::parameters::observed_edges::PairCounts;
use crate::parameters::summaries::Summaries;
use crate::parameters::summary_triples::SummaryTriples;
use crate::parameters::{PrivateTriples, TreeMoments};
use crate::privacy::PrivatePairs;
use crate::spectral::pair_tables::PairTables;
use crate::spectral::patterns::Patterns;
use crate::spectral::triples::Triples;

/// All passes.
const REGISTRY: &[Entry] = &[
    Entry::of::<Summary>(),
    Entry::of::<RowCounts>(),
    Entry::of::<PairMoments>(),
    Entry::of::<BlockMoments>(),
    Entry::of::<Codes>(),
    Entry::of::<FeatureCross>(),
    Entry::of::<LocalPairs>(),
    Entry::of::<Summaries>(),
    Entry::of::<SummaryTriples>(),
    Entry::of::<PairCounts>(),
    Entry::of::<ExpectedCounts>(),
    Entry::of::<TreeMoments>(),
    Entry::of::<PairTables>(),
    Entry::of::<Triples>(),
    Entry::of::<Patterns>(),
    Entry::of::<PairSums>(),
    Entry::of::<WhitenedSums>(),
    Entry::of::<WordPairs>(),
    Entry::of::<Sample>(),
    Entry::of::<PrivatePairs>(),
    Entry::of::<PrivateTriples>(),
];

/// Passes whose answers contain rows, or reveal which rows exist.
const MOVE_ROWS: [&str; 4] = [Sample::NAME, Codes::NAME, Patterns::NAME, RowCounts::NAME];

/// Visits the sums of a pass, and writes the pass with the changes made to them.
type VisitSums = fn(&Wire<'_>, bool, &mut dyn FnMut(Sums<'_>)) -> Result<Vec<u8>>;

/// A pass and its operations.
struct Entry {
    name: &'static str,
    version: u32,
    observe: fn(&Wire<'_>, &mut dyn BatchSource) -> Result<Vec<u8>>,
    merge: fn(&[Wire<'_>]) -> Result<Vec<u8>>,
    sums: VisitSums,
}

impl Entry {
    const fn of<A: Accumulator>() -> Self {
        Self { name: A::NAME, version: A::VERSION, observe: observe_one::<A>, merge: merge_all::<A>, sums: visit_one::<A> }
    }

    /// The entry of a pass.
    fn find(wire: &Wire<'_>) -> Result<&'static Self> {
        let entry = REGISTRY.iter().find(|entry| entry.name == wire.name).ok_or_else(|| {
            let known: Vec<&str> = names().collect();
            invalid(format!("there is no pass {:?}; this program knows {}", wire.name, known.join(", ")))
        })?;
        check_version(wire.version, entry.version)?;
        Ok(entry)
    }
}

/// The names of all passes.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|entry| entry.name)
}

/// Runs a pass over the rows of a source, and returns the pass after it has seen them. Passes that reveal rows, such as
/// [`Sample`], and passes over a subset of the rows are refused: they are only answered within tasks ([`task`]) that someone
/// runs for a learner of their own.
///
/// # Errors
/// [`Error::Format`] if the bytes are truncated or changed or name an unknown pass, [`Error::Version`] if another version of
/// the program wrote them, [`Error::Mismatch`] if the rows have other columns, and errors of the source and of the pass.
pub fn observe(pass: &[u8], rows: &mut dyn BatchSource) -> Result<Vec<u8>> {
    if let Some(view) = View::read(pass)? {
        return Err(invalid(format!("the pass asks for {:?}, not for sums over all rows, and is refused", view.name)));
    }
    let name = Wire::read(pass)?.name;
    if MOVE_ROWS.contains(&name) {
        return Err(invalid(format!("the pass {name:?} asks for rows, not for sums, and is refused")));
    }
    observe_any(pass, rows)
}

/// The same as [`observe`], but also answers passes that reveal rows.
pub(crate) fn observe_any(pass: &[u8], rows: &mut dyn BatchSource) -> Result<Vec<u8>> {
    if let Some(view) = View::read(pass)? {
        return match view.name {
            RowChoice::NAME => observe_any(view.pass, &mut ChosenRows::new(rows, from_bytes(view.content)?)),
            Coordinates::NAME => observe_any(view.pass, &mut Compressed::of(rows, from_bytes(view.content)?)?),
            other => Err(invalid(format!("there is no view {other:?} of rows"))),
        };
    }
    let wire = Wire::read(pass)?;
    let entry = Entry::find(&wire)?;
    if schema_hash(rows.schema())? != wire.schema {
        return Err(Error::Mismatch {
            left: "the pass".to_owned(),
            right: "the rows".to_owned(),
            problem: "they have other columns, kinds or labels; read the rows with the schema of whoever coordinates".to_owned(),
        });
    }
    (entry.observe)(&wire, rows)
}

/// Merges a pass over parts of the rows: first neighbouring pieces, then the results, so that the order of summation depends
/// only on the pieces. The same pieces in the same order give the same bytes.
///
/// # Errors
/// The same as for [`observe`]; [`Error::Mismatch`] if the pieces belong to different passes; [`Error::Option`] if there are
/// none.
pub fn merge<B: AsRef<[u8]>>(pieces: &[B]) -> Result<Vec<u8>> {
    let wires = pieces.iter().map(|piece| Wire::read(without_views(piece.as_ref())?)).collect::<Result<Vec<_>>>()?;
    let first = wires.first().ok_or_else(|| Error::option("pieces", "there are none to merge"))?;
    let entry = Entry::find(first)?;
    let key = |wire: &Wire<'_>| (wire.name.to_owned(), wire.version, wire.schema);
    if let Some(other) = wires.iter().find(|wire| key(wire) != key(first)) {
        return Err(Error::Mismatch {
            left: format!("a pass {:?}", first.name),
            right: format!("a pass {:?}", other.name),
            problem: "they are different passes, or of rows with other columns".to_owned(),
        });
    }
    (entry.merge)(&wires)
}

/// Visits the sums of a pass, which may be changed, and returns the pass; with `align`, in the shape shared by all of its
/// parts.
///
/// # Errors
/// The same as for [`observe`]; [`Error::Option`] if merging the pass does more than add numbers.
pub(crate) fn visit_sums(pass: &[u8], align: bool, visit: &mut dyn FnMut(Sums<'_>)) -> Result<Vec<u8>> {
    let wire = Wire::read(without_views(pass)?)?;
    (Entry::find(&wire)?.sums)(&wire, align, visit)
}

/// The name of a pass that this program knows.
///
/// # Errors
/// The same as for [`observe`].
pub(crate) fn name_of(pass: &[u8]) -> Result<&'static str> {
    Entry::find(&Wire::read(without_views(pass)?)?).map(|entry| entry.name)
}

fn visit_one<A: Accumulator>(wire: &Wire<'_>, align: bool, visit: &mut dyn FnMut(Sums<'_>)) -> Result<Vec<u8>> {
    let mut accumulator = wire.accumulator::<A>()?;
    if align {
        accumulator.align()?;
    }
    accumulator.visit_sums(visit)?;
    to_wire(&accumulator, wire.schema)
}

fn observe_one<A: Accumulator>(wire: &Wire<'_>, rows: &mut dyn BatchSource) -> Result<Vec<u8>> {
    to_wire(&fold(rows, wire.accumulator::<A>()?, &Silent)?, wire.schema)
}

fn merge_all<A: Accumulator>(wires: &[Wire<'_>]) -> Result<Vec<u8>> {
    let mut level = wires.iter().map(Wire::accumulator::<A>).collect::<Result<Vec<_>>>()?;
    while level.len() > 1 {
        let mut pairs = level.into_iter();
        let mut next = Vec::new();
        while let Some(mut left) = pairs.next() {
            if let Some(right) = pairs.next() {
                left.merge(right)?;
            }
            next.push(left);
        }
        level = next;
    }
    to_wire(&level.remove(0), wires[0].schema)
}

#[cfg(feature = "columnar")]
pub mod task;
#[cfg(test)]
mod tests;
