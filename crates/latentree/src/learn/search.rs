//! Searches for trees and numbers of states by a criterion.

use super::Criterion;
use super::parameters::{self, Evidence};
use super::recorder::Recorder;
use super::run::Run;
use crate::distance::{DistanceOptions, pair_moments};
use crate::error::{Error, Place, Result};
use crate::model::{Family, LatentTree};
use crate::moments::PairOptions;
use crate::observer::{Observer as _, Quiet};
use crate::parameters::discrete_tree;
use crate::parameters::em::Smoothing;
use crate::selection::{BicSearch, CandidateScore, ValidationSearch, by_bic, by_validation, states_by_bic};
use crate::structure::hidden_chow_liu;
use crate::structure::{ChowLiu, Contraction, LearnedStructure, LearnerName, StructureInput, StructureOptions, learn_structure};
use crate::tree::Tree;

/// With more variables, the default learner takes longer than the search and is not used as a start.
const MAX_FOR_LIKELIHOOD: usize = 300;

/// The result of a search.
pub(super) struct Searched {
    pub(super) model: LatentTree,
    pub(super) learner: LearnerName,
    pub(super) converged: bool,
    pub(super) candidates: Vec<CandidateScore>,
}

impl Run<'_> {
    /// The model of a search. `learned` is the tree to keep, if any.
    pub(super) fn search(
        &self,
        criterion: Criterion,
        learned: Option<&LearnedStructure>,
        evidence: &Evidence<'_>,
    ) -> Result<Searched> {
        let observer = self.observer;
        let mut warnings = Vec::new();
        let kept = match learned {
            Some(learned) => Some(discrete_tree(&learned.tree, evidence.rows.schema(), &mut warnings)?),
            None => None,
        };
        warnings.iter().for_each(|warning| observer.warn(warning));
        let searched = match criterion {
            Criterion::Bic => {
                let mut search = BicSearch::new(self.options.seed)
                    .smoothing(self.search_smoothing(evidence.moments.total_weight()))
                    .effort(self.options.selection.effort.unwrap_or_default())
                    .tests_follow(true);
                if kept.is_none() {
                    let trees = self.learned_trees(evidence)?;
                    let models = self.learned_models(&trees, evidence)?;
                    search = search.hidden_states(self.options.parameters.hidden_states.fixed()).trees(trees).models(models);
                }
                let (model, learner) = match (&kept, learned) {
                    (Some(tree), Some(learned)) => {
                        (states_by_bic(tree, evidence.rows, evidence.moments, &search, observer)?, learned.learner)
                    }
                    _ => (by_bic(evidence.rows, evidence.moments, &search, observer)?, LearnerName::Search),
                };
                Searched { model, learner, converged: true, candidates: Vec::new() }
            }
            Criterion::Validation | Criterion::None => {
                let trees = match (kept, learned) {
                    (Some(tree), Some(learned)) => vec![(learned.learner.name().to_owned(), tree)],
                    _ => self.candidate_trees(evidence)?,
                };
                let validation = self.validation.ok_or_else(|| {
                    Error::option(
                        "selection.criterion",
                        "validation needs rows to validate on: give `selection.validation` FILE or a fraction such as 0.1",
                    )
                })?;
                let search = ValidationSearch::new(self.options.seed)
                    .hidden_states(self.options.parameters.hidden_states.fixed())
                    .smoothing(self.options.em.smoothing);
                let found = by_validation(&trees, evidence.rows, validation, &search, observer)?;
                let learner = learned.map_or(LearnerName::Search, |learned| learned.learner);
                Searched { model: found.model, learner, converged: found.converged, candidates: found.candidates }
            }
        };
        debug_assert_eq!(searched.model.family(), Family::Discrete);
        Ok(searched)
    }

    /// The smoothing of a search by BIC and of the stages after it.
    pub(super) fn search_smoothing(&self, total_weight: f64) -> Smoothing {
        let usual = Smoothing::for_search(total_weight);
        Smoothing { pseudo_count: self.options.em.smoothing.unwrap_or(usual.pseudo_count), ..usual }
    }

    /// The models of trees by moments and EM, as they would be without a search, which must not end below them.
    fn learned_models(&self, trees: &[Tree], evidence: &Evidence<'_>) -> Result<Vec<LatentTree>> {
        let n_variables = evidence.rows.schema().variables().len();
        if n_variables > MAX_FOR_LIKELIHOOD || self.options.parameters.hidden_states.fixed().is_some() {
            return Ok(Vec::new());
        }
        // Warnings about a start do not concern the result.
        let quiet = Quiet(self.observer);
        let recorder = Recorder::new(&quiet);
        let run = Run { observer: &recorder, ..*self };
        let mut models = Vec::new();
        for tree in trees.iter().filter(|tree| tree.n_hidden() > 0) {
            match parameters::discrete(&run, tree, evidence) {
                Ok(found) => models.push(found.model),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                // A tree whose tables the rows do not determine is not a start; this is not an error.
                Err(_) => {}
            }
        }
        Ok(models)
    }

    /// Trees to start from: the default learner's or, for a fixed number of states, neighbour joining without contraction, since the search
    /// removes what does not pay.
    fn learned_trees(&self, evidence: &Evidence<'_>) -> Result<Vec<Tree>> {
        let distances = self.options.distance_options();
        // More than two states need bins of numbers. Moments of coordinates already use them, moments of columns do not.
        let is_plain = **evidence.moments.schema() == **evidence.rows.schema();
        let binned = if is_plain && distances.n_hidden_states() > 2 {
            let pairs = PairOptions::default().memory_limit(self.memory.bytes());
            Some(pair_moments(&mut *evidence.rows.open()?, &distances, pairs, self.observer)?)
        } else {
            None
        };
        let input = StructureInput::Moments { whole: binned.as_ref().unwrap_or(evidence.moments), halves: None };
        let learners = match self.options.parameters.hidden_states.fixed() {
            None => {
                let mut learners = vec![(LearnerName::HiddenChowLiu, Contraction::Off)];
                if evidence.rows.schema().variables().len() <= MAX_FOR_LIKELIHOOD {
                    learners.push((LearnerName::Auto, self.options.structure.contract));
                }
                learners
            }
            Some(_) => {
                vec![(LearnerName::ChowLiuNeighborJoining, Contraction::Off), (LearnerName::NeighborJoining, Contraction::Off)]
            }
        };
        let trees = learners.into_iter().map(|(learner, contraction)| {
            let options =
                StructureOptions::new().learner(learner).contraction(contraction).distances(self.options.distance_options());
            let tree = learn_structure(input, &options, self.observer)?.tree;
            discrete_tree(&tree, evidence.rows.schema(), &mut Vec::new())
        });
        trees.collect()
    }

    /// The hidden Chow–Liu tree, if all columns are discrete, and neighbour joining on all distances, without contraction.
    fn candidate_trees(&self, evidence: &Evidence<'_>) -> Result<Vec<(String, Tree)>> {
        let schema = evidence.rows.schema();
        if schema.variables().len() < 3 {
            return Err(Error::data(Place::default(), "a search for hidden variables needs three variables or more"));
        }
        let mut trees = Vec::new();
        let is_discrete = schema.variable_ixs().all(|ix| schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_some()));
        let options = StructureOptions::new()
            .learner(LearnerName::NeighborJoining)
            .contraction(Contraction::Off)
            .distances(DistanceOptions::new().significance(None));
        let input = StructureInput::Moments { whole: evidence.moments, halves: None };
        if **evidence.moments.schema() != **schema {
            // Moments of coordinates give distances, but not the mutual information of columns.
            let spanning = learn_structure(input, &options.learner(LearnerName::HiddenChowLiu), self.observer)?.tree;
            trees.push(("hclt".to_owned(), discrete_tree(&spanning, schema, &mut Vec::new())?));
        } else if is_discrete {
            trees.push(("hclt".to_owned(), hidden_chow_liu(&ChowLiu::from_moments(evidence.moments)?.tree)?));
        }
        let joined = learn_structure(input, &options, self.observer)?.tree;
        trees.push(("nj".to_owned(), discrete_tree(&joined, schema, &mut Vec::new())?));
        trees.retain(|(_, tree)| tree.n_hidden() > 0);
        Ok(trees)
    }
}
