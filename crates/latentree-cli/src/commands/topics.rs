//! `topics TEXT… -o MODEL`: from raw text to topics.

mod over_time;

use std::path::Path;

use latentree::clusters::{ClusterOptions, Extent, SplitMethod, fit_clusters};
use latentree::data::{CachedRows, DocumentNames, KindOverride, Reader, ResultWriter, Rows, Value};
use latentree::format::{Format, ModelFile, OtherModel};
use latentree::learn::{LearnOptions, Learning, Source};
use latentree::mixture::{MixtureFamily, MixtureModel, MixtureOptions, NumberOfComponents, fit_mixture};
use latentree::model::{LatentTree, Provenance};
use latentree::report::{TOPICS_OPTION, TopicTable};
use latentree::{Error, Inference, MemoryBudget, NodeIx, Observer, Result, counted};
use serde_json::json;

use super::files::Files;
use super::{is_stream, note_unseen, open_reader, read_options};
use crate::Failure;
use crate::data_args::DataArgs;
use crate::printer::{Printer, table};
use crate::topics_args::{TopicModelName, TopicsArgs};

/// Topics if no number is given.
const TOPICS: usize = 10;
/// Topics whose shares over time are printed.
const SHOWN_OVER_TIME: usize = 12;

/// A model of words.
enum WordModel {
    Tree(Box<LatentTree>),
    Star(Box<LatentTree>),
    Other(Box<OtherModel>),
}

/// A model, its log-likelihood if it has one, and what the user should know.
struct Fitted {
    model: WordModel,
    log_likelihood: Option<f64>,
    warnings: Vec<String>,
}

