//! `learn DATA -o MODEL`: the hidden tree behind data, and its parameters.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use latentree::data::{BatchSource, Reader, Schema};
use latentree::distance::{DistanceMatrix, DistanceOptions, Estimator};
use latentree::inference::Inference;
use latentree::model::{LatentTree, Marginal, ModelFile, Provenance};
use latentree::moments::{BlockMoments, PairMoments, fold};
use latentree::parameters::{family_by_lengths, from_lengths, gaussian_log_likelihood};
use latentree::report::{self, Format, View};
use latentree::structure::{
    Contraction, LearnedStructure, LearnerName, MOST_FOR_LIKELIHOOD, Resampling, StructureInput, StructureOptions,
    bootstrap_structure, describe_forest, learn_structure,
};
use latentree::tree::Tree;
use latentree::{Error, NodeIx, Observer, Result};
use serde_json::{Value, json};

use super::learn_parameters::{self, Method};
use super::simulate::{is_newick, read_tree};
use super::{is_stream, open_data};
use crate::Failure;
use crate::args::LearnArgs;
use crate::printer::{Printer, number};

/// Blocks of rows from which a bootstrap draws.
const BLOCKS: usize = 64;
/// Fewer blocks than this make no bootstrap.
const FEWEST_BLOCKS: usize = 8;
/// Bytes that blocks may take before their number is reduced.
const BLOCKS_BUDGET: u64 = 2 << 30;
/// Bytes that [`FEWEST_BLOCKS`] may take.
const BLOCKS_LIMIT: u64 = 8 << 30;
/// Nodes of a tree that is shown in full.
const SHOWN_NODES: usize = 60;

/// Passes everything on to the printer, and keeps what belongs in the result: stages with their times, and warnings.
struct Recorder<'a> {
    printer: &'a Printer,
    stages: Mutex<Vec<(String, Instant, f64)>>,
    warnings: Mutex<Vec<String>>,
}

impl<'a> Recorder<'a> {
    fn new(printer: &'a Printer) -> Self {
        Self { printer, stages: Mutex::default(), warnings: Mutex::default() }
    }

    /// Ends the running stage; later stages of the same name add to it.
    fn end_stage(stages: &mut Vec<(String, Instant, f64)>) {
        let Some((name, begun, seconds)) = stages.pop() else { return };
        let seconds = seconds + begun.elapsed().as_secs_f64();
        match stages.iter_mut().find(|stage| stage.0 == name) {
            Some(same) => same.2 += seconds,
            None => stages.push((name, begun, seconds)),
        }
    }

    fn stages(&self) -> Vec<(String, f64)> {
        let mut stages = self.stages.lock().expect("no stage panics");
        Self::end_stage(&mut stages);
        stages.drain(..).map(|(name, _, seconds)| (name, seconds)).collect()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().expect("no warning panics").clone()
    }

    /// Keeps a warning that the user has been told already.
    fn keep(&self, message: &str) {
        self.warnings.lock().expect("no warning panics").push(message.to_owned());
    }
}

impl Observer for Recorder<'_> {
    fn stage(&self, name: &str, total: Option<u64>) {
        let mut stages = self.stages.lock().expect("no stage panics");
        Self::end_stage(&mut stages);
        stages.push((name.to_owned(), Instant::now(), 0.0));
        self.printer.stage(name, total);
    }

    fn progress(&self, done: u64) {
        self.printer.progress(done);
    }

    fn warn(&self, message: &str) {
        self.keep(message);
        self.printer.warn(message);
    }

    fn cancelled(&self) -> bool {
        self.printer.cancelled()
    }
}

/// What the tree is learned from.
struct Input {
    moments: Option<Moments>,
    distances: Option<DistanceMatrix>,
    reader: Option<Reader>,
}

/// Statistics of the rows.
struct Moments {
    whole: PairMoments,
    blocks: Option<BlockMoments>,
    halves: Option<[PairMoments; 2]>,
}

