//! Every pass of the registry, split and merged; and learning from rows held elsewhere.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::*;
use crate::data::{Dataset, RemoteRows, Rows, SelectedRows};
use crate::inference::Inference;
use crate::learn::{EmStart, Learned, Learning, ParameterMethod, Source};
use crate::linalg::Matrix;
use crate::mixture::bytes;
use crate::mixture::pair_sums::Correction;
use crate::model::LatentTree;
use crate::model::features::{Features, Scaling};
use crate::parameters::{MomentOptions, by_moments, by_moments_of_pairs};
use crate::privacy::Privacy;
use crate::simulate::{ParameterFamily, Shape, Simulation};
use crate::spectral::{SpectralOptions, hierarchical, spectral};
use crate::structure::LearnerName;

fn model(states: usize, n: usize) -> LatentTree {
    let family = ParameterFamily::Categorical { states, hidden_states: 2, separation: 0.7 };
    Simulation::new(Shape::Complete { degree: 4 }, n).family(family).seed(3).model().unwrap()
}

/// The rows of `data` in parts: every third row, keeping their row numbers.
fn parts(data: &Dataset) -> Vec<Dataset> {
    let part = |remainder: u64| {
        let mut source = data.source();
        Dataset::read(&mut SelectedRows::new(&mut source, move |row| row % 3 == remainder)).unwrap()
    };
    (0..3).map(part).collect()
}

/// Runs a pass over parts and merges the answers, and records all passes.
fn answer(parts: &[Dataset], asked: &Mutex<Vec<Vec<u8>>>, pass: &[u8]) -> Result<Vec<u8>> {
    asked.lock().unwrap().push(pass.to_vec());
    merge(&parts.iter().map(|part| observe_any(pass, &mut part.source())).collect::<Result<Vec<_>>>()?)
}

fn learned(learning: &Learning, rows: &dyn Rows) -> Learned {
    learning.run(Source::Rows(rows), &Silent).unwrap()
}

/// Compares two models on the same tree by the log-likelihood of rows and by their tables.
fn assert_same(a: &Learned, b: &Learned, data: &Dataset) {
    assert!(crate::tree::same_structure(a.tree(), b.tree()));
    let [one, other] = [a, b].map(|learned| {
        let score = Inference::new(learned.model().unwrap()).score(&mut data.source(), &Silent, |_, _| Ok(())).unwrap();
        assert!((score.log_likelihood - learned.log_likelihood.unwrap()).abs() < 1e-9 * score.log_likelihood.abs());
        score.log_likelihood
    });
    assert!((one - other).abs() < 1e-9 * one.abs(), "{one} {other}");
}

#[test]
fn trees_and_tables_are_learned_from_rows_that_are_elsewhere() {
    let data = Inference::new(&model(3, 12)).sample(3000, 5).unwrap();
    let (pieces, asked) = (parts(&data), Mutex::default());
    let rows = RemoteRows::new(data.schema().clone(), Some(data.n_rows()), |pass: &[u8]| answer(&pieces, &asked, pass));
    for method in [ParameterMethod::Moments, ParameterMethod::MomentsAndEm, ParameterMethod::Em] {
        let learning = Learning::new()
            .structure(LearnerName::ChowLiuNeighborJoining)
            .parameters(method)
            .start((method == ParameterMethod::Em).then_some(EmStart::LatentClass));
        assert_same(&learned(&learning, &rows), &learned(&learning, &data), &data);
    }
    assert!(!asked.lock().unwrap().is_empty());
}

/// The rows of `data` in parts of different sizes, each with its own row numbers.
fn slices(data: &Dataset, n_parts: u64) -> Vec<Dataset> {
    let n = data.n_rows();
    let end = |part: u64| n * part * (part + 1) / (n_parts * (n_parts + 1));
    let part = |part: u64| {
        let mut source = data.source();
        Dataset::read(&mut SelectedRows::new(&mut source, move |row| (end(part)..end(part + 1)).contains(&row))).unwrap()
    };
    (0..n_parts).map(part).collect()
}

