//! The page of a mixture, topic model or hierarchy: groups of rows instead of variables.
//!
//! It shows the groups with their sizes and relevant features (those of a hierarchy expand and collapse), the most frequent
//! features of each group (Ruffini 2019, Fig. 4.3b), a sample of rows by group and feature (Fig. 4.3a), and the topic shares
//! of documents (Fig. 3.3). The front end is `web/src/clusters`, built into `page/clusters.html`.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Serialize;

use super::page::PageOptions;
use super::page::embed::{CLUSTERS, fill};
use super::page::payload::{TopicEntry, cut, short};
use super::topics::{TopicTable, is_of_words};
use crate::data::{Batch, Kind, Rows, Schema};
use crate::error::{Error, Result};
use crate::format::OtherModel;
use crate::index::NodeIx;
use crate::inference::Inference;
use crate::mixture::{RELEVANCE_LAMBDA, component_means, relevance, relevant_of_star, relevant_of_topics};
use crate::model::features::{Features, Scaling};
use crate::model::{ClusterTree, Distribution, LatentTree, TopicModel};
use crate::moments::{Accumulator, Summary, fold};
use crate::observer::Observer;

/// Number of frequent features per group, and of features and rows in the heatmap of rows.
const FREQUENT: usize = 20;
const PICTURED: usize = 40;
const SAMPLED: u64 = 2000;
/// Number of relevant features per group, and of characters in a name.
const RELEVANT: usize = 10;
const NAME: usize = 80;
/// Number of standard deviations at which a number has the strongest colour.
const STRONGEST: f64 = 2.0;

