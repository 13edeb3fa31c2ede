//! How columns differ between the states of a hidden node, in numbers and words.

use crate::data::Kind;
use crate::index::NodeIx;
use crate::model::{LatentTree, values_of};
use crate::report::profile::Found;
use crate::report::steps::{Content, chain};

/// Numeric labels are described by their mean if it shifts by at least this many standard deviations, otherwise by one label.
const CLEAR_SHIFT: f64 = 0.3;

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
}

impl Difference {
    /// In words, such as `depression 56% instead of 9%`.
    #[must_use]
    pub fn text(&self) -> String {
        let name = self.name();
        if self.is_mean {
            format!("mean {name} {} instead of {}", number(self.inside), number(self.outside))
        } else {
            format!("{name} {} instead of {}", percent(self.inside), percent(self.outside))
        }
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
    /// Outcomes (labels or intervals) by state.
    n_outcomes: usize,
    outcomes: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Values {
    /// Labels, and their values if they are ordered; `event` is set if the second of two is a plain "yes".
    Labels { labels: Vec<String>, order: Option<Vec<f64>>, event: Option<usize> },
    /// Mean of a number by state.
    Means(Vec<f64>),
}

impl Feature {
    pub(super) fn new(model: &LatentTree, found: &Found<'_>, n_states: usize) -> Self {
        let node = NodeIx::new(found.node);
        let width = found.given.len() / n_states.max(1);
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
                        let mean = |row: &[f64]| row.iter().zip(moments).map(|(weight, it)| weight * it.0).sum();
                        Some(found.given.chunks_exact(width).map(mean).collect())
                    }
                };
                (model.schema().column(attached.column), attached.n_outcomes, outcomes, means)
            }
        };
        let values = means.map_or_else(|| labels(&column.kind), Values::Means);
        Self { node, column: column.name.clone(), values, n_outcomes, outcomes }
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
        let tell = |value: Option<String>, is_mean: bool, inside: f64, outside: f64| Difference {
            node: self.node,
            column: self.column.clone(),
            value,
            is_mean,
            inside,
            outside,
        };
        let dot = |weights: &[f64], values: &[f64]| weights.iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>();
        let (labels, order, event) = match &self.values {
            Values::Means(means) => return Some(tell(None, true, dot(&inside, means), dot(&outside, means))),
            Values::Labels { labels, order, event } => (labels, order, event),
        };
        let (here, there) = (self.mixed(&inside), self.mixed(&outside));
        if let Some(event) = *event {
            return Some(tell(None, false, here[event], there[event]));
        }
        if let Some(order) = order.as_ref().filter(|order| order.len() > 2) {
            let all = self.mixed(prior);
            let (mean, squares) = (dot(&all, order), all.iter().zip(order).map(|(p, value)| p * value * value).sum::<f64>());
            let (high, low) = (dot(&here, order), dot(&there, order));
            if (high - low).abs() >= CLEAR_SHIFT * (squares - mean * mean).max(0.0).sqrt() {
                return Some(tell(None, true, high, low));
            }
        }
        let rise = |label: usize| here[label] - there[label];
        let label = (0..labels.len()).reduce(|best, label| if rise(label) > rise(best) { label } else { best })?;
        Some(tell(Some(labels[label].clone()), false, here[label], there[label]))
    }

    /// Returns whether the described value is as high in each of these states as in any other.
    pub(super) fn rises_in_each(&self, prior: &[f64], told: &Difference, inside: &std::ops::Range<usize>) -> bool {
        let value = |state: usize| match &self.values {
            Values::Means(means) => means[state],
            Values::Labels { labels, order, event } => {
                let row = self.inside(state);
                match (&told.value, event, order) {
                    (Some(value), ..) => labels.iter().position(|label| label == value).map_or(0.0, |label| row[label]),
                    (None, Some(event), _) => row[*event],
                    (None, None, Some(order)) => row.iter().zip(order).map(|(p, value)| p * value).sum(),
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

fn labels(kind: &Kind) -> Values {
    const PLAIN: [&str; 9] = ["1", "yes", "true", "present", "positive", "on", "y", "t", "x"];
    let labels = kind.labels().unwrap_or_default().to_vec();
    let order = values_of(kind);
    let event = match (&order, labels.len()) {
        (Some(order), 2) => Some(usize::from(order[1] > order[0])),
        _ => None,
    };
    let event = event.filter(|&event| PLAIN.contains(&labels[event].trim().to_lowercase().as_str()));
    Values::Labels { labels, order, event }
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

/// A mean with three digits.
fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        it if it != 0.0 && !(1e-3..1e6).contains(&it) => format!("{value:.2e}"),
        it if it >= 99.95 => format!("{value:.0}"),
        it if it >= 9.995 => format!("{value:.1}"),
        it if it >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
