//! The stages of learning, one after the other.

use std::sync::Arc;

use super::checkpoint::Checkpoint;
use super::parameters::{self, DEFAULT_STATES, Rows};
use super::recorder::{Recorder, Unwarned};
use super::split::split;
use super::{Criterion, Learned, Learning, ParameterMethod, Source, Validation};
use crate::coordinates::bins::{BinnedRows, Bins};
use crate::coordinates::compressed::is_worth_it as is_wide;
use crate::data::{BatchSource, Dataset, Schema, WeightedRows};
use crate::distance::{DistanceMatrix, Estimator, FoundCoordinates, bins_for, fold_for};
use crate::error::{Error, Place, Result};
use crate::inference::Inference;
use crate::memory::MemoryBudget;
use crate::model::{LatentTree, ModelFile, Provenance, least_model_bytes};
use crate::moments::{BlockMoments, PairMoments, PairOptions, Summary, fold};
use crate::observer::Observer;
use crate::parameters::{FamilyByLengths, family_by_lengths, from_lengths, gaussian_log_likelihood, independent};
use crate::selection::CandidateScore;
use crate::structure::{
    LearnedStructure, LearnerName, MOST_FOR_HALVES, Resampling, StructureInput, bootstrap_structure, describe_forest,
    learn_structure,
};
use crate::tree::Tree;

/// Blocks of rows from which a bootstrap draws.
const BLOCKS: usize = 64;
/// Fewer blocks than this make no bootstrap.
const FEWEST_BLOCKS: usize = 8;
/// Bytes that blocks may take before their number is reduced.
const BLOCKS_BUDGET: u64 = 2 << 30;
/// Bytes that [`FEWEST_BLOCKS`] may take.
const BLOCKS_LIMIT: u64 = 8 << 30;

/// What was read.
struct Input<'a> {
    moments: Option<Moments>,
    distances: Option<DistanceMatrix>,
    rows: Option<&'a mut dyn BatchSource>,
}

/// Statistics of the rows.
struct Moments {
    whole: PairMoments,
    blocks: Option<BlockMoments>,
    halves: Option<[PairMoments; 2]>,
    /// Set where the moments are those of bins of numbers, or of a few coordinates of wide variables.
    wide: Option<Wide>,
}

/// The rows that moments of bins or coordinates stand for.
struct Wide {
    schema: Arc<Schema>,
    n_rows: u64,
    total_weight: f64,
    coordinates: Option<FoundCoordinates>,
}

impl Moments {
    fn of_frequencies(self) -> Self {
        Self {
            whole: self.whole.of_frequencies(),
            blocks: self.blocks.map(BlockMoments::of_frequencies),
            halves: self.halves.map(|halves| halves.map(PairMoments::of_frequencies)),
            wide: self.wide,
        }
    }

    fn schema(&self) -> &Arc<Schema> {
        self.wide.as_ref().map_or_else(|| self.whole.schema(), |wide| &wide.schema)
    }

    fn n_rows(&self) -> u64 {
        self.wide.as_ref().map_or_else(|| self.whole.n_rows(), |wide| wide.n_rows)
    }

    fn total_weight(&self) -> f64 {
        self.wide.as_ref().map_or_else(|| self.whole.total_weight(), |wide| wide.total_weight)
    }
}

/// A tree with the variables of a schema as its first nodes, in their order.
///
/// # Errors
/// [`Error::Tree`] if a variable is no observed node, or an observed node no variable.
pub fn tree_over(tree: &Tree, schema: &Schema) -> Result<Tree> {
    let variables = schema.variables();
    let missing = |name: &str| tree.find(name).is_none_or(|node| !tree.is_observed(node));
    if let Some(variable) = variables.iter().find(|variable| missing(&variable.name)) {
        return Err(Error::tree(format!("it has no observed node {:?}, which is a column of the data", variable.name)));
    }
    tree.with_observed_first(&variables.iter().map(|variable| variable.name.as_str()).collect::<Vec<_>>())
}

