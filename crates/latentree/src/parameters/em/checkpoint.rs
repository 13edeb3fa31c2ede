//! The state of a fit as bytes, from which it continues as if never interrupted.
//!
//! JSON: the models as model files, numbers as the bits of their doubles (a log-likelihood may be −∞, which JSON has no word for).

use serde::{Deserialize, Serialize};

use super::fit::{EmFit, Run, Stop};
use crate::error::{Error, Place, Result};
use crate::format::ModelFile;
use crate::model::LatentTree;

const FORMAT: &str = "latentree EM checkpoint";
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    version: u64,
    restart: usize,
    run: SavedRun,
    best: Option<SavedFit>,
}

#[derive(Serialize, Deserialize)]
struct SavedRun {
    model: String,
    iterations: usize,
    log_likelihood: Vec<u64>,
    objective: Vec<u64>,
    validation: Vec<u64>,
    longest: u64,
    best_model: Option<String>,
    since_best: usize,
    warnings: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct SavedFit {
    model: String,
    iterations: usize,
    log_likelihood: Vec<u64>,
    objective: Vec<u64>,
    validation: Vec<u64>,
    stop: Stop,
    restart: usize,
    warnings: Vec<String>,
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn doubles(bits: &[u64]) -> Vec<f64> {
    bits.iter().map(|&bits| f64::from_bits(bits)).collect()
}

fn invalid(problem: impl Into<String>) -> Error {
    Error::format(Place::default(), FORMAT, problem)
}

fn model(text: &str) -> Result<LatentTree> {
    ModelFile::read_from(text.as_bytes())?.into_latent_tree()
}

fn saved(fit: &EmFit) -> SavedFit {
    SavedFit {
        model: fit.model.to_json_string(),
        iterations: fit.iterations,
        log_likelihood: bits(&fit.log_likelihood),
        objective: bits(&fit.objective),
        validation: bits(&fit.validation),
        stop: fit.stop,
        restart: fit.restart,
        warnings: fit.warnings.clone(),
    }
}

impl SavedFit {
    fn fit(self) -> Result<EmFit> {
        Ok(EmFit {
            model: model(&self.model)?,
            iterations: self.iterations,
            log_likelihood: doubles(&self.log_likelihood),
            objective: doubles(&self.objective),
            validation: doubles(&self.validation),
            stop: self.stop,
            restart: self.restart,
            warnings: self.warnings,
        })
    }
}

/// A fit that has ended.
pub(super) fn write_fit(fit: &EmFit) -> Vec<u8> {
    serde_json::to_vec(&saved(fit)).expect("a fit has no keys that are not texts")
}

/// What [`write_fit`] wrote.
pub(super) fn read_fit(bytes: &[u8]) -> Result<EmFit> {
    serde_json::from_slice::<SavedFit>(bytes).map_err(|error| invalid(error.to_string()))?.fit()
}

pub(super) fn write(restart: usize, run: &Run, best: Option<&EmFit>) -> Vec<u8> {
    let file = File {
        format: FORMAT.to_owned(),
        version: VERSION,
        restart,
        run: SavedRun {
            model: run.model.to_json_string(),
            iterations: run.iterations,
            log_likelihood: bits(&run.log_likelihood),
            objective: bits(&run.objective),
            validation: bits(&run.validation),
            longest: run.longest.to_bits(),
            best_model: run.best_model.as_ref().map(|model| model.to_json_string()),
            since_best: run.since_best,
            warnings: run.warnings.clone(),
        },
        best: best.map(saved),
    };
    serde_json::to_vec(&file).expect("a checkpoint has no keys that are not texts")
}

pub(super) fn read(bytes: &[u8]) -> Result<(usize, Run, Option<EmFit>)> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
    if file.format != FORMAT {
        return Err(invalid("it is another kind of file"));
    }
    if file.version > VERSION {
        return Err(Error::Version {
            place: Box::new(Place::default()),
            format: FORMAT,
            found: file.version,
            oldest: VERSION,
            newest: VERSION,
            remedy: "go on with the version of the program that wrote it",
        });
    }
    let saved = file.run;
    let run = Run {
        model: std::sync::Arc::new(model(&saved.model)?),
        iterations: saved.iterations,
        log_likelihood: doubles(&saved.log_likelihood),
        objective: doubles(&saved.objective),
        validation: doubles(&saved.validation),
        longest: f64::from_bits(saved.longest),
        best_model: saved.best_model.as_deref().map(model).transpose()?.map(std::sync::Arc::new),
        since_best: saved.since_best,
        warnings: saved.warnings,
    };
    if run.objective.is_empty() || !run.longest.is_finite() || run.objective.len() != run.log_likelihood.len() {
        return Err(invalid("its numbers do not fit together"));
    }
    let best = file.best.map(SavedFit::fit);
    Ok((file.restart, run, best.transpose()?))
}
