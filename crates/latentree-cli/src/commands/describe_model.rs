//! `describe MODEL [DATA]`: summarises a model and its fit.

use std::io::{self, Write};

use latentree::data::{CachedRows, WeightedRows};
use latentree::format::ModelFile;
use latentree::model::LatentTree;
use latentree::report::{Goodness, GoodnessOptions, Groups, HiddenVariable, find_node, goodness};
use latentree::support::{STRONG, WEAK};
use latentree::{Error, Result};

use super::groups::clean;
use super::{LITTLE_MEMORY, note_unseen, open_model_and_data, open_model_file, refuse_reading, weight_kind};
use crate::Failure;
use crate::args::{DescribeArgs, ModelArgs};
use crate::printer::{Printer, in_full, number, shown, table};

/// Number of variables in the profile of a hidden variable.
const PROFILE: usize = 6;
/// Default number of edges and pairs to list.
const LISTED: usize = 10;

pub(crate) fn run(args: &DescribeArgs, printer: &Printer) -> Result<(), Failure> {
    let most = if args.top == 0 { usize::MAX } else { args.top };
    let options = GoodnessOptions { profile_variables: PROFILE, pairs: most.min(1000) };
    let (model, found, unseen) = match &args.rows {
        None => {
            refuse_reading(&args.reading, "it controls how data are read, but the input is a model")?;
            let model = match open_model_file(&args.data, &[], None)? {
                ModelFile::Spectral(model) => return super::spectral::describe(args, &model, printer),
                other => other.into_latent_tree().map_err(|error| error.in_file(&args.data))?,
            };
            let found = goodness(&model, None, options, printer)?;
            (model, found, None)
        }
        Some(rows) => {
            let model = ModelArgs { model: args.data.clone(), hidden: Vec::new() };
            let (model, reader) = open_model_and_data(&model, rows, &args.reading, printer)?;
            let kept = CachedRows::new(reader, LITTLE_MEMORY);
            let weighted = WeightedRows::new(&kept, weight_kind(&args.reading)?).map_err(|error| error.in_file(rows))?;
            let found = goodness(&model, Some(&weighted), options, printer).map_err(|error| error.in_file(rows))?;
            let unseen = kept.of_source(|reader| note_unseen(reader, printer));
            (model, found, Some(unseen))
        }
    };
    let mut json = serde_json::to_value(&found).unwrap_or_default();
    json["unseen"] = serde_json::json!(unseen);
    let groups = Groups::of(&model);
    json["groups"] = groups.to_json(&model);
    if let Some(of) = &args.of {
        return show_group(&model, &groups, of, &found, printer);
    }
    printer.result(&json, |out| {
        write_fit(out, &found)?;
        super::groups::write(out, &model, &groups, Some(&args.data))?;
        write(out, &found, most)
    })?;
    Ok(())
}

/// `--of NAME`: a group, its variables and the finer groups inside it; or a hidden variable or variable inside a group.
fn show_group(model: &LatentTree, groups: &Groups, of: &str, found: &Goodness, printer: &Printer) -> Result<(), Failure> {
    let named = groups.all().iter().find(|group| group.name == of || group.label == of);
    let (group, asked) = match named {
        Some(group) => (group, group.name.clone()),
        None => {
            let node = find_node(model, of)?;
            let problem = || Error::query(format!("{of:?} is in no group of variables"));
            (groups.around(node).ok_or_else(problem)?, model.tree().name(node).to_owned())
        }
    };
    let hidden = found.hidden_variables.iter().find(|hidden| hidden.name == asked);
    let is_inside_only = asked != group.name;
    let is_inside = |it: &serde_json::Value| it["name"] == group.name.as_str() || it["parent"] == group.name.as_str();
    let all = groups.to_json(model);
    let inside: Vec<&serde_json::Value> =
        all.as_array().map_or(&[][..], Vec::as_slice).iter().filter(|it| is_inside(it)).collect();
    printer.result(
        &serde_json::json!({"groups": inside, "hidden_variables": hidden.map_or_else(Vec::new, |it| vec![it])}),
        |out| {
            if is_inside_only {
                let label = if group.label == group.name { String::new() } else { format!("{} ", shown(&group.label)) };
                writeln!(out, "{} is in the group {label}({}) and has none of its own", shown(&asked), shown(&group.name))?;
            } else {
                writeln!(out, "{}", groups.to_text(model, Some(group)).trim_end())?;
            }
            hidden.map_or(Ok(()), |hidden| write_profile(out, hidden))
        },
    )?;
    Ok(())
}

