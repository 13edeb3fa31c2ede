//! Spectral models: operators instead of parameters.

use std::sync::Arc;

use super::model::Fitted;
use super::run::Run;
use super::{HiddenStates, ParameterMethod};
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::information;
use crate::model::Provenance;
use crate::moments::{ColumnSummary, Summary, fold};
use crate::observer::{Observer as _, Unwarned};
use crate::spectral::{Evaluator, SpectralModel, SpectralOptions, hierarchical, spectral};
use crate::structure::LearnedStructure;

use super::parameters::DEFAULT_STATES;

impl Run<'_> {
    /// The spectral model of a structure.
    pub(super) fn spectral(
        &self,
        structure: LearnedStructure,
        provenance: Provenance,
        rows: Option<&dyn Rows>,
    ) -> Result<Fitted> {
        let (parameters, method) = (&self.options.parameters, self.options.parameters.method);
        let Some(rows) = rows else {
            let problem =
                format!("{} needs moments of triples, and a moments file has pairs only; learn from the data", method.name());
            return Err(Error::option("parameters.method", problem));
        };
        let hidden_states = match parameters.hidden_states {
            HiddenStates::Auto => None,
            HiddenStates::Unset => Some(DEFAULT_STATES),
            HiddenStates::Fixed(k) => Some(k),
        };
        let options = SpectralOptions::new(hidden_states).linkers(parameters.linkers).memory(self.memory);
        let mut source = rows.open()?;
        let fit = match method {
            ParameterMethod::Hierarchical => hierarchical(&structure.tree, &mut *source, &options, self.observer)?,
            _ => spectral(&structure.tree, &mut *source, &options, self.observer)?,
        };
        fit.warnings.iter().for_each(|warning| self.observer.warn(warning));
        let mut provenance = provenance.option("parameters", method.name());
        provenance = match hidden_states {
            Some(k) => provenance.option("hidden-states", k),
            None => provenance.option("hidden-states", "auto"),
        };
        if method == ParameterMethod::Spectral {
            provenance = provenance.option("linkers", parameters.linkers.name());
        }
        Ok(Fitted::new(fit.model.with_provenance(provenance).into(), &structure))
    }

    /// The log-likelihood of the rows, and the number of rows whose estimate was raised to the minimum. Warns if independent
    /// columns have a greater likelihood.
    pub(super) fn spectral_fit(&self, model: &SpectralModel, rows: &dyn Rows, log_likelihood: &mut Option<f64>) -> Result<u64> {
        let score = Evaluator::new(model).score(&mut *rows.open()?, self.observer, |_, _| Ok(()))?;
        *log_likelihood = Some(score.log_likelihood).filter(|value| value.is_finite());
        if score.clipped_rows > 0 {
            self.observer.warn(&format!(
                "in {} of {} rows an estimate was not positive, or below its noise, and was raised: use more rows or fewer \
                 `parameters.hidden_states`",
                score.clipped_rows, score.rows
            ));
        }
        let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(model.schema())), &Unwarned(self.observer))?;
        let of_column = |column: &ColumnSummary| -> f64 {
            column.levels.iter().filter(|&&level| level > 0.0).map(|level| level * (level / column.weight).ln()).sum()
        };
        let alone: f64 = summary.columns().iter().map(of_column).sum();
        if information::falls_short(score.log_likelihood, alone) {
            self.observer.warn(&format!(
                "log-likelihood {:.2} is below the {alone:.2} of independent columns: use more rows, fewer \
                 `parameters.hidden_states`, or `parameters.method` moments+em",
                score.log_likelihood
            ));
        }
        Ok(score.clipped_rows)
    }
}