#[test]
fn rows_are_chosen_by_content_wherever_they_are() {
    // More rows than are used to find directions, many of them equal; and columns with many labels.
    let many = Inference::new(&model(2, 12)).sample(40_000, 5).unwrap();
    let wide = Inference::new(&model(60, 12)).sample(3_000, 5).unwrap();
    for data in [many, wide] {
        let learning = Learning::new()
            .structure(LearnerName::ChowLiuNeighborJoining)
            .parameters(ParameterMethod::MomentsAndEm)
            .em_iterations(Some(3));
        let here = learned(&learning, &data);
        for n_parts in [1, 3, 16] {
            let (pieces, asked) = (slices(&data, n_parts), Mutex::default());
            let rows = RemoteRows::new(data.schema().clone(), Some(data.n_rows()), |pass: &[u8]| answer(&pieces, &asked, pass));
            let rows = rows.choosing().sample(1 << 20);
            assert_same(&learned(&learning, &rows), &here, &data);
            TreeMoments::of(here.tree(), &mut *rows.open().unwrap(), &MomentOptions::new(2), &Silent).unwrap();
            let views = asked.into_inner().unwrap().into_iter().filter(|pass| View::read(pass).unwrap().is_some());
            let views: Vec<Vec<u8>> = views.collect();
            assert!(!views.is_empty());
            // Federation sites answer for all rows, or not at all.
            let message = observe(&views[0], &mut data.source()).unwrap_err().to_string();
            assert!(message.contains("refused"), "{message}");
            for at in (0..views[0].len()).step_by(views[0].len() / 40 + 1) {
                let mut changed = views[0].clone();
                changed[at] ^= 4;
                assert!(observe_any(&changed, &mut data.source()).is_err(), "changed at {at}");
                assert!(observe_any(&views[0][..at], &mut data.source()).is_err(), "cut at {at}");
            }
        }
    }
}

#[test]
fn what_must_see_rows_says_so() {
    let data = Inference::new(&model(2, 4)).sample(100, 5).unwrap();
    let rows = RemoteRows::new(data.schema().clone(), None, |_: &[u8]| Err(invalid("nobody is there")));
    assert!(rows.open().unwrap().next_batch().unwrap_err().to_string().contains("elsewhere"));
    let message = Learning::new().run(Source::Rows(&rows), &Silent).unwrap_err().to_string();
    assert!(message.contains("nobody is there"), "{message}");
}

#[test]
fn every_pass_of_the_registry_can_be_split() {
    let all: Vec<(Dataset, Vec<u8>)> = [3, 60]
        .into_iter()
        .flat_map(|states| {
            let model = model(states, 12);
            written(&Inference::new(&model).sample(1200, 4).unwrap(), &model)
        })
        .chain(private())
        .collect();
    let names: BTreeSet<String> = all.iter().map(|(_, pass)| Wire::read(pass).unwrap().name.to_owned()).collect();
    assert_eq!(names, super::names().map(str::to_owned).collect());
    for (data, pass) in &all {
        let whole = observe_any(pass, &mut data.source()).unwrap();
        let pieces: Vec<Vec<u8>> = parts(data).iter().map(|part| observe_any(pass, &mut part.source()).unwrap()).collect();
        let joined = merge(&pieces).unwrap();
        assert_eq!(joined, merge(&pieces).unwrap());
        let (a, b) = (Wire::read(&whole).unwrap(), Wire::read(&joined).unwrap());
        assert_eq!((a.name, a.version, a.schema), (b.name, b.version, b.schema));
        // Empty, merged with nothing: the bytes are the same.
        assert_eq!(merge(std::slice::from_ref(&whole)).unwrap(), whole, "{}", a.name);
        same_sums(a.name, a.content, b.content);
        for length in (0..whole.len()).step_by(whole.len() / 40 + 1) {
            assert!(observe_any(&whole[..length], &mut data.source()).is_err(), "{} cut", a.name);
        }
        for at in (0..pass.len()).step_by(pass.len() / 40 + 1) {
            let mut changed = pass.clone();
            changed[at] ^= 4;
            assert!(observe_any(&changed, &mut data.source()).is_err(), "{} changed", a.name);
        }
    }
}

