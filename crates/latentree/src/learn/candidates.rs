//! The candidates of regularised Chow–Liu grouping, for a person to choose from.

use super::parameters::DEFAULT_STATES;
use super::{Learning, Source};
use crate::data::{BatchSource, Dataset, WeightedRows};
use crate::distance::estimate;
use crate::error::{Error, Result};
use crate::moments::{PairMoments, PairOptions, fold};
use crate::observer::Observer;
use crate::selection::{Candidates, LocalLearner, scored_candidates};
use crate::structure::LearnerName;

impl Learning {
    /// What `reg-clrg` or `reg-clnj` choose from (with any other [`structure`](Self::structure), `reg-clnj`), with the gain of BIC of each.
    ///
    /// # Errors
    /// [`Error::Option`] if there are no rows; as [`run`](Self::run).
    pub fn candidates(&self, source: Source<'_>, observer: &dyn Observer) -> Result<Candidates> {
        self.check()?;
        let Source::Rows(rows) = source else {
            return Err(Error::option("--candidates", "they are compared by models of rows; learn from the data"));
        };
        let mut rows = WeightedRows::new(rows, self.weight_kind)?;
        observer.stage("rows", rows.n_rows_hint());
        let data = Dataset::read(&mut rows)?;
        let options = PairOptions::default().memory_limit(self.memory.bytes());
        let moments = fold(&mut data.source(), PairMoments::with_options(data.schema().clone(), options)?, observer)?;
        self.candidates_of(&data, &moments, observer)
    }

    pub(super) fn candidates_of(&self, data: &Dataset, moments: &PairMoments, observer: &dyn Observer) -> Result<Candidates> {
        let is_grouping =
            matches!(self.structure, LearnerName::RegularisedRecursiveGrouping | LearnerName::ChowLiuRecursiveGrouping);
        let local = if is_grouping { LocalLearner::RecursiveGrouping } else { LocalLearner::NeighborJoining };
        let distances = estimate(moments, &self.distance_options().errors(true), observer)?;
        scored_candidates(data, &distances, local, self.hidden_states.unwrap_or(DEFAULT_STATES), observer)
    }
}
