//! `describe MODEL [DATA]`: summarises a model and its fit.

use std::io::{self, Write};

use latentree::Result;
use latentree::data::{CachedRows, WeightedRows};
use latentree::report::{Goodness, GoodnessOptions, HiddenVariable, goodness};

use super::{LITTLE_MEMORY, note_unseen, open_model, open_model_and_data, refuse_reading, weight_kind};
use crate::Failure;
use crate::args::{DescribeArgs, ModelArgs};
use crate::printer::{Printer, number, shown, table};

/// Variables in the profile of a hidden one.
const PROFILE: usize = 6;
/// Edges and pairs that are listed, unless more are asked for.
const LISTED: usize = 10;

pub(crate) fn run(args: &DescribeArgs, printer: &Printer) -> Result<(), Failure> {
    let most = if args.top == 0 { usize::MAX } else { args.top };
    let options = GoodnessOptions { profile_variables: PROFILE, pairs: most.min(1000) };
    let (found, unseen) = match &args.rows {
        None => {
            refuse_reading(&args.reading, "it controls how data are read, but the input is a model")?;
            (goodness(&open_model(&args.data, &[], None)?, None, options, printer)?, None)
        }
        Some(rows) => {
            let model = ModelArgs { model: args.data.clone(), hidden: Vec::new() };
            let (model, reader) = open_model_and_data(&model, rows, &args.reading, printer)?;
            let kept = CachedRows::new(reader, LITTLE_MEMORY);
            let weighted = WeightedRows::new(&kept, weight_kind(&args.reading)?).map_err(|error| error.in_file(rows))?;
            let found = goodness(&model, Some(&weighted), options, printer).map_err(|error| error.in_file(rows))?;
            (found, Some(kept.of_source(|reader| note_unseen(reader, printer))))
        }
    };
    let mut json = serde_json::to_value(&found).unwrap_or_default();
    json["unseen"] = serde_json::json!(unseen);
    printer.result(&json, |out| write(out, &found, most))?;
    Ok(())
}

fn write(out: &mut dyn Write, found: &Goodness, most: usize) -> io::Result<()> {
    writeln!(out, "observed variables   {}", found.observed)?;
    writeln!(out, "hidden variables     {}", found.hidden)?;
    writeln!(out, "free parameters      {}", found.free_parameters)?;
    if let Some(fit) = &found.fit {
        let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
        writeln!(out, "rows                 {}", fit.rows)?;
        writeln!(out, "log-likelihood       {}", value(fit.log_likelihood))?;
        writeln!(out, "  per row            {}", value(fit.mean_log_likelihood))?;
        writeln!(out, "BIC (larger better)  {}", value(fit.bic))?;
        writeln!(out, "AIC (larger better)  {}", value(fit.aic))?;
    }
    let edges = found.edges.iter().take(most.min(LISTED)).map(|edge| {
        let strength = edge.mutual_information.map_or_else(|| "–".to_owned(), number);
        vec![shown(&edge.source), shown(&edge.target), strength]
    });
    let edges: Vec<Vec<String>> = edges.collect();
    if !edges.is_empty() {
        writeln!(out, "\nstrongest edges, by mutual information in nats\n{}", table(&["from", "to", "nats"], edges, 2))?;
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
            "\npairs that the model explains worst, by possible gain in log-likelihood\n{}",
            table(&header, pairs.collect(), 2)
        )?;
    }
    for hidden in found.hidden_variables.iter().take(most) {
        write_profile(out, hidden)?;
    }
    if found.hidden_variables.len() > most {
        writeln!(out, "\n… and {} more hidden variables (--top 0 lists all)", found.hidden_variables.len() - most)?;
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
