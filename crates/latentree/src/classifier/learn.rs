//! Learns a classifier from rows.

use std::sync::Arc;

use super::{Classifier, without_column};
use crate::data::{Dataset, Kind, Schema, select_rows};
use crate::error::{Error, Place, Result, Shortened};
use crate::index::ColIx;
use crate::learn::{Learned, Learning, Source};
use crate::observer::Observer;

/// A learned classifier.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LearnedClassifier {
    /// The classifier.
    pub classifier: Classifier,
    /// The learned model of each label.
    pub learned: Vec<Learned>,
    /// Number of rows with each label.
    pub rows: Vec<u64>,
    /// Number of rows without a label, which were not used.
    pub dropped: u64,
}

/// Forwards everything, and prefixes warnings with the label they concern.
struct OfLabel<'a> {
    label: &'a str,
    observer: &'a dyn Observer,
}

impl Observer for OfLabel<'_> {
    fn stage(&self, name: &str, total: Option<u64>) {
        self.observer.stage(name, total);
    }

    fn progress(&self, done: u64) {
        self.observer.progress(done);
    }

    fn step(&self, name: &str) {
        self.observer.step(name);
    }

    fn warn(&self, message: &str) {
        self.observer.warn(&format!("label {:?}: {message}", Shortened(self.label)));
    }

    fn cancelled(&self) -> bool {
        self.observer.cancelled()
    }

    fn stop_early(&self) -> bool {
        self.observer.stop_early()
    }

    fn model_found(&self) {
        self.observer.model_found();
    }
}

/// The rows of each label, without the target.
pub(super) struct Split {
    pub(super) labels: Vec<String>,
    pub(super) rows: Vec<Dataset>,
    pub(super) weights: Vec<f64>,
    pub(super) dropped: u64,
}

/// The target's column.
pub(super) fn target_column(schema: &Schema, target: &str) -> Result<ColIx> {
    let name = Shortened(target);
    let column = schema
        .find_column(target)
        .ok_or_else(|| Error::option("learn.target", format!("there is no column {name:?} in the data")))?;
    if schema.variable(schema.variable_of(column)).is_group {
        return Err(Error::option("learn.target", format!("{name:?} is a member of a group")));
    }
    match &schema.column(column).kind {
        Kind::Binary { .. } | Kind::Categorical { .. } => Ok(column),
        kind => Err(Error::option(
            "learn.target",
            format!(
                "{name:?} is {}, and a target has labels; read it as categorical (`read.kind` {target}=categorical)",
                kind.name()
            ),
        )),
    }
}

/// For each label of the target, its index among the labels of a classifier.
pub(super) fn label_places(schema: &Schema, target: ColIx, labels: &[String]) -> Vec<Option<usize>> {
    let own = schema.column(target).kind.labels().unwrap_or_default();
    own.iter().map(|label| labels.iter().position(|it| it == label)).collect()
}

/// A schema without one of its columns.
fn without(schema: &Schema, target: ColIx) -> Result<Schema> {
    let mut builder = Schema::builder();
    for variable in schema.variables().iter().filter(|variable| variable.columns != [target]) {
        let columns: Vec<_> = variable.columns.iter().map(|&column| schema.column(column).clone()).collect();
        builder = match variable.is_group {
            true => builder.group(&variable.name, columns),
            false => builder.scalar(&variable.name, columns[0].kind.clone()),
        };
    }
    builder.codes_of(schema).build()
}

impl Split {
    /// Splits the rows for which `keep` returns true by their label.
    pub(super) fn new(rows: &Dataset, target: &str, mut keep: impl FnMut(u64) -> bool) -> Result<Self> {
        let column = target_column(rows.schema(), target)?;
        let schema = Arc::new(without(rows.schema(), column)?);
        let all = rows.schema().column(column).kind.labels().unwrap_or_default().to_vec();
        let (mut batches, mut weights, mut dropped) = (vec![Vec::new(); all.len()], vec![0.0; all.len()], 0);
        for batch in rows.batches() {
            let mut of_label: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
            for row in (0..batch.n_rows).filter(|&row| keep(batch.first_row + row as u64)) {
                let code = batch.number(row, column);
                if code.is_nan() {
                    dropped += 1;
                } else {
                    of_label[code as usize].push(row);
                    weights[code as usize] += batch.weight(row);
                }
            }
            let features = without_column(batch, column);
            for (label, rows) in of_label.into_iter().enumerate().filter(|it| !it.1.is_empty()) {
                batches[label].push(select_rows(&features, &rows, 0));
            }
        }
        let seen: Vec<usize> = (0..all.len()).filter(|&label| !batches[label].is_empty()).collect();
        if seen.len() < 2 {
            let problem = format!(
                "{:?} has {} label in the rows, and two are needed; add rows of others, or choose another column",
                Shortened(target),
                seen.len()
            );
            return Err(Error::option("learn.target", problem));
        }
        let mut batches = batches.into_iter().map(Some).collect::<Vec<_>>();
        let dataset = |&label: &usize| Dataset::new(Arc::clone(&schema), batches[label].take().unwrap_or_default());
        Ok(Self {
            labels: seen.iter().map(|&label| all[label].clone()).collect(),
            weights: seen.iter().map(|&label| weights[label]).collect(),
            rows: seen.iter().map(dataset).collect(),
            dropped,
        })
    }

    /// Learns a model for each label.
    pub(super) fn learned(self, target: &str, learning: &Learning, observer: &dyn Observer) -> Result<LearnedClassifier> {
        let total: f64 = self.weights.iter().sum();
        let mut learned = Vec::with_capacity(self.labels.len());
        for (label, rows) in self.labels.iter().zip(&self.rows) {
            let model = learning.run(Source::Rows(rows), &OfLabel { label, observer }).map_err(|error| match error {
                Error::Data { place, problem } => {
                    Error::Data { place, problem: format!("label {:?}: {problem}", Shortened(label)) }
                }
                other => other,
            })?;
            learned.push(model);
        }
        if total <= 0.0 {
            return Err(Error::data(Place::default(), "the rows have no weight"));
        }
        let priors: Vec<f64> = self.weights.iter().map(|weight| weight / total).collect();
        let models = learned.iter().map(|learned| learned.file.clone()).collect();
        let classifier = Classifier::new(target.to_owned(), self.labels, priors, models)?;
        let rows = self.rows.iter().map(Dataset::n_rows).collect();
        Ok(LearnedClassifier { classifier, learned, rows, dropped: self.dropped })
    }
}

impl Classifier {
    /// Learns a model for each label of a target column. Rows without a label are dropped.
    ///
    /// # Errors
    /// [`Error::Option`] if the target is not a column of labels or has fewer than two labels in the rows, and the same as
    /// for [`Learning::run`].
    pub fn learn(rows: &Dataset, target: &str, learning: &Learning, observer: &dyn Observer) -> Result<LearnedClassifier> {
        Split::new(rows, target, |_| true)?.learned(target, learning, observer)
    }
}
