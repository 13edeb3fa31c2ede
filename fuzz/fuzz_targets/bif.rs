//! BIF from a stranger: an error, or a model that is the same after writing and reading.
#![no_main]

use latentree::format::{ReadModelOptions, read_model_from, to_bif};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = ReadModelOptions::default();
    let Ok(model) = read_model_from(bytes, "bif", &options).and_then(|file| file.into_latent_tree()) else { return };
    let Ok(text) = to_bif(&model) else { return };
    let again = read_model_from(text.as_bytes(), "bif", &options).expect("what is written can be read");
    assert_eq!(model, again.into_latent_tree().expect("tables were written"), "{text}");
});