/// A model that assigns rows to groups.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Grouping<'a> {
    /// A star whose hidden root is the component.
    Star(&'a LatentTree),
    /// A topic model.
    Topics(&'a TopicModel),
    /// A hierarchy of clusters.
    Clusters(&'a ClusterTree),
}

impl<'a> Grouping<'a> {
    /// The grouping of a model that was learned as a mixture; `None` for other models.
    #[must_use]
    pub fn of_mixture(model: &'a LatentTree) -> Option<Self> {
        let is_mixture = model.provenance().options.iter().any(|(key, value)| key == "verb" && value == "mixture");
        (is_mixture && component_means(model).is_some()).then_some(Self::Star(model))
    }

    fn schema(&self) -> &'a Arc<Schema> {
        match self {
            Self::Star(model) => model.schema(),
            Self::Topics(model) => model.schema(),
            Self::Clusters(model) => model.schema(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Star(_) => "mixture",
            Self::Topics(_) => "topics",
            Self::Clusters(_) => "clusters",
        }
    }
}

impl<'a> From<&'a OtherModel> for Grouping<'a> {
    fn from(model: &'a OtherModel) -> Self {
        match model {
            OtherModel::Topics(model) => Self::Topics(model),
            OtherModel::Clusters(model) => Self::Clusters(model),
        }
    }
}

/// A group of rows.
#[derive(Debug, Serialize)]
struct Group {
    name: String,
    /// Index of the enclosing group.
    parent: Option<usize>,
    children: Option<[usize; 2]>,
    /// Number of training rows in the group, or of rows of the data.
    size: Option<u64>,
    /// Its share of all rows.
    share: Option<f64>,
    relevant: Vec<String>,
    /// Features in decreasing order of frequency: index in `features`, share of the group's rows that have it (the mean of a
    /// number), and the same over all rows.
    frequent: Vec<(usize, f64, f64)>,
    /// The group as a topic; only for models of words.
    topic: Option<TopicEntry>,
}

#[derive(Debug, Serialize)]
struct Feature {
    name: String,
    #[serde(rename = "isNumber")]
    is_number: bool,
}

/// Sampled rows, ordered by group.
#[derive(Debug, Serialize)]
struct Sample {
    /// Their row numbers in the file, from 1.
    rows: Vec<u64>,
    /// Their groups.
    groups: Vec<usize>,
    /// Indices of the features in the heatmap.
    features: Vec<usize>,
    /// A digit for each of these features in each row: 0 or 9 for events, values in between for numbers.
    cells: Vec<String>,
    /// Percentages of topics in each row; empty if each row has a single group.
    shares: Vec<Vec<u8>>,
}

#[derive(Debug, Serialize)]
struct Payload {
    format: u32,
    title: String,
    kind: &'static str,
    data: Option<String>,
    rows: Option<u64>,
    options: Vec<(String, String)>,
    groups: Vec<Group>,
    features: Vec<Feature>,
    sample: Option<Sample>,
}

/// The page of a mixture, topic model or hierarchy. With data, which must have the model's schema, it shows what is frequent
/// in each group and a sample of rows; the data are read twice.
///
/// # Errors
/// [`Error::Mismatch`] for data with another schema, [`Error::Data`] for missing cells if the model needs complete rows, any
/// error from reading the rows, and [`Error::Cancelled`].
pub fn cluster_page(
    model: Grouping<'_>,
    data: Option<&dyn Rows>,
    options: &PageOptions,
    observer: &dyn Observer,
) -> Result<String> {
    let mut payload = described(model, options);
    match data {
        Some(rows) => observe(model, rows, &mut payload, observer)?,
        None => from_model(model, &mut payload),
    }
    set_topics(model, data, &mut payload, observer)?;
    let json = serde_json::to_string(&payload).expect("lists, numbers and texts are JSON");
    Ok(fill(&CLUSTERS, &payload.title, &[&json]))
}

/// Adds the words of each group of a model of words, with their coherence if there are data.
fn set_topics(model: Grouping<'_>, data: Option<&dyn Rows>, payload: &mut Payload, observer: &dyn Observer) -> Result<()> {
    let (provenance, table) = match model {
        Grouping::Star(model) => (model.provenance(), TopicTable::of_star(model, RELEVANT)?),
        Grouping::Topics(model) => (model.provenance(), TopicTable::of_topics(model, RELEVANT)),
        Grouping::Clusters(model) => (model.provenance(), TopicTable::of_clusters(model, RELEVANT)),
    };
    if !is_of_words(provenance) {
        return Ok(());
    }
    let table = match data {
        Some(rows) => table.measured(rows, observer)?,
        None => table,
    };
    // The root of a hierarchy, all rows, is not a topic.
    let first = payload.groups.len() - table.topics().len();
    for (group, topic) in payload.groups[first..].iter_mut().zip(table.topics()) {
        group.topic = Some(TopicEntry::new(topic));
    }
    Ok(())
}

/// The content that needs no rows.
fn described(model: Grouping<'_>, options: &PageOptions) -> Payload {
    let flat = |weights: &[f64], relevant: Vec<Vec<String>>| -> Vec<Group> {
        let groups = weights.iter().zip(relevant).enumerate().map(|(ix, (&weight, relevant))| Group {
            name: ix.to_string(),
            parent: None,
            children: None,
            size: None,
            share: Some(short(weight)),
            relevant: relevant.iter().map(|name| cut(name, NAME)).collect(),
            frequent: Vec::new(),
            topic: None,
        });
        groups.collect()
    };
    let (groups, provenance) = match model {
        Grouping::Star(model) => {
            let weights = match model.distribution(model.rooted().roots[0]) {
                Distribution::Discrete(prior) => prior.values().to_vec(),
                _ => Vec::new(),
            };
            (flat(&weights, relevant_of_star(model, RELEVANT).unwrap_or_default()), model.provenance())
        }
        Grouping::Topics(model) => {
            let total: f64 = model.alpha().iter().sum();
            let weights: Vec<f64> = model.alpha().iter().map(|alpha| alpha / total).collect();
            (flat(&weights, relevant_of_topics(model, RELEVANT)), model.provenance())
        }
        Grouping::Clusters(model) => {
            let all = model.nodes()[0].size.max(1) as f64;
            let groups = model.nodes().iter().map(|node| Group {
                name: cut(&node.name, NAME),
                parent: node.parent,
                children: node.children,
                size: Some(node.size),
                share: Some(short(node.size as f64 / all)),
                relevant: node.relevant.iter().take(RELEVANT).map(|name| cut(name, NAME)).collect(),
                frequent: Vec::new(),
                topic: None,
            });
            (groups.collect(), model.provenance())
        }
    };
    Payload {
        format: 1,
        title: cut(options.title(), 200),
        kind: model.kind(),
        data: options.shown_data_name().map(|name| cut(name, 200)),
        rows: provenance.rows,
        options: provenance.options.iter().take(100).map(|(key, value)| (cut(key, 100), cut(value, 300))).collect(),
        groups,
        features: Vec::new(),
        sample: None,
    }
}

/// Adds the frequencies implied by the model itself.
fn from_model(model: Grouping<'_>, payload: &mut Payload) {
    let (schema, means) = match model {
        Grouping::Star(model) => match component_means(model) {
            Some(means) => (model.schema(), (0..means.n_rows()).map(|c| means.row(c).to_vec()).collect::<Vec<_>>()),
            None => return,
        },
        Grouping::Topics(model) => (model.schema(), (0..model.n_topics()).map(|topic| model.topic(topic).to_vec()).collect()),
        Grouping::Clusters(_) => return,
    };
    let d = schema.columns().len();
    let shares: Vec<f64> = payload.groups.iter().map(|group| group.share.unwrap_or(0.0)).collect();
    let overall: Vec<f64> =
        (0..d).map(|i| means.iter().zip(&shares).map(|(means, share)| means[i] * share).sum::<f64>()).collect();
    let is_number: Vec<bool> = schema.columns().iter().map(|column| column.kind == Kind::Continuous).collect();
    let frequent: Vec<Vec<(usize, f64, f64)>> = means
        .iter()
        .map(|own| ranked(own, &overall, &is_number, &[]).into_iter().take(FREQUENT).map(|i| (i, own[i], overall[i])).collect())
        .collect();
    let names: Vec<String> = schema.columns().iter().map(|column| column.name.clone()).collect();
    set_features(payload, &names, &is_number, frequent, &[]);
}

/// Features in decreasing order of frequency; numbers by their distance from the overall mean (in standard deviations, if
/// known).
fn ranked(own: &[f64], overall: &[f64], is_number: &[bool], deviations: &[f64]) -> Vec<usize> {
    let value = |i: usize| match is_number[i] {
        false => own[i],
        true => (own[i] - overall[i]).abs() / deviations.get(i).copied().filter(|it| *it > 0.0).unwrap_or(1.0),
    };
    let mut order: Vec<usize> = (0..own.len()).filter(|&i| own[i].is_finite() && (is_number[i] || own[i] > 0.0)).collect();
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
    order
}

/// Writes the features that are shown, and renumbers those of the groups. Returns the new indices of `pictured`.
fn set_features(
    payload: &mut Payload,
    names: &[String],
    is_number: &[bool],
    frequent: Vec<Vec<(usize, f64, f64)>>,
    pictured: &[usize],
) -> Vec<usize> {
    let mut shown: Vec<usize> = frequent.iter().flatten().map(|it| it.0).chain(pictured.iter().copied()).collect();
    shown.sort_unstable();
    shown.dedup();
    let place = |feature: usize| shown.binary_search(&feature).expect("all are shown");
    payload.features =
        shown.iter().map(|&feature| Feature { name: cut(&names[feature], NAME), is_number: is_number[feature] }).collect();
    for (group, frequent) in payload.groups.iter_mut().zip(frequent) {
        group.frequent = frequent.into_iter().map(|(i, own, all)| (place(i), short(own), short(all))).collect();
    }
    pictured.iter().map(|&feature| place(feature)).collect()
}

/// Assigns the rows of a batch to groups, and computes topic shares.
struct Assigner<'a> {
    model: Grouping<'a>,
    inference: Option<(Inference<'a>, NodeIx)>,
}

impl<'a> Assigner<'a> {
    fn new(model: Grouping<'a>) -> Self {
        let inference = match model {
            Grouping::Star(model) => Some((Inference::new(model), model.rooted().roots[0])),
            _ => None,
        };
        Self { model, inference }
    }

    fn groups(&self, batch: &Batch) -> Result<(Vec<usize>, Vec<f64>)> {
        let largest = |values: &[f64]| (1..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best });
        match (self.model, &self.inference) {
            (Grouping::Star(_), Some((inference, root))) => {
                let posterior = inference.posterior(batch, &[*root])?;
                Ok(((0..batch.n_rows).map(|row| largest(posterior.row(row))).collect(), Vec::new()))
            }
            (Grouping::Topics(topics), _) => {
                OtherModel::Topics(topics.clone()).check_complete(batch)?;
                let shares = topics.shares(batch, 0);
                Ok((shares.chunks_exact(topics.n_topics()).map(largest).collect(), shares))
            }
            (Grouping::Clusters(clusters), _) => {
                OtherModel::Clusters(clusters.clone()).check_complete(batch)?;
                Ok((clusters.assign(batch), Vec::new()))
            }
            (Grouping::Star(_), None) => unreachable!("a star has its inference"),
        }
    }
}

