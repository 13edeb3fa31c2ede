//! The features that distinguish a component from the others.

use crate::data::{Kind, Schema};
use crate::error::Result;
use crate::model::{Distribution, Emission, LatentTree, TopicModel};

/// Weight of a feature's own probability relative to its lift.
pub const RELEVANCE_LAMBDA: f64 = 0.7;

/// Lift above which a feature belongs to a component. It is slightly below 1 so that a single component has all features
/// despite rounding.
const OWN: f64 = 1.0 - 1e-9;

/// A feature and its value in each component.
struct Feature {
    name: String,
    /// Probability of an event, share of a component's counts, or mean.
    values: Vec<f64>,
    /// The same over all components.
    overall: f64,
    /// Standard deviation of a number; `None` for events and counts, whose values are probabilities.
    deviation: Option<f64>,
}

/// Relevance `λ ln p + (1 − λ) ln(p / p_overall)` of a feature with probability p in a component (Sievert and Shirley 2014;
/// Ruffini 2019, eqs. 3.8 and 4.12). An event that never happens has relevance −∞.
#[must_use]
pub fn relevance(probability: f64, overall: f64, lambda: f64) -> f64 {
    if probability <= 0.0 || overall <= 0.0 {
        return f64::NEG_INFINITY;
    }
    lambda * probability.ln() + (1.0 - lambda) * (probability / overall).ln()
}

/// The most relevant features of each component of a star, at most `most` each.
///
/// # Errors
/// Fails if the model has no hidden root.
pub fn relevant_of_star(model: &LatentTree, most: usize) -> Result<Vec<Vec<String>>> {
    let features = features_of_star(model)?;
    Ok((0..features.first().map_or(0, |it| it.values.len())).map(|component| top(&features, component, most, 0.0)).collect())
}

/// The most relevant among the features that are more frequent in a component of a star than in all rows.
pub(crate) fn own_words_of_star(model: &LatentTree, most: usize) -> Result<Vec<Vec<String>>> {
    let features = features_of_star(model)?;
    Ok((0..features.first().map_or(0, |it| it.values.len())).map(|component| top(&features, component, most, OWN)).collect())
}

/// The features of a star: what depends on its component.
fn features_of_star(model: &LatentTree) -> Result<Vec<Feature>> {
    let root = model.rooted().roots[0];
    let Distribution::Discrete(prior) = model.distribution(root) else {
        return Err(crate::error::Error::model(model.tree().name(root), "is no component of a mixture"));
    };
    let weights = prior.values();
    let mut features = Vec::new();
    for variable in model.schema().variable_ixs() {
        let (columns, node) = (&model.schema().variable(variable).columns, model.node_of(variable));
        if model.parent(node) != Some(root) {
            continue;
        }
        match model.distribution(node) {
            Distribution::Discrete(table) => {
                let rows: Vec<&[f64]> = table.rows().collect();
                add_labels(model.schema(), columns[0].get(), &rows, weights, &mut features);
            }
            Distribution::Emission(Emission::Group(members)) => {
                for (member, column) in members.iter().zip(columns) {
                    add_emission(model.schema(), column.get(), member, weights, &mut features);
                }
            }
            Distribution::Emission(emission) => add_emission(model.schema(), columns[0].get(), emission, weights, &mut features),
            Distribution::LinearGaussian { .. } => {}
        }
    }
    // Counts are compared as shares of all counts of a component.
    let k = weights.len();
    let counts: Vec<usize> = (0..features.len()).filter(|&ix| features[ix].deviation.is_some_and(f64::is_nan)).collect();
    let totals: Vec<f64> = (0..k).map(|c| counts.iter().map(|&ix| features[ix].values[c]).sum()).collect();
    let total: f64 = counts.iter().map(|&ix| features[ix].overall).sum();
    for ix in counts {
        features[ix].deviation = None;
        features[ix].overall /= total;
        features[ix].values.iter_mut().zip(&totals).for_each(|(value, total)| *value /= total);
    }
    Ok(features)
}

/// The most relevant words of each topic.
#[must_use]
pub fn relevant_of_topics(model: &TopicModel, most: usize) -> Vec<Vec<String>> {
    let features = features_of_topics(model);
    (0..model.n_topics()).map(|topic| top(&features, topic, most, 0.0)).collect()
}