fn write_fit(out: &mut dyn Write, found: &Goodness) -> io::Result<()> {
    writeln!(out, "observed variables   {}", found.observed)?;
    writeln!(out, "hidden variables     {}", found.hidden)?;
    if found.trees > 1 {
        writeln!(out, "trees                {}", found.trees)?;
    }
    writeln!(out, "free parameters      {}", found.free_parameters)?;
    if let Some(fit) = &found.fit {
        let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
        let total = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), in_full);
        writeln!(out, "rows                 {}", fit.rows)?;
        writeln!(out, "log-likelihood       {}", total(fit.log_likelihood))?;
        writeln!(out, "  per row            {}", value(fit.mean_log_likelihood))?;
        writeln!(out, "BIC (larger better)  {}", total(fit.bic))?;
        writeln!(out, "AIC (larger better)  {}", total(fit.aic))?;
    }
    let supports: Vec<f64> = found.edges.iter().filter_map(|edge| edge.support).collect();
    if !supports.is_empty() {
        let count = |is: &dyn Fn(&f64) -> bool| supports.iter().filter(|support| is(support)).count();
        let (strong, weak) = (count(&|support| *support >= STRONG), count(&|support| *support < WEAK));
        writeln!(out, "splits               {strong} strong (>= 95%), {weak} weak (< 50%), of {}", supports.len())?;
    }
    Ok(())
}

fn write(out: &mut dyn Write, found: &Goodness, most: usize) -> io::Result<()> {
    let told = found.edges.iter().filter_map(|edge| Some((edge, edge.mutual_information?)));
    let edges = told
        .take(most.min(LISTED))
        .map(|(edge, information)| vec![shown(&edge.source), shown(&edge.target), number(information)]);
    let edges: Vec<Vec<String>> = edges.collect();
    if !edges.is_empty() {
        writeln!(out, "\nstrongest edges, by mutual information in nats\n{}", table(&["from", "to", "nats"], edges, 2))?;
    }
    write_pairs(out, found, most)?;
    for hidden in found.hidden_variables.iter().take(most) {
        write_profile(out, hidden)?;
    }
    if found.hidden_variables.len() > most {
        writeln!(out, "\n… and {} more hidden variables (--top 0 lists all)", found.hidden_variables.len() - most)?;
    }
    Ok(())
}

/// Lists the badly explained pairs, with their values in the data and in the model.
fn write_pairs(out: &mut dyn Write, found: &Goodness, most: usize) -> io::Result<()> {
    if !found.poor_pairs.is_empty() {
        let listed = most.min(LISTED).min(found.poor_pairs.len());
        writeln!(out, "\npairs that the model explains badly, worst first; answers that depend on them may be off")?;
        for pair in &found.poor_pairs[..listed] {
            writeln!(out, "  {} ({:.0} standard errors)", clean(&pair.text()), pair.z.abs())?;
        }
        if listed < found.poor_pairs.len() {
            writeln!(out, "  … and {} more (--json lists all)", found.poor_pairs.len() - listed)?;
        }
    }
    if !found.unexplained_pairs.is_empty() {
        let pairs = found.unexplained_pairs.iter().take(most.min(LISTED)).map(|pair| {
            vec![
                shown(&pair.first),
                shown(&pair.second),
                number(pair.nats),
                number(pair.information),
                number(pair.model_information),
            ]
        });
        let header = ["variable", "variable", "nats", "information in data", "in model"];
        writeln!(
            out,
            "\npairs that a table of the two alone would fit better, those most worth their parameters first; nats over all rows\n{}",
            table(&header, pairs.collect(), 2)
        )?;
    }
    Ok(())
}

/// A column per state: probabilities of all labels but the first, or means.
fn write_profile(out: &mut dyn Write, hidden: &HiddenVariable) -> io::Result<()> {
    let Some(entropy) = hidden.entropy else { return Ok(()) };
    writeln!(out, "\n{}: entropy {} nats", shown(&hidden.name), number(entropy))?;
    let mut rows = vec![row("probability", &hidden.probabilities)];
    for variable in &hidden.profile {
        if variable.labels.is_empty() {
            let means: Vec<f64> = variable.by_state.iter().map(|value| value[0]).collect();
            rows.push(row(&format!("mean {}", shown(&variable.name)), &means));
        }
        for (code, label) in variable.labels.iter().enumerate().skip(1) {
            let shares: Vec<f64> = variable.by_state.iter().map(|value| value[code]).collect();
            rows.push(row(&format!("{} = {}", shown(&variable.name), shown(label)), &shares));
        }
    }
    let header: Vec<&str> = std::iter::once("state").chain(hidden.states.iter().map(String::as_str)).collect();
    writeln!(out, "{}", table(&header, rows, 1))
}

fn row(name: &str, values: &[f64]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(values.iter().map(|value| format!("{value:.3}"))).collect()
}
