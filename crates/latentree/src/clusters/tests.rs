use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

use super::*;
use crate::data::{ColumnData, Dataset, Kind, Schema};
use crate::format::OtherModel;
use crate::mixture::{Agreement, MixtureFamily};
use crate::model::SplitRule;
use crate::observer::Silent;

fn schema(d: usize, kind: &Kind) -> Arc<Schema> {
    let mut builder = Schema::builder();
    for column in 0..d {
        builder = builder.scalar(format!("x{column}"), kind.clone());
    }
    Arc::new(builder.build().unwrap())
}

fn numbers(columns: Vec<Vec<f64>>, kind: &Kind) -> Dataset {
    let d = columns.len();
    let columns = columns.into_iter().map(|cells| {
        let mut data = ColumnData::for_kind(kind, cells.len());
        cells.iter().for_each(|&value| data.push_number(value));
        data
    });
    Dataset::from_columns(schema(d, kind), columns.collect(), None).unwrap()
}

/// Four well-separated clusters in the plane.
fn four(seed: u64, n: usize, origin: f64, unit: f64) -> (Dataset, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centres = [[0.0, 0.0], [10.0, 1.0], [1.0, 6.0], [11.0, 8.0]];
    let truth: Vec<usize> = (0..n).map(|_| rng.random_range(0..4)).collect();
    let columns = [0, 1].map(|axis| {
        truth
            .iter()
            .map(|&c| {
                let noise: f64 = StandardNormal.sample(&mut rng);
                unit * (origin + centres[c][axis] + 0.7 * noise)
            })
            .collect()
    });
    (numbers(columns.into(), &Kind::Continuous), truth)
}