/// The most relevant among the words that are more frequent in a topic than in all documents.
pub(crate) fn own_words_of_topics(model: &TopicModel, most: usize) -> Vec<Vec<String>> {
    let features = features_of_topics(model);
    (0..model.n_topics()).map(|topic| top(&features, topic, most, OWN)).collect()
}

fn features_of_topics(model: &TopicModel) -> Vec<Feature> {
    let (k, total) = (model.n_topics(), model.alpha().iter().sum::<f64>());
    (0..model.schema().columns().len())
        .map(|word| {
            let values: Vec<f64> = (0..k).map(|topic| model.topic(topic)[word]).collect();
            let overall = values.iter().zip(model.alpha()).map(|(value, alpha)| value * alpha / total).sum();
            Feature { name: model.schema().columns()[word].name.clone(), values, overall, deviation: None }
        })
        .collect()
}

fn add_labels(schema: &Schema, column: usize, rows: &[&[f64]], weights: &[f64], features: &mut Vec<Feature>) {
    let column = &schema.columns()[column];
    let labels = column.kind.labels().unwrap_or_default();
    let is_binary = matches!(column.kind, Kind::Binary { .. });
    for (code, label) in labels.iter().enumerate().skip(usize::from(is_binary)) {
        let values: Vec<f64> = rows.iter().map(|row| row[code]).collect();
        let overall = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
        let name = if is_binary { column.name.clone() } else { format!("{}={label}", column.name) };
        features.push(Feature { name, values, overall, deviation: None });
    }
}

fn add_emission(schema: &Schema, column: usize, emission: &Emission, weights: &[f64], features: &mut Vec<Feature>) {
    let overall = |values: &[f64]| values.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>();
    let name = schema.columns()[column].name.clone();
    match emission {
        Emission::Categorical(table) => {
            let rows: Vec<&[f64]> = table.rows().collect();
            add_labels(schema, column, &rows, weights, features);
        }
        // Marked as counts, to be converted to shares.
        Emission::Poisson { rates } => {
            features.push(Feature { name, overall: overall(rates), values: rates.clone(), deviation: Some(f64::NAN) });
        }
        Emission::Gaussian { means, variances } => {
            let mean = overall(means);
            let squares: Vec<f64> = means.iter().zip(variances).map(|(it, variance)| variance + (it - mean).powi(2)).collect();
            features.push(Feature { name, overall: mean, values: means.clone(), deviation: Some(overall(&squares).sqrt()) });
        }
        Emission::Group(_) => {}
    }
}

/// The names of the most relevant features of a component. Numbers are ranked by their distance from the overall mean in
/// standard deviations, and marked with its direction. Events with a lift below `least_lift` are left out.
fn top(features: &[Feature], component: usize, most: usize, least_lift: f64) -> Vec<String> {
    let mut ranked: Vec<(f64, usize, String)> = Vec::with_capacity(features.len());
    for (ix, feature) in features.iter().enumerate() {
        let value = feature.values[component];
        match feature.deviation {
            None if value < least_lift * feature.overall => {}
            None => ranked.push((relevance(value, feature.overall, RELEVANCE_LAMBDA), ix, feature.name.clone())),
            Some(deviation) => {
                let distance = if deviation > 0.0 { (value - feature.overall) / deviation } else { 0.0 };
                let sign = if distance < 0.0 { "low" } else { "high" };
                // A number at its mean is as relevant as an event that never happens; at one standard deviation, as an event
                // that always does.
                ranked.push((distance.abs().ln(), ix, format!("{} {sign}", feature.name)));
            }
        }
    }
    ranked.retain(|it| it.0 > f64::NEG_INFINITY);
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().take(most).map(|it| it.2).collect()
}

#[cfg(test)]
mod tests {
    use super::relevance;

    #[test]
    fn relevance_is_the_formula() {
        assert!((relevance(0.2, 0.1, 0.7) - (0.7 * 0.2_f64.ln() + 0.3 * 2_f64.ln())).abs() < 1e-15);
        assert_eq!(relevance(0.0, 0.1, 0.7), f64::NEG_INFINITY);
    }
}
