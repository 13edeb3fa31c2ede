//! `learn DATA --target COLUMN -o C.json` and `classify C.json DATA -o OUT.csv`: a model for each label, and the labels of rows.

use std::path::Path;
use std::sync::Arc;

use latentree::classifier::{Classifier, FoldResult, Results, best, without_column};
use latentree::data::{BatchSource, Dataset, Value};
use latentree::format::Format;
use latentree::learn::Learning;
use latentree::{ColIx, Error, Observer, Result, counted};
use serde_json::{Value as Json, json};

use super::files::Files;
use super::names::assignments;
use super::row_table::{RowTable, carrying};
use super::{note_unseen, open_data};
use crate::Failure;
use crate::args::{ClassifyArgs, LearnArgs};
use crate::printer::{Printer, shown, table};

/// Options of `learn` that are not for classifiers.
fn check(args: &LearnArgs) -> Result<&Path> {
    let refused = [
        ("--distances", args.distances.is_some(), "a classifier is learned from data"),
        ("--from", args.from.is_some(), "it repeats the run of one model"),
        ("--candidates", args.candidates, "they are those of one model"),
        ("--checkpoint", args.checkpoint.is_some(), "it keeps the fits of one model"),
        ("--bootstrap", args.options.get("structure.bootstrap").is_some(), "it measures the splits of one tree"),
        ("--report", args.report.is_some(), "write the page of a single model"),
    ];
    if let Some((option, _, problem)) = refused.iter().find(|it| it.1) {
        return Err(Error::option(*option, format!("{problem}; leave it out, or leave out --target")));
    }
    args.data.as_deref().ok_or_else(|| Error::option("--target", "pass DATA"))
}

pub(super) fn learn(args: &LearnArgs, target: &str, learning: Learning, printer: &Printer) -> Result<(), Failure> {
    let path = check(args)?;
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    Files::new()
        .data("DATA", path)
        .input_if("--tree", args.tree.as_deref())
        .reading(&args.reading)
        .output("-o", output)
        .check()?;
    if Format::of_path(output)? != Format::Json {
        return Err(Error::option("-o", "a classifier is a JSON file; use the ending .json").into());
    }
    let mut reader = open_data(path, &args.reading, printer)?;
    let rows = Dataset::read(&mut reader)?;
    let unseen = note_unseen(&reader, printer);
    let learning = match &args.tree {
        Some(file) => learning.tree(Some(super::simulate::read_tree(file, &[])?)),
        None => learning,
    };
    let folds = match args.folds {
        None => Vec::new(),
        Some(folds) => {
            Classifier::cross_validate(&rows, target, folds, &learning, printer).map_err(|error| error.in_file(path))?
        }
    };
    let learned = Classifier::learn(&rows, target, &learning, printer).map_err(|error| error.in_file(path))?;
    if learned.dropped > 0 {
        let (have, were) = if learned.dropped == 1 { ("has", "was") } else { ("have", "were") };
        printer.note(&format!("{} {have} no label in {target:?} and {were} dropped", counted(learned.dropped, "row")));
    }
    let classifier = &learned.classifier;
    let training = classifier.evaluate(&rows, None)?;
    classifier.write(output)?;
    let warnings: Vec<String> = (classifier.labels().iter().zip(&learned.learned))
        .flat_map(|(label, learned)| learned.warnings.iter().map(move |warning| format!("label {label:?}: {warning}")))
        .collect();
    let models = classifier.labels().iter().zip(&learned.learned).zip(&learned.rows).map(|((label, learned), rows)| {
        json!({"label": label, "rows": rows, "hidden": learned.tree().n_hidden(), "log_likelihood": learned.log_likelihood,
               "clipped_rows": learned.clipped_rows})
    });
    let mut json = json!({
        "rows": learned.rows.iter().sum::<u64>(),
        "dropped_rows": learned.dropped,
        "target": target,
        "labels": classifier.labels(),
        "priors": classifier.priors(),
        "models": models.collect::<Vec<_>>(),
        "training": results_json(&training),
        "folds": folds.iter().map(|fold| results_json(&fold.results)).collect::<Vec<_>>(),
        "warnings": warnings,
        "unseen": unseen,
    });
    let whole = total(&folds, classifier.labels());
    if let Some(whole) = &whole {
        json["accuracy"] = json!(whole.accuracy());
        json["confusion"] = json!(whole.confusion);
    }
    if super::is_stream(output) {
        return Ok(());
    }
    printer.result(&json, |out| {
        writeln!(out, "rows                 {}", learned.rows.iter().sum::<u64>())?;
        writeln!(
            out,
            "labels of {}: {}",
            shown(target),
            classifier.labels().iter().map(|it| shown(it)).collect::<Vec<_>>().join(", ")
        )?;
        writeln!(out, "accuracy, training   {:.4}", training.accuracy())?;
        if let Some(whole) = &whole {
            let each: Vec<String> = folds.iter().map(|fold| format!("{:.3}", fold.results.accuracy())).collect();
            writeln!(out, "accuracy, {} folds    {:.4} ({})", folds.len(), whole.accuracy(), each.join(", "))?;
        }
        writeln!(out, "written              {}", output.display())?;
        let shown_results = whole.as_ref().unwrap_or(&training);
        let of = if whole.is_some() { "held-out rows, all folds" } else { "training rows" };
        writeln!(out, "\nrows of each label (down) that were given each label (across); {of}")?;
        write_confusion(out, classifier.labels(), shown_results)
    })?;
    Ok(())
}

