//! The candidates of regularised Chow–Liu grouping, for a person to choose from.

use super::parameters::DEFAULT_STATES;
use super::recorder::Recorder;
use super::run::Run;
use super::{Learning, Source};
use crate::data::{Rows, WeightedRows};
use crate::distance::{DistanceMatrix, choose_estimator, estimate, fold_for};
use crate::error::{Error, Result};
use crate::moments::{PairMoments, PairOptions, Summary, fold};
use crate::observer::Observer;
use crate::selection::{Candidates, LocalLearner, scored_candidates};
use crate::structure::{LearnedStructure, LearnerName, with_lengths};

impl Learning {
    /// The candidates of `reg-clrg` or `reg-clnj` (of `reg-clnj` for any other [`structure`](Self::structure)), each with its
    /// gain in BIC.
    ///
    /// # Errors
    /// [`Error::Option`] if there are no rows, and the same as for [`run`](Self::run).
    pub fn candidates(&self, source: Source<'_>, observer: &dyn Observer) -> Result<Candidates> {
        self.options.check(self.has_validation(), self.tree.is_some())?;
        let Source::Rows(rows) = source else {
            return Err(Error::option("learn.candidates", "they are compared by models of rows; learn from the data"));
        };
        let recorder = Recorder::new(observer);
        let run = Run::new(self, None, &recorder);
        let rows = WeightedRows::new(rows, self.options.weight_kind)?;
        observer.stage("rows", rows.n_rows_hint());
        let summary = fold(&mut *rows.open()?, Summary::new(rows.schema().clone()), observer)?;
        let pairs = PairOptions::default().memory_limit(self.memory.bytes());
        let make = |schema| PairMoments::with_options(schema, pairs);
        let moments = fold_for(&mut *rows.open()?, &summary, &self.options.distance_options(), observer, make)?.0;
        Ok(run.candidates_of(&rows, &moments)?.0)
    }
}

impl Run<'_> {
    /// The tree with the accepted candidates, by default those that improve BIC, with least-squares edge lengths.
    pub(super) fn regularised(&self, rows: &dyn Rows, moments: &PairMoments) -> Result<LearnedStructure> {
        let (candidates, distances) = self.candidates_of(rows, moments)?;
        let tree = match &self.options.selection.accept {
            Some(leaders) => candidates.accept(leaders)?,
            None => candidates.best()?,
        };
        let estimator = Some(choose_estimator(moments, &self.options.distance_options())?);
        Ok(LearnedStructure { estimator, ..with_lengths(tree, self.options.structure.learner, &distances, self.observer)? })
    }

    fn candidates_of(&self, rows: &dyn Rows, moments: &PairMoments) -> Result<(Candidates, DistanceMatrix)> {
        let is_grouping = matches!(
            self.options.structure.learner,
            LearnerName::RegularisedRecursiveGrouping | LearnerName::ChowLiuRecursiveGrouping
        );
        let local = if is_grouping { LocalLearner::RecursiveGrouping } else { LocalLearner::NeighborJoining };
        let distances = estimate(moments, &self.options.distance_options().errors(true), self.observer)?;
        let threshold = self.options.structure.contract.threshold(&distances);
        let hidden_states = self.options.parameters.hidden_states.fixed().unwrap_or(DEFAULT_STATES);
        let candidates = scored_candidates(rows, &distances, local, threshold, hidden_states, self.observer)?;
        Ok((candidates, distances))
    }
}
