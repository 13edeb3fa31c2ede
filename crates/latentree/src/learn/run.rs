//! Runs the stages of learning in order.

use std::sync::Arc;

use super::cautions::{APART, warn_of_copies};
use super::model::Fitted;
use super::moments::Moments;
use super::recorder::Recorder;
use super::split::split;
use super::{Criterion, HiddenStates, LearnOptions, Learned, Learning, Source};
use crate::data::Kind;
use crate::data::row_order::by_content;
use crate::data::{JournaledRows, Rows, WeightedRows, digest};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::format::ModelFile;
use crate::inference::Inference;
use crate::information;
use crate::journal::Journal;
use crate::memory::MemoryBudget;
use crate::model::{LatentTree, Provenance};
use crate::moments::{Accumulator as _, PairMoments, Summary, fold};
use crate::observer::{Observer, Unwarned};
use crate::parameters::em::rows_log_likelihood;
use crate::parameters::{TreeMoments, gaussian_log_likelihood};
use crate::report::{has_few_pairs, poor_pairs};
use crate::structure::{LearnedStructure, LearnerName, describe_forest};
use crate::tree::Tree;

/// A run: its settings and its observer.
pub(super) struct Run<'a> {
    pub(super) options: &'a LearnOptions,
    pub(super) tree: Option<&'a Tree>,
    pub(super) memory: MemoryBudget,
    /// Validation rows, which are not used for training.
    pub(super) validation: Option<&'a dyn Rows>,
    pub(super) observer: &'a Recorder<'a>,
}

impl Learning {
    /// Learns.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is out of range or does not fit the source, [`Error::Data`] if the data do not fit the options,
    /// [`Error::Tree`] if a given tree does not fit the data, errors of the source, and [`Error::Cancelled`] when the observer asks to stop.
    pub fn run(&self, source: Source<'_>, observer: &dyn Observer) -> Result<Learned> {
        let recorder = Recorder::new(observer);
        self.options.check(self.has_validation(), self.tree.is_some())?;
        if self.tree.is_some() && self.options.structure.learner != LearnerName::Auto {
            return Err(Error::option("structure.learner", "the tree given as `learn.tree` is kept; leave one of them out"));
        }
        match &self.tree {
            Some(tree) => self.options.parameters.states.of_tree(tree).map(|_| ())?,
            None if self.options.parameters.states.is_empty() => {}
            None => {
                return Err(Error::option(
                    "parameters.states",
                    "it applies to the hidden nodes of a given tree; add `learn.tree`",
                ));
            }
        }
        let journal = self.checkpoint.as_deref().map(Journal::open).transpose()?;
        let run = |validation| Run::new(self, validation, &recorder);
        if self.tree.is_none() {
            match source {
                Source::Rows(_) if self.options.method_prevents_search() => {
                    recorder.warn("no search was done, since it fits models by EM: this is the tree of one learner");
                }
                Source::Moments(_) | Source::Distances(_) if self.options.searches_by_default() => {
                    recorder.warn("no search was done, since it compares models on rows: this is the tree of one learner");
                }
                _ => {}
            }
        }
        match source {
            Source::Rows(rows) => self.run_on_rows(rows, journal, &recorder),
            _ if self.has_validation() => {
                Err(Error::option("selection.validation", "it stops EM, which needs rows to learn from; learn from the data"))
            }
            _ if self.options.asks_for_search() => {
                Err(Error::option("selection.criterion", "models are compared on rows; learn from the data"))
            }
            _ if self.options.asks_for_effort() => {
                Err(Error::option("selection.effort", "no search is done without rows to compare models on; learn from the data"))
            }
            Source::Moments(moments) => run(None).learned_from_moments(&moments.scaled(self.options.weight_kind)),
            // A named learner learns another tree, from the pairs.
            Source::TreeMoments(moments, _) if self.options.structure.learner != LearnerName::Auto => {
                run(None).learned_from_moments(&moments.scaled(self.options.weight_kind))
            }
            Source::TreeMoments(moments, tree) => {
                run(None).learned_from_tree_moments(&moments.scaled(self.options.weight_kind), *tree)
            }
            Source::Distances(distances) => run(None).learned_from_distances(&distances),
        }
    }