/// All folds together, by the labels of a classifier of all rows.
fn total(folds: &[FoldResult], labels: &[String]) -> Option<Results> {
    let place = |label: &String| labels.iter().position(|it| it == label);
    let mut all = Results { confusion: vec![vec![0; labels.len()]; labels.len()] };
    for fold in folds {
        for (truth, row) in fold.labels.iter().zip(&fold.results.confusion) {
            for (found, count) in fold.labels.iter().zip(row) {
                if let (Some(truth), Some(found)) = (place(truth), place(found)) {
                    all.confusion[truth][found] += count;
                }
            }
        }
    }
    (!folds.is_empty()).then_some(all)
}

fn results_json(results: &Results) -> Json {
    let accuracy = results.accuracy();
    json!({"rows": results.rows(), "accuracy": accuracy.is_finite().then_some(accuracy), "confusion": results.confusion})
}

fn write_confusion(out: &mut dyn std::io::Write, labels: &[String], results: &Results) -> std::io::Result<()> {
    let names: Vec<String> = labels.iter().map(|label| shown(label)).collect();
    let header: Vec<&str> = std::iter::once("").chain(names.iter().map(String::as_str)).collect();
    let rows = results
        .confusion
        .iter()
        .zip(&names)
        .map(|(row, name)| std::iter::once(name.clone()).chain(row.iter().map(u64::to_string)).collect::<Vec<_>>());
    writeln!(out, "{}", table(&header, rows.collect(), 1))
}

/// The priors of `--prior`.
fn priors(text: Option<&str>, classifier: &Classifier) -> Result<Vec<f64>> {
    let labels = classifier.labels();
    match text {
        None | Some("train") => Ok(classifier.priors().to_vec()),
        Some("uniform") => Ok(vec![1.0 / labels.len() as f64; labels.len()]),
        Some(text) => {
            let unknown = |part: &str| {
                let known: Vec<String> = labels.iter().map(|label| format!("{label:?}")).collect();
                let known = known.join(", ");
                let problem = format!("{part:?} is not train, uniform or LABEL=PROBABILITY; the labels are {known}");
                Error::option("--prior", problem)
            };
            let is_label = |name: &str| labels.iter().any(|label| label == name);
            let mut priors = vec![None; labels.len()];
            for (label, value) in assignments(text, &is_label, &|_| false).map_err(|_| unknown(text))? {
                let parsed = labels.iter().position(|it| *it == label).zip(value.parse::<f64>().ok());
                let (ix, value) = parsed.ok_or_else(|| unknown(&format!("{label}={value}")))?;
                if priors[ix].replace(value).is_some() {
                    return Err(Error::option("--prior", format!("label {label:?} is given twice; give each label once")));
                }
            }
            let missing: Vec<usize> = (0..labels.len()).filter(|&ix| priors[ix].is_none()).collect();
            let given: f64 = priors.iter().flatten().sum();
            if let [rest] = missing[..] {
                priors[rest] = Some(1.0 - given);
            } else if let Some(&first) = missing.first() {
                return Err(Error::option(
                    "--prior",
                    format!("label {:?} has no prior; all labels but one need one", labels[first]),
                ));
            }
            let priors: Vec<f64> = priors.into_iter().flatten().collect();
            if priors.iter().all(|p| (0.0..=1.0).contains(p)) && (priors.iter().sum::<f64>() - 1.0).abs() < 1e-6 {
                return Ok(priors);
            }
            Err(Error::option("--prior", format!("{text:?}: probabilities must be from 0 to 1 and sum to 1")))
        }
    }
}

