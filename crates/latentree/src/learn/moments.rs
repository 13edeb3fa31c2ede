//! The first stage: statistics of pairs of variables.

use std::sync::Arc;

use super::parameters::{DEFAULT_STATES, check_model_size};
use super::run::Run;
use crate::coordinates::bins::{BinnedRows, Bins};
pub(super) use crate::coordinates::compressed::is_worth_it as is_wide;
use crate::data::{BatchSource, Rows, Schema};
use crate::distance::{FoundCoordinates, bins_for, fold_for};
use crate::error::{Error, Place, Result};
use crate::memory::MemoryBudget;
use crate::model::least_model_bytes;
use crate::moments::{BlockMoments, PairMoments, PairOptions, Summary, fold};
use crate::observer::Observer as _;
use crate::structure::{LearnerName, MAX_FOR_HALVES, StructureInput};

/// Number of blocks of rows that a bootstrap draws from.
const BLOCKS: usize = 64;
/// Minimum number of blocks of a bootstrap.
const MIN_BLOCKS: usize = 8;
/// If blocks would take more bytes than this, there are fewer of them.
const BLOCKS_BUDGET: u64 = 2 << 30;
/// Maximum bytes of [`MIN_BLOCKS`].
const BLOCKS_LIMIT: u64 = 8 << 30;

/// Statistics of the rows.
pub(super) struct Moments {
    pub(super) whole: PairMoments,
    pub(super) blocks: Option<BlockMoments>,
    pub(super) halves: Option<[PairMoments; 2]>,
    /// Set if the moments describe bins of numbers, or a few coordinates of wide variables.
    pub(super) wide: Option<Wide>,
}

/// The rows that moments of bins or coordinates describe.
pub(super) struct Wide {
    schema: Arc<Schema>,
    n_rows: u64,
    total_weight: f64,
    coordinates: Option<FoundCoordinates>,
}

impl Moments {
    /// Moments without rows; their weights must be scaled.
    pub(super) fn without_rows(whole: PairMoments) -> Self {
        Self { whole, blocks: None, halves: None, wide: None }
    }

    /// Fails if there are no rows.
    pub(super) fn check_rows(&self) -> Result<()> {
        if self.n_rows() == 0 {
            return Err(Error::data(Place::default(), "there are no rows with a positive weight to learn from"));
        }
        Ok(())
    }

    /// The input of a structure learner.
    pub(super) fn structure_input(&self) -> StructureInput<'_> {
        StructureInput::Moments { whole: &self.whole, halves: self.halves.as_ref() }
    }

    /// The coordinates of wide variables.
    pub(super) fn coordinates(&self) -> Option<&FoundCoordinates> {
        self.wide.as_ref().and_then(|wide| wide.coordinates.as_ref())
    }

    /// Returns whether the moments describe bins or coordinates rather than the columns themselves.
    pub(super) fn are_of_other_columns(&self) -> bool {
        self.wide.is_some()
    }

    fn of_frequencies(self) -> Self {
        Self {
            whole: self.whole.of_frequencies(),
            blocks: self.blocks.map(BlockMoments::of_frequencies),
            halves: self.halves.map(|halves| halves.map(PairMoments::of_frequencies)),
            wide: self.wide,
        }
    }

    pub(super) fn schema(&self) -> &Arc<Schema> {
        self.wide.as_ref().map_or_else(|| self.whole.schema(), |wide| &wide.schema)
    }

    pub(super) fn n_rows(&self) -> u64 {
        self.wide.as_ref().map_or_else(|| self.whole.n_rows(), |wide| wide.n_rows)
    }

    pub(super) fn total_weight(&self) -> f64 {
        self.wide.as_ref().map_or_else(|| self.whole.total_weight(), |wide| wide.total_weight)
    }
}

