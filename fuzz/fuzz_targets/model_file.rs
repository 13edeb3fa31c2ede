//! A model file from a stranger: an error, or a model that is the same after writing and reading.
#![no_main]

use latentree::inference::{Evidence, Inference};
use latentree::format::{Format, ModelFile, render};
use latentree::spectral::Evaluator;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = ModelFile::read_from(bytes) else { return };
    let text = file.to_json_string();
    let again = ModelFile::read_from(text.as_bytes()).expect("what is written can be read");
    assert_eq!(file, again);
    assert_eq!(text, again.to_json_string());
    for format in Format::ALL {
        let _ = render(&file, format);
    }
    if let ModelFile::Spectral(model) = &file {
        // Whatever the operators are, answers are distributions.
        let nothing = vec![None; model.schema().variables().len()];
        let all: Vec<usize> = (0..nothing.len()).collect();
        let answer = Evaluator::new(model).query(&nothing, &all).expect("the evidence fits the model");
        for values in answer.distributions {
            let sum: f64 = values.iter().sum();
            assert!((sum - 1.0).abs() < 1e-6, "probabilities sum to {sum}");
        }
    }
    if let Ok(model) = file.into_latent_tree() {
        // Answers may be refused, never wrong: probabilities sum to 1.
        let nodes: Vec<_> = model.hidden().collect();
        if let Ok(answer) = Inference::new(&model).query(&Evidence::none(&model), &nodes) {
            for (node, values) in answer.marginals {
                if model.domain(node).labels().is_some() {
                    let sum: f64 = values.iter().sum();
                    assert!((sum - 1.0).abs() < 1e-6, "probabilities sum to {sum}");
                }
            }
        }
    }
});