    pub(super) fn run_on_rows(&self, rows: &dyn Rows, journal: Option<Journal>, recorder: &Recorder<'_>) -> Result<Learned> {
        let sample_bytes = rows.remote().map_or(0, crate::data::Remote::sample_bytes);
        if sample_bytes > 0 && self.must_see_rows(rows, recorder) {
            return self.run_on_sample(rows, sample_bytes, journal, recorder);
        }
        let run = |validation| Run::new(self, validation, recorder);
        match (&self.validation, self.options.selection.validation) {
            (Some(validation), _) if validation.n_rows() == 0 => {
                Err(Error::option("selection.validation", "there are no rows in it"))
            }
            (Some(validation), _) => run(Some(validation)).learned_from_rows(rows, journal),
            (None, Some(fraction)) => {
                recorder.stage("rows", rows.n_rows_hint());
                let sorted = by_content(rows, false)?;
                let rows = sorted.as_ref().map_or(rows, |sorted| sorted);
                let (learned, drawn) = split(rows, fraction, self.options.seed)?;
                run(Some(&drawn)).learned_from_rows(&learned, journal)
            }
            (None, None) => run(None).learned_from_rows(rows, journal),
        }
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(learning: &'a Learning, validation: Option<&'a dyn Rows>, observer: &'a Recorder<'a>) -> Self {
        Self { options: &learning.options, tree: learning.tree.as_ref(), memory: learning.memory, validation, observer }
    }

    /// The criterion of the search, if there is one.
    pub(super) fn criterion(&self) -> Option<Criterion> {
        self.options.criterion(self.validation.is_some(), self.tree.is_some())
    }

    /// Returns whether the tree is searched for together with its parameters.
    pub(super) fn searches_tree(&self) -> bool {
        self.criterion().is_some() && self.tree.is_none() && self.options.structure.learner == LearnerName::Auto
    }

    /// The criterion for rows. Tables that are unsuitable for a search are searched only on request.
    pub(super) fn criterion_for(&self, rows: &dyn Rows) -> Option<Criterion> {
        const WIDEST: usize = 2_000;
        let schema = rows.schema();
        let is_narrow = schema.columns().iter().all(|column| column.kind.n_states().is_none_or(|n_states| n_states <= WIDEST));
        let is_for = schema.variables().len() >= 3 && is_narrow;
        self.criterion().filter(|_| is_for || self.options.asks_for_search())
    }

    fn learned_from_rows(&self, rows: &dyn Rows, journal: Option<Journal>) -> Result<Learned> {
        if self.validation.is_some_and(|validation| **rows.schema() != **validation.schema()) {
            return Err(Error::Mismatch {
                left: "the data".to_owned(),
                right: "the validation rows".to_owned(),
                problem: "they have other columns, kinds or labels; read them with the schema of the data".to_owned(),
            });
        }
        let journal = journal.map(|journal| journal.for_run(&self.description(rows)?)).transpose()?;
        let rows = JournaledRows::new(rows, journal.as_ref());
        let as_given = WeightedRows::new(&rows, self.options.weight_kind)?;
        // Choices by row number then depend only on the content of the rows.
        let sorted = by_content(&as_given, as_given.are_frequencies())?;
        let sorted = sorted.as_ref().map_or(&as_given as &dyn Rows, |sorted| sorted);
        let rows = JournaledRows::new(sorted, journal.as_ref());
        let moments = self.moments(&rows, as_given.are_frequencies())?;
        let fitted = match self.criterion_for(&rows) {
            Some(criterion) if self.searches_tree() => {
                let found = self.best_searched(criterion, &moments, &rows)?;
                match criterion {
                    Criterion::Bic => self.best_of_learners(found, &moments, &rows, as_given.are_frequencies())?,
                    Criterion::Validation | Criterion::None => found,
                }
            }
            Some(criterion) => self.searched(criterion, Some(self.structure(&moments, Some(&rows))?), &moments, &rows)?,
            None => {
                let found = self.fitted(self.structure(&moments, Some(&rows))?, &moments, Some(&rows))?;
                // A search was requested, by default, for a table that is unsuitable for it.
                if self.criterion() == Some(Criterion::Bic) && self.searches_tree() {
                    self.best_of_learners(found, &moments, &rows, as_given.are_frequencies())?
                } else {
                    found
                }
            }
        };
        let fitted = self.with_supports(fitted, &moments, Some(&rows))?;
        // Sums in the order of the file, so that scoring the model gives the same bits.
        self.concluded(fitted, Some(&moments), Some(&as_given))
    }

    /// The model of a search; for continuous columns, the Gaussian tree if its BIC is better.
    fn best_searched(&self, criterion: Criterion, moments: &Moments, rows: &dyn Rows) -> Result<Fitted> {
        let schema = rows.schema();
        let is_continuous = schema.variable_ixs().all(|ix| schema.scalar_kind(ix) == Some(&Kind::Continuous));
        let found = self.searched(criterion, None, moments, rows)?;
        if found.interrupted
            || criterion != Criterion::Bic
            || !is_continuous
            || self.options.parameters.hidden_states != HiddenStates::Unset
        {
            return Ok(found);
        }
        let gaussian = self.fitted(self.structure(moments, Some(rows))?, moments, Some(rows))?;
        let is_better = self.bic_of(&gaussian.file, moments, rows)? > self.bic_of(&found.file, moments, rows)?;
        Ok(if is_better { gaussian } else { found })
    }

    /// Everything that results depend on: version, options, a given tree, and all rows.
    fn description(&self, rows: &dyn Rows) -> Result<String> {
        let (version, options) = (env!("CARGO_PKG_VERSION"), self.options.to_json());
        let tree = self.tree.map(Tree::to_json);
        let validation = self.validation.map(digest).transpose()?;
        let data = match rows.remote() {
            None => digest(rows)?,
            // A summary identifies remote rows.
            Some(_) => {
                let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(rows.schema())), self.observer)?;
                String::from_utf8_lossy(&summary.to_bytes()?).into_owned()
            }
        };
        Ok(format!("{version} {options} {tree:?} {data} {validation:?}"))
    }

    fn learned_from_moments(&self, moments: &PairMoments) -> Result<Learned> {
        let moments = Moments::without_rows(moments.clone());
        moments.check_rows()?;
        let fitted = self.fitted(self.structure(&moments, None)?, &moments, None)?;
        let fitted = self.with_supports(fitted, &moments, None)?;
        self.concluded(fitted, Some(&moments), None)
    }

    fn learned_from_tree_moments(&self, moments: &PairMoments, collected: TreeMoments) -> Result<Learned> {
        self.check_collected(&collected)?;
        let moments = Moments::without_rows(moments.clone());
        moments.check_rows()?;
        let structure = self.given(collected.tree(), &moments)?;
        let fitted = self.fitted_by_collected(structure, &moments, collected)?;
        self.concluded(fitted, Some(&moments), None)
    }

    fn learned_from_distances(&self, distances: &DistanceMatrix) -> Result<Learned> {
        let structure = self.structure_of_distances(distances)?;
        self.concluded(self.tree_alone(structure)?, None, None)
    }

    /// The provenance of a model before it is fitted.
    pub(super) fn provenance(&self, structure: Option<&LearnedStructure>, rows: Option<u64>) -> Provenance {
        let mut provenance = Provenance::by_this_program(self.options.seed).option("verb", "learn");
        if let Some(structure) = structure {
            provenance = provenance.option("structure", structure.learner);
            if let Some(estimator) = structure.estimator {
                provenance = provenance.option("distance", estimator);
            }
        }
        if let Some(contraction) = self.options.structure.contract.text() {
            provenance = provenance.option("contract", contraction);
        }
        if let Some(bootstrap) = self.options.structure.bootstrap {
            provenance = provenance.option("bootstrap", bootstrap);
        }
        if let Some(least) = self.options.structure.collapse {
            provenance = provenance.option("collapse", least);
        }
        if self.validation.is_some() && self.options.selection.validation.is_none() {
            provenance = provenance.option("validation", "rows of their own");
        }
        provenance.learn = Some(self.options.to_provenance());
        provenance.rows = rows;
        provenance
    }

    /// The last stage: sorts the states and measures the fit.
    pub(super) fn concluded(&self, fitted: Fitted, moments: Option<&Moments>, rows: Option<&dyn Rows>) -> Result<Learned> {
        let file = match fitted.file {
            ModelFile::LatentTree(model) => {
                let provenance = Provenance { interrupted: fitted.interrupted, ..model.provenance().clone() };
                model.with_ordered_states()?.with_provenance(provenance).into()
            }
            other => other,
        };
        let file = self.with_poor_pairs(file, moments, rows)?;
        let mut free_parameters = None;
        let (mut log_likelihood, mut bic, mut validation) = (None, None, None);
        if let (ModelFile::LatentTree(model), Some(moments)) = (&file, moments) {
            free_parameters = Some(model.n_free_parameters());
            (log_likelihood, bic) = self.likelihood(model, moments, rows)?;
            if !moments.are_of_other_columns() {
                warn_of_copies(&moments.whole, self.observer);
            }
            let searched = (fitted.learner == LearnerName::Search).then_some(model);
            match rows {
                Some(rows) => self.warn_of_table(searched, bic, rows)?,
                None => {
                    searched.and_then(|model| describe_forest(model.tree(), APART)).iter().for_each(|it| self.observer.warn(it))
                }
            }
            if let Some(rows) = self.validation {
                let score = Inference::new(model).score(&mut *rows.open()?, self.observer, |_, _| Ok(()))?;
                validation = Some(score.mean_log_likelihood()).filter(|value| value.is_finite());
            }
        }
        let clipped_rows = match (&file, rows) {
            (ModelFile::Spectral(model), Some(rows)) => Some(self.spectral_fit(model, rows, &mut log_likelihood)?),
            _ => None,
        };
        Ok(Learned {
            file,
            learner: fitted.learner,
            estimator: fitted.estimator,
            penalty: fitted.penalty,
            rows: moments.map(Moments::n_rows),
            free_parameters,
            log_likelihood,
            bic,
            validation,
            validation_rows: self.validation.and_then(Rows::n_rows_hint),
            criterion: rows.and_then(|rows| self.criterion_for(rows)),
            candidates: fitted.candidates,
            splits: fitted.splits,
            clipped_rows,
            em_iterations: fitted.em_iterations,
            converged: fitted.converged && !fitted.interrupted,
            interrupted: fitted.interrupted,
            warnings: self.observer.warnings(),
            stages: self.observer.stages(),
        })
    }

    /// Records the pairs of columns that the model explains badly, for queries without the data.
    fn with_poor_pairs(&self, file: ModelFile, moments: Option<&Moments>, rows: Option<&dyn Rows>) -> Result<ModelFile> {
        let (ModelFile::LatentTree(model), Some(moments)) = (&file, moments) else { return Ok(file) };
        if !has_few_pairs(model) {
            return Ok(file);
        }
        let poor = match (moments.are_of_other_columns(), rows) {
            (false, _) => poor_pairs(model, &moments.whole),
            (true, Some(rows)) => {
                let plain = fold(&mut *rows.open()?, PairMoments::new(Arc::clone(model.schema()))?, &Unwarned(self.observer))?;
                poor_pairs(model, &plain)
            }
            (true, None) => Vec::new(),
        };
        let provenance = Provenance { poor_pairs: poor, ..model.provenance().clone() };
        Ok(model.clone().with_provenance(provenance).into())
    }

    /// Log-likelihood and BIC, from moments if they suffice, otherwise from the rows if available.
    pub(super) fn likelihood(
        &self,
        model: &LatentTree,
        moments: &Moments,
        rows: Option<&dyn Rows>,
    ) -> Result<(Option<f64>, Option<f64>)> {
        self.observer.stage("likelihood of the model", rows.and_then(Rows::n_rows_hint));
        let mut log_likelihood = gaussian_log_likelihood(model, &moments.whole)?;
        if let (None, Some(rows)) = (log_likelihood, rows) {
            log_likelihood = Some(rows_log_likelihood(model, rows, self.observer)?);
        }
        let log_likelihood = log_likelihood.filter(|value| value.is_finite());
        let bic = log_likelihood.map(|value| information::bic(value, model.n_free_parameters(), moments.total_weight()));
        Ok((log_likelihood, bic.filter(|value| value.is_finite())))
    }
}
