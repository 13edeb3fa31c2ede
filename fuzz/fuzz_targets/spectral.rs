//! A spectral model or a classifier from a stranger: an error, or a model that is the same after writing and reading, and whose
//! answers are distributions.
//!
//! Inputs that begin with `+` are classifiers.
#![no_main]

use latentree::classifier::Classifier;
use latentree::data::{Batch, Block, ColumnData};
use latentree::format::ModelFile;
use latentree::spectral::Evaluator;
use libfuzzer_sys::fuzz_target;

/// Two rows, the first label of every column and a missing cell.
fn rows(model: &ModelFile) -> Option<Batch> {
    let ModelFile::Spectral(model) = model else { return None };
    let column = |kind| {
        let mut column = ColumnData::for_kind(kind, 2);
        column.push_code(Some(0));
        column.push_code(None);
        column
    };
    let columns = model.schema().columns().iter().map(|it| column(&it.kind)).collect();
    Some(Batch { first_row: 0, n_rows: 2, block: Block::Dense(columns), weights: None })
}

fn is_distribution(values: &[f64]) {
    let sum: f64 = values.iter().sum();
    assert!((sum - 1.0).abs() < 1e-6 && values.iter().all(|it| *it >= 0.0), "{values:?}");
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(text) = bytes.strip_prefix(b"+") {
        let Ok(classifier) = Classifier::read_from(text) else { return };
        let again = Classifier::read_from(classifier.to_json_string().expect("it can be written").as_bytes());
        assert_eq!(again.expect("what is written can be read"), classifier);
        if let (Some(batch), Ok(classifying)) = (rows(&classifier.models()[0]), classifier.classifying(None)) {
            let chances = classifying.probabilities(&batch).expect("the rows fit the models");
            chances.chunks_exact(classifier.labels().len()).for_each(is_distribution);
        }
        return;
    }
    let Ok(file) = ModelFile::read_from(bytes) else { return };
    let Some(batch) = rows(&file) else { return };
    let again = ModelFile::read_from(file.to_json_string().as_bytes()).expect("what is written can be read");
    assert_eq!(file, again);
    let ModelFile::Spectral(model) = &file else { return };
    let evaluator = Evaluator::new(model);
    let scores = evaluator.log_likelihood(&batch).expect("the rows fit the model");
    assert!(scores.values.iter().all(|value| value.is_finite()), "{scores:?}");
    let mut given = vec![None; model.schema().variables().len()];
    let all: Vec<usize> = (0..given.len()).collect();
    if let Some(first) = given.first_mut() {
        *first = Some(0);
    }
    let answer = evaluator.query(&given, &all).expect("the evidence fits the model");
    answer.distributions.iter().for_each(|values| is_distribution(values));
    let _ = evaluator.impute(&batch).expect("the rows fit the model");
});