pub(crate) fn run(args: &ClassifyArgs, printer: &Printer) -> Result<(), Failure> {
    Files::new()
        .input("CLASSIFIER", &args.classifier)
        .data("DATA", &args.data)
        .reading(&args.reading)
        .output("-o", &args.output)
        .check()?;
    let classifier = Classifier::read(&args.classifier)?;
    let priors = priors(args.prior.as_deref(), &classifier)?;
    let labels = classifier.labels();
    let schema = Arc::new(classifier.schema_with_target()?);
    let target = ColIx::new(schema.columns().len() - 1);
    let options = carrying(&args.reading, false, false)?.schema(Arc::clone(&schema));
    let mut reader = latentree::data::open(&args.data, &options)?;
    reader.warnings().iter().for_each(|warning| printer.note(warning));
    let absent: Vec<&str> =
        reader.absent_columns().iter().filter(|&&it| it != target).map(|&it| schema.column(it).name.as_str()).collect();
    if absent.len() + 1 == schema.columns().len() {
        let problem = "it has none of the classifier's columns; use data with the columns that it was learned from";
        return Err(Error::data(latentree::Place::file(&args.data), problem).into());
    }
    if !absent.is_empty() {
        let names = absent.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        let (are, count) = if absent.len() == 1 { ("is", "counts") } else { ("are", "count") };
        let columns = counted(absent.len(), "column");
        printer.note(&format!("{columns} of the classifier {are} not in the data and {count} as missing: {names}"));
    }
    let classifying = classifier.classifying(Some(&priors))?;
    let columns: Vec<String> =
        std::iter::once("label".to_owned()).chain(labels.iter().map(|label| format!("p({label})"))).collect();
    let mut out = RowTable::create(&args.output, &reader, &args.reading, &columns)?;
    let mut results = Results { confusion: vec![vec![0; labels.len()]; labels.len()] };
    let mut rows = 0;
    printer.stage("classify", reader.n_rows_hint());
    while let Some(batch) = reader.next_batch()? {
        if printer.cancelled() {
            return Err(Error::Cancelled.into());
        }
        let chances = classifying.probabilities(&without_column(&batch, target))?;
        for (row, chances) in chances.chunks_exact(labels.len()).enumerate() {
            let found = best(chances);
            let truth = batch.number(row, target);
            if !truth.is_nan() {
                results.confusion[truth as usize][found] += 1;
            }
            let values = std::iter::once(Value::Text(&labels[found])).chain(chances.iter().map(|&p| Value::Number(p)));
            out.write(row, batch.first_row + row as u64, reader.carried(), values)?;
        }
        rows += batch.n_rows as u64;
        printer.progress(rows);
    }
    out.finish()?;
    let unseen = note_unseen(&reader, printer);
    if super::is_stream(&args.output) {
        return Ok(());
    }
    let mut json = json!({"rows": rows, "target": classifier.target(), "labels": labels, "priors": priors, "unseen": unseen});
    if results.rows() > 0 {
        json["labelled_rows"] = json!(results.rows());
        json["accuracy"] = json!(results.accuracy());
        json["confusion"] = json!(results.confusion);
    }
    printer.result(&json, |out| {
        writeln!(out, "labels of {} written to {}", counted(rows, "row"), args.output.display())?;
        if results.rows() > 0 {
            let rows = counted(results.rows(), "row");
            writeln!(out, "accuracy  {:.4} of {rows} with a label", results.accuracy())?;
            writeln!(out, "\nrows of each label (down) that were given each label (across)")?;
            write_confusion(out, labels, &results)?;
        }
        Ok(())
    })?;
    Ok(())
}