pub(crate) fn run(args: &LearnArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    let recorder = Recorder::new(printer);
    let options = options(args)?;
    if args.bootstrap == Some(0) {
        return Err(Error::option("--bootstrap", "0 replicates given; give 1 or more, usually 100").into());
    }
    let path =
        args.distances.as_ref().or(args.data.as_ref()).ok_or_else(|| Error::option("learn", "give DATA, or --distances FILE"))?;
    let mut input = open(args, path, &recorder)?;
    let method: Method = args.parameters.parse()?;
    let mut learned = match &args.tree {
        Some(file) => given(file, &input)?,
        None => learn(&input, &options, args, seed, &recorder).map_err(|error| error.in_file(path))?,
    };
    if let Some(message) = describe_forest(&learned.tree) {
        recorder.warn(&message);
    }
    if !learned.converged {
        recorder.warn("edge lengths are not fitted to the end: there are many variables, and the time for it is bounded");
    }
    let provenance = provenance(args, &learned, &input, seed);
    let file = model(&mut learned, &mut input, args, method, provenance, &recorder).map_err(|error| error.in_file(path))?;
    let fit = match &file {
        ModelFile::LatentTree(model) => fit(model, &mut input, &recorder)?,
        _ => Fit { free_parameters: None, log_likelihood: None, bic: None },
    };
    write(&file, &args.output)?;
    if is_stream(&args.output) {
        return Ok(());
    }
    Ok(show(args, &learned, &input, &file, &fit, &recorder)?)
}

fn options(args: &LearnArgs) -> Result<StructureOptions> {
    let distances = DistanceOptions::new()
        .estimator(args.distance.parse()?)
        .hidden_states(args.hidden_states)
        .significance((args.significance != 0.0).then_some(args.significance))
        .smoothing(args.smoothing);
    let contraction = args.contract.as_deref().map_or(Ok(Contraction::ByInput), str::parse)?;
    let learner: LearnerName = args.structure.parse()?;
    Ok(StructureOptions::new().learner(learner).contraction(contraction).epsilon(args.epsilon).tau(args.tau).distances(distances))
}

fn open(args: &LearnArgs, path: &Path, recorder: &Recorder<'_>) -> Result<Input> {
    if args.distances.is_some() {
        let is_default = args.distance == "auto" && args.hidden_states.is_none() && args.smoothing == 0.0;
        if !is_default {
            return Err(Error::option(
                "--distances",
                "the distances are given: leave out --distance, --hidden-states and --smoothing",
            ));
        }
        recorder.stage("reading", None);
        return Ok(Input { moments: None, distances: Some(DistanceMatrix::read(path)?), reader: None });
    }
    if latentree::file::ending(path) == "moments" {
        recorder.stage("reading", None);
        let moments = Moments { whole: PairMoments::load(path)?, blocks: None, halves: None };
        return Ok(Input { moments: Some(moments), distances: None, reader: None });
    }
    let mut reader = open_data(path, &args.reading, recorder.printer)?;
    reader.warnings().iter().for_each(|warning| recorder.keep(warning));
    let n_blocks = n_blocks(args, reader.schema(), recorder)?;
    recorder.stage("moments", reader.n_rows_hint());
    let moments = match n_blocks {
        None => {
            let empty = PairMoments::new(reader.schema().clone())?;
            let whole = fold(&mut reader, empty, recorder)?;
            Moments { whole, blocks: None, halves: None }
        }
        Some(n_blocks) => {
            let empty = BlockMoments::new(reader.schema().clone(), n_blocks)?;
            let blocks = fold(&mut reader, empty, recorder)?;
            let (whole, halves) = (blocks.whole()?, Some(blocks.halves()?));
            Moments { whole, blocks: args.bootstrap.map(|_| blocks), halves }
        }
    };
    Ok(Input { moments: Some(moments), distances: None, reader: Some(reader) })
}

