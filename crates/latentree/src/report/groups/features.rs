//! How columns differ between the states of a hidden node, in numbers and words.

use crate::data::Kind;
use crate::index::NodeIx;
use crate::model::{LatentTree, values_of};
use crate::report::profile::Found;
use crate::report::steps::{Content, chain};

/// Numeric labels are described by their mean only if some state shifts it by at least this many standard deviations.
const CLEAR_SHIFT: f64 = 0.3;
/// Means that differ by less than this many standard deviations are not told.
const VISIBLE: f64 = 0.05;
/// A mean below this many standard deviations is zero.
const NEXT_TO_ZERO: f64 = 1e-3;
/// Fewer numeric labels than this are never described by their mean: they are often codes, such as 1 white, 2 black, 3 other.
const MIN_ORDERED: usize = 5;
/// A label matters to the order if the state or the others have at least this share of it.
const COMMON: f64 = 0.03;
/// A step against the order counts from this factor.
const CLEAR_STEP: f64 = 1.25;
/// A state matters to the order if it differs from the others in at least this share of its rows.
const CLEAR_DIFFERENCE: f64 = 0.1;

/// How a column differs between the rows in a state and all others.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The observed node.
    pub node: NodeIx,
    /// The name of the column: a variable, or a member of a group.
    pub column: String,
    /// The described label, unless it is a plain "yes" or the numbers are means.
    pub value: Option<String>,
    /// Whether the numbers are means rather than probabilities.
    pub is_mean: bool,
    /// Probability or mean in the state.
    pub inside: f64,
    /// Probability or mean in the other rows.
    pub outside: f64,
    /// Standard deviation of the column, if the numbers are means.
    pub deviation: Option<f64>,
}

impl Difference {
    /// In words, such as `depression 56% instead of 9%`.
    #[must_use]
    pub fn text(&self) -> String {
        let name = self.name();
        if self.is_mean {
            let [inside, outside] = means(self.inside, self.outside, self.deviation.unwrap_or(0.0));
            format!("mean {name} {inside} instead of {outside}")
        } else {
            format!("{name} {} instead of {}", percent(self.inside), percent(self.outside))
        }
    }

    /// Returns whether the two numbers would look the same to a reader.
    pub(super) fn is_invisible(&self) -> bool {
        if !self.is_mean {
            return percent(self.inside) == percent(self.outside);
        }
        (self.inside - self.outside).abs() < self.deviation.map_or(0.0, |deviation| VISIBLE * deviation)
    }

    /// Returns whether an event, a label or a plain "yes", is rarer than elsewhere. A mean may differ either way.
    pub(super) fn is_lack(&self) -> bool {
        !self.is_mean && self.inside < self.outside
    }

    /// The column with the described label.
    pub(super) fn name(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.column),
            None => self.column.clone(),
        }
    }
}

/// A column by the states of a hidden node.
#[derive(Debug, Clone)]
pub(super) struct Feature {
    pub(super) node: NodeIx,
    column: String,
    values: Values,
    /// The values of labels that may be amounts.
    order: Option<Vec<f64>>,
    /// Outcomes (labels or intervals) by state.
    n_outcomes: usize,
    outcomes: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Values {
    /// Labels; `event` is set if one of two is a plain "yes".
    Labels { labels: Vec<String>, event: Option<usize> },
    /// Labels that are amounts: their values, in the place of labels.
    Amounts(Vec<f64>),
    /// Mean and variance of a number by state.
    Means { means: Vec<f64>, variances: Vec<f64> },
}

impl Feature {
    /// `prior` has the probabilities of the hidden node's states.
    pub(super) fn new(model: &LatentTree, found: &Found<'_>, prior: &[f64]) -> Self {
        let node = NodeIx::new(found.node);
        let width = found.given.len() / prior.len().max(1);
        let (column, n_outcomes, outcomes, means) = match found.attached {
            None => {
                let variable = model.variable(node).expect("an observed node is a variable");
                (model.schema().column(model.schema().variable(variable).columns[0]), width, found.given.clone(), None)
            }
            Some(attached) => {
                let outcomes = chain(&found.given, width, &attached.outcomes, attached.n_outcomes);
                let means = match &attached.content {
                    Content::Labels => None,
                    Content::Numbers(moments) => {
                        let rows = || found.given.chunks_exact(width);
                        let mean = |row: &[f64]| row.iter().zip(moments).map(|(weight, it)| weight * it.0).sum::<f64>();
                        let variance = |row: &[f64]| {
                            let own = mean(row);
                            row.iter().zip(moments).map(|(weight, it)| weight * (it.1 + (it.0 - own).powi(2))).sum()
                        };
                        Some(Values::Means { means: rows().map(mean).collect(), variances: rows().map(variance).collect() })
                    }
                };
                (model.schema().column(attached.column), attached.n_outcomes, outcomes, means)
            }
        };
        let values = means.unwrap_or_else(|| labels(&column.kind));
        let order = values_of(&column.kind).filter(|order| order.len() >= MIN_ORDERED && order.len() == n_outcomes);
        let mut feature = Self { node, column: column.name.clone(), values, order, n_outcomes, outcomes };
        if let Some(order) = feature.order.clone().filter(|order| feature.is_amount(order, prior)) {
            feature.values = Values::Amounts(order);
        }
        feature
    }