/// The private passes, without noise.
fn private() -> Vec<(Dataset, Vec<u8>)> {
    let data = Inference::new(&model(2, 12)).sample(1200, 4).unwrap();
    let asked = Mutex::default();
    let whole = std::slice::from_ref(&data);
    let rows = RemoteRows::new(data.schema().clone(), None, |pass: &[u8]| answer(whole, &asked, pass));
    let privacy = Privacy { rho: 1.0, delta: 1e-6, max_items: Some(5), ranges: Default::default() };
    let learning = Learning::new().structure(LearnerName::ChowLiuNeighborJoining).parameters(ParameterMethod::Moments);
    learning.run_privately(&rows, &privacy, &Silent).unwrap();
    asked.into_inner().unwrap().into_iter().map(|pass| (data.clone(), pass)).collect()
}

/// Passes of several ways of learning, with the rows they were run over.
fn written(data: &Dataset, model: &LatentTree) -> Vec<(Dataset, Vec<u8>)> {
    let asked = Mutex::default();
    let whole = std::slice::from_ref(data);
    let schema = data.schema();
    let rows = RemoteRows::new(schema.clone(), Some(data.n_rows()), |pass: &[u8]| answer(whole, &asked, pass));
    let mut source = rows.open().unwrap();
    let summary = fold(&mut *source, Summary::new(schema.clone()), &Silent).unwrap();
    let options = MomentOptions::new(2);
    by_moments(model.tree(), &mut *source, Some(&summary), &options, &Silent).unwrap();
    TreeMoments::of(model.tree(), &mut *source, &options, &Silent).unwrap();
    let pairs = fold(&mut *source, PairMoments::new(schema.clone()).unwrap(), &Silent).unwrap();
    by_moments_of_pairs(model.tree(), &mut *source, &pairs, &options, &Silent).unwrap();
    fold(&mut *source, BlockMoments::new(schema.clone(), 4).unwrap(), &Silent).unwrap();
    fold(&mut *source, ExpectedCounts::new(Arc::new(model.clone())), &Silent).unwrap();
    fold(&mut *source, Sample::new(schema.clone(), 1 << 20, 0), &Silent).unwrap();
    fold(&mut *source, RowCounts::new(schema.clone()), &Silent).unwrap();
    fold(&mut *source, PairCounts::of_columns(vec![(0, 1), (2, 3)]), &Silent).unwrap();
    fold(&mut *source, Codes::of(schema, &summary).unwrap(), &Silent).unwrap();
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name.as_str()).collect();
    let chain = crate::structure::chain(&names).unwrap();
    spectral(&chain, &mut *source, &SpectralOptions::new(Some(2)), &Silent).unwrap();
    hierarchical(&chain, &mut *source, &SpectralOptions::new(Some(2)), &Silent).unwrap();
    let features = Features::new(schema, Scaling::None, &summary);
    let (n, one) = (features.n, Matrix::from_fn(features.n, 2, |i, c| (i + 2 * c) as f64 / 100.0));
    for tests in [Vec::new(), one.cells().to_vec()] {
        fold(&mut *source, PairSums::new(features.clone(), Correction::Factorial, vec![0.5; n], tests), &Silent).unwrap();
    }
    fold(&mut *source, WhitenedSums::new(features, Correction::Raw, &one, true, None), &Silent).unwrap();
    crate::mixture::coherence(&rows, &[vec![0.5; n], vec![0.1; n]], &Silent).unwrap();
    drop(source);
    asked.into_inner().unwrap().into_iter().map(|pass| (data.clone(), pass)).collect()
}

