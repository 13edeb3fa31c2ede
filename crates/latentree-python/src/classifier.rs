//! Files of classifiers: those of the command line.

use std::path::PathBuf;

use latentree::classifier::Classifier;
use pyo3::prelude::*;

use crate::error::{guarded, to_python};
use crate::model::Model;

/// Writes a classifier: a model and a prior for each label of a target.
#[pyfunction]
pub(crate) fn write_classifier(
    path: PathBuf,
    target: String,
    labels: Vec<String>,
    priors: Vec<f64>,
    models: Vec<Py<Model>>,
) -> PyResult<()> {
    guarded(|| {
        let models = models.iter().map(|model| model.get().file().clone()).collect();
        let classifier = Classifier::new(target, labels, priors, models).map_err(to_python)?;
        classifier.write(&path).map_err(to_python)
    })
}

/// Target, labels, priors and models.
type Parts = (String, Vec<String>, Vec<f64>, Vec<Model>);

/// What a classifier's file holds.
#[pyfunction]
pub(crate) fn read_classifier(path: PathBuf) -> PyResult<Parts> {
    guarded(|| {
        let classifier = Classifier::read(&path).map_err(to_python)?;
        let models = classifier.models().iter().map(|model| Model::new(model.clone())).collect();
        Ok((classifier.target().to_owned(), classifier.labels().to_vec(), classifier.priors().to_vec(), models))
    })
}