    /// Returns whether labels with these values act as amounts: each state that differs clearly from the others shifts the whole
    /// distribution up or down, and some state shifts its mean clearly. Codes of a list of categories do not. All states of the hidden node
    /// are looked at, so that all speak of the column in the same way.
    fn is_amount(&self, values: &[f64], prior: &[f64]) -> bool {
        let all = self.mixed(prior);
        let deviation = deviation(&all, values, None);
        let mut is_clear = false;
        for state in 0..prior.len() {
            let Some(([inside, outside], _)) = split(prior, &|it| it == state) else { continue };
            let (here, there) = (self.mixed(&inside), self.mixed(&outside));
            let differing = 0.5 * here.iter().zip(&there).map(|(a, b)| (a - b).abs()).sum::<f64>();
            if differing >= CLEAR_DIFFERENCE && !is_shift(&here, &there, values) {
                return false;
            }
            is_clear |= (dot(&here, values) - dot(&there, values)).abs() >= CLEAR_SHIFT * deviation && deviation > 0.0;
        }
        is_clear
    }

    /// Returns whether the difference is one of this column.
    pub(super) fn is_of(&self, difference: &Difference) -> bool {
        self.node == difference.node && self.column == difference.column
    }

    fn inside(&self, state: usize) -> &[f64] {
        &self.outcomes[state * self.n_outcomes..][..self.n_outcomes]
    }

    fn mixed(&self, weights: &[f64]) -> Vec<f64> {
        chain(weights, weights.len(), &self.outcomes, self.n_outcomes)
    }

    /// Mutual information, in nats, of the column and membership in these states.
    pub(super) fn information(&self, prior: &[f64], is_inside: &dyn Fn(usize) -> bool) -> f64 {
        let Some((weights, share)) = split(prior, is_inside) else { return 0.0 };
        let table: Vec<f64> = weights.iter().flat_map(|weights| self.mixed(weights)).collect();
        crate::information::of_table(&[share, 1.0 - share], &table, self.n_outcomes)
    }

    /// How the column differs between these states and the others; `None` if one side has no rows.
    pub(super) fn difference(&self, prior: &[f64], is_inside: &dyn Fn(usize) -> bool) -> Option<Difference> {
        let ([inside, outside], _) = split(prior, is_inside)?;
        let tell = |value: Option<String>, deviation: Option<f64>, inside: f64, outside: f64| Difference {
            node: self.node,
            column: self.column.clone(),
            value,
            is_mean: deviation.is_some(),
            inside,
            outside,
            deviation,
        };
        let (here, there) = (self.mixed(&inside), self.mixed(&outside));
        let (labels, event) = match &self.values {
            Values::Means { means, variances } => {
                let deviation = deviation(prior, means, Some(variances));
                return Some(tell(None, Some(deviation), dot(&inside, means), dot(&outside, means)));
            }
            Values::Amounts(values) => {
                let deviation = deviation(&self.mixed(prior), values, None);
                return Some(tell(None, Some(deviation), dot(&here, values), dot(&there, values)));
            }
            Values::Labels { labels, event } => (labels, event),
        };
        if let Some(event) = *event {
            return Some(tell(None, None, here[event], there[event]));
        }
        let rise = |label: usize| here[label] - there[label];
        let label = (0..labels.len()).reduce(|best, label| if rise(label) > rise(best) { label } else { best })?;
        Some(tell(Some(labels[label].clone()), None, here[label], there[label]))
    }

    /// The same for a label: a column that these states together shift up or down is named as such, even if single states are told by
    /// shares.
    pub(super) fn difference_for_label(&self, prior: &[f64], is_inside: &dyn Fn(usize) -> bool) -> Option<Difference> {
        let told = self.difference(prior, is_inside)?;
        let (Some(values), Some(([inside, outside], _))) = (&self.order, split(prior, is_inside)) else { return Some(told) };
        let (here, there) = (self.mixed(&inside), self.mixed(&outside));
        let deviation = deviation(&self.mixed(prior), values, None);
        let (inside, outside) = (dot(&here, values), dot(&there, values));
        let is_clear = (inside - outside).abs() >= CLEAR_SHIFT * deviation && deviation > 0.0;
        if !is_clear || !is_shift(&here, &there, values) {
            return Some(told);
        }
        Some(Difference { value: None, is_mean: true, inside, outside, deviation: Some(deviation), ..told })
    }