/// How many blocks of rows are kept apart: many for a bootstrap, two for the halves of `likelihood`, else none.
fn n_blocks(args: &LearnArgs, schema: &std::sync::Arc<Schema>, recorder: &Recorder<'_>) -> Result<Option<usize>> {
    if args.bootstrap.is_some() {
        let within = BlockMoments::n_blocks_within(schema, BLOCKS, BLOCKS_BUDGET)?.max(FEWEST_BLOCKS);
        if within == FEWEST_BLOCKS && BlockMoments::n_blocks_within(schema, BLOCKS, BLOCKS_LIMIT)? < FEWEST_BLOCKS {
            let problem = format!(
                "{} variables are too many: {FEWEST_BLOCKS} blocks of rows do not fit {} GiB; leave out variables, or learn without it",
                schema.variables().len(),
                BLOCKS_LIMIT >> 30
            );
            return Err(Error::option("--bootstrap", problem));
        }
        if within < BLOCKS {
            recorder.warn(&format!(
                "the bootstrap draws from {within} blocks of rows instead of {BLOCKS}, since more would not fit {} GiB: support is rougher",
                BLOCKS_BUDGET >> 30
            ));
        }
        return Ok(Some(within));
    }
    let is_scalar = |ix| schema.scalar_kind(ix).is_some_and(|kind| kind.n_states().is_none_or(|n_states| n_states <= 2));
    let by_rule =
        args.structure == "auto" && schema.variables().len() <= MOST_FOR_LIKELIHOOD && schema.variable_ixs().all(is_scalar);
    Ok((by_rule || args.structure == "likelihood").then_some(2))
}

fn learn(
    input: &Input,
    options: &StructureOptions,
    args: &LearnArgs,
    seed: u64,
    recorder: &Recorder<'_>,
) -> Result<LearnedStructure> {
    let mut learned = match (&input.moments, &input.distances) {
        (Some(moments), _) => {
            let input = StructureInput::Moments { whole: &moments.whole, halves: moments.halves.as_ref() };
            learn_structure(input, options, recorder)?
        }
        (None, Some(distances)) => learn_structure(StructureInput::Distances(distances), options, recorder)?,
        (None, None) => unreachable!("something was read"),
    };
    if let Some(replicates) = args.bootstrap {
        let resampling = match &input.moments {
            Some(Moments { blocks: Some(blocks), .. }) => Resampling::Blocks(blocks),
            Some(moments) => Resampling::Moments(&moments.whole),
            None => return Err(Error::option("--bootstrap", "a distance matrix has no rows to draw from; learn from the data")),
        };
        learned.tree = bootstrap_structure(&learned, resampling, options, replicates, seed, recorder)?;
    }
    Ok(learned)
}

fn provenance(args: &LearnArgs, learned: &LearnedStructure, input: &Input, seed: u64) -> Provenance {
    let mut provenance = Provenance::by_this_program(seed).option("verb", "learn").option("structure", learned.learner);
    if let Some(estimator) = learned.estimator {
        provenance = provenance.option("distance", estimator);
    }
    if let Some(contract) = &args.contract {
        provenance = provenance.option("contract", contract);
    }
    if let Some(bootstrap) = args.bootstrap {
        provenance = provenance.option("bootstrap", bootstrap);
    }
    provenance.rows = input.moments.as_ref().map(|moments| moments.whole.n_rows());
    provenance.data_digest = input.reader.as_ref().and_then(Reader::digest);
    provenance
}

/// A tree that is kept as it is.
fn given(file: &Path, input: &Input) -> Result<LearnedStructure> {
    let tree = read_tree(file, &[])?;
    let Some(moments) = &input.moments else {
        return Err(Error::option("--tree", "it needs data to learn its parameters from"));
    };
    let variables = moments.whole.schema().variables();
    let missing = |name: &str| tree.find(name).is_none_or(|node| !tree.is_observed(node));
    if let Some(variable) = variables.iter().find(|variable| missing(&variable.name)) {
        let problem = format!("it has no observed node {:?}, which is a column of the data", variable.name);
        return Err(Error::tree(problem).in_file(file));
    }
    // Observed nodes in the order of the variables, as learners give them.
    let tree = tree.with_observed_first(&variables.iter().map(|variable| variable.name.as_str()).collect::<Vec<_>>());
    let tree = tree.map_err(|error| error.in_file(file))?;
    Ok(LearnedStructure { tree, learner: LearnerName::Given, estimator: None, penalty: None, converged: true })
}

