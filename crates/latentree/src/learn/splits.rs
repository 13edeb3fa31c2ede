//! The fourth stage: the support of each split, and removal of weak ones.

use super::model::Fitted;
use super::moments::Moments;
use super::run::Run;
use super::{Criterion, ParameterMethod};
use crate::data::Rows;
use crate::distance::Estimator;
use crate::error::{Error, Result};
use crate::format::ModelFile;
use crate::observer::{Observer, Optional};
use crate::structure::LearnerName;
use crate::support::{Collapse, CollapseOptions, Evidence, collapsed};

/// Maximum number of splits tested by default: more could take longer than the search.
const MAX_TESTED: usize = 300;

impl Run<'_> {
    /// The model with the support of its splits, without weak ones.
    pub(super) fn with_supports(&self, fitted: Fitted, moments: &Moments, rows: Option<&dyn Rows>) -> Result<Fitted> {
        // Without a search, splits are tested only on request.
        if self.criterion().is_none() && self.options.structure.collapse.is_none() {
            return Ok(fitted);
        }
        let Fitted { file: ModelFile::LatentTree(model), .. } = fitted else { return Ok(fitted) };
        let is_hidden = |node| !model.tree().is_observed(node);
        let n_splits = model.tree().edges().filter(|edge| is_hidden(edge.a) && is_hidden(edge.b)).count();
        let asked = self.options.structure.collapse.is_some() || self.options.structure.bootstrap.is_some();
        if n_splits > MAX_TESTED && !asked {
            self.observer.warn(&format!(
                "the support of {n_splits} splits was not tested, since there are more than {MAX_TESTED}; set `structure.collapse` to test them"
            ));
            return Ok(Fitted { file: model.into(), ..fitted });
        }
        let evidence = Evidence {
            rows,
            moments: if moments.are_of_other_columns() { None } else { Some(&moments.whole) },
            total_weight: moments.total_weight(),
        };
        let options = CollapseOptions {
            collapse: if fitted.estimator == Some(Estimator::Symmetric) { Collapse::Off } else { self.collapse() },
            smoothing: match self.criterion() {
                Some(Criterion::Bic) => self.search_smoothing(moments.total_weight()),
                _ => self.options.em.smoothing(),
            },
            bootstrap: self.options.structure.bootstrap.filter(|_| self.criterion().is_some()),
            seed: self.options.seed,
        };
        // Without a search, there is nothing to end early.
        let optional = Optional(self.observer);
        let observer: &dyn Observer = if self.criterion().is_some() { &optional } else { self.observer };
        let tested =
            if fitted.interrupted { Err(Error::Cancelled) } else { collapsed(model.clone(), &evidence, &options, observer) };
        match tested {
            Err(Error::Cancelled) if !self.observer.cancelled() => {
                if n_splits > 0 {
                    self.observer.warn("the support of splits was not tested, since the search was interrupted");
                }
                Ok(Fitted { file: model.into(), interrupted: true, ..fitted })
            }
            Ok((model, splits)) => Ok(Fitted { file: model.into(), splits, ..fitted }),
            Err(error) => Err(error),
        }
    }

    /// The splits to remove from a model that is not symmetric. Without a minimum support, a given tree and the tree of a named learner are
    /// kept unchanged, and so are models whose parameters are not found by EM.
    fn collapse(&self) -> Collapse {
        let by_em = [ParameterMethod::Auto, ParameterMethod::Em, ParameterMethod::MomentsAndEm];
        match self.options.structure.collapse {
            Some(0.0) => Collapse::Off,
            Some(least) => Collapse::Below(least),
            None if self.tree.is_some() || self.options.structure.learner != LearnerName::Auto => Collapse::Off,
            // Validation rows, not BIC, chose the tree.
            None if self.criterion() == Some(Criterion::Validation) => Collapse::Off,
            None if !by_em.contains(&self.options.parameters.method) => Collapse::Off,
            None => Collapse::ByDefault,
        }
    }

    /// Number of bootstrap replicates that each learn a tree. Searched models resample log-likelihoods instead.
    pub(super) fn relearned_replicates(&self) -> Option<usize> {
        self.options.structure.bootstrap.filter(|_| self.criterion().is_none())
    }
}