/// A row of the sample.
struct Sampled {
    row: u64,
    group: usize,
    cells: Vec<(usize, f64)>,
    shares: Vec<u8>,
}

/// Adds what the rows show: frequencies by group, and a sample.
fn observe(model: Grouping<'_>, rows: &dyn Rows, payload: &mut Payload, observer: &dyn Observer) -> Result<()> {
    let schema = Arc::clone(model.schema());
    observer.stage("columns", rows.n_rows_hint());
    let summary = fold(&mut *rows.open()?, Summary::new(Arc::clone(&schema)), observer)?.finish()?;
    let features = Features::new(&schema, Scaling::None, &summary);
    let names = features.names(&schema);
    let mut is_number = vec![false; features.n];
    let mut deviations = vec![0.0; features.n];
    for ((source, column), it) in features.sources.iter().zip(schema.columns()).zip(summary.columns()) {
        if let (crate::model::features::Source::Number { feature, .. }, Kind::Continuous) = (source, &column.kind) {
            is_number[*feature as usize] = true;
            deviations[*feature as usize] = it.variance().sqrt();
        }
    }
    let (n_groups, n_rows) = (payload.groups.len(), summary.n_rows());
    crate::memory::MemoryBudget::of_machine().check(
        "the frequencies of the page",
        16 * (n_groups * features.n) as u64,
        "leave out columns, or write the page without data",
    )?;
    let mut sums = vec![0.0; n_groups * features.n];
    let (mut sizes, mut weights) = (vec![0_u64; n_groups], vec![0.0; n_groups]);
    // Of topics that documents mix, the sums of their shares.
    let mut mixed = vec![0.0; n_groups];
    let step = n_rows.div_ceil(SAMPLED).max(1);
    let mut sample: Vec<Sampled> = Vec::new();
    let assigner = Assigner::new(model);
    observer.stage("page", Some(n_rows));
    let mut source = rows.open()?;
    let mut number = 0;
    while let Some(batch) = source.next_batch()? {
        if observer.cancelled() {
            return Err(Error::Cancelled);
        }
        let (groups, shares) = assigner.groups(&batch)?;
        let vectors = features.rows(&batch);
        let k = shares.len() / batch.n_rows.max(1);
        for (row, &group) in groups.iter().enumerate() {
            let weight = vectors.weight(row);
            sizes[group] += 1;
            weights[group] += weight;
            let own = shares.get(row * k..(row + 1) * k).unwrap_or_default();
            mixed.iter_mut().zip(own).for_each(|(sum, share)| *sum += weight * share);
            let value = |feature: usize, x: f64| if is_number[feature] { x } else { f64::from(u8::from(x > 0.0)) };
            let cells = vectors.row(row).filter(|it| it.1.is_finite()).map(|(feature, x)| (feature, value(feature, x)));
            cells.clone().for_each(|(feature, x)| sums[group * features.n + feature] += weight * x);
            if number % step == 0 {
                let percent = |share: &f64| (100.0 * share).round() as u8;
                let shares = own.iter().map(percent).collect();
                sample.push(Sampled { row: number + 1, group, cells: cells.collect(), shares });
            }
            number += 1;
        }
        observer.progress(number);
    }
    // Parents come before their children, so going backwards, each node already has all its rows.
    for ix in (0..n_groups).rev() {
        if let Some(parent) = payload.groups[ix].parent {
            sizes[parent] += sizes[ix];
            weights[parent] += weights[ix];
            for feature in 0..features.n {
                sums[parent * features.n + feature] += sums[ix * features.n + feature];
            }
        }
    }
    let tops = (0..n_groups).filter(|&ix| payload.groups[ix].parent.is_none());
    let total: f64 = tops.clone().map(|ix| weights[ix]).sum::<f64>().max(f64::MIN_POSITIVE);
    let overall: Vec<f64> =
        (0..features.n).map(|feature| tops.clone().map(|ix| sums[ix * features.n + feature]).sum::<f64>() / total).collect();
    let means: Vec<Vec<f64>> = (0..n_groups)
        .map(|ix| sums[ix * features.n..][..features.n].iter().map(|sum| sum / weights[ix].max(f64::MIN_POSITIVE)).collect())
        .collect();
    for (ix, group) in payload.groups.iter_mut().enumerate() {
        group.size = Some(sizes[ix]);
        let sum = if matches!(model, Grouping::Topics(_)) { mixed[ix] } else { weights[ix] };
        group.share = Some(short(sum / total));
    }
    payload.rows = Some(n_rows);
    let frequent: Vec<Vec<(usize, f64, f64)>> = means
        .iter()
        .zip(&weights)
        .map(|(own, weight)| match *weight > 0.0 {
            false => Vec::new(),
            true => ranked(own, &overall, &is_number, &deviations)
                .into_iter()
                .take(FREQUENT)
                .map(|i| (i, own[i], overall[i]))
                .collect(),
        })
        .collect();
    let leaves: Vec<usize> = (0..n_groups).filter(|&ix| payload.groups[ix].children.is_none() && weights[ix] > 0.0).collect();
    let pictured = pictured(&leaves, &means, &overall, &is_number, &deviations);
    sample.sort_by_key(|it| (it.group, it.row));
    let digit = |row: &Sampled, feature: usize| {
        let value = row.cells.iter().find(|it| it.0 == feature).map_or(0.0, |it| it.1);
        let strength = match is_number[feature] {
            false => value,
            true if deviations[feature] > 0.0 => {
                0.5 + 0.5 * ((value - overall[feature]) / deviations[feature] / STRONGEST).clamp(-1.0, 1.0)
            }
            true => 0.5,
        };
        char::from(b'0' + (9.0 * strength).round().clamp(0.0, 9.0) as u8)
    };
    let cells = sample.iter().map(|row| pictured.iter().map(|&feature| digit(row, feature)).collect()).collect();
    let places = set_features(payload, &names, &is_number, frequent, &pictured);
    payload.sample = Some(Sample {
        rows: sample.iter().map(|it| it.row).collect(),
        groups: sample.iter().map(|it| it.group).collect(),
        features: places,
        cells,
        shares: if matches!(model, Grouping::Topics(_)) { sample.into_iter().map(|it| it.shares).collect() } else { Vec::new() },
    });
    Ok(())
}

