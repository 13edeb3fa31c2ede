//! The third stage: the parameters of a tree, by the requested method or the default for the columns.

use std::sync::Arc;

use super::moments::Moments;
use super::parameters::{self, DEFAULT_STATES, Evidence};
use super::recorder::warn_briefly;
use super::run::Run;
use super::{Criterion, ParameterMethod};
use crate::data::Rows;
use crate::distance::Estimator;
use crate::error::{Error, Result};
use crate::format::ModelFile;
use crate::observer::Observer as _;
use crate::parameters::{FamilyByLengths, TreeMoments, family_by_lengths, from_lengths};
use crate::selection::CandidateScore;
use crate::structure::{LearnedStructure, LearnerName};
use crate::support::SplitSummary;

/// A model, or a tree, and how it was found.
pub(super) struct Fitted {
    pub(super) file: ModelFile,
    pub(super) learner: LearnerName,
    pub(super) estimator: Option<Estimator>,
    pub(super) penalty: Option<&'static str>,
    pub(super) converged: bool,
    pub(super) em_iterations: Option<usize>,
    pub(super) candidates: Vec<CandidateScore>,
    pub(super) splits: Option<SplitSummary>,
    pub(super) interrupted: bool,
}

impl Fitted {
    pub(super) fn new(file: ModelFile, structure: &LearnedStructure) -> Self {
        Self {
            file,
            learner: structure.learner,
            estimator: structure.estimator,
            penalty: structure.penalty,
            converged: structure.converged,
            em_iterations: None,
            candidates: Vec::new(),
            splits: None,
            interrupted: false,
        }
    }
}