impl Learning {
    /// Learns. Of rows, all that can be read again from the start is kept in memory where EM needs it.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that is out of range or does not fit the source, [`Error::Data`] if the data do not fit the options,
    /// [`Error::Tree`] if a given tree does not fit the data, those of the source, and [`Error::Cancelled`] when the observer asks to stop.
    pub fn run(&self, source: Source<'_>, observer: &dyn Observer) -> Result<Learned> {
        let recorder = Recorder::new(observer);
        self.check()?;
        if let Some(directory) = &self.checkpoint {
            Checkpoint::prepare(directory)?;
        }
        match (source, &self.validation) {
            (Source::Rows(rows), Some(Validation::Fraction(fraction))) => {
                recorder.stage("rows", rows.n_rows_hint());
                let (learned, drawn) = split(rows, *fraction, self.seed)?;
                self.run_on(Source::Rows(&mut learned.source()), Some(&drawn), &recorder)
            }
            (source @ Source::Rows(_), Some(Validation::Rows(validation))) => {
                if validation.n_rows() == 0 {
                    return Err(Error::option("--validation", "there are no rows in it"));
                }
                self.run_on(source, Some(validation), &recorder)
            }
            (_, Some(_)) => {
                Err(Error::option("--validation", "it stops EM, which needs rows to learn from; learn from the data"))
            }
            (source, None) => self.run_on(source, None, &recorder),
        }
    }

    fn run_on(&self, source: Source<'_>, validation: Option<&Dataset>, recorder: &Recorder<'_>) -> Result<Learned> {
        match source {
            Source::Rows(rows) => {
                let mut rows = WeightedRows::new(rows, self.weight_kind)?;
                let are_frequencies = rows.are_frequencies();
                let mut input = self.read(Source::Rows(&mut rows), recorder)?;
                if are_frequencies {
                    input.moments = input.moments.map(Moments::of_frequencies);
                }
                self.run_weighted(input, validation, recorder)
            }
            Source::Moments(moments) => {
                let input = self.read(Source::Moments(moments.scaled(self.weight_kind)), recorder)?;
                self.run_weighted(input, validation, recorder)
            }
            source @ Source::Distances(_) => self.run_weighted(self.read(source, recorder)?, validation, recorder),
        }
    }

    /// Learns from rows or moments whose weights sum to their n.
    fn run_weighted(&self, mut input: Input<'_>, validation: Option<&Dataset>, recorder: &Recorder<'_>) -> Result<Learned> {
        if input.moments.as_ref().is_some_and(|moments| moments.n_rows() == 0) {
            return Err(Error::data(Place::default(), "there are no rows with a positive weight to learn from"));
        }
        if let (Some(rows), Some(validation)) = (&input.rows, validation)
            && **rows.schema() != **validation.schema()
        {
            return Err(Error::Mismatch {
                left: "the data".to_owned(),
                right: "the validation rows".to_owned(),
                problem: "they have other columns, kinds or labels; read them with the schema of the data".to_owned(),
            });
        }
        let criterion = self.criterion();
        if criterion.is_some() && input.rows.is_none() {
            return Err(Error::option("--select", "models are compared on rows; learn from the data"));
        }
        let searches_tree = criterion.is_some() && self.tree.is_none() && self.structure == LearnerName::Auto;
        let mut learned = match &self.tree {
            Some(tree) => given(tree, &input)?,
            None if searches_tree => LearnedStructure {
                tree: Tree::new(),
                learner: LearnerName::Search,
                estimator: None,
                penalty: None,
                converged: true,
            },
            None => self.tree_of(&mut input, recorder)?,
        };
        if let Some(message) = describe_forest(&learned.tree) {
            recorder.warn(&message);
        }
        if !learned.converged {
            recorder.warn("edge lengths are not fitted to the end: there are many variables, and the time for it is bounded");
        }
        let provenance = self.provenance(&learned, &input);
        let mut found = Details::default();
        let file = match criterion {
            Some(criterion) => {
                self.searched(criterion, &mut learned, &mut input, validation, provenance, &mut found, recorder)?
            }
            None => self.model(&mut learned, &mut input, validation, provenance, &mut found, recorder)?,
        };
        let file = match file {
            ModelFile::LatentTree(model) => model.with_ordered_states()?.into(),
            tree @ ModelFile::Tree { .. } => tree,
        };
        let mut result = Learned {
            learner: learned.learner,
            estimator: learned.estimator,
            penalty: learned.penalty,
            rows: input.moments.as_ref().map(|moments| moments.n_rows()),
            free_parameters: None,
            log_likelihood: None,
            bic: None,
            validation: None,
            validation_rows: validation.map(Dataset::n_rows),
            criterion,
            candidates: found.candidates,
            em_iterations: found.em_iterations,
            converged: learned.converged,
            warnings: Vec::new(),
            stages: Vec::new(),
            file,
        };
        if let ModelFile::LatentTree(model) = &result.file {
            let free_parameters = model.n_free_parameters();
            (result.log_likelihood, result.bic) = fit(model, free_parameters, &mut input, recorder)?;
            result.free_parameters = Some(free_parameters);
            if let (Some(bic), Some(rows)) = (result.bic, &mut input.rows) {
                warn_below_independence(bic, &mut **rows, recorder)?;
            }
            if let Some(validation) = validation {
                let score = Inference::new(model).score(&mut validation.source(), recorder, |_, _| Ok(()))?;
                result.validation = Some(score.mean_log_likelihood()).filter(|value| value.is_finite());
            }
        }
        result.warnings = recorder.warnings();
        result.stages = recorder.stages();
        Ok(result)
    }