    /// Returns whether the described value is as high in each of these states as in any other.
    pub(super) fn rises_in_each(&self, prior: &[f64], told: &Difference, inside: &std::ops::Range<usize>) -> bool {
        let value = |state: usize| match &self.values {
            Values::Means { means, .. } => means[state],
            Values::Amounts(values) => dot(self.inside(state), values),
            Values::Labels { labels, event } => {
                let row = self.inside(state);
                match (&told.value, event, &self.order) {
                    (Some(value), ..) => labels.iter().position(|label| label == value).map_or(0.0, |label| row[label]),
                    (None, Some(event), _) => row[*event],
                    (None, None, Some(values)) => dot(row, values),
                    (None, None, None) => 0.0,
                }
            }
        };
        let highest = (0..prior.len()).filter(|state| !inside.contains(state)).map(value).fold(f64::NEG_INFINITY, f64::max);
        inside.clone().all(|state| value(state) >= highest)
    }
}

/// Weights of the states inside and outside, each scaled to one, and the share inside.
fn split(prior: &[f64], is_inside: &dyn Fn(usize) -> bool) -> Option<([Vec<f64>; 2], f64)> {
    let side = |wanted: bool| -> Vec<f64> {
        prior.iter().enumerate().map(|(state, &p)| if is_inside(state) == wanted { p } else { 0.0 }).collect()
    };
    let sides = [side(true), side(false)];
    let sums = sides.each_ref().map(|side| side.iter().sum::<f64>());
    if sums.iter().any(|&sum| sum <= 0.0) {
        return None;
    }
    let [inside, outside] = sides;
    let scaled = |side: Vec<f64>, sum: f64| side.into_iter().map(|p| p / sum).collect();
    Some(([scaled(inside, sums[0]), scaled(outside, sums[1])], sums[0] / (sums[0] + sums[1])))
}

fn dot(weights: &[f64], values: &[f64]) -> f64 {
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
}

/// The standard deviation of values with these weights; each may have a variance of its own.
fn deviation(weights: &[f64], values: &[f64], variances: Option<&[f64]>) -> f64 {
    let total = weights.iter().sum::<f64>().max(1e-300);
    let mean = dot(weights, values) / total;
    let squares = weights.iter().zip(values).map(|(weight, value)| weight * (value - mean).powi(2)).sum::<f64>();
    ((squares + variances.map_or(0.0, |variances| dot(weights, variances))) / total).max(0.0).sqrt()
}

/// Returns whether `here / there` only rises, or only falls, along the values of the labels, up to rare labels and small steps.
fn is_shift(here: &[f64], there: &[f64], values: &[f64]) -> bool {
    const LEAST: f64 = 1e-3;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let common = order.iter().filter(|&&label| here[label].max(there[label]) >= COMMON);
    let ratios: Vec<f64> = common.map(|&label| (here[label].max(LEAST) / there[label].max(LEAST)).ln()).collect();
    only_rises(ratios.iter().copied()) || only_rises(ratios.iter().rev().copied())
}

fn only_rises(mut values: impl Iterator<Item = f64>) -> bool {
    let mut highest = f64::NEG_INFINITY;
    values.all(|value| {
        highest = highest.max(value);
        value >= highest - CLEAR_STEP.ln()
    })
}

fn labels(kind: &Kind) -> Values {
    const PLAIN: [&str; 9] = ["1", "yes", "true", "present", "positive", "on", "y", "t", "x"];
    let labels = kind.labels().unwrap_or_default().to_vec();
    let order = values_of(kind);
    let event = match (&order, labels.len()) {
        (Some(order), 2) => Some(usize::from(order[1] > order[0])),
        _ => None,
    };
    let event = event.filter(|&event| PLAIN.contains(&labels[event].trim().to_lowercase().as_str()));
    Values::Labels { labels, event }
}

/// A share as a percentage with few digits.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        it if it >= 9.95 => format!("{it:.0}%"),
        it if it >= 0.095 => format!("{:.1}%", it).replace(".0%", "%"),
        it if it > 0.0 => "<0.1%".to_owned(),
        _ => "0%".to_owned(),
    }
}

/// Two means with three digits, or as many more as tell them apart.
fn means(inside: f64, outside: f64, deviation: f64) -> [String; 2] {
    const MOST: usize = 6;
    let text =
        |value: f64, more: usize| if value.abs() < NEXT_TO_ZERO * deviation { "0".to_owned() } else { number(value, more) };
    let texts = (0..=MOST).map(|more| [inside, outside].map(|value| text(value, more)));
    let mut texts = texts.skip_while(|[inside, outside]| inside == outside);
    texts.next().unwrap_or_else(|| [inside, outside].map(|value| text(value, 0)))
}

/// A mean with three digits and more.
fn number(value: f64, more: usize) -> String {
    let size = value.abs();
    match size {
        it if it != 0.0 && !(1e-3..1e6).contains(&it) => format!("{value:.*e}", 2 + more),
        it if it >= 99.95 => format!("{value:.more$}"),
        it if it >= 9.995 => format!("{value:.*}", 1 + more),
        it if it >= 0.9995 => format!("{value:.*}", 2 + more),
        _ => format!("{value:.*}", 3 + more),
    }
}