impl Run<'_> {
    /// The model found by a search, on the tree of `kept` if there is one.
    pub(super) fn searched(
        &self,
        criterion: Criterion,
        kept: Option<LearnedStructure>,
        moments: &Moments,
        rows: &dyn Rows,
    ) -> Result<Fitted> {
        let evidence = Evidence { rows, moments: &moments.whole, coordinates: None };
        let found = self.search(criterion, kept.as_ref(), &evidence)?;
        let provenance = self.provenance(kept.as_ref(), Some(moments.n_rows()));
        let provenance =
            provenance.option("structure", found.learner).option("select", criterion.name()).option("parameters", "em");
        Ok(Fitted {
            file: found.model.with_provenance(provenance).into(),
            learner: found.learner,
            estimator: kept.as_ref().and_then(|kept| kept.estimator),
            penalty: kept.as_ref().and_then(|kept| kept.penalty),
            converged: found.converged && kept.is_none_or(|kept| kept.converged),
            em_iterations: None,
            candidates: found.candidates,
            splits: None,
            interrupted: self.observer.stop_early(),
        })
    }

    /// The tree of a distance matrix, without parameters.
    pub(super) fn tree_alone(&self, structure: LearnedStructure) -> Result<Fitted> {
        if !matches!(self.options.parameters.method, ParameterMethod::Auto | ParameterMethod::None) {
            let problem = "a distance matrix alone gives no parameters; learn from the data";
            return Err(Error::option("parameters.method", problem));
        }
        let provenance = self.provenance(Some(&structure), None);
        let file = ModelFile::Tree { tree: structure.tree.clone(), schema: None, provenance };
        Ok(Fitted::new(file, &structure))
    }

    /// The model from the statistics collected for its tree.
    pub(super) fn fitted_by_collected(
        &self,
        structure: LearnedStructure,
        moments: &Moments,
        collected: TreeMoments,
    ) -> Result<Fitted> {
        let provenance = self.provenance(Some(&structure), Some(moments.n_rows()));
        match self.options.parameters.method {
            ParameterMethod::Auto | ParameterMethod::Moments => {}
            ParameterMethod::None => return self.fitted(structure, moments, None),
            method => {
                let problem = format!("a moments file for a tree gives its tables by moments, and {} needs rows", method.name());
                return Err(Error::option("parameters.method", problem));
            }
        }
        self.observer.stage("tables", None);
        let provenance =
            provenance.option("parameters", ParameterMethod::Moments.name()).option("hidden-states", collected.hidden_states());
        let found = collected.model()?;
        warn_briefly(self.observer, &found.warnings);
        Ok(Fitted::new(found.model.with_provenance(provenance).into(), &structure))
    }

    /// The model by the requested method, or only the tree if moments and rows give no parameters.
    pub(super) fn fitted(&self, structure: LearnedStructure, moments: &Moments, rows: Option<&dyn Rows>) -> Result<Fitted> {
        let (method, tree) = (self.options.parameters.method, &structure.tree);
        let provenance = self.provenance(Some(&structure), Some(moments.n_rows()));
        let tree_alone = |provenance| {
            let file = ModelFile::Tree { tree: tree.clone(), schema: Some(Arc::clone(moments.schema())), provenance };
            Fitted::new(file, &structure)
        };
        if method == ParameterMethod::None {
            return Ok(tree_alone(provenance));
        }
        if method.is_spectral() {
            return self.spectral(structure, provenance, rows);
        }
        let family = self.family(&structure, moments);
        let is_gaussian = family == Some(FamilyByLengths::Gaussian);
        let is_auto = method == ParameterMethod::Auto && self.validation.is_none();
        // Lengths are of pairs of columns, each from other rows if cells are missing: only EM makes one model of them.
        let asks_rows = is_gaussian && moments.whole.has_missing() && rows.is_some();
        let by_lengths = (is_auto && !asks_rows)
            || method == ParameterMethod::Distances
            || (method == ParameterMethod::Moments && is_gaussian);
        if by_lengths {
            let lengths_known = tree.edges().all(|edge| edge.length.is_some());
            if let Some(family) = family.filter(|_| lengths_known) {
                self.observer.stage("parameters", None);
                return Ok(Fitted::new(from_lengths(tree, &moments.whole, family, provenance)?.into(), &structure));
            }
            if method == ParameterMethod::Distances {
                let problem = "distances give parameters only for continuous columns without `parameters.hidden_states`, and with \
                               `distance.estimator` symmetric; use moments+em";
                return Err(Error::option("parameters.method", problem));
            }
        }
        let Some(rows) = rows else {
            if method != ParameterMethod::Auto {
                let problem = "a moments file has no rows to learn parameters from; learn from the data";
                return Err(Error::option("parameters.method", problem));
            }
            self.observer.warn(
                "the file holds the tree alone: a moments file has pairs only, and these columns need rows for their parameters",
            );
            return Ok(tree_alone(provenance));
        };
        let evidence = Evidence { rows, moments: &moments.whole, coordinates: moments.coordinates() };
        let name = if method == ParameterMethod::Auto { ParameterMethod::MomentsAndEm } else { method }.name();
        let mut provenance = provenance.option("parameters", name);
        let found = if is_gaussian && method != ParameterMethod::Moments {
            parameters::gaussian(self, tree, &evidence)?
        } else {
            let n_states = self.options.parameters.hidden_states.fixed().unwrap_or(DEFAULT_STATES);
            provenance = provenance.option("hidden-states", n_states);
            parameters::discrete(self, tree, &evidence)?
        };
        if let Some(iterations) = found.em_iterations {
            provenance = provenance.option("em-passes", iterations);
        }
        let fitted = Fitted::new(found.model.with_provenance(provenance).into(), &structure);
        Ok(Fitted { converged: structure.converged && found.converged, em_iterations: found.em_iterations, ..fitted })
    }

    /// The model family that edge lengths determine, if any. A requested number of states makes hidden variables discrete, even if all
    /// columns are continuous.
    fn family(&self, structure: &LearnedStructure, moments: &Moments) -> Option<FamilyByLengths> {
        let is_symmetric = structure.estimator == Some(Estimator::Symmetric);
        let family = if moments.coordinates().is_none() { family_by_lengths(&moments.whole, is_symmetric) } else { None };
        let is_asked = self.options.parameters.hidden_states.fixed().is_some() || !self.options.parameters.states.is_empty();
        family.filter(|&family| family != FamilyByLengths::Gaussian || !is_asked)
    }
}
