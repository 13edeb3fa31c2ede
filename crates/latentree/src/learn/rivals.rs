//! The models of single learners, which a search must not end below.
//!
//! A search climbs from models of its own form and on as many rows as it can afford. A single learner may do better: on
//! columns with very many labels, which the search skips, on Gaussian trees, or if all starts on a large table end in a poor
//! local optimum. The models of the default learner, `chow-liu`, `clnj` and `hclt` are therefore fitted as a user would fit
//! them, and the best of all by BIC is the result. If it is one of theirs and the table is suitable for a search, the search
//! climbs from there once more.

use super::model::Fitted;
use super::moments::Moments;
use super::recorder::Recorder;
use super::run::Run;
use super::{Criterion, HiddenStates};
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::format::ModelFile;
use crate::model::{Family, Provenance};
use crate::observer::{Observer as _, Quiet};
use crate::selection::{BicSearch, improved};
use crate::structure::LearnerName;

/// Number of rows above which these models cost more than the search, which uses only part of the rows.
const MAX_ROWS: u64 = 200_000;
/// Number of variables above which the same applies.
const MAX_VARIABLES: usize = 300;
/// Number of cells above which the default learner is not tried again: the search started from its model, and only the
/// smoothing differs.
const MAX_CELLS: u64 = 200_000;
/// Share of BIC by which a rival must be ahead. Closer models are ties, and the search's own model has no edges explained by
/// chance.
const TIE: f64 = 1e-4;
/// On tables with more cells, a rival is fitted to the end only if it is behind by less than this share of BIC after a few
/// passes of EM, which come much closer to the maximum.
const HOPELESS: f64 = 5e-3;
const ROUGH_PASSES: usize = 12;
/// Learners and their numbers of hidden states; `None` means the learner's default.
const RIVALS: [(LearnerName, Option<usize>); 5] = [
    (LearnerName::Auto, None),
    (LearnerName::ChowLiu, None),
    (LearnerName::ChowLiuNeighborJoining, None),
    (LearnerName::HiddenChowLiu, Some(2)),
    (LearnerName::HiddenChowLiu, Some(3)),
];

impl Run<'_> {
    /// The best by BIC among this model and those of single learners.
    pub(super) fn best_of_learners(
        &self,
        found: Fitted,
        moments: &Moments,
        rows: &dyn Rows,
        are_frequencies: bool,
    ) -> Result<Fitted> {
        let n_variables = rows.schema().variables().len();
        let is_large = moments.n_rows() > MAX_ROWS || n_variables > MAX_VARIABLES;
        let has_few_cells = moments.n_rows().saturating_mul(n_variables as u64) <= MAX_CELLS;
        if found.interrupted || is_large || rows.remote().is_some() || self.options.parameters.hidden_states.fixed().is_some() {
            return Ok(found);
        }
        self.observer.stage("other learners", Some(RIVALS.len() as u64));
        let quiet = Quiet(self.observer);
        let recorder = Recorder::new(&quiet);
        let own = self.bic_of(&found.file, moments, rows)?;
        let margin = if own.is_finite() { TIE * own.abs() } else { 0.0 };
        let (mut bic, mut best, mut is_rival) = (own + margin, found, false);
        for (ix, (learner, n_states)) in RIVALS.into_iter().enumerate() {
            self.observer.progress(ix as u64);
            if learner == LearnerName::Auto && !has_few_cells {
                continue;
            }
            let mut options = self.options.clone();
            options.structure.learner = learner;
            options.structure.bootstrap = None;
            options.selection.criterion = Some(Criterion::None);
            options.selection.effort = None;
            // Discrete hidden variables were requested, not Gaussian ones.
            let by_default =
                if options.parameters.hidden_states == HiddenStates::Auto { HiddenStates::Fixed(2) } else { HiddenStates::Unset };
            options.parameters.hidden_states = n_states.map_or(by_default, HiddenStates::Fixed);
            let run = Run { options: &options, observer: &recorder, ..*self };
            if !has_few_cells {
                let mut rough = options.clone();
                rough.em.iterations = Some(options.em.iterations.unwrap_or(ROUGH_PASSES).min(ROUGH_PASSES));
                match (Run { options: &rough, ..run }).rival(rows, are_frequencies) {
                    Ok((_, rough_bic)) if rough_bic > bic - HOPELESS * bic.abs() => {}
                    Err(Error::Cancelled) => return Err(Error::Cancelled),
                    Ok(_) | Err(_) => continue,
                }
            }
            match run.rival(rows, are_frequencies) {
                Ok((rival, rival_bic)) if rival_bic > bic => (bic, best, is_rival) = (rival_bic, rival, true),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                // A tree whose tables the rows do not determine, or that does not fit in memory, is not a rival; this is not
                // an error.
                Ok(_) | Err(_) => {}
            }
        }
        let ModelFile::LatentTree(model) = &best.file else { return Ok(best) };
        if !is_rival {
            return Ok(best);
        }
        let provenance = Provenance { learn: Some(self.options.to_provenance()), ..model.provenance().clone() };
        let model = model.clone().with_provenance(provenance.option("select", Criterion::Bic.name()));
        if model.family() == Family::Discrete && self.criterion_for(rows).is_some() && !self.observer.stop_early() {
            let search = BicSearch::new(self.options.seed).smoothing(self.search_smoothing(moments.total_weight()));
            match improved(&model, rows, moments.total_weight(), &search, self.observer) {
                Ok(Some(better)) => {
                    let provenance = model.provenance().clone().option("structure", LearnerName::Search);
                    let file = better.with_provenance(provenance).into();
                    let interrupted = self.observer.stop_early();
                    if self.bic_of(&file, moments, rows)? > bic - margin {
                        return Ok(Fitted {
                            file,
                            learner: LearnerName::Search,
                            estimator: None,
                            penalty: None,
                            interrupted,
                            ..best
                        });
                    }
                }
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                // The search cannot represent such a model.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(Fitted { file: model.into(), ..best })
    }

    /// The model of one learner, and its BIC.
    fn rival(&self, rows: &dyn Rows, are_frequencies: bool) -> Result<(Fitted, f64)> {
        let moments = self.moments(rows, are_frequencies)?;
        let fitted = self.fitted(self.structure(&moments, Some(rows))?, &moments, Some(rows))?;
        let bic = self.bic_of(&fitted.file, &moments, rows)?;
        Ok((fitted, bic))
    }

    /// The BIC of a model, or the lowest value if it has none.
    pub(super) fn bic_of(&self, file: &ModelFile, moments: &Moments, rows: &dyn Rows) -> Result<f64> {
        Ok(match file {
            ModelFile::LatentTree(model) => self.likelihood(model, moments, Some(rows))?.1.unwrap_or(f64::NEG_INFINITY),
            ModelFile::Spectral(_) | ModelFile::Tree { .. } => f64::NEG_INFINITY,
        })
    }
}
