//! One tree of options, grouped by stage. A model's provenance records it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::WeightKind;
use crate::distance::DistanceOptions;
use crate::error::{Error, Result};
use crate::parameters::em::EmOptions;
use crate::parameters::{Alignment, HiddenStates, ParameterMethod, ParameterOptions};
use crate::selection::{Criterion, Effort, SelectionOptions};
use crate::structure::{LearnerName, StructureOptions};

/// Everything that the result of learning depends on, besides the data.
///
/// It is serialised with this nesting. Unknown fields are errors, and absent fields have their defaults. [`set`](Self::set) and messages
/// name an option by its path in this tree, such as `em.smoothing`.
///
/// # Example
/// ```
/// use latentree::learn::LearnOptions;
/// let mut options = LearnOptions::default();
/// options.set("parameters.hidden_states", 3.into())?;
/// options.set("structure.learner", "clnj".into())?;
/// let text = serde_json::to_string(&options).unwrap();
/// assert_eq!(serde_json::from_str::<LearnOptions>(&text).unwrap(), options);
/// assert!(options.set("structure.learner", "oak".into()).unwrap_err().to_string().contains("`structure.learner`"));
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LearnOptions {
    /// The learner of the tree.
    pub structure: StructureOptions,
    /// How distances are estimated from moments.
    pub distance: DistanceOptions,
    /// How the parameters of the tree are learned.
    pub parameters: ParameterOptions,
    /// How EM is run.
    pub em: EmOptions,
    /// How models are selected.
    pub selection: SelectionOptions,
    /// The meaning of row weights.
    pub weight_kind: WeightKind,
    /// The seed of all random choices.
    pub seed: u64,
}

impl LearnOptions {
    /// Sets the option at a path to a serialised value; null unsets an option that has no fixed default.
    ///
    /// # Errors
    /// [`Error::Option`] if there is no such option, or the value is invalid.
    pub fn set(&mut self, path: &str, value: Value) -> Result<()> {
        let mut tree = self.to_json();
        let slot = tree.pointer_mut(&format!("/{}", path.replace('.', "/")));
        let slot = slot.filter(|slot| !slot.is_object()).ok_or_else(|| Error::option(path, "there is no such option"))?;
        slot.clone_from(&value);
        *self = serde_json::from_value(tree).map_err(|error| {
            let problem = explained(&value, &error.to_string());
            // Only errors about names list the valid ones, so try the number as a name.
            let named = value.is_number().then(|| self.clone().set(path, value.to_string().into()).err()).flatten();
            named.filter(|_| problem.ends_with("a name is needed")).unwrap_or_else(|| Error::option(path, problem))
        })?;
        Ok(())
    }

    /// Sets the option at a path to its default.
    ///
    /// # Errors
    /// [`Error::Option`] if there is no such option.
    pub fn reset(&mut self, path: &str) -> Result<()> {
        let value = Self::default().to_json().pointer(&format!("/{}", path.replace('.', "/"))).cloned();
        self.set(path, value.unwrap_or_default())
    }

    /// The options of a model's provenance.
    ///
    /// # Errors
    /// [`Error::Option`] for fields that this version does not know, and for invalid values.
    pub fn from_json(value: Value) -> Result<Self> {
        serde_json::from_value(value).map_err(|error| Error::option("learn.from", error.to_string()))
    }

    /// All options, nested.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// All options that have a value, nested; the others have their defaults.
    #[must_use]
    pub(super) fn to_provenance(&self) -> Value {
        fn prune(value: &mut Value) {
            if let Value::Object(fields) = value {
                fields.retain(|_, field| !field.is_null());
                fields.values_mut().for_each(prune);
            }
        }
        let mut tree = self.to_json();
        prune(&mut tree);
        tree
    }

