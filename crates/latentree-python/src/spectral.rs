//! Queries to a spectral model, which answers about its columns.

use latentree::data::{Block, Dataset};
use latentree::spectral::{Evaluator, SpectralAnswer, SpectralModel};
use latentree::{Error, Observer as _, Result};

use crate::worker::Progress;

/// Log-probability of every row.
pub(crate) fn score_samples(model: &SpectralModel, table: &Dataset, progress: &Progress) -> Result<Vec<f64>> {
    let evaluator = Evaluator::new(model);
    evaluator.check_schema(table.schema())?;
    progress.stage("infer", Some(table.n_rows()));
    let mut values = Vec::new();
    for batch in table.batches() {
        progress.check()?;
        values.extend(evaluator.log_likelihood(batch)?.values);
        progress.progress(values.len() as u64);
    }
    Ok(values)
}

/// Codes of all columns, row by row, with missing cells filled by the most probable label.
pub(crate) fn impute(model: &SpectralModel, table: &Dataset, method: &str, progress: &Progress) -> Result<Vec<f64>> {
    if method != "mode" {
        let problem =
            format!("{method:?} needs hidden states, and a spectral model has none; use mode, or parameters=\"moments+em\"");
        return Err(Error::option("impute.method", problem));
    }
    let evaluator = Evaluator::new(model);
    evaluator.check_schema(table.schema())?;
    let mut values = Vec::new();
    for batch in table.batches() {
        progress.check()?;
        let filled = evaluator.impute(batch)?.batch;
        let Block::Dense(columns) = &filled.block else { unreachable!("filled rows are dense") };
        (0..filled.n_rows).for_each(|row| values.extend(columns.iter().map(|column| column.number(row))));
    }
    Ok(values)
}

fn variable(model: &SpectralModel, name: &str) -> Result<usize> {
    model.schema().find_variable(name).map(|variable| variable.get()).ok_or_else(|| match model.tree().find(name) {
        Some(_) => Error::query(format!(
            "{name:?} is a hidden node, and a spectral model answers about its columns; learn with parameters=\"moments+em\""
        )),
        None => Error::query(format!("the model has no node {name:?}")),
    })
}

/// The answer about some columns, each by itself or all together.
pub(crate) fn query(model: &SpectralModel, given: &[(String, String)], of: &[String], joint: bool) -> Result<SpectralAnswer> {
    let mut evidence = vec![None; model.schema().variables().len()];
    for (name, value) in given {
        let at = variable(model, name)?;
        let kind = model.schema().scalar_kind(latentree::VarIx::new(at));
        let labels = kind.and_then(|kind| kind.labels()).unwrap_or_default();
        let label = labels.iter().position(|label| label == value);
        evidence[at] = Some(label.ok_or_else(|| Error::query(format!("{value:?} is not a label of {name:?}")))?);
    }
    let of = of.iter().map(|name| variable(model, name)).collect::<Result<Vec<_>>>()?;
    let evaluator = Evaluator::new(model);
    if joint { evaluator.joint(&evidence, &of) } else { evaluator.query(&evidence, &of) }
}