pub(crate) fn run(args: &TopicsArgs, seed: u64, printer: &Printer) -> Result<(), Failure> {
    check(args)?;
    let reading = DataArgs { text: !is_matrix(args), ..args.reading.clone() };
    let mut files = Files::new();
    for path in &args.data {
        files = files.data("TEXT", path);
    }
    files.reading(&reading).output("-o", &args.output).output_if("--documents", args.documents.as_deref()).check()?;
    if !is_stream(&args.output) && Format::of_path(&args.output)? != Format::Json {
        return Err(Error::option("-o", "a model of words is written as .json; convert it with export").into());
    }
    let memory = MemoryBudget::of_machine();
    let mut options = read_options(&reading)?.keep_bytes(memory.for_rows());
    if let Some(text) = &mut options.text {
        text.more = args.data[1..].to_vec();
        text.keep.extend(args.dates.clone());
    }
    if reading.kind.is_empty() && reading.schema.is_none() {
        let kind = if args.model == TopicModelName::Tree { KindOverride::Binary } else { KindOverride::Count };
        options = options.kind("*", kind);
    }
    let rows = CachedRows::new(open_reader(&args.data[0], options, printer)?, memory);
    if rows.n_rows_hint().is_some_and(|n_documents| n_documents < 3) {
        let problem = "topics are words of the same documents, and there are fewer than three; cut files with --split, or give more of them";
        return Err(Error::data(latentree::Place::file(&args.data[0]), problem).into());
    }
    if let Some(column) = &args.dates {
        over_time::check(&rows.of_source(|reader| reader.documents()), column)?;
    }
    let fitted = fit(args, &rows, seed, memory, printer).map_err(|error| error.in_file(&args.data[0]))?;
    let n_words = usize::from(args.words);
    let topics = match &fitted.model {
        WordModel::Tree(model) => tree_topics(model, args, n_words)?,
        WordModel::Star(model) => TopicTable::of_star(model, n_words)?,
        WordModel::Other(other) => match &**other {
            OtherModel::Topics(model) => TopicTable::of_topics(model, n_words),
            OtherModel::Clusters(model) => TopicTable::of_clusters(model, n_words),
            _ => unreachable!("all kinds of models are known"),
        },
    };
    let mut topics = topics.measured(&rows, printer)?;
    let is_mixed = matches!(&fitted.model, WordModel::Other(other) if matches!(**other, OtherModel::Topics(_)));
    let mut shares = Vec::new();
    if is_mixed || args.documents.is_some() || args.dates.is_some() {
        shares = document_shares(&fitted.model, &topics, &rows, seed, printer)?;
    }
    if is_mixed {
        let means = mean_shares(&shares, topics.topics().len());
        topics = topics.with_shares(&means);
    }
    let (names, mut warnings) = rows.of_source(|reader| (reader.documents(), reader.warnings().to_vec()));
    let unseen = rows.of_source(|reader| note_unseen(reader, printer));
    let (inner, told): (Vec<&String>, Vec<&String>) = fitted.warnings.iter().partition(|warning| is_about_fitting(warning));
    told.iter().for_each(|warning| printer.note(warning));
    if !inner.is_empty() {
        printer.note("there is little evidence for some of the topics; use more documents, or leave out rare words (--min-df)");
    }
    warnings.extend(fitted.warnings.iter().cloned());
    write(&fitted.model, &rows, &reading, args)?;
    let mut over_time = None;
    let mut n_documents = names.len();
    if args.documents.is_some() || args.dates.is_some() {
        n_documents = shares.len() / topics.topics().len().max(1);
        if let Some(path) = &args.documents {
            let without = write_documents(path, args, &names, &topics, &shares)?;
            if without > 0 {
                let note = format!("{without} of {n_documents} documents have no topic with a probability of at least one half");
                printer.note(&note);
                warnings.push(note);
            }
        }
        if let Some(column) = &args.dates {
            let (periods, undated) = over_time::periods(&names, &shares, topics.topics().len());
            if undated > 0 {
                let (have, are) = if undated == 1 { ("has", "is") } else { ("have", "are") };
                let documents = counted(n_documents, "document");
                let note = format!("{undated} of {documents} {have} no date in {column:?} and {are} left out over time");
                printer.note(&note);
                warnings.push(note);
            }
            over_time = Some(periods);
        }
    }
    if is_stream(&args.output) {
        return Ok(());
    }
    let is_tree = args.model == TopicModelName::Tree;
    let mut json = json!({
        "model": args.model.name(),
        "documents": rows.n_rows_hint().unwrap_or(n_documents as u64),
        "words": rows.schema().columns().len(),
        "topics": topics.to_json(),
        "npmi": topics.npmi(),
        "c_v": topics.c_v(),
        "diversity": topics.diversity(),
        "log_likelihood": fitted.log_likelihood,
        "unseen": unseen,
        "warnings": warnings,
    });
    if let Some(periods) = &over_time {
        json["dates"] = periods.iter().map(over_time::Period::to_json).collect();
    }
    printer.result(&json, |out| {
        let n_rows = rows.n_rows_hint().unwrap_or(n_documents as u64);
        let (documents, words) = (counted(n_rows, "document"), counted(rows.schema().columns().len(), "word"));
        writeln!(out, "{documents}, {words}, {}, model {}", n_topics_text(args, &topics), args.model.name())?;
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"));
        let lines = topics.topics().iter().enumerate().map(|(ix, topic)| {
            let name = format!("{}{}", "  ".repeat(topics.depth(ix)), super::groups::clean(&topic.name));
            vec![
                name,
                topic.node_name.clone().filter(|_| is_tree).unwrap_or_default(),
                format!("{:.1}%", 100.0 * topic.share),
                cell(topic.npmi),
                cell(topic.c_v),
            ]
        });
        let mut lines: Vec<Vec<String>> = lines.collect();
        let mut header = vec!["topic", "node", "share", "NPMI", "C_V"];
        if !is_tree {
            header.remove(1);
            lines.iter_mut().for_each(|line| drop(line.remove(1)));
        }
        let numbers = table(&header, lines, if is_tree { 2 } else { 1 });
        let words = topics.topics().iter().map(|topic| topic.words.join(" "));
        writeln!(out)?;
        for (numbers, words) in numbers.lines().zip(std::iter::once("words".to_owned()).chain(words)) {
            writeln!(out, "{numbers}  {words}")?;
        }
        writeln!(out)?;
        writeln!(out, "mean NPMI {}, C_V {}, diversity {:.2}", cell(topics.npmi()), cell(topics.c_v()), topics.diversity())?;
        if let Some(periods) = &over_time {
            let is_hierarchy = args.model == TopicModelName::Hierarchy;
            over_time::show(periods, &topics, is_hierarchy, SHOWN_OVER_TIME, out)?;
        }
        if let Some(path) = &args.documents {
            writeln!(out, "documents by topic written to {}", path.display())?;
        }
        writeln!(out, "written to {}", args.output.display())
    })?;
    Ok(())
}