    /// The paths of all options.
    #[must_use]
    pub fn paths() -> Vec<String> {
        fn add(prefix: &str, value: &Value, paths: &mut Vec<String>) {
            match value {
                Value::Object(fields) if !fields.is_empty() => {
                    for (name, field) in fields {
                        add(&if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") }, field, paths);
                    }
                }
                _ => paths.push(prefix.to_owned()),
            }
        }
        let mut paths = Vec::new();
        add("", &Self::default().to_json(), &mut paths);
        paths
    }

    /// The criterion of the search, if there is one. By default, the learner `auto` searches for the tree and for numbers of states: by
    /// validation rows if there are any, otherwise by BIC. A given tree is kept, with two states unless others are requested.
    pub(super) fn criterion(&self, has_validation: bool, is_tree_given: bool) -> Option<Criterion> {
        let by_default = if has_validation { Criterion::Validation } else { Criterion::Bic };
        match self.selection.criterion {
            Some(Criterion::None) => None,
            Some(criterion) => Some(criterion),
            // Ranks are determined by the data.
            None if self.parameters.method.is_spectral() => None,
            None if self.parameters.hidden_states == HiddenStates::Auto => Some(by_default),
            None if self.searches_by_default() && !is_tree_given => Some(by_default),
            None => None,
        }
    }

    /// Returns whether a search was requested explicitly.
    pub(super) fn asks_for_search(&self) -> bool {
        matches!(self.selection.criterion, Some(Criterion::Bic | Criterion::Validation))
            || (self.parameters.hidden_states == HiddenStates::Auto && !self.parameters.method.is_spectral())
    }

    /// Returns whether an effort was requested that only a search can use.
    pub(super) fn asks_for_effort(&self) -> bool {
        self.selection.effort.is_some_and(|effort| effort != Effort::Quick)
    }

    /// Rejects an effort that would be ignored: only a search of trees by BIC uses it.
    fn check_effort(&self, has_validation: bool, is_tree_given: bool) -> Result<()> {
        let refused = |problem: &str| Err(Error::option("selection.effort", problem));
        let by_em = [ParameterMethod::Auto, ParameterMethod::Em, ParameterMethod::MomentsAndEm];
        if self.selection.effort == Some(Effort::Quick) {
            return match self.selection.criterion {
                Some(Criterion::Bic | Criterion::Validation) => {
                    refused("quick does no search, but `selection.criterion` asks for one; leave one of them out")
                }
                _ => Ok(()),
            };
        }
        if !self.asks_for_effort() {
            return Ok(());
        }
        match self.criterion(has_validation, is_tree_given) {
            _ if is_tree_given => refused("the tree given as `learn.tree` is kept, not searched for; leave one of them out"),
            _ if self.structure.learner != LearnerName::Auto => {
                refused("a learner named by `structure.learner` does no search of trees; leave one of them out")
            }
            Some(Criterion::Bic) => Ok(()),
            Some(_) => refused("a search by validation rows has only one effort; leave it out, or use `selection.criterion` bic"),
            None if self.selection.criterion == Some(Criterion::None) => {
                refused("`selection.criterion` none does no search; leave one of them out")
            }
            None if !by_em.contains(&self.parameters.method) => {
                refused("a search fits models by EM; leave it out, or use `parameters.method` auto, em or moments+em")
            }
            None => refused(
                "a fixed number of states, a contraction, a distance or a start of EM is for one tree without a search; leave them out, or \
                 use `selection.criterion` bic",
            ),
        }
    }

    /// Returns whether there would be a search by default if not for the method for the parameters.
    pub(super) fn method_prevents_search(&self) -> bool {
        let method = ParameterOptions { method: ParameterMethod::Auto, ..self.parameters.clone() };
        self.selection.criterion.is_none()
            && !self.searches_by_default()
            && Self { parameters: method, ..self.clone() }.searches_by_default()
    }

    /// Returns whether the options allow a search by default.
    pub(super) fn searches_by_default(&self) -> bool {
        self.structure.learner == LearnerName::Auto
            && self.parameters.hidden_states.fixed().is_none()
            && self.parameters.states.is_empty()
            && self.structure.contract.text().is_none()
            && self.distance == DistanceOptions::default()
            && self.selection.effort != Some(Effort::Quick)
            && self.em.start.is_none()
            && [ParameterMethod::Auto, ParameterMethod::Em, ParameterMethod::MomentsAndEm].contains(&self.parameters.method)
    }

    /// Returns whether a given model may say how many states its hidden nodes have: no number is asked for or searched for.
    pub(super) fn takes_states_of_model(&self, has_validation: bool) -> bool {
        let method = self.parameters.method;
        self.parameters.hidden_states == HiddenStates::Unset
            && self.parameters.alignment == Alignment::Linear
            && !method.is_spectral()
            && ![ParameterMethod::Distances, ParameterMethod::None].contains(&method)
            && self.criterion(has_validation, true).is_none()
    }

    /// Returns whether the learner scores candidates on rows.
    pub(super) fn is_regularised(&self) -> bool {
        matches!(self.structure.learner, LearnerName::RegularisedNeighborJoining | LearnerName::RegularisedRecursiveGrouping)
    }

    /// Distances for the requested number of hidden states.
    pub(super) fn distance_options(&self) -> DistanceOptions {
        match self.parameters.hidden_states.fixed() {
            Some(hidden_states) => self.distance.hidden_states(Some(hidden_states)),
            None => self.distance,
        }
    }

    pub(super) fn structure_options(&self) -> StructureOptions {
        self.structure.distances(self.distance_options())
    }

    /// Rejects options that a spectral model or a chain would ignore.
    fn check_unused(&self) -> Result<()> {
        let (em, own) = (EmOptions::default(), ParameterOptions::default());
        let by_em = "spectral and hierarchical models are not fitted by EM; leave it out, or use `parameters.method` moments+em";
        let by_moments = "it is for `parameters.method` moments and moments+em; leave it out";
        let of_spectral = [
            ("em.restarts", self.em.restarts != em.restarts, by_em),
            ("em.iterations", self.em.iterations.is_some(), by_em),
            ("em.tolerance", self.em.tolerance.is_some(), by_em),
            ("em.smoothing", self.em.smoothing.is_some(), by_em),
            ("parameters.decomposition", self.parameters.decomposition != own.decomposition, by_moments),
            ("parameters.alignment", self.parameters.alignment != own.alignment, by_moments),
        ];
        let apart = "chain joins columns in their order and uses no distances; leave it out, or use another `structure.learner`";
        let of_chain = [
            ("distance.estimator", self.distance != DistanceOptions::default(), apart),
            ("structure.contract", self.structure.contract.text().is_some(), apart),
        ];
        let spectral = of_spectral.iter().filter(|_| self.parameters.method.is_spectral());
        let chain = of_chain.iter().filter(|_| self.structure.learner == LearnerName::Chain);
        match spectral.chain(chain).find(|it| it.1) {
            Some((option, _, problem)) => Err(Error::option(*option, *problem)),
            None => Ok(()),
        }
    }

    /// Checks everything that does not depend on rows, for rows that stay at their sites.
    pub(crate) fn check_for_sites(&self, is_tree_given: bool) -> Result<()> {
        self.check(false, is_tree_given)
    }

    /// Checks every part, and then combinations of options.
    pub(super) fn check(&self, has_validation: bool, is_tree_given: bool) -> Result<()> {
        self.structure.check()?;
        self.distance_options().check()?;
        self.parameters.check()?;
        self.em.check()?;
        self.selection.check()?;
        let method = self.parameters.method;
        let by_rows = [ParameterMethod::Auto, ParameterMethod::Em, ParameterMethod::MomentsAndEm].contains(&method);
        let refused = |option: &str, problem: &str| Err(Error::option(option, problem));
        if self.em.start.is_some() && (method == ParameterMethod::Moments || method.is_spectral()) {
            return refused(
                "em.start",
                "`parameters.method` moments, spectral and hierarchical have no start; it is for em and moments+em",
            );
        }
        self.check_unused()?;
        match self.criterion(has_validation, is_tree_given) {
            _ if has_validation && !by_rows => {
                return refused("selection.validation", "it stops EM: use `parameters.method` em or moments+em");
            }
            Some(Criterion::Validation) if !has_validation => {
                return refused(
                    "selection.criterion",
                    "validation needs rows to validate on: give `selection.validation`, such as 0.1",
                );
            }
            Some(_) if !by_rows => {
                return refused(
                    "selection.criterion",
                    "models are compared after EM: use `parameters.method` auto, em or moments+em",
                );
            }
            Some(_) if !self.parameters.states.is_empty() => {
                return refused(
                    "parameters.states",
                    "`selection.criterion` and `parameters.hidden_states` auto find the numbers of states",
                );
            }
            _ => {}
        }
        self.check_effort(has_validation, is_tree_given)?;
        if self.selection.accept.is_some() && !self.is_regularised() {
            return refused("selection.accept", "only reg-clrg and reg-clnj choose from candidates");
        }
        if self.is_regularised() && self.structure.bootstrap.is_some() {
            return refused(
                "structure.bootstrap",
                "it is not for reg-clrg and reg-clnj, whose candidates need the rows themselves",
            );
        }
        Ok(())
    }
}

/// Explains an invalid value, given the deserialisation error.
fn explained(value: &Value, message: &str) -> String {
    let needed = match message.rsplit_once(", expected ") {
        Some((_, "f32" | "f64")) => "a number",
        Some((_, "usize" | "u64" | "u32")) => "a whole number ≥ 0",
        Some((_, "a borrowed string" | "a string")) => "a name",
        Some((_, "a sequence")) => "a list",
        _ => return message.to_owned(),
    };
    format!("{value} given; {needed} is needed")
}