#[test]
fn more_clusters_than_features_are_found_in_any_unit_from_any_origin() {
    for (seed, origin, unit) in [(1, 0.0, 1.0), (2, 100.0, 1.0), (3, -5.0, 1e-6), (4, 0.0, 1e9)] {
        for (method, em) in [(SplitMethod::Alignment, false), (SplitMethod::Alignment, true), (SplitMethod::Model, false)] {
            let (data, truth) = four(seed, 1000, origin, unit);
            let fit = fit_clusters(&data, &ClusterOptions::new(Extent::Leaves(4)).method(method).em(em), &Silent).unwrap();
            let rand = Agreement::of(&fit.labels, &truth).unwrap().adjusted_rand;
            assert!(rand > 0.95, "{method} em {em} origin {origin} unit {unit}: {rand}");
            assert_eq!(fit.labels, data.batches().iter().flat_map(|batch| fit.model.assign(batch)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn discriminators_have_unit_second_moments_and_no_cross_moment() {
    // Theorem 6.2.1: Σ ⟨d_j, x⟩²/n = 1 and Σ ⟨d_1, x⟩⟨d_2, x⟩/n = 0.
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let n = 500;
    let groups: Vec<usize> = (0..n).map(|_| rng.random_range(0..3)).collect();
    let columns = (0..12)
        .map(|i| groups.iter().map(|&c| f64::from(u8::from(rng.random_bool(if i % 3 == c { 0.8 } else { 0.1 })))).collect());
    let data = numbers(columns.collect(), &Kind::binary());
    let fit = fit_clusters(&data, &ClusterOptions::new(Extent::Depth(2)), &Silent).unwrap();
    let Some(SplitRule::Alignment { sides }) = &fit.model.nodes()[0].rule else { panic!("an alignment") };
    let batch = &data.batches()[0];
    let at =
        |side: usize, row: usize| (0..12).map(|i| batch.number(row, crate::ColIx::new(i)) * sides[side].factors[i]).sum::<f64>();
    let mean = |a: usize, b: usize| (0..n).map(|row| at(a, row) * at(b, row)).sum::<f64>() / n as f64;
    assert!(
        (mean(0, 0) - 1.0).abs() < 1e-10 && (mean(1, 1) - 1.0).abs() < 1e-10 && mean(0, 1).abs() < 1e-10,
        "{} {} {}",
        mean(0, 0),
        mean(1, 1),
        mean(0, 1)
    );
}

/// Documents of topics that form a hierarchy, as in Figure 5.1 of Ruffini 2019.
fn documents(seed: u64, n: usize) -> (Dataset, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (d, k) = (100, 8);
    let topics: Vec<Vec<f64>> = (0..k)
        .map(|c| {
            // Words shared by all four topics of a half, by alternate topics, by the first two, and by the other two.
            let (half, word) = (c / 4, [0.13, 0.26, 0.39, 0.5]);
            let high = |i: usize| {
                let place = i as f64 / d as f64 - 0.5 * half as f64;
                let block = word.iter().position(|end| place < *end);
                place >= 0.0 && block.is_some_and(|block| [true, c % 2 == 0, c % 4 < 2, c % 4 >= 2][block])
            };
            let cells: Vec<f64> = (0..d).map(|i| if high(i) { 0.7 } else { 0.1 } + rng.random_range(0.0..0.1)).collect();
            let sum: f64 = cells.iter().sum();
            cells.iter().map(|cell| cell / sum).collect()
        })
        .collect();
    let weights: Vec<f64> = (0..k).map(|_| rng.random()).collect();
    let total: f64 = weights.iter().sum();
    let truth: Vec<usize> = (0..n)
        .map(|_| {
            let mut left = total * rng.random::<f64>();
            let topic = weights.iter().position(|weight| {
                left -= weight;
                left < 0.0
            });
            topic.unwrap_or(k - 1)
        })
        .collect();
    let mut columns = vec![vec![0.0; n]; d];
    for (row, &c) in truth.iter().enumerate() {
        for _ in 0..200 {
            let mut left: f64 = rng.random();
            let word = topics[c].iter().position(|share| {
                left -= share;
                left < 0.0
            });
            columns[word.unwrap_or(d - 1)][row] += 1.0;
        }
    }
    (numbers(columns, &Kind::Count), truth)
}

#[test]
fn topics_of_a_hierarchy_are_told_apart() {
    // Ruffini 2019, Table 5.1, has a mean of 0.98 for sidiwo.
    for (method, em) in [(SplitMethod::Model, false), (SplitMethod::Model, true), (SplitMethod::Alignment, true)] {
        let rand = |seed: u64| {
            let (data, truth) = documents(seed, 400);
            let options = ClusterOptions::new(Extent::Depth(4)).method(method).family(MixtureFamily::SingleTopic).em(em);
            let fit = fit_clusters(&data, &options, &Silent).unwrap();
            assert!(fit.model.leaves().count() <= 8);
            Agreement::of(&fit.labels, &truth).unwrap().adjusted_rand
        };
        let all: Vec<f64> = (0..8).map(rand).collect();
        assert!(all.iter().sum::<f64>() / 8.0 > 0.9, "{method} em {em}: {all:?}");
    }
}

#[test]
fn sizes_add_up_and_small_sides_end_a_branch() {
    let (data, _) = four(6, 300, 0.0, 1.0);
    let fit = fit_clusters(&data, &ClusterOptions::new(Extent::Depth(6)).min_size(20), &Silent).unwrap();
    for node in fit.model.nodes() {
        assert!(node.size >= 20);
        if let Some([a, b]) = node.children {
            assert_eq!(node.size, fit.model.nodes()[a].size + fit.model.nodes()[b].size);
        }
    }
    let auto = fit_clusters(&data, &ClusterOptions::new(Extent::Auto), &Silent).unwrap();
    assert_eq!(auto.model.leaves().count(), 4);
    let same = numbers(vec![vec![1.0; 20], vec![0.0; 20]], &Kind::binary());
    let fit = fit_clusters(&same, &ClusterOptions::new(Extent::Leaves(3)), &Silent).unwrap();
    assert_eq!(fit.model.leaves().count(), 1);
    assert!(fit.warnings[0].contains("3 leaves asked for, 1 found"));
    let holes = numbers(vec![vec![1.0, f64::NAN], vec![0.0, 1.0]], &Kind::binary());
    assert!(fit_clusters(&holes, &ClusterOptions::new(Extent::Auto), &Silent).unwrap_err().to_string().contains("missing"));
}

#[test]
fn a_hierarchy_is_read_back_from_its_file_and_damaged_ones_are_refused() {
    let (data, _) = four(7, 200, 3.0, 1.0);
    let fit = fit_clusters(&data, &ClusterOptions::new(Extent::Leaves(3)), &Silent).unwrap();
    let text = OtherModel::Clusters(fit.model.clone()).to_json_string().unwrap();
    let Some(OtherModel::Clusters(again)) = OtherModel::read_from(text.as_bytes()).unwrap() else { panic!("clusters") };
    assert_eq!(again, fit.model);
    assert_eq!(again.tree().unwrap().n_observed(), 3);
    // Without a checksum, what is wrong is found by the content.
    let text: String = text.lines().filter(|line| !line.contains("\"checksum\"")).map(|line| format!("{line}\n")).collect();
    for (from, to) in [
        ("\"children\":[1,2]", "\"children\":[1,9]"),
        ("\"parent\":0", "\"parent\":2"),
        ("\"children\":[1,2]", "\"children\":null"),
    ] {
        assert!(text.contains(from), "{text}");
        assert!(OtherModel::read_from(text.replacen(from, to, 1).as_bytes()).is_err(), "{from}");
    }
    assert!(OtherModel::read_from(text.replace("\"minimum_version\": 1", "\"minimum_version\": 9").as_bytes()).is_err());
    assert_eq!(OtherModel::read_from(b"{\"format\": \"latentree\", \"kind\": \"tree\"}").unwrap(), None);
    let refusal = crate::format::ModelFile::read_from(text.as_bytes()).unwrap_err().to_string();
    assert!(refusal.contains("hierarchy of clusters"), "{refusal}");
}