/// The topics of a tree, if there are any.
fn tree_topics(model: &LatentTree, args: &TopicsArgs, n_words: usize) -> Result<TopicTable> {
    if model.hidden().next().is_some() {
        let topics = TopicTable::of_tree(model, args.topics.map(usize::from), n_words)?;
        if !topics.topics().is_empty() {
            return Ok(topics);
        }
    }
    let problem = match args.structure.as_deref() {
        Some(learner) if learner != "levels" && model.hidden().next().is_none() => format!(
            "the tree of --structure {learner} has no hidden variables, and topics are hidden variables; leave out --structure, or use \
             another learner or another --model"
        ),
        _ => "no words go together in these documents more often than by chance, so there are no topics; pass more or longer \
              documents (--split cuts them), lower --min-df, or use another --model"
            .to_owned(),
    };
    Err(Error::data(latentree::Place::file(&args.data[0]), problem))
}

/// The number of topics; those of a hierarchy are its leaves.
fn n_topics_text(args: &TopicsArgs, topics: &TopicTable) -> String {
    let n_all = topics.topics().len();
    if args.model != TopicModelName::Hierarchy {
        return counted(n_all, "topic");
    }
    let n_leaves = (0..n_all).filter(|&ix| topics.is_leaf(ix)).count();
    format!("{} in a hierarchy of {n_all}", counted(n_leaves, "topic"))
}

/// Whether a warning is about how single hidden variables of a tree were fitted, in words of the engine.
fn is_about_fitting(warning: &str) -> bool {
    warning.contains("hidden node") || warning.ends_with("more warnings like these")
}

/// An observer of the tree that keeps its warnings for later.
struct Unwarned<'a>(&'a Printer);

impl Observer for Unwarned<'_> {
    fn stage(&self, name: &str, total: Option<u64>) {
        self.0.stage(name, total);
    }

    fn progress(&self, done: u64) {
        self.0.progress(done);
    }

    fn step(&self, name: &str) {
        self.0.step(name);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }

    fn stop_early(&self) -> bool {
        self.0.stop_early()
    }

    fn model_found(&self) {
        self.0.model_found();
    }
}

/// Whether the input is a matrix of counts, by its name.
fn is_matrix(args: &TopicsArgs) -> bool {
    let [path] = &args.data[..] else { return false };
    let is_docword = path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().starts_with("docword"));
    args.reading.column.is_none() && (is_docword || matches!(latentree::file::ending(path).as_str(), "mtx" | "svm" | "libsvm"))
}

fn check(args: &TopicsArgs) -> Result<()> {
    let of_events = [("--events", args.reading.events.is_some()), ("--meds", args.reading.meds), ("--omop", args.reading.omop)];
    if let Some((option, _)) = of_events.into_iter().find(|it| it.1) {
        let problem = "`topics` reads texts or a matrix of word counts, not events; use learn, mixture or cluster for events";
        return Err(Error::option(option, problem));
    }
    if args.model == TopicModelName::Hierarchy && args.topics == Some(1) {
        let problem =
            "a hierarchy splits the documents into two topics or more; use -k 2, or --model single-topic for a single topic";
        return Err(Error::option("--topics", problem));
    }
    if args.alpha.is_some() && args.model != TopicModelName::Lda {
        return Err(Error::option("--alpha", "only --model lda has a concentration; leave it out"));
    }
    if args.structure.is_some() && args.model != TopicModelName::Tree {
        return Err(Error::option("--structure", "only --model tree has a tree to learn; leave it out"));
    }
    if args.dates.is_some() && args.reading.column.is_none() {
        return Err(Error::option("--dates", "only a table has a column of dates; name that of the texts, too (--column)"));
    }
    if args.reading.weights.is_some() {
        return Err(Error::option("--weights", "documents have no weights; leave it out"));
    }
    Ok(())
}

