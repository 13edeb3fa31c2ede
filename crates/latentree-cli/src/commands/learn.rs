//! `learn DATA -o MODEL`: the hidden tree behind data, and its parameters.

use std::path::Path;
use std::time::Instant;

use latentree::data::{BatchSource as _, Reader};
use latentree::distance::{DistanceMatrix, DistanceOptions, Estimator};
use latentree::learn::{EmStart, Learned, Learning, Source, Stage, tree_over};
use latentree::model::{Marginal, ModelFile};
use latentree::moments::PairMoments;
use latentree::report::{self, Format, View};
use latentree::structure::Contraction;
use latentree::tree::Tree;
use latentree::{Error, NodeIx, Result};
use serde_json::json;

use super::simulate::{is_newick, read_tree};
use super::{is_stream, open_data};
use crate::Failure;
use crate::args::LearnArgs;
use crate::printer::{Printer, number};

/// Nodes of a tree that is shown in full.
const SHOWN_NODES: usize = 60;

/// What was opened.
enum Opened {
    Rows(Box<Reader>),
    Moments(Box<PairMoments>),
    Distances(DistanceMatrix),
}

pub(crate) fn run(args: &LearnArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    let mut learning = learning(args, seed)?;
    let path =
        args.distances.as_ref().or(args.data.as_ref()).ok_or_else(|| Error::option("learn", "give DATA, or --distances FILE"))?;
    let begun = Instant::now();
    let opened = open(args, path, printer)?;
    let reading = begun.elapsed().as_secs_f64();
    if let Some(file) = &args.tree {
        let tree = read_tree(file, &[])?;
        let schema = match &opened {
            Opened::Rows(reader) => reader.schema(),
            Opened::Moments(moments) => moments.schema(),
            Opened::Distances(_) => return Err(Error::option("--tree", "it needs data to learn its parameters from").into()),
        };
        learning = learning.tree(Some(tree_over(&tree, schema).map_err(|error| error.in_file(file))?));
    }
    let learned = match opened {
        Opened::Rows(mut reader) => learning.run(Source::Rows(&mut *reader), printer).map(|learned| {
            let mut learned = learned.with_data_digest(reader.digest());
            learned.warnings.splice(0..0, reader.warnings().iter().cloned());
            learned
        }),
        Opened::Moments(moments) => learning.run(Source::Moments(*moments), printer),
        Opened::Distances(distances) => learning.run(Source::Distances(distances), printer),
    };
    let mut learned = learned.map_err(|error| error.in_file(path))?;
    learned.stages.insert(0, Stage { name: "reading".to_owned(), seconds: reading });
    write(&learned.file, &args.output)?;
    if is_stream(&args.output) {
        return Ok(());
    }
    Ok(show(args, &learned, printer)?)
}

fn learning(args: &LearnArgs, seed: u64) -> Result<Learning> {
    let distances = DistanceOptions::new()
        .estimator(args.distance.parse()?)
        .significance((args.significance != 0.0).then_some(args.significance))
        .smoothing(args.smoothing);
    let contraction = args.contract.as_deref().map_or(Ok(Contraction::ByInput), str::parse)?;
    let start: Option<EmStart> = args.start.as_deref().map(str::parse).transpose()?;
    Ok(Learning::new()
        .structure(args.structure.parse()?)
        .contraction(contraction)
        .epsilon(args.epsilon)
        .tau(args.tau)
        .distances(distances)
        .hidden_states(args.hidden_states)
        .bootstrap(args.bootstrap)
        .parameters(args.parameters.parse()?)
        .decomposition(args.decomposition.parse()?)
        .start(start)
        .restarts(args.restarts)
        .em_iterations(args.em_iterations)
        .em_tolerance(args.em_tolerance)
        .em_smoothing(args.em_smoothing)
        .seed(seed))
}

fn open(args: &LearnArgs, path: &Path, printer: &Printer) -> Result<Opened> {
    if args.distances.is_some() {
        let is_default = args.distance == "auto" && args.hidden_states.is_none() && args.smoothing == 0.0;
        if !is_default {
            return Err(Error::option(
                "--distances",
                "the distances are given: leave out --distance, --hidden-states and --smoothing",
            ));
        }
        return Ok(Opened::Distances(DistanceMatrix::read(path)?));
    }
    if latentree::file::ending(path) == "moments" {
        return Ok(Opened::Moments(Box::new(PairMoments::load(path)?)));
    }
    Ok(Opened::Rows(Box::new(open_data(path, &args.reading, printer)?)))
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

fn show(args: &LearnArgs, learned: &Learned, printer: &Printer) -> std::io::Result<()> {
    let tree = learned.tree();
    let json = json!({
        "stages": learned.stages,
        "rows": learned.rows,
        "observed": tree.n_observed(),
        "hidden": tree.n_hidden(),
        "edges": tree.n_edges(),
        "trees": tree.n_components(),
        "structure": learned.learner.name(),
        "distance": learned.estimator.map(Estimator::name),
        "penalty": learned.penalty,
        "bootstrap": args.bootstrap,
        "free_parameters": learned.free_parameters,
        "log_likelihood": learned.log_likelihood,
        "bic": learned.bic,
        "em_iterations": learned.em_iterations,
        "converged": learned.converged,
        "warnings": learned.warnings,
    });
    printer.result(&json, |out| {
        if let Some(rows) = learned.rows {
            writeln!(out, "rows                 {rows}")?;
        }
        writeln!(out, "observed variables   {}", tree.n_observed())?;
        writeln!(out, "hidden variables     {}", tree.n_hidden())?;
        if !tree.is_connected() {
            writeln!(out, "trees                {}", tree.n_components())?;
        }
        let distance = learned.estimator.map_or(String::new(), |estimator| format!(" on {estimator} distances"));
        writeln!(out, "learned by           {}{distance}", learned.learner)?;
        if let (Some(free), Some(value)) = (learned.free_parameters, learned.log_likelihood) {
            writeln!(out, "log-likelihood       {}", number(value))?;
            writeln!(out, "free parameters      {free}")?;
        }
        if let Some(bic) = learned.bic {
            writeln!(out, "BIC (larger better)  {}", number(bic))?;
        }
        let seconds: f64 = learned.stages.iter().map(|stage| stage.seconds).sum();
        writeln!(out, "seconds              {seconds:.2}")?;
        writeln!(out, "written              {}", args.output.display())?;
        write_hidden(out, tree, &learned.file)?;
        if tree.n_nodes() <= SHOWN_NODES {
            let legend = if args.bootstrap.is_some() { "lengths, and support by the bootstrap" } else { "lengths" };
            write!(out, "\ntree ({legend}; hidden variables in parentheses)\n{}", report::to_text(&learned.file))?;
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