/// Checks that two byte strings have the same numbers up to rounding; counts must be exactly equal. Codes are a list of rows,
/// in the order of the parts.
fn same_sums(name: &str, a: &[u8], b: &[u8]) {
    let numbers = |bytes: &[u8]| -> Option<Vec<f64>> {
        fn collect(value: &serde_json::Value, into: &mut Vec<f64>) {
            match value {
                serde_json::Value::Number(number) => into.extend(number.as_f64()),
                serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
                serde_json::Value::Object(fields) => fields.values().for_each(|item| collect(item, into)),
                _ => {}
            }
        }
        let mut into = Vec::new();
        collect(&serde_json::from_slice(bytes).ok()?, &mut into);
        Some(into)
    };
    match (numbers(a), numbers(b)) {
        (Some(mut a), Some(mut b)) => {
            if name == "codes" {
                a.sort_by(f64::total_cmp);
                b.sort_by(f64::total_cmp);
            }
            assert_eq!(a.len(), b.len(), "{name}");
            let scale = a.iter().fold(1.0, |most: f64, it| most.max(it.abs()));
            for (x, y) in a.iter().zip(&b) {
                assert!((x - y).abs() <= 1e-9 * scale, "{name}: {x} {y}");
            }
        }
        // Counts, and sums of blocks that depend on row numbers, are compared where they are computed.
        _ if name == "pair-moments" => assert!(a == b, "counts do not depend on the split"),
        _ if name.starts_with("mixture-") => {
            let sums = |bytes: &[u8]| match name {
                "mixture-pairs" => bytes::read::<serde_json::Value, 3>(bytes).unwrap().1.concat(),
                "mixture-triples" => bytes::read::<serde_json::Value, 6>(bytes).unwrap().1.concat(),
                _ => bytes::read::<serde_json::Value, 2>(bytes).unwrap().1.concat(),
            };
            let (a, b) = (sums(a), sums(b));
            let scale = a.iter().fold(1.0, |most: f64, it| most.max(it.abs()));
            assert!(a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= 1e-9 * scale), "{name}");
        }
        _ if name == "sample" => {
            let [a, b] = [a, b].map(|bytes| Sample::from_bytes(bytes).unwrap());
            assert!(a.n_rows() == b.n_rows() && a.is_whole() && b.is_whole());
        }
        _ if name == "block-moments" => assert_eq!(a.len(), b.len()),
        _ => {
            let [a, b] = [a, b].map(|bytes| ExpectedCounts::from_bytes(bytes).unwrap());
            assert_eq!(a.rows(), b.rows());
            assert!((a.log_likelihood() - b.log_likelihood()).abs() < 1e-9 * a.log_likelihood().abs());
        }
    }
}

#[test]
fn what_is_not_known_is_told() {
    let data = Inference::new(&model(2, 4)).sample(50, 5).unwrap();
    let schema = schema_hash(data.schema()).unwrap();
    let pass = |name: &str, version: u32| Wire { name, version, schema, content: b"{}" }.write();
    let message = observe(&pass("magic", 1), &mut data.source()).unwrap_err().to_string();
    assert!(message.contains("no pass \"magic\"") && message.contains("pair-moments"), "{message}");
    let message = observe(&pass("summary", 9), &mut data.source()).unwrap_err().to_string();
    assert!(message.contains('9') && message.contains("version"), "{message}");
    let other = Inference::new(&model(3, 4)).sample(50, 5).unwrap();
    let summary = to_wire(&Summary::new(other.schema().clone()), schema_hash(other.schema()).unwrap()).unwrap();
    assert!(matches!(observe(&summary, &mut data.source()), Err(Error::Mismatch { .. })));
    let own = to_wire(&Summary::new(data.schema().clone()), schema).unwrap();
    assert!(matches!(merge(&[own, summary]), Err(Error::Mismatch { .. })));
    assert!(merge::<Vec<u8>>(&[]).is_err());
    let sample = to_wire(&Sample::new(data.schema().clone(), 1000, 0), schema).unwrap();
    assert!(observe(&sample, &mut data.source()).unwrap_err().to_string().contains("asks for rows"));
    let counts = to_wire(&RowCounts::new(data.schema().clone()), schema).unwrap();
    assert!(observe(&counts, &mut data.source()).unwrap_err().to_string().contains("asks for rows"));
}