fn fit(args: &TopicsArgs, rows: &CachedRows<Reader>, seed: u64, memory: MemoryBudget, printer: &Printer) -> Result<Fitted> {
    let n_topics = args.topics.map_or(TOPICS, usize::from);
    match args.model {
        TopicModelName::Tree => {
            let mut options = LearnOptions::default();
            options.set("structure.learner", args.structure.as_deref().unwrap_or("levels").into())?;
            options.set("seed", seed.into())?;
            let learned = Learning::with_options(options).memory(memory).run(Source::Rows(rows), &Unwarned(printer))?;
            let log_likelihood = learned.log_likelihood;
            let model = learned.file.into_latent_tree()?;
            Ok(Fitted { model: WordModel::Tree(Box::new(model)), log_likelihood, warnings: learned.warnings })
        }
        TopicModelName::SingleTopic | TopicModelName::Lda => {
            let is_lda = args.model == TopicModelName::Lda;
            let n_words = rows.schema().columns().len();
            if n_topics > n_words {
                let problem =
                    format!("{n_topics} topics need as many words, there are {n_words}; ask for fewer, or use --model hierarchy");
                return Err(Error::option("--topics", problem));
            }
            let family = if is_lda { MixtureFamily::Lda } else { MixtureFamily::SingleTopic };
            let mut options = MixtureOptions::new(NumberOfComponents::Fixed(n_topics)).family(family).em(!is_lda).seed(seed);
            options.alpha = args.alpha.as_deref().map(str::parse).transpose()?;
            let fit = fit_mixture(rows, &options, printer)?;
            let model = match fit.model {
                MixtureModel::Star(model) => WordModel::Star(Box::new(model)),
                MixtureModel::Topics(model) => WordModel::Other(Box::new(OtherModel::Topics(model))),
                _ => unreachable!("all kinds of models are known"),
            };
            Ok(Fitted { model, log_likelihood: Some(fit.log_likelihood), warnings: fit.warnings })
        }
        TopicModelName::Hierarchy => {
            let mut options = ClusterOptions::new(Extent::Leaves(n_topics)).seed(seed).em(true);
            options.method = SplitMethod::Model;
            options.family = Some(MixtureFamily::SingleTopic);
            let fit = fit_clusters(rows, &options, printer)?;
            let model = WordModel::Other(Box::new(OtherModel::Clusters(fit.model)));
            Ok(Fitted { model, log_likelihood: None, warnings: fit.warnings })
        }
    }
}

/// Writes the model with where its rows come from.
fn write(model: &WordModel, rows: &CachedRows<Reader>, reading: &DataArgs, args: &TopicsArgs) -> Result<()> {
    let path = args.output.as_path();
    let (digest, read) = rows.of_source(|reader| (reader.digest(), serde_json::to_value(reading).ok()));
    let with_data = |provenance: &Provenance| {
        let known = Provenance { data_digest: digest.clone(), read: read.clone(), ..provenance.clone() };
        known.option(TOPICS_OPTION, args.model.name())
    };
    match model {
        WordModel::Tree(model) | WordModel::Star(model) => {
            let provenance = with_data(model.provenance());
            ModelFile::from((**model).clone().with_provenance(provenance)).write(path)
        }
        WordModel::Other(other) => match (**other).clone() {
            OtherModel::Topics(model) => {
                let provenance = with_data(model.provenance());
                OtherModel::Topics(model.with_provenance(provenance)).write(path)
            }
            OtherModel::Clusters(model) => {
                let provenance = with_data(model.provenance());
                OtherModel::Clusters(model.with_provenance(provenance)).write(path)
            }
            other => other.write(path),
        },
    }
}