/// The model by the method asked for, where the input gives one; else the tree.
fn model(
    learned: &mut LearnedStructure,
    input: &mut Input,
    args: &LearnArgs,
    method: Method,
    provenance: Provenance,
    recorder: &Recorder<'_>,
) -> Result<ModelFile> {
    let tree = learned.tree.clone();
    let Some(moments) = input.moments.as_ref().map(|moments| &moments.whole) else {
        if !matches!(method, Method::Auto | Method::None) {
            return Err(Error::option("--parameters", "a distance matrix alone gives no parameters; learn from the data"));
        }
        return Ok(ModelFile::Tree { tree, schema: None, provenance });
    };
    let schema = moments.schema().clone();
    if method == Method::None {
        return Ok(ModelFile::Tree { tree, schema: Some(schema), provenance });
    }
    if matches!(method, Method::Auto | Method::Distances) {
        let symmetric = learned.estimator == Some(Estimator::Symmetric);
        let lengths_known = tree.edges().all(|edge| edge.length.is_some());
        if let Some(family) = family_by_lengths(moments, symmetric).filter(|_| lengths_known) {
            recorder.stage("parameters", None);
            return Ok(from_lengths(&tree, moments, family, provenance)?.into());
        }
        if method == Method::Distances {
            let problem = "distances give parameters only for continuous columns and with --distance symmetric; use moments+em";
            return Err(Error::option("--parameters", problem));
        }
    }
    let Some(reader) = &mut input.reader else {
        if method != Method::Auto {
            return Err(Error::option(
                "--parameters",
                "a moments file has no rows to learn parameters from; learn from the data",
            ));
        }
        recorder.warn(
            "the file holds the tree alone: a moments file has pairs only, and these columns need rows for their parameters",
        );
        return Ok(ModelFile::Tree { tree, schema: Some(schema), provenance });
    };
    let seed = provenance.seed.unwrap_or(0);
    let found = learn_parameters::from_rows(&tree, reader, args, method, seed, recorder)?;
    learned.tree = found.model.tree().clone();
    learned.converged &= found.converged;
    let name = if args.parameters == "auto" { "moments+em" } else { args.parameters.as_str() };
    let mut provenance = provenance.option("parameters", name).option("hidden-states", args.hidden_states.unwrap_or(2));
    if let Some(iterations) = found.em_iterations {
        provenance = provenance.option("em-passes", iterations);
    }
    Ok(found.model.with_provenance(provenance).into())
}

/// How well a model explains the data.
struct Fit {
    free_parameters: Option<usize>,
    log_likelihood: Option<f64>,
    bic: Option<f64>,
}

/// From moments where they suffice, else from the rows where they are at hand.
fn fit(model: &LatentTree, input: &mut Input, recorder: &Recorder<'_>) -> Result<Fit> {
    let free = model.n_free_parameters();
    let mut fit = Fit { free_parameters: Some(free), log_likelihood: None, bic: None };
    let Some(moments) = &input.moments else { return Ok(fit) };
    recorder.stage("likelihood of the model", input.reader.as_ref().and_then(BatchSource::n_rows_hint));
    let weight = moments.whole.total_weight();
    fit.log_likelihood = gaussian_log_likelihood(model, &moments.whole)?;
    if let (None, Some(reader)) = (fit.log_likelihood, &mut input.reader) {
        reader.rewind()?;
        fit.log_likelihood = Some(Inference::new(model).score(reader, recorder, |_, _| Ok(()))?.log_likelihood);
    }
    fit.log_likelihood = fit.log_likelihood.filter(|value| value.is_finite());
    fit.bic = fit.log_likelihood.map(|value| value - 0.5 * free as f64 * weight.ln()).filter(|value| value.is_finite());
    Ok(fit)
}

/// Writes the model, or only its tree where the ending asks for a format of trees.
fn write(file: &ModelFile, path: &Path) -> Result<()> {
    let format = match latentree::file::ending(path).as_str() {
        _ if is_newick(path) => Format::Newick,
        "dot" | "gv" => Format::Dot,
        "graphml" => Format::GraphMl,
        "bif" => Format::Bif,
        "xmlbif" => Format::XmlBif,
        "txt" => Format::Text,
        _ => return file.write(path),
    };
    let view: View<'_> = file.into();
    report::export(view, format, path)
}

