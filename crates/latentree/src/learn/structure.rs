//! The second stage: the tree.

use super::moments::Moments;
use super::run::Run;
use crate::data::{Rows, Schema};
use crate::distance::DistanceMatrix;
use crate::error::{Error, Result};
use crate::observer::{Observer as _, Unwarned};
use crate::selection::{BicSearch, levels};
use crate::structure::{
    LearnedStructure, LearnerName, Resampling, StructureInput, bootstrap_structure, chain, describe_forest, learn_structure,
};
use crate::tree::Tree;

/// A tree with the variables of a schema as its first nodes, in their order.
///
/// # Errors
/// [`Error::Tree`] if the observed nodes are not exactly the variables.
pub fn tree_over(tree: &Tree, schema: &Schema) -> Result<Tree> {
    let variables = schema.variables();
    let missing = |name: &str| tree.find(name).is_none_or(|node| !tree.is_observed(node));
    if let Some(variable) = variables.iter().find(|variable| missing(&variable.name)) {
        return Err(Error::tree(format!("it has no observed node {:?}, which is a column of the data", variable.name)));
    }
    tree.with_observed_first(&variables.iter().map(|variable| variable.name.as_str()).collect::<Vec<_>>())
}

impl Run<'_> {
    /// The given tree, or the one found by the learner. `rows` are the rows that the moments describe, if available.
    pub(super) fn structure(&self, moments: &Moments, rows: Option<&dyn Rows>) -> Result<LearnedStructure> {
        let learned = match (self.tree, rows) {
            (Some(tree), _) => return self.given(tree, moments),
            (None, Some(rows)) if self.options.is_regularised() => self.regularised(rows, &moments.whole)?,
            (None, Some(rows)) if self.options.structure.learner == LearnerName::Levels => self.levels(rows, moments)?,
            (None, _) if self.options.structure.learner == LearnerName::Chain => self.chain(moments.schema())?,
            (None, _) => self.learned_structure(moments)?,
        };
        self.describe(&learned);
        Ok(learned)
    }

    /// The given tree.
    pub(super) fn given(&self, tree: &Tree, moments: &Moments) -> Result<LearnedStructure> {
        let tree = tree_over(tree, moments.schema())?;
        let given = LearnedStructure { tree, learner: LearnerName::Given, estimator: None, penalty: None, converged: true };
        self.describe(&given);
        Ok(given)
    }

    /// The tree of levels.
    fn levels(&self, rows: &dyn Rows, moments: &Moments) -> Result<LearnedStructure> {
        if self.options.structure.bootstrap.is_some() {
            return Err(Error::option("structure.bootstrap", "it is not for levels, which needs the rows themselves"));
        }
        let n_variables = rows.schema().variables().len();
        if n_variables < 3 {
            let problem = format!("levels groups three variables or more, and there are {n_variables}; use another learner");
            return Err(Error::option("structure.learner", problem));
        }
        let search = BicSearch::new(self.options.seed)
            .smoothing(self.options.em.smoothing())
            .hidden_states(self.options.parameters.hidden_states.fixed());
        let tree = levels(rows, moments.total_weight(), &search, self.observer)?;
        Ok(LearnedStructure { tree, learner: LearnerName::Levels, estimator: None, penalty: None, converged: true })
    }

    /// The chain of the columns.
    fn chain(&self, schema: &Schema) -> Result<LearnedStructure> {
        if self.options.structure.bootstrap.is_some() {
            return Err(Error::option("structure.bootstrap", "it is not for chain, which is the same for all rows"));
        }
        let names: Vec<&str> = schema.variables().iter().map(|variable| variable.name.as_str()).collect();
        let tree = chain(&names)?;
        Ok(LearnedStructure { tree, learner: LearnerName::Chain, estimator: None, penalty: None, converged: true })
    }

    /// The tree of a distance matrix.
    pub(super) fn structure_of_distances(&self, distances: &DistanceMatrix) -> Result<LearnedStructure> {
        if self.tree.is_some() {
            return Err(Error::option("learn.tree", "it needs data to learn its parameters from"));
        }
        if self.options.structure.bootstrap.is_some() {
            return Err(Error::option("structure.bootstrap", "a distance matrix has no rows to draw from; learn from the data"));
        }
        let learned = learn_structure(StructureInput::Distances(distances), &self.options.structure_options(), self.observer)?;
        self.describe(&learned);
        Ok(learned)
    }

    /// Warns about forests and about lengths that did not converge.
    fn describe(&self, learned: &LearnedStructure) {
        if let Some(message) = describe_forest(&learned.tree, ", with no significant dependence between them") {
            self.observer.warn(&message);
        }
        if !learned.converged {
            self.observer.warn("edge lengths did not fully converge: with so many variables, the effort is limited");
        }
    }

    fn learned_structure(&self, moments: &Moments) -> Result<LearnedStructure> {
        let (options, observer) = (self.options.structure_options(), self.observer);
        let input = moments.structure_input();
        let mut learned = learn_structure(input, &options, observer)?;
        // Distances for more states than the data support measure correlations that do not exist, and separate related variables.
        let asked = self.options.parameters.hidden_states.fixed().filter(|&states| states > 2);
        let mut used = asked;
        for fewer in (2..asked.unwrap_or(0)).rev() {
            if learned.tree.is_connected() {
                break;
            }
            let options = options.distances(self.options.distance_options().hidden_states(Some(fewer)));
            // The warnings for the requested number of states were already issued above.
            let other = learn_structure(input, &options, &Unwarned(observer))?;
            if other.tree.n_components() < learned.tree.n_components() {
                (learned, used) = (other, Some(fewer));
            }
        }
        if let (Some(asked), Some(used)) = (asked, used)
            && used < asked
        {
            observer.warn(&format!(
                "the tree was learned with {used} hidden states: with {asked}, distances separate variables that {used} connect; the data may not support so many"
            ));
        }
        if let Some(replicates) = self.relearned_replicates() {
            let resampling = match &moments.blocks {
                Some(blocks) => Resampling::Blocks(blocks),
                None => Resampling::Moments(&moments.whole),
            };
            let distances = self.options.distance_options();
            let options = options.distances(distances.hidden_states(used.or(self.options.parameters.hidden_states.fixed())));
            learned.tree = bootstrap_structure(&learned, resampling, &options, replicates, self.options.seed, observer)?;
        }
        Ok(learned)
    }
}
