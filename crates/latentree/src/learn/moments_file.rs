//! The `.moments` file: statistics of pairs of columns and, if collected for a tree, of everything that its tables need.

use std::io::{Read, Write};
use std::path::Path;

use super::moments::is_wide;
use super::recorder::Recorder;
use super::run::Run;
use super::{Learning, Source, tree_over};
use crate::data::row_order::by_content;
use crate::data::{Rows, WeightedRows};
use crate::error::{Error, Place, Result};
use crate::file;
use crate::moments::wire::{Wire, schema_hash, to_wire};
use crate::moments::{Accumulator as _, PairMoments, PairOptions};
use crate::observer::Observer;
use crate::parameters::{Alignment, TreeMoments};

/// Maximum length of the statistics of a tree.
const MAX_BYTES: u64 = 8 << 30;

/// The content of a `.moments` file.
///
/// The pairs come first, as in a file without a tree; then follows a pass ([`passes`](crate::passes)).
#[derive(Debug, Clone)]
pub struct MomentsFile {
    /// First and second moments of all pairs of columns.
    pub pairs: PairMoments,
    /// The statistics for the tables of a given tree.
    pub tree: Option<TreeMoments>,
}

impl MomentsFile {
    /// Reads a file, compressed or not.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), naming the file; [`Error::Io`].
    pub fn load(path: &Path) -> Result<Self> {
        file::open(path).and_then(|mut input| Self::read(&mut input)).map_err(|error| match error {
            Error::Io { action, source, .. } => Error::Io { action, path: path.to_path_buf(), source },
            other => other.in_file(path),
        })
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`Error::Format`] if it is truncated or damaged, [`Error::Version`] if it was written by an incompatible version.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self> {
        Self::read(&mut bytes)
    }

    fn read(input: &mut dyn Read) -> Result<Self> {
        let pairs = PairMoments::read_from(input, PairOptions::default().memory_limit)?;
        let mut rest = Vec::new();
        input.take(MAX_BYTES).read_to_end(&mut rest).map_err(Error::io("read", "moments"))?;
        if rest.is_empty() {
            return Ok(Self { pairs, tree: None });
        }
        let wire = Wire::read(&rest).map_err(|error| {
            Error::format(Place::default(), "latentree moments", format!("unreadable data after the end of the pairs: {error}"))
        })?;
        let tree: TreeMoments = wire.accumulator()?;
        if wire.schema != schema_hash(pairs.schema())? || tree.schema() != pairs.schema() {
            return Err(mismatch("its pairs", "its statistics of a tree", "they are of other columns; make it again"));
        }
        Ok(Self { pairs, tree: Some(tree) })
    }

    /// Writes a file; `.gz` and `.zst` endings compress.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        file::write_atomically(path, |out| {
            self.write(out).map_err(|error| match error {
                Error::Io { action, source, .. } => Error::Io { action, path: path.to_path_buf(), source },
                other => other,
            })
        })
    }

    /// The content of a file.
    ///
    /// # Errors
    /// If the statistics cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, out: &mut dyn Write) -> Result<()> {
        let hash = schema_hash(self.pairs.schema())?;
        let tree = self.tree.as_ref().map(|tree| to_wire(tree, hash)).transpose()?;
        self.pairs.write_to(out)?;
        tree.map_or(Ok(()), |bytes| out.write_all(&bytes)).map_err(Error::io("write", "moments"))
    }

    /// The source to learn from.
    #[must_use]
    pub fn source(&self) -> Source<'static> {
        match &self.tree {
            None => Source::Moments(self.pairs.clone()),
            Some(tree) => Source::TreeMoments(self.pairs.clone(), Box::new(tree.clone())),
        }
    }

    /// Adds the statistics of another file.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the files have different columns, trees or plans.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        match (&mut self.tree, other.tree) {
            (Some(own), Some(other)) => own.merge(other)?,
            (None, None) => {}
            _ => {
                let problem = "only one of them was collected for a tree; collect both, or neither, with --for";
                return Err(mismatch("the first file", "the second", problem));
            }
        }
        self.pairs.merge(other.pairs)
    }
}

fn mismatch(left: &str, right: &str, problem: &str) -> Error {
    Error::Mismatch { left: left.to_owned(), right: right.to_owned(), problem: problem.to_owned() }
}

impl Learning {
    /// Collects the statistics that the tables of the given [`tree`](Self::tree) need, so that they can be learned without the rows:
    /// [`Source::TreeMoments`](super::Source::TreeMoments).
    ///
    /// # Errors
    /// [`Error::Option`] if there is no tree, or weights are not frequencies; as [`run`](Self::run).
    pub fn tree_moments(&self, rows: &dyn Rows, observer: &dyn Observer) -> Result<TreeMoments> {
        let recorder = Recorder::new(observer);
        self.options.check(false, true)?;
        let tree = self.tree.as_ref().ok_or_else(|| Error::option("learn.tree", "give the tree whose tables are wanted"))?;
        if self.options.parameters.alignment != Alignment::Linear {
            return Err(Error::option("parameters.alignment", "moments for a tree always use linear alignment"));
        }
        let as_given = WeightedRows::new(rows, self.options.weight_kind)?;
        as_given.require_frequencies()?;
        let sorted = by_content(&as_given, true)?;
        let rows = sorted.as_ref().map_or(&as_given as &dyn Rows, |sorted| sorted);
        let run = Run::new(self, None, &recorder);
        let tree = tree_over(tree, rows.schema())?;
        let coordinates = if is_wide(rows.schema()) { run.moments(rows, true)?.coordinates().cloned() } else { None };
        let options = run.moment_options(coordinates);
        TreeMoments::of(&tree, &mut *rows.open()?, &options, &recorder)
    }
}

impl Run<'_> {
    /// Fails if the statistics were collected with other options.
    pub(super) fn check_collected(&self, moments: &TreeMoments) -> Result<()> {
        if let Some(tree) = self.tree
            && !crate::tree::same_structure(&tree_over(tree, moments.schema())?, moments.tree())
        {
            return Err(Error::option(
                "learn.tree",
                "the moments were collected for another tree; leave it out, or collect them for this one",
            ));
        }
        let states = self.options.parameters.hidden_states;
        if states.fixed().is_some_and(|states| states != moments.hidden_states()) {
            let problem = format!("the moments were collected for {} states; leave it out", moments.hidden_states());
            return Err(Error::option("parameters.hidden_states", problem));
        }
        Ok(())
    }
}