/// The share of every topic in every document, document by document: its probability, or 1 for a cluster and those around it.
fn document_shares(
    model: &WordModel,
    topics: &TopicTable,
    rows: &CachedRows<Reader>,
    seed: u64,
    printer: &Printer,
) -> Result<Vec<f64>> {
    let mut shares = Vec::new();
    let mut source = rows.open()?;
    printer.stage("documents", rows.n_rows_hint());
    let inference = match model {
        WordModel::Tree(model) => {
            let nodes: Vec<NodeIx> = topics.topics().iter().filter_map(|topic| topic.node).collect();
            Some((model, Inference::new(model), nodes))
        }
        WordModel::Star(model) => Some((model, Inference::new(model), vec![model.rooted().roots[0]])),
        WordModel::Other(_) => None,
    };
    let is_tree = matches!(model, WordModel::Tree(_));
    while let Some(batch) = source.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled);
        }
        match (model, &inference) {
            (_, Some((model, inference, nodes))) => {
                let posterior = inference.posterior(&batch, nodes)?;
                let widths: Vec<usize> = nodes.iter().map(|&node| model.n_states(node).unwrap_or(1)).collect();
                for row in 0..batch.n_rows {
                    let values = posterior.row(row);
                    if is_tree {
                        let mut at = 0;
                        for (topic, width) in topics.topics().iter().zip(&widths) {
                            let share: f64 = topic.states.iter().map(|state| values[at + state]).sum();
                            shares.push(share.min(1.0));
                            at += width;
                        }
                    } else {
                        shares.extend_from_slice(values);
                    }
                }
            }
            (WordModel::Other(other), None) => match &**other {
                OtherModel::Topics(model) => shares.extend(model.shares(&batch, seed)),
                OtherModel::Clusters(model) => {
                    for leaf in model.assign(&batch) {
                        let leaf = &model.nodes()[leaf].name;
                        let is_around =
                            |name: &str| leaf == name || leaf.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
                        shares.extend(topics.topics().iter().map(|topic| f64::from(u8::from(is_around(&topic.name)))));
                    }
                }
                _ => unreachable!("all kinds of models are known"),
            },
            _ => unreachable!("a tree has its inference"),
        }
    }
    Ok(shares)
}

/// The mean share of every topic.
fn mean_shares(shares: &[f64], n_topics: usize) -> Vec<f64> {
    let mut means = vec![0.0; n_topics];
    let n_documents = (shares.len() / n_topics.max(1)).max(1) as f64;
    for own in shares.chunks_exact(n_topics.max(1)) {
        means.iter_mut().zip(own).for_each(|(mean, share)| *mean += share / n_documents);
    }
    means
}

/// Writes a line for each document: its name, its date, its most probable topic, and the shares of all. In a tree, a document may
/// have no topic; returns how many have none.
fn write_documents(path: &Path, args: &TopicsArgs, names: &DocumentNames, topics: &TopicTable, shares: &[f64]) -> Result<usize> {
    let n_topics = topics.topics().len().max(1);
    // The finest of equal ones: clusters contain each other.
    let best = |shares: &[f64]| (0..shares.len()).fold(0, |best, at| if shares[at] >= shares[best] { at } else { best });
    let mut header = vec!["document"];
    header.extend(args.dates.as_deref());
    header.extend(["topic", "words"]);
    header.extend(topics.topics().iter().map(|topic| topic.name.as_str()));
    let mut seen = std::collections::HashSet::new();
    let header: Vec<String> = header
        .into_iter()
        .map(|name| {
            let mut unique = name.to_owned();
            while !seen.insert(unique.clone()) {
                unique.push('\'');
            }
            unique
        })
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut writer = ResultWriter::create(path, &header)?;
    let mut without = 0;
    for (row, shares) in shares.chunks_exact(n_topics).enumerate() {
        let best = best(shares);
        let topic = &topics.topics()[best];
        let has_topic = args.model != TopicModelName::Tree || shares[best] >= 0.5;
        without += usize::from(!has_topic);
        let name = if names.is_empty() { (row + 1).to_string() } else { names.name(row) };
        let words = topic.words.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
        let mut values = vec![Value::Text(&name)];
        if args.dates.is_some() {
            values.push(names.kept(row, 0).map_or(Value::Missing, Value::Text));
        }
        let text = |text| if has_topic { Value::Text(text) } else { Value::Missing };
        values.extend([text(&topic.name), text(&words)]);
        values.extend(shares.iter().map(|&share| Value::Number(share)));
        writer.write_row(&values)?;
    }
    writer.finish()?;
    Ok(without)
}
