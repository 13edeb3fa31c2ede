//! The candidates of regularised Chow–Liu grouping, for a person to choose from.

use super::parameters::DEFAULT_STATES;
use super::{Learning, Source};
use crate::data::{BatchSource, Dataset, WeightedRows};
use crate::distance::{DistanceMatrix, choose_estimator, estimate, fold_for};
use crate::error::{Error, Result};
use crate::moments::{PairMoments, PairOptions, Summary, fold};
use crate::observer::Observer;
use crate::selection::{Candidates, LocalLearner, scored_candidates};
use crate::structure::{LearnedStructure, LearnerName, with_lengths};

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
        let summary = fold(&mut data.source(), Summary::new(data.schema().clone()), observer)?;
        let pairs = PairOptions::default().memory_limit(self.memory.bytes());
        let make = |schema| PairMoments::with_options(schema, pairs);
        let moments = fold_for(&mut data.source(), &summary, &self.distance_options(), observer, make)?.0;
        Ok(self.candidates_of(&data, &moments, observer)?.0)
    }

    /// The tree of the candidates that were asked for, else of those that raise BIC, with lengths by least squares.
    pub(super) fn regularised(&self, data: &Dataset, moments: &PairMoments, observer: &dyn Observer) -> Result<LearnedStructure> {
        let (candidates, distances) = self.candidates_of(data, moments, observer)?;
        let tree = match &self.accept {
            Some(leaders) => candidates.accept(leaders)?,
            None => candidates.best()?,
        };
        let estimator = Some(choose_estimator(moments, &self.distance_options())?);
        Ok(LearnedStructure { estimator, ..with_lengths(tree, self.structure, &distances, observer)? })
    }

    fn candidates_of(
        &self,
        data: &Dataset,
        moments: &PairMoments,
        observer: &dyn Observer,
    ) -> Result<(Candidates, DistanceMatrix)> {
        let is_grouping =
            matches!(self.structure, LearnerName::RegularisedRecursiveGrouping | LearnerName::ChowLiuRecursiveGrouping);
        let local = if is_grouping { LocalLearner::RecursiveGrouping } else { LocalLearner::NeighborJoining };
        let distances = estimate(moments, &self.distance_options().errors(true), observer)?;
        let threshold = self.contraction.threshold(&distances);
        let hidden_states = self.hidden_states.unwrap_or(DEFAULT_STATES);
        let candidates = scored_candidates(data, &distances, local, threshold, hidden_states, observer)?;
        Ok((candidates, distances))
    }
}
