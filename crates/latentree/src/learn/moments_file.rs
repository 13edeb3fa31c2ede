//! The `.moments` file: pairs of columns and, where they were collected for a tree, all that its tables need.

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

/// Longest statistics of a tree that are believed.
const MAX_BYTES: u64 = 8 << 30;

/// The content of a `.moments` file.
///
/// The pairs stand first, as in a file without the rest; then comes a pass ([`passes`](crate::passes)).
#[derive(Debug, Clone)]
pub struct MomentsFile {
    /// First and second moments of all pairs of columns.
    pub pairs: PairMoments,
    /// What the tables of a given tree need.
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

    /// What [`to_bytes`](Self::to_bytes) gave.
    ///
    /// # Errors
    /// [`Error::Format`] if it is cut or changed, [`Error::Version`] if another version of the program made it.
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
            Error::format(
                Place::default(),
                "latentree moments",
                format!("after the end of the pairs there is no more than noise: {error}"),
            )
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

    /// What is learned from.
    #[must_use]
    pub fn source(&self) -> Source<'static> {
        match &self.tree {
            None => Source::Moments(self.pairs.clone()),
            Some(tree) => Source::TreeMoments(self.pairs.clone(), Box::new(tree.clone())),
        }
    }

    /// Adds all that another file has seen.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the two are of other columns, or for other trees or plans.
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
    /// Collects what the tables of the given [`tree`](Self::tree) need of rows, so that they can be learned without the rows:
    /// [`Source::TreeMoments`](super::Source::TreeMoments).
    ///
    /// # Errors
    /// [`Error::Option`] if there is no tree, or weights are not frequencies; as [`run`](Self::run).
    pub fn tree_moments(&self, rows: &dyn Rows, observer: &dyn Observer) -> Result<TreeMoments> {
        let recorder = Recorder::new(observer);
        self.options.check(false, true)?;
        let tree = self.tree.as_ref().ok_or_else(|| Error::option("learn.tree", "give the tree whose tables are wanted"))?;
        if self.options.parameters.alignment != Alignment::Linear {
            return Err(Error::option("parameters.alignment", "moments for a tree are those of linear alignment"));
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
    /// Fails if statistics were collected for something else than what is asked for.
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
