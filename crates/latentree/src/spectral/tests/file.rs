//! Spectral models as files.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::models::{model_on, random_tree};
use crate::Silent;
use crate::format::ModelFile;
use crate::inference::Inference;
use crate::spectral::{SpectralModel, SpectralOptions, hierarchical, spectral};

fn models() -> Vec<SpectralModel> {
    let mut models = Vec::new();
    for seed in 0..4 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let tree = random_tree(&mut rng, 2, seed % 2 == 0);
        let truth = model_on(&mut rng, tree, 2, |_| 3);
        let rows = Inference::new(&truth).sample(2000, seed).unwrap();
        let options = SpectralOptions::new(Some(2));
        models.push(spectral(truth.tree(), &mut rows.source(), &options, &Silent).unwrap().model);
        models.push(hierarchical(truth.tree(), &mut rows.source(), &options, &Silent).unwrap().model);
    }
    models
}

#[test]
fn files_read_back_exactly_and_need_a_reader_of_version_two() {
    for model in models() {
        let file = ModelFile::from(model);
        let text = file.to_json_string();
        assert!(text.contains("\"version\": 2") && text.contains("\"minimum_version\": 2"), "{}", &text[..200]);
        assert_eq!(ModelFile::read_from(text.as_bytes()).unwrap(), file);
        assert!(file.into_latent_tree().unwrap_err().to_string().contains("moments+em"));
    }
}

#[test]
fn damaged_files_are_refused_with_what_is_wrong() {
    let text = ModelFile::from(models().remove(0)).to_json_string();
    let problem = |text: &str| ModelFile::read_from(text.as_bytes()).unwrap_err().to_string();
    // Any changed digit of the operators breaks the checksum.
    let at = text.find("\"tensor\"").unwrap();
    let digit = at + text[at..].find(|it: char| it.is_ascii_digit()).unwrap() + 2;
    let mut changed = text.clone();
    let other = if &text[digit..=digit] == "7" { "3" } else { "7" };
    changed.replace_range(digit..=digit, other);
    assert!(problem(&changed).contains("checksum"), "{}", problem(&changed));
    // Without a checksum, shapes and numbers are checked.
    let from = text.find("\"checksum\"").unwrap();
    let to = from + text[from..].find('\n').unwrap() + 1;
    let bare = format!("{}{}", &text[..from], &text[to..]);
    assert!(ModelFile::read_from(bare.as_bytes()).is_ok());
    for (field, value, expected) in [
        ("\"tensor\": [", "\"tensor\": [1.5, ", "shape"),
        ("\"link\": [", "\"link\": [0.5, ", "shapes"),
        ("\"noise\": ", "\"noise\": 1e999, \"x\": ", "not JSON"),
        ("\"link\": [", "\"link\": [NaN, ", "not JSON"),
        ("\"rank\": 2", "\"rank\": 0", "shapes"),
        ("\"method\": \"spectral\"", "\"method\": \"other\"", "method"),
    ] {
        let compact = bare.replace("\":", "\": ").replace("\":  ", "\": ");
        let broken = compact.replacen(field, value, 1);
        assert_ne!(broken, compact, "{field}");
        assert!(problem(&broken).contains(expected), "{field}: {}", problem(&broken));
    }
}
