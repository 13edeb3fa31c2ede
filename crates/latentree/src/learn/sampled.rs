//! Searches over rows that are held elsewhere: on a sample that is transferred here, followed by EM on all rows.

use super::model::Fitted;
use super::parameters::{Evidence, refit};
use super::recorder::Recorder;
use super::run::Run;
use super::{Learned, Learning};
use crate::data::Rows;
use crate::error::Result;
use crate::format::ModelFile;
use crate::journal::Journal;
use crate::moments::{Accumulator as _, Sample, fold};
use crate::observer::Observer as _;

impl Learning {
    /// Returns whether the options need access to rows: to compare models, to test splits, or to draw validation rows.
    pub(super) fn must_see_rows(&self, rows: &dyn Rows, recorder: &Recorder<'_>) -> bool {
        Run::new(self, None, recorder).criterion_for(rows).is_some()
            || self.options.selection.validation.is_some()
            || self.options.structure.collapse.is_some()
            || self.options.is_regularised()
    }

    /// Learns from a sample of at most this many bytes. If it holds all rows, that is the result; otherwise, EM fits the
    /// model to all rows.
    pub(super) fn run_on_sample(
        &self,
        rows: &dyn Rows,
        most_bytes: u64,
        journal: Option<Journal>,
        recorder: &Recorder<'_>,
    ) -> Result<Learned> {
        recorder.stage("sample", rows.n_rows_hint());
        let sample = Sample::new(std::sync::Arc::clone(rows.schema()), most_bytes, self.options.seed);
        let sample = fold(&mut *rows.open()?, sample, recorder)?;
        let (n_rows, is_whole) = (sample.n_rows(), sample.is_whole());
        let drawn = sample.finish()?;
        if is_whole {
            return self.run_on_rows(&drawn, journal, recorder);
        }
        let learned = self.run_on_rows(&drawn, journal, recorder)?;
        let n_drawn = drawn.n_rows();
        drop(drawn);
        recorder.warn(&format!("the tree was found on a sample of {n_drawn} of {n_rows} rows, and its tables by all rows"));
        // The tree is known, so bins, which need access to rows, are not needed.
        let known = Self { tree: Some(learned.tree().clone()), ..self.clone() };
        let run = Run::new(&known, None, recorder);
        let are_frequencies = rows.remote().is_none_or(crate::data::Remote::are_frequencies);
        let moments = run.moments(rows, are_frequencies)?;
        let Learned {
            file, learner, estimator, penalty, candidates, splits, interrupted, mut converged, mut em_iterations, ..
        } = learned;
        let file = match file {
            ModelFile::LatentTree(model) => {
                let provenance = crate::model::Provenance { rows: Some(n_rows), ..model.provenance().clone() };
                let evidence = Evidence { rows, moments: &moments.whole, coordinates: None };
                let smoothing = run.search_smoothing(moments.total_weight());
                let found = refit(&run, model, smoothing, &evidence)?;
                (converged, em_iterations) = (found.converged, found.em_iterations);
                found.model.with_provenance(provenance).into()
            }
            other => other,
        };
        let fitted = Fitted { file, learner, estimator, penalty, converged, em_iterations, candidates, splits, interrupted };
        Run::new(self, None, recorder).concluded(fitted, Some(&moments), Some(rows))
    }
}