    fn read<'a>(&self, source: Source<'a>, observer: &dyn Observer) -> Result<Input<'a>> {
        let rows = match source {
            Source::Distances(distances) => {
                return Ok(Input { moments: None, distances: Some(distances), rows: None });
            }
            Source::Moments(whole) => {
                let moments = Moments { whole, blocks: None, halves: None, wide: None };
                return Ok(Input { moments: Some(moments), distances: None, rows: None });
            }
            Source::Rows(rows) => rows,
        };
        rows.rewind()?;
        let moments = match self.bins(&mut *rows, observer)? {
            None => self.moments(&mut *rows, observer)?,
            Some(bins) => {
                let schema = Arc::clone(rows.schema());
                let moments = self.moments(&mut BinnedRows::new(&mut *rows, bins)?, observer)?;
                let (n_rows, total_weight) = (moments.n_rows(), moments.total_weight());
                let coordinates = moments.wide.and_then(|wide| wide.coordinates);
                Moments { wide: Some(Wide { schema, n_rows, total_weight, coordinates }), ..moments }
            }
        };
        Ok(Input { moments: Some(moments), distances: None, rows: Some(rows) })
    }

    /// How numbers are cut for distances by more than two hidden states. A tree that is given, or searched for, needs no distances here.
    fn bins(&self, rows: &mut dyn BatchSource, observer: &dyn Observer) -> Result<Option<Arc<Bins>>> {
        let is_searched = self.criterion().is_some() && self.structure == LearnerName::Auto;
        if self.tree.is_some() || is_searched { Ok(None) } else { bins_for(rows, &self.distance_options(), observer) }
    }

    fn moments(&self, rows: &mut dyn BatchSource, observer: &dyn Observer) -> Result<Moments> {
        let schema = Arc::clone(rows.schema());
        let n_states = self.hidden_states.unwrap_or(DEFAULT_STATES);
        parameters::check_model_size(self, least_model_bytes(&schema, n_states), n_states)?;
        let pair_options = PairOptions::default().memory_limit(self.memory.bytes());
        if is_wide(&schema) {
            return self.wide_moments(rows, schema, pair_options, observer);
        }
        let n_blocks = self.n_blocks(&schema, observer)?;
        observer.stage("moments", rows.n_rows_hint());
        Ok(match n_blocks {
            None => {
                let whole = fold(rows, PairMoments::with_options(schema, pair_options)?, observer)?;
                Moments { whole, blocks: None, halves: None, wide: None }
            }
            Some(n_blocks) => {
                let blocks = fold(rows, BlockMoments::with_options(schema, n_blocks, pair_options)?, observer)?;
                let (whole, halves) = (blocks.whole()?, Some(blocks.halves()?));
                Moments { whole, blocks: self.bootstrap.map(|_| blocks), halves, wide: None }
            }
        })
    }

    /// Statistics of rows whose variables have too many features for a table of every pair.
    fn wide_moments(
        &self,
        rows: &mut dyn BatchSource,
        schema: Arc<Schema>,
        pair_options: PairOptions,
        observer: &dyn Observer,
    ) -> Result<Moments> {
        observer.stage("moments", rows.n_rows_hint());
        let summary = fold(rows, Summary::new(Arc::clone(&schema)), observer)?;
        rows.rewind()?;
        let (n_rows, total_weight) = (summary.n_rows(), summary.total_weight());
        let options = self.distance_options();
        let wide = |coordinates: Option<FoundCoordinates>| {
            coordinates.map(|found| Wide { schema, n_rows, total_weight, coordinates: Some(found) })
        };
        if self.bootstrap.is_none() {
            let make = |seen| PairMoments::with_options(seen, pair_options);
            let (whole, coordinates) = fold_for(rows, &summary, &options, observer, make)?;
            return Ok(Moments { whole, blocks: None, halves: None, wide: wide(coordinates) });
        }
        let make = |seen: Arc<Schema>| {
            let n_blocks = self.n_blocks(&seen, observer)?;
            BlockMoments::with_options(seen, n_blocks.unwrap_or(BLOCKS), pair_options)
        };
        let (blocks, coordinates) = fold_for(rows, &summary, &options, observer, make)?;
        Ok(Moments { whole: blocks.whole()?, halves: Some(blocks.halves()?), blocks: Some(blocks), wide: wide(coordinates) })
    }

    /// How many blocks of rows are kept apart: many for a bootstrap, two for the halves of `likelihood`, else none.
    fn n_blocks(&self, schema: &Arc<Schema>, observer: &dyn Observer) -> Result<Option<usize>> {
        if self.bootstrap.is_some() {
            let (budget, limit) = (BLOCKS_BUDGET.min(self.memory.bytes()), BLOCKS_LIMIT.min(self.memory.bytes()));
            let within = BlockMoments::n_blocks_within(schema, BLOCKS, budget)?.max(FEWEST_BLOCKS);
            if within == FEWEST_BLOCKS && BlockMoments::n_blocks_within(schema, BLOCKS, limit)? < FEWEST_BLOCKS {
                let problem = format!(
                    "{} variables are too many: {FEWEST_BLOCKS} blocks of rows do not fit {}; leave out variables, or learn without it",
                    schema.variables().len(),
                    MemoryBudget::new(limit)
                );
                return Err(Error::option("--bootstrap", problem));
            }
            if within < BLOCKS {
                observer.warn(&format!(
                    "the bootstrap draws from {within} blocks of rows instead of {BLOCKS}, since more would not fit {}: support is rougher",
                    MemoryBudget::new(budget)
                ));
            }
            return Ok(Some(within));
        }
        let is_scalar = |ix| schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_none_or(|n_states| n_states <= 2));
        let asked = matches!(self.structure, LearnerName::Auto | LearnerName::Likelihood);
        Ok((asked && schema.variables().len() <= MOST_FOR_HALVES && schema.variable_ixs().all(is_scalar)).then_some(2))
    }

    fn tree_of(&self, input: &mut Input<'_>, observer: &dyn Observer) -> Result<LearnedStructure> {
        let options = self.structure_options();
        let is_regularised =
            matches!(self.structure, LearnerName::RegularisedNeighborJoining | LearnerName::RegularisedRecursiveGrouping);
        if let (true, Some(moments), Some(rows)) = (is_regularised, &input.moments, &mut input.rows) {
            let data = in_memory(&mut **rows, observer)?;
            return self.regularised(&data, &moments.whole, observer);
        }
        let structure_input = match (&input.moments, &input.distances) {
            (Some(moments), _) => StructureInput::Moments { whole: &moments.whole, halves: moments.halves.as_ref() },
            (None, Some(distances)) => StructureInput::Distances(distances),
            (None, None) => unreachable!("something was read"),
        };
        let mut learned = learn_structure(structure_input, &options, observer)?;
        // A distance by more states than the data have is that of a correlation which is not there: it keeps apart what belongs together.
        let asked = self.hidden_states.filter(|&states| states > 2 && input.moments.is_some());
        let mut used = asked;
        for fewer in (2..asked.unwrap_or(0)).rev() {
            if learned.tree.is_connected() {
                break;
            }
            let options = options.distances(self.distance_options().hidden_states(Some(fewer)));
            let other = learn_structure(structure_input, &options, observer)?;
            if other.tree.n_components() < learned.tree.n_components() {
                (learned, used) = (other, Some(fewer));
            }
        }
        if let (Some(asked), Some(used)) = (asked, used)
            && used < asked
        {
            observer.warn(&format!(
                "the tree is that of {used} hidden states: distances by {asked} keep apart what {used} join; the data may not show so many"
            ));
        }
        if let Some(replicates) = self.bootstrap {
            let resampling = match &input.moments {
                Some(Moments { blocks: Some(blocks), .. }) => Resampling::Blocks(blocks),
                Some(moments) => Resampling::Moments(&moments.whole),
                None => {
                    return Err(Error::option("--bootstrap", "a distance matrix has no rows to draw from; learn from the data"));
                }
            };
            let distances = self.distance_options();
            let options = options.distances(distances.hidden_states(used.or(self.hidden_states)));
            learned.tree = bootstrap_structure(&learned, resampling, &options, replicates, self.seed, observer)?;
        }
        Ok(learned)
    }

    fn provenance(&self, learned: &LearnedStructure, input: &Input<'_>) -> Provenance {
        let mut provenance = Provenance::by_this_program(self.seed).option("verb", "learn").option("structure", learned.learner);
        if let Some(estimator) = learned.estimator {
            provenance = provenance.option("distance", estimator);
        }
        if let Some(contraction) = self.contraction.text() {
            provenance = provenance.option("contract", contraction);
        }
        if let Some(bootstrap) = self.bootstrap {
            provenance = provenance.option("bootstrap", bootstrap);
        }
        provenance.rows = input.moments.as_ref().map(|moments| moments.n_rows());
        provenance
    }

    /// The model that a search finds.
    #[expect(clippy::too_many_arguments, reason = "one stage of a run, with the run's state")]
    fn searched(
        &self,
        criterion: Criterion,
        learned: &mut LearnedStructure,
        input: &mut Input<'_>,
        validation: Option<&Dataset>,
        provenance: Provenance,
        details: &mut Details,
        observer: &dyn Observer,
    ) -> Result<ModelFile> {
        let (Some(moments), Some(rows)) = (&input.moments, &mut input.rows) else {
            unreachable!("a search has rows");
        };
        let data = in_memory(&mut **rows, observer)?;
        let kept = (learned.learner != LearnerName::Search).then_some(&*learned);
        // The search looks at the columns themselves, where distances may have seen bins of them.
        let plain = match &moments.wide {
            Some(_) => Some(fold(&mut data.source(), PairMoments::new(Arc::clone(data.schema()))?, observer)?),
            None => None,
        };
        let rows = Rows { data: &data, validation, moments: plain.as_ref().unwrap_or(&moments.whole), coordinates: None };
        let found = self.search(criterion, kept, &rows, observer)?;
        learned.tree = found.model.tree().clone();
        learned.learner = found.learner;
        learned.converged &= found.converged;
        details.candidates = found.candidates;
        let mut provenance = provenance.option("select", criterion.name()).option("parameters", "em");
        provenance.options.insert("structure".to_owned(), learned.learner.to_string());
        Ok(found.model.with_provenance(provenance).into())
    }

    /// The model by the method asked for, where the input gives one; else the tree.
    fn model(
        &self,
        learned: &mut LearnedStructure,
        input: &mut Input<'_>,
        validation: Option<&Dataset>,
        provenance: Provenance,
        details: &mut Details,
        observer: &dyn Observer,
    ) -> Result<ModelFile> {
        let (tree, method) = (learned.tree.clone(), self.parameters);
        let Some(all_moments) = &input.moments else {
            if !matches!(method, ParameterMethod::Auto | ParameterMethod::None) {
                return Err(Error::option("--parameters", "a distance matrix alone gives no parameters; learn from the data"));
            }
            return Ok(ModelFile::Tree { tree, schema: None, provenance });
        };
        let (schema, moments) = (Arc::clone(all_moments.schema()), &all_moments.whole);
        let coordinates = all_moments.wide.as_ref().and_then(|wide| wide.coordinates.as_ref());
        if method == ParameterMethod::None {
            return Ok(ModelFile::Tree { tree, schema: Some(schema), provenance });
        }
        let is_symmetric = learned.estimator == Some(Estimator::Symmetric);
        let family = if coordinates.is_none() { family_by_lengths(moments, is_symmetric) } else { None };
        // A number of states that is asked for makes hidden variables discrete, also over continuous columns.
        let family = family.filter(|&family| family != FamilyByLengths::Gaussian || self.hidden_states.is_none());
        let is_gaussian = family == Some(FamilyByLengths::Gaussian);
        let is_auto = method == ParameterMethod::Auto && validation.is_none() && self.checkpoint.is_none();
        let by_lengths = is_auto || method == ParameterMethod::Distances || (method == ParameterMethod::Moments && is_gaussian);
        if by_lengths {
            let lengths_known = tree.edges().all(|edge| edge.length.is_some());
            if let Some(family) = family.filter(|_| lengths_known) {
                observer.stage("parameters", None);
                return Ok(from_lengths(&tree, moments, family, provenance)?.into());
            }
            if method == ParameterMethod::Distances {
                let problem = "distances give parameters only for continuous columns without --hidden-states, and with --distance symmetric; \
                               use moments+em";
                return Err(Error::option("--parameters", problem));
            }
        }
        let Some(rows) = &mut input.rows else {
            if method != ParameterMethod::Auto {
                return Err(Error::option(
                    "--parameters",
                    "a moments file has no rows to learn parameters from; learn from the data",
                ));
            }
            observer.warn(
                "the file holds the tree alone: a moments file has pairs only, and these columns need rows for their parameters",
            );
            return Ok(ModelFile::Tree { tree, schema: Some(schema), provenance });
        };
        let data = in_memory(&mut **rows, observer)?;
        let rows = Rows { data: &data, validation, moments, coordinates };
        let name = if method == ParameterMethod::Auto { ParameterMethod::MomentsAndEm } else { method }.name();
        let mut provenance = provenance.option("parameters", name);
        let found = if is_gaussian && method != ParameterMethod::Moments {
            parameters::gaussian(self, &tree, &rows, observer)?
        } else {
            provenance = provenance.option("hidden-states", self.hidden_states.unwrap_or(DEFAULT_STATES));
            parameters::discrete(self, &tree, &rows, observer)?
        };
        learned.tree = found.model.tree().clone();
        learned.converged &= found.converged;
        details.em_iterations = found.em_iterations;
        if let Some(iterations) = found.em_iterations {
            provenance = provenance.option("em-passes", iterations);
        }
        Ok(found.model.with_provenance(provenance).into())
    }
}