impl Run<'_> {
    /// The statistics that the options need.
    pub(super) fn moments(&self, rows: &dyn Rows, are_frequencies: bool) -> Result<Moments> {
        let mut source = rows.open()?;
        let moments = match self.bins(&mut *source)? {
            None => self.moments_of(&mut *source)?,
            Some(bins) => {
                let schema = Arc::clone(source.schema());
                let moments = self.moments_of(&mut BinnedRows::new(&mut *source, bins)?)?;
                let (n_rows, total_weight) = (moments.n_rows(), moments.total_weight());
                let coordinates = moments.wide.and_then(|wide| wide.coordinates);
                Moments { wide: Some(Wide { schema, n_rows, total_weight, coordinates }), ..moments }
            }
        };
        moments.check_rows()?;
        Ok(if are_frequencies { moments.of_frequencies() } else { moments })
    }

    /// The bins of numbers for distances with more than two hidden states. A given tree, or a search, needs no distances here.
    fn bins(&self, rows: &mut dyn BatchSource) -> Result<Option<Arc<Bins>>> {
        if self.tree.is_some() || self.searches_tree() {
            Ok(None)
        } else {
            bins_for(rows, &self.options.distance_options(), self.observer)
        }
    }

    fn moments_of(&self, rows: &mut dyn BatchSource) -> Result<Moments> {
        let observer = self.observer;
        let schema = Arc::clone(rows.schema());
        let n_states = self.options.parameters.hidden_states.fixed().unwrap_or(DEFAULT_STATES);
        check_model_size(self.memory, least_model_bytes(&schema, n_states), n_states)?;
        let pair_options = PairOptions::default().memory_limit(self.memory.bytes());
        if is_wide(&schema) {
            return self.wide_moments(rows, schema, pair_options);
        }
        let n_blocks = self.n_blocks(&schema)?;
        observer.stage("moments", rows.n_rows_hint());
        Ok(match n_blocks {
            None => {
                let whole = fold(rows, PairMoments::with_options(schema, pair_options)?, observer)?;
                Moments { whole, blocks: None, halves: None, wide: None }
            }
            Some(n_blocks) => {
                let blocks = fold(rows, BlockMoments::with_options(schema, n_blocks, pair_options)?, observer)?;
                let (whole, halves) = (blocks.whole()?, Some(blocks.halves()?));
                Moments { whole, blocks: self.relearned_replicates().map(|_| blocks), halves, wide: None }
            }
        })
    }

    /// Statistics of rows whose variables have too many features for a table of every pair.
    fn wide_moments(&self, rows: &mut dyn BatchSource, schema: Arc<Schema>, pair_options: PairOptions) -> Result<Moments> {
        let observer = self.observer;
        observer.stage("moments", rows.n_rows_hint());
        let summary = fold(rows, Summary::new(Arc::clone(&schema)), observer)?;
        rows.rewind()?;
        let (n_rows, total_weight) = (summary.n_rows(), summary.total_weight());
        let options = self.options.distance_options();
        let wide = |coordinates: Option<FoundCoordinates>| {
            coordinates.map(|found| Wide { schema, n_rows, total_weight, coordinates: Some(found) })
        };
        if self.relearned_replicates().is_none() {
            let make = |seen| PairMoments::with_options(seen, pair_options);
            let (whole, coordinates) = fold_for(rows, &summary, &options, observer, make)?;
            return Ok(Moments { whole, blocks: None, halves: None, wide: wide(coordinates) });
        }
        let make = |seen: Arc<Schema>| {
            let n_blocks = self.n_blocks(&seen)?;
            BlockMoments::with_options(seen, n_blocks.unwrap_or(BLOCKS), pair_options)
        };
        let (blocks, coordinates) = fold_for(rows, &summary, &options, observer, make)?;
        Ok(Moments { whole: blocks.whole()?, halves: Some(blocks.halves()?), blocks: Some(blocks), wide: wide(coordinates) })
    }

    /// Number of separate blocks of rows: many for a bootstrap, two for the halves of `likelihood`, otherwise none.
    fn n_blocks(&self, schema: &Arc<Schema>) -> Result<Option<usize>> {
        if self.relearned_replicates().is_some() {
            // Supports depend on this number, so it must depend only on the columns and not on the memory.
            let within = BlockMoments::n_blocks_within(schema, BLOCKS, BLOCKS_BUDGET)?.max(MIN_BLOCKS);
            let limit = BLOCKS_LIMIT.min(self.memory.bytes());
            if BlockMoments::n_blocks_within(schema, within, limit)? < within {
                let problem = format!(
                    "{} variables are too many: {within} blocks of rows do not fit {}; allow more `learn.memory`, leave out variables, or learn without it",
                    schema.variables().len(),
                    MemoryBudget::new(limit)
                );
                return Err(Error::option("structure.bootstrap", problem));
            }
            if within < BLOCKS {
                self.observer.warn(&format!(
                    "the bootstrap draws from {within} blocks of rows instead of {BLOCKS}, since more would not fit {}: support is less precise",
                    MemoryBudget::new(BLOCKS_BUDGET)
                ));
            }
            return Ok(Some(within));
        }
        let is_scalar = |ix| schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_none_or(|n_states| n_states <= 2));
        let asked = matches!(self.options.structure.learner, LearnerName::Auto | LearnerName::Likelihood);
        Ok((asked && schema.variables().len() <= MAX_FOR_HALVES && schema.variable_ixs().all(is_scalar)).then_some(2))
    }
}
