//! Table 5.1: 400 documents of 200 words about 8 topics whose words form a hierarchy (Fig. 5.1a).
//!
//! Cells are 0.7 or 0.1 plus U(0, 0.1), columns scaled; weights uniform, scaled. Length and noise are those of the author's
//! public script.

use latentree::clusters::{ClusterOptions, Extent, SplitMethod, fit_clusters};
use latentree::data::{Dataset, Kind};
use latentree::mixture::{Agreement, MixtureFamily, MixtureMethod, MixtureOptions, NumberOfComponents, fit_mixture};
use latentree::{Result, Silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

use super::{draw, mean, median, shares, table};
use crate::record::Results;

/// Words that share their topics, and these.
const BLOCKS: [(usize, &str); 8] = [
    (13, "11110000"),
    (13, "10100000"),
    (13, "11000000"),
    (11, "00110000"),
    (13, "00001111"),
    (13, "00001010"),
    (13, "00001100"),
    (11, "00000011"),
];
const TOPICS: usize = 8;

fn documents(seed: u64) -> Result<(Dataset, Vec<usize>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut topics = vec![Vec::new(); TOPICS];
    for (n, block) in BLOCKS {
        for _ in 0..n {
            for (topic, cell) in topics.iter_mut().zip(block.chars()) {
                topic.push(if cell == '1' { 0.7 } else { 0.1 } + rng.random_range(0.0..0.1));
            }
        }
    }
    for topic in &mut topics {
        let total: f64 = topic.iter().sum();
        topic.iter_mut().for_each(|cell| *cell /= total);
    }
    let weights = shares(&mut rng, TOPICS);
    let mut columns = vec![vec![0.0; 400]; topics[0].len()];
    let mut labels = Vec::with_capacity(400);
    for row in 0..400 {
        let topic = draw(&mut rng, &weights);
        (0..200).for_each(|_| columns[draw(&mut rng, &topics[topic])][row] += 1.0);
        labels.push(topic);
    }
    Ok((table(columns, &Kind::Count)?, labels))
}

/// A way to cluster, and what the thesis has for it.
struct Way {
    name: &'static str,
    thesis: &'static str,
    labels: fn(&Dataset) -> Result<Vec<usize>>,
}

fn hierarchy(data: &Dataset, extent: Extent, method: SplitMethod, em: bool) -> Result<Vec<usize>> {
    let options = ClusterOptions::new(extent).method(method).family(MixtureFamily::SingleTopic).em(em);
    Ok(fit_clusters(data, &options, &Silent)?.labels)
}

fn flat(data: &Dataset, method: MixtureMethod) -> Result<Vec<usize>> {
    let options = MixtureOptions::new(NumberOfComponents::Fixed(TOPICS)).family(MixtureFamily::SingleTopic).method(method);
    Ok(fit_mixture(data, &options, &Silent)?.labels)
}

const WAYS: [Way; 10] = [
    Way {
        name: "cluster --depth 4 --method sidiwo",
        thesis: "0.98",
        labels: |data| hierarchy(data, Extent::Depth(4), SplitMethod::Model, false),
    },
    Way {
        name: "cluster --leaves 8 --method sidiwo",
        thesis: "",
        labels: |data| hierarchy(data, Extent::Leaves(8), SplitMethod::Model, false),
    },
    Way {
        name: "cluster --depth 4",
        thesis: "",
        labels: |data| hierarchy(data, Extent::Depth(4), SplitMethod::Alignment, false),
    },
    Way {
        name: "cluster --depth 4 --em",
        thesis: "",
        labels: |data| hierarchy(data, Extent::Depth(4), SplitMethod::Alignment, true),
    },
    Way {
        name: "cluster --depth 4 --method sidiwo --em",
        thesis: "",
        labels: |data| hierarchy(data, Extent::Depth(4), SplitMethod::Model, true),
    },
    Way { name: "mixture --method tpm", thesis: "0.93", labels: |data| flat(data, MixtureMethod::Tpm) },
    Way { name: "mixture --method svd", thesis: "0.52", labels: |data| flat(data, MixtureMethod::Svd) },
    Way { name: "mixture --method svtd", thesis: "0.85", labels: |data| flat(data, MixtureMethod::Svtd) },
    Way { name: "mixture --method als", thesis: "0.70", labels: |data| flat(data, MixtureMethod::Als) },
    Way { name: "mixture --method sidiwo", thesis: "", labels: |data| flat(data, MixtureMethod::Sidiwo) },
];

pub(super) fn run(seeds: &[u64]) -> Result<Results> {
    let title = format!(
        "Ruffini 2019, Table 5.1: 400 documents of 8 topics in a hierarchy, {} seeds from {}, adjusted Rand index",
        seeds.len(),
        seeds.first().copied().unwrap_or(0)
    );
    let mut results = Results::new(title, &["method", "mean", "deviation", "median", "least", "the thesis", "median ms"]);
    for way in &WAYS {
        let (mut found, mut times) = (Vec::new(), Vec::new());
        for &seed in seeds {
            let (data, truth) = documents(seed)?;
            let start = Instant::now();
            let labels = (way.labels)(&data)?;
            times.push(1e3 * start.elapsed().as_secs_f64());
            found.push(Agreement::of(&labels, &truth)?.adjusted_rand);
        }
        let average = mean(&found);
        let deviation = mean(&found.iter().map(|it| (it - average).powi(2)).collect::<Vec<_>>()).sqrt();
        let least = found.iter().copied().fold(f64::INFINITY, f64::min);
        results.row([
            way.name.to_owned(),
            format!("{average:.3}"),
            format!("{deviation:.3}"),
            format!("{:.3}", median(&found)),
            format!("{least:.3}"),
            way.thesis.to_owned(),
            format!("{:.1}", median(&times)),
        ]);
    }
    Ok(results)
}