/// The features that distinguish groups best, taking the first of each group in turn.
fn pictured(leaves: &[usize], means: &[Vec<f64>], overall: &[f64], is_number: &[bool], deviations: &[f64]) -> Vec<usize> {
    let value = |leaf: usize, i: usize| match is_number[i] {
        false => relevance(means[leaf][i], overall[i], RELEVANCE_LAMBDA),
        true if deviations[i] > 0.0 => ((means[leaf][i] - overall[i]).abs() / deviations[i]).ln(),
        true => f64::NEG_INFINITY,
    };
    let orders: Vec<Vec<usize>> = leaves
        .iter()
        .map(|&leaf| {
            let mut order: Vec<usize> = (0..overall.len()).filter(|&i| value(leaf, i) > f64::NEG_INFINITY).collect();
            order.sort_by(|&a, &b| value(leaf, b).total_cmp(&value(leaf, a)).then(a.cmp(&b)));
            order.truncate(PICTURED);
            order
        })
        .collect();
    let mut chosen: Vec<usize> = Vec::new();
    // The features of each group are kept together.
    let each = PICTURED.div_ceil(leaves.len().max(1)).max(1);
    for most in [each, PICTURED] {
        for order in &orders {
            for &feature in order.iter().take(most) {
                if chosen.len() < PICTURED && !chosen.contains(&feature) {
                    chosen.push(feature);
                }
            }
        }
    }
    chosen
}