fn show(
    args: &LearnArgs,
    learned: &LearnedStructure,
    input: &Input,
    file: &ModelFile,
    fit: &Fit,
    recorder: &Recorder<'_>,
) -> std::io::Result<()> {
    let tree = &learned.tree;
    let rows = input.moments.as_ref().map(|moments| moments.whole.n_rows());
    let stages = recorder.stages();
    let json = json!({
        "stages": stages.iter().map(|(name, seconds)| json!({"name": name, "seconds": seconds})).collect::<Vec<Value>>(),
        "rows": rows,
        "observed": tree.n_observed(),
        "hidden": tree.n_hidden(),
        "edges": tree.n_edges(),
        "trees": tree.n_components(),
        "structure": learned.learner.name(),
        "distance": learned.estimator.map(Estimator::name),
        "penalty": learned.penalty,
        "bootstrap": args.bootstrap,
        "free_parameters": fit.free_parameters,
        "log_likelihood": fit.log_likelihood,
        "bic": fit.bic,
        "converged": learned.converged,
        "warnings": recorder.warnings(),
    });
    recorder.printer.result(&json, |out| {
        if let Some(rows) = rows {
            writeln!(out, "rows                 {rows}")?;
        }
        writeln!(out, "observed variables   {}", tree.n_observed())?;
        writeln!(out, "hidden variables     {}", tree.n_hidden())?;
        if !tree.is_connected() {
            writeln!(out, "trees                {}", tree.n_components())?;
        }
        let distance = learned.estimator.map_or(String::new(), |estimator| format!(" on {estimator} distances"));
        writeln!(out, "learned by           {}{distance}", learned.learner)?;
        if let (Some(free), Some(value)) = (fit.free_parameters, fit.log_likelihood) {
            writeln!(out, "log-likelihood       {}", number(value))?;
            writeln!(out, "free parameters      {free}")?;
        }
        if let Some(bic) = fit.bic {
            writeln!(out, "BIC (larger better)  {}", number(bic))?;
        }
        let seconds: f64 = stages.iter().map(|stage| stage.1).sum();
        writeln!(out, "seconds              {seconds:.2}")?;
        writeln!(out, "written              {}", args.output.display())?;
        write_hidden(out, tree, file)?;
        if tree.n_nodes() <= SHOWN_NODES {
            let legend = if args.bootstrap.is_some() { "lengths, and support by the bootstrap" } else { "lengths" };
            write!(out, "\ntree ({legend}; hidden variables in parentheses)\n{}", report::to_text(file))?;
        }
        Ok(())
    })
}

/// Hidden variables that are listed.
const SHOWN_HIDDEN: usize = 30;
/// Observed variables that each is described by.
const SHOWN_NEAREST: usize = 4;

/// The hidden variables with the probabilities of their states and the observed variables nearest to them.
fn write_hidden(out: &mut dyn std::io::Write, tree: &Tree, file: &ModelFile) -> std::io::Result<()> {
    let hidden: Vec<NodeIx> = tree.node_ixs().filter(|&node| !tree.is_observed(node)).collect();
    if hidden.is_empty() || hidden.len() > SHOWN_HIDDEN {
        return Ok(());
    }
    let marginals = match file {
        ModelFile::LatentTree(model) => model.marginals(),
        _ => Vec::new(),
    };
    writeln!(out, "\nhidden variables, the probabilities of their states, and what is nearest to them")?;
    let width = hidden.iter().map(|&node| tree.name(node).chars().count()).max().unwrap_or(0);
    for node in hidden {
        let states = match marginals.get(node.get()) {
            Some(Marginal::Discrete(states)) => states.iter().map(|p| format!("{p:.2} ")).collect::<String>(),
            _ => String::new(),
        };
        let near: Vec<&str> = nearest(tree, node).into_iter().map(|node| tree.name(node)).collect();
        writeln!(out, "{:width$}  {states} {}", tree.name(node), near.join(", "))?;
    }
    Ok(())
}

/// The observed nodes nearest to a node, by the lengths of edges.
fn nearest(tree: &Tree, from: NodeIx) -> Vec<NodeIx> {
    let mut found: Vec<(f64, NodeIx)> = Vec::new();
    let mut stack = vec![(from, None, 0.0)];
    while let Some((node, parent, far)) = stack.pop() {
        if tree.is_observed(node) {
            found.push((far, node));
        }
        let links = tree.links(node).iter().filter(|link| Some(link.to) != parent);
        stack.extend(links.map(|link| (link.to, Some(node), far + link.length.unwrap_or(1.0))));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(SHOWN_NEAREST).map(|it| it.1).collect()
}