/// What a stage leaves for the result.
#[derive(Default)]
struct Details {
    em_iterations: Option<usize>,
    candidates: Vec<CandidateScore>,
}

fn in_memory(rows: &mut dyn BatchSource, observer: &dyn Observer) -> Result<Dataset> {
    rows.rewind()?;
    observer.stage("rows", rows.n_rows_hint());
    Dataset::read(rows)
}

/// A tree that is kept as it is.
fn given(tree: &Tree, input: &Input<'_>) -> Result<LearnedStructure> {
    let Some(moments) = &input.moments else {
        return Err(Error::option("--tree", "it needs data to learn its parameters from"));
    };
    let tree = tree_over(tree, moments.schema())?;
    Ok(LearnedStructure { tree, learner: LearnerName::Given, estimator: None, penalty: None, converged: true })
}

/// Says so where the rows do not pay for the dependences of a model.
fn warn_below_independence(bic: f64, rows: &mut dyn BatchSource, observer: &dyn Observer) -> Result<()> {
    rows.rewind()?;
    let schema = Arc::clone(rows.schema());
    let summary = fold(rows, Summary::new(Arc::clone(&schema)), &Unwarned(observer))?;
    rows.rewind()?;
    let model = independent(&schema, &summary)?;
    let score = Inference::new(&model).score(rows, &Unwarned(observer), |_, _| Ok(()))?;
    let alone = score.log_likelihood - 0.5 * model.n_free_parameters() as f64 * summary.total_weight().ln();
    // Smoothing takes a little off every likelihood.
    if bic < alone - 1e-4 * alone.abs() - 0.5 {
        observer.warn(&format!(
            "BIC {bic:.2} is below the {alone:.2} of independent variables: these rows do not justify the tree; search by BIC, or give more rows"
        ));
    }
    Ok(())
}

/// Log-likelihood and BIC, from moments where they suffice, else from the rows where they are at hand.
fn fit(
    model: &LatentTree,
    free_parameters: usize,
    input: &mut Input<'_>,
    observer: &dyn Observer,
) -> Result<(Option<f64>, Option<f64>)> {
    let Some(moments) = &input.moments else { return Ok((None, None)) };
    observer.stage("likelihood of the model", input.rows.as_ref().and_then(|rows| rows.n_rows_hint()));
    let weight = moments.total_weight();
    let mut log_likelihood = gaussian_log_likelihood(model, &moments.whole)?;
    if let (None, Some(rows)) = (log_likelihood, &mut input.rows) {
        rows.rewind()?;
        log_likelihood = Some(Inference::new(model).score(&mut **rows, observer, |_, _| Ok(()))?.log_likelihood);
    }
    let log_likelihood = log_likelihood.filter(|value| value.is_finite());
    let bic = log_likelihood.map(|value| value - 0.5 * free_parameters as f64 * weight.ln());
    Ok((log_likelihood, bic.filter(|value| value.is_finite())))
}
