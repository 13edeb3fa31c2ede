//! Pairs of columns that the model explains badly, in standard errors.
//!
//! For two label columns, this is the cell whose count `O` is farthest from its expectation `E = N p`, by
//! `z = (O − E) / √(N p (1 − p))`. If one of the columns is a number, correlations are compared by Fisher's
//! `z = (artanh r − artanh ρ) √(N − 3)`. The model's values are exact: from each column, `E[f(x) · 1(node = b)]` is passed along the
//! tree.
//!
//! N counts the rows that have both cells. Where cells are missing for a reason, these rows are a selection: more of the old, say. So two
//! label columns are compared by what they have to do with each other, as if rows were selected by either label (see `selected_joint`), and
//! correlations are left out where the selection shows in a mean.

use rayon::prelude::*;

use super::steps::{Content, Steps, chain};
use crate::data::Kind;
use crate::index::{ColIx, NodeIx};
use crate::model::{Family, LatentTree, Marginal, PoorPair};
use crate::moments::PairMoments;

/// Maximum number of pairs to keep.
const KEPT: usize = 200;
/// Cells whose count and expectation are both below this are skipped.
const MIN_COUNT: f64 = 5.0;
/// Minimum |z| of a poor pair. Of the 4.5 million pairs of 3,000 columns of a true model, about two exceed it.
const POOR_ERRORS: f64 = 5.0;
/// Minimum |z| in a model of few pairs, and how many these are: of 1,000 cells of a true model, 0.06 exceed it.
const POOR_ERRORS_OF_FEW: f64 = 4.0;
const FEW_PAIRS: u64 = 1000;
/// Fewest rows with and without a label whose correlation with a number is approximately normal.
const FEWEST_OF_A_LABEL: f64 = 30.0;
/// Minimum difference of the two shares of a poor pair, relative to the larger one.
const POOR_SHARE: f64 = 0.1;
/// Minimum difference of the two correlations of a poor pair.
const POOR_CORRELATION: f64 = 0.05;
/// With more features in total, pairs are skipped.
const MAX_FEATURES: usize = 3000;

/// A pair of columns and how far the model is from the data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Misfit {
    pub(super) columns: [ColIx; 2],
    /// The labels of the cell, for label columns.
    pub(super) labels: [Option<usize>; 2],
    /// Whether the two numbers are correlations rather than shares of rows.
    pub(super) is_correlation: bool,
    pub(super) observed: f64,
    pub(super) expected: f64,
    pub(super) z: f64,
}

/// The result for all pairs.
#[derive(Debug, Default)]
pub(super) struct Misfits {
    pub(super) pairs: u64,
    /// Pairs beyond four standard errors.
    pub(super) beyond_four: u64,
    pub(super) n_columns: usize,
    /// Worst first.
    pub(super) worst: Vec<Misfit>,
}

/// The counted pairs of some of the model's columns.
struct Counted<'a> {
    moments: &'a PairMoments,
    pair_columns: &'a [ColIx],
}

/// A column's place in the model: the discrete node it depends on, and its features' means in each of that node's states.
struct Place {
    column: ColIx,
    /// `None` for an isolated leaf.
    anchor: Option<usize>,
    /// The labels of the features; `None` for a number.
    labels: Option<Vec<usize>>,
    /// One row per state of the anchor.
    means: Vec<f64>,
    n_features: usize,
    /// Marginal mean and variance of each feature.
    marginal: Vec<(f64, f64)>,
}

/// The worst pairs, at most `most`. The columns of the moments are `pair_columns` of the model.
pub(super) fn worst(
    model: &LatentTree,
    steps: Option<&Steps>,
    moments: &PairMoments,
    pair_columns: &[ColIx],
    most: usize,
) -> Misfits {
    let data = &Counted { moments, pair_columns };
    let mut all = match steps {
        Some(steps) if model.family() == Family::Discrete => discrete(model, steps, data),
        _ => gaussian(model, data),
    };
    all.n_columns = data.pair_columns.len();
    all.worst.sort_by(|a, b| b.z.abs().total_cmp(&a.z.abs()).then(a.columns.cmp(&b.columns)));
    all.worst.truncate(most.min(KEPT));
    all
}

/// Returns whether a model has few enough columns to check all pairs.
#[must_use]
pub fn has_few_pairs(model: &LatentTree) -> bool {
    let columns = model.schema().columns();
    columns.iter().map(|column| column.kind.n_states().unwrap_or(1)).sum::<usize>() <= MAX_FEATURES
}

/// The pairs of columns that a model explains badly, worst first: the difference must be significant and large enough to matter.
///
/// A pair of labels is poor if the share of rows that have both differs from the model's by at least five standard errors (four in a model
/// of at most 1,000 pairs) and by a tenth of the larger share; a pair with a number, if the two correlations differ as much and by 0.05. Returns at most 200
/// pairs, and none if [`has_few_pairs`] is false. The moments must have the model's columns.
///
/// # Example
/// ```
/// use latentree::Silent;
/// use latentree::inference::Inference;
/// use latentree::moments::{PairMoments, fold};
/// use latentree::report::poor_pairs;
/// use latentree::simulate::{Shape, Simulation};
/// // A model explains its own rows.
/// let model = Simulation::new(Shape::DoubleStar, 8).model()?;
/// let inference = Inference::new(&model);
/// let moments = fold(&mut inference.sampler(2000, 1), PairMoments::new(model.schema().clone())?, &Silent)?;
/// assert!(poor_pairs(&model, &moments).is_empty());
/// # Ok::<(), latentree::Error>(())
/// ```
#[must_use]
pub fn poor_pairs(model: &LatentTree, moments: &PairMoments) -> Vec<PoorPair> {
    if !has_few_pairs(model) {
        return Vec::new();
    }
    let steps = (model.family() == Family::Discrete).then(|| Steps::new(model));
    let columns: Vec<ColIx> = (0..model.schema().columns().len()).map(ColIx::new).collect();
    let found = worst(model, steps.as_ref(), moments, &columns, usize::MAX);
    let errors = if found.pairs <= FEW_PAIRS { POOR_ERRORS_OF_FEW } else { POOR_ERRORS };
    let is_poor = |it: &&Misfit| {
        let error = (it.observed - it.expected).abs();
        let matters = match it.is_correlation {
            true => error >= POOR_CORRELATION,
            false => error >= POOR_SHARE * it.observed.max(it.expected),
        };
        it.z.abs() >= errors && matters
    };
    let schema = model.schema();
    let pair = |it: &Misfit| {
        let columns = it.columns.map(|column| schema.column(column));
        let label = |end: usize| Some(columns[end].kind.labels()?[it.labels[end]?].clone());
        let value = |end: usize| label(end).filter(|_| columns[end].kind != Kind::binary());
        PoorPair {
            first: columns[0].name.clone(),
            second: columns[1].name.clone(),
            first_value: value(0),
            second_value: value(1),
            correlation: it.is_correlation,
            observed: it.observed,
            expected: it.expected,
            z: it.z,
        }
    };
    found.worst.iter().filter(is_poor).map(pair).collect()
}

fn joined(parts: Vec<Misfits>) -> Misfits {
    parts.into_iter().fold(Misfits::default(), |mut all, part| {
        all.pairs += part.pairs;
        all.beyond_four += part.beyond_four;
        all.worst.extend(part.worst);
        all
    })
}

impl Misfits {
    fn add(&mut self, misfit: Option<Misfit>) {
        let Some(misfit) = misfit.filter(|it| it.z.is_finite()) else { return };
        self.pairs += 1;
        self.beyond_four += u64::from(misfit.z.abs() > 4.0);
        self.worst.push(misfit);
        if self.worst.len() >= 4 * KEPT {
            self.worst.sort_by(|a, b| b.z.abs().total_cmp(&a.z.abs()).then(a.columns.cmp(&b.columns)));
            self.worst.truncate(KEPT);
        }
    }
}

fn discrete(model: &LatentTree, steps: &Steps, data: &Counted<'_>) -> Misfits {
    let places: Vec<Place> = data.pair_columns.iter().map(|&column| place(model, steps, column)).collect();
    let mut at_node: Vec<Vec<usize>> = vec![Vec::new(); model.tree().n_nodes()];
    for (ix, place) in places.iter().enumerate() {
        if let Some(anchor) = place.anchor {
            at_node[anchor].push(ix);
        }
    }
    let parts = (0..places.len()).into_par_iter().map(|first| {
        let mut found = Misfits::default();
        let own = &places[first];
        let mut seen = vec![false; places.len()];
        if let Some(anchor) = own.anchor {
            let prior = &steps.marginals[anchor];
            // Feature by feature: E[f · 1(node = b)].
            let start: Vec<f64> = (0..own.n_features)
                .flat_map(|feature| prior.iter().enumerate().map(move |(state, p)| (feature, state, p)))
                .map(|(feature, state, p)| p * own.means[state * own.n_features + feature])
                .collect();
            steps.walk(anchor, start, |node, carried| {
                let width = steps.marginals[node].len();
                for &second in at_node[node].iter().filter(|&&second| second < first) {
                    seen[second] = true;
                    let joint = chain(carried, width, &places[second].means, places[second].n_features);
                    found.add(compare(own, &places[second], [first, second], &joint, data));
                }
            });
        }
        for second in (0..first).filter(|&second| !seen[second]) {
            let other = &places[second];
            let joint: Vec<f64> = own.marginal.iter().flat_map(|a| other.marginal.iter().map(move |b| a.0 * b.0)).collect();
            found.add(compare(own, other, [first, second], &joint, data));
        }
        found
    });
    joined(parts.collect())
}

fn place(model: &LatentTree, steps: &Steps, column: ColIx) -> Place {
    let schema = model.schema();
    let node = model.node_of(schema.variable_of(column));
    // One of two labels is enough.
    let labels = schema.column(column).kind.n_states().map(|n| if n == 2 { vec![1] } else { (0..n).collect::<Vec<_>>() });
    let own = &steps.marginals[node.get()];
    if !own.is_empty() {
        let labels = labels.unwrap_or_default();
        let means =
            (0..own.len()).flat_map(|state| labels.iter().map(move |&label| f64::from(u8::from(label == state)))).collect();
        let marginal = labels.iter().map(|&label| (own[label], own[label] * (1.0 - own[label]))).collect();
        return Place { column, anchor: Some(node.get()), n_features: labels.len(), labels: Some(labels), means, marginal };
    }
    let anchor = model.parent(node).map(NodeIx::get);
    let attached = anchor.map_or(&steps.alone, |parent| &steps.attached[parent]);
    let it = attached.iter().find(|it| it.column == column).expect("every column of an emission is attached");
    let alone = [1.0];
    let prior = anchor.map_or(&alone[..], |anchor| &steps.marginals[anchor]);
    let (means, variances): (Vec<f64>, Vec<f64>) = match &it.content {
        Content::Numbers(moments) => moments.iter().copied().unzip(),
        Content::Labels => {
            let chosen = labels.as_deref().unwrap_or_default();
            let rows = it.outcomes.chunks_exact(it.n_outcomes);
            rows.flat_map(|row| chosen.iter().map(|&label| (row[label], row[label] * (1.0 - row[label])))).unzip()
        }
    };
    let n_features = means.len() / prior.len();
    let marginal = (0..n_features).map(|feature| {
        let at = |state: usize| state * n_features + feature;
        let mean: f64 = prior.iter().enumerate().map(|(state, p)| p * means[at(state)]).sum();
        let spread = prior.iter().enumerate().map(|(state, p)| p * (variances[at(state)] + (means[at(state)] - mean).powi(2)));
        (mean, spread.sum())
    });
    Place { column, anchor, marginal: marginal.collect(), labels, means, n_features }
}

/// The worst cell of a pair; `joint` holds the model's E[f g], with features of the first column as rows.
fn compare(first: &Place, second: &Place, ixs: [usize; 2], joint: &[f64], data: &Counted<'_>) -> Option<Misfit> {
    let [i, j] = ixs.map(ColIx::new);
    let n = data.moments.pair_weight(i, j);
    if n < MIN_COUNT {
        return None;
    }
    let mut best: Option<Misfit> = None;
    let mut offer = |labels: [Option<usize>; 2], is_correlation: bool, observed: f64, expected: f64, z: f64| {
        if best.as_ref().is_none_or(|best| z.abs() > best.z.abs()) {
            best = Some(Misfit {
                columns: [second.column, first.column],
                labels: [labels[1], labels[0]],
                is_correlation,
                observed,
                expected,
                z,
            });
        }
    };
    let is_selected = n < data.moments.total_weight();
    if let (Some(rows), Some(columns)) = (&first.labels, &second.labels) {
        let table = data.moments.table(i, j)?;
        let n_labels = data.moments.schema().column(j).kind.n_states()?;
        let selected = is_selected.then(|| selected_joint(joint, first, second, &table, n_labels));
        for (a, &row) in rows.iter().enumerate() {
            for (b, &column) in columns.iter().enumerate() {
                let p =
                    selected.as_ref().map_or(joint[a * second.n_features + b], |it| it[row * n_labels + column]).clamp(0.0, 1.0);
                let count = table[row * n_labels + column];
                if count.max(n * p) >= MIN_COUNT {
                    // Half a row guards against an expectation of zero.
                    let spread = (n * p * (1.0 - p)).max(0.5).sqrt();
                    offer([Some(row), Some(column)], false, count / n, p, (count - n * p) / spread);
                }
            }
        }
        return best;
    }
    let cross = data.moments.cross(i, j);
    let width = data.moments.n_features(j);
    // A categorical column has a feature for every label, of which a place may have chosen some; others have one.
    let stored = |it: &Place, ix: ColIx, feature: usize| match &it.labels {
        Some(labels) if data.moments.n_features(ix) > 1 => labels[feature],
        _ => feature,
    };
    for a in 0..first.n_features {
        for b in 0..second.n_features {
            let covariance = joint[a * second.n_features + b] - first.marginal[a].0 * second.marginal[b].0;
            let deviations = [first.marginal[a].1, second.marginal[b].1];
            let expected = covariance / (deviations[0] * deviations[1]).sqrt();
            let [at, beside] = [stored(first, i, a), stored(second, j, b)];
            let variances = [
                data.moments.feature_variance_beside(i, at, j).unwrap_or(0.0),
                data.moments.feature_variance_beside(j, beside, i).unwrap_or(0.0),
            ];
            let scale = variances[0] * variances[1];
            // Few rows with a label are as few outliers: a correlation with them says little.
            let is_rare = |it: &Place, feature: usize| {
                let share = it.marginal[feature].0;
                it.labels.is_some() && n * share.min(1.0 - share) < FEWEST_OF_A_LABEL
            };
            let is_told = scale > 0.0
                && expected.is_finite()
                && !is_rare(first, a)
                && !is_rare(second, b)
                && !(is_selected && is_biased(data, [i, j], [at, beside]));
            if is_told {
                let observed = (cross[at * width + beside] / scale.sqrt()).clamp(-1.0, 1.0);
                let label = |it: &Place, feature: usize| it.labels.as_ref().map(|labels| labels[feature]);
                offer([label(first, a), label(second, b)], true, observed, expected, fisher(observed, expected, n));
            }
        }
    }
    best
}

/// The model's joint distribution of two columns of labels, all labels of both, if rows are selected by either value so that their shares are
/// those of `table`: iterative proportional fitting, which keeps odds ratios.
fn selected_joint(joint: &[f64], first: &Place, second: &Place, table: &[f64], n_labels: usize) -> Vec<f64> {
    const ROUNDS: usize = 20;
    // The other label of two is what remains.
    let whole = |place: &Place, part: Vec<f64>, total: f64| match part[..] {
        [one] if place.labels.as_deref() == Some(&[1]) => vec![(total - one).max(0.0), one],
        _ => part,
    };
    let rows = joint.chunks_exact(second.n_features).zip(&first.marginal);
    let mut fitted: Vec<f64> = rows.flat_map(|(row, marginal)| whole(second, row.to_vec(), marginal.0)).collect();
    if first.labels.as_deref() == Some(&[1]) {
        let all = whole(second, second.marginal.iter().map(|it| it.0).collect(), 1.0);
        let others: Vec<f64> = all.iter().zip(&fitted).map(|(all, one)| (all - one).max(0.0)).collect();
        fitted.splice(0..0, others);
    }
    let n: f64 = table.iter().sum();
    let n_rows = table.len() / n_labels;
    let row = |of: &[f64], a: usize| of[a * n_labels..][..n_labels].iter().sum::<f64>();
    let column = |of: &[f64], b: usize| of.iter().skip(b).step_by(n_labels).sum::<f64>();
    let factor = |wanted: f64, is: f64| if is > 0.0 { wanted / n / is } else { 0.0 };
    for _ in 0..ROUNDS {
        for a in 0..n_rows {
            let factor = factor(row(table, a), row(&fitted, a));
            fitted[a * n_labels..][..n_labels].iter_mut().for_each(|it| *it *= factor);
        }
        for b in 0..n_labels {
            let factor = factor(column(table, b), column(&fitted, b));
            fitted.iter_mut().skip(b).step_by(n_labels).for_each(|it| *it *= factor);
        }
    }
    fitted
}

/// Returns whether the rows that have both cells are evidently a selection: one of the two features has another mean there than in all rows
/// that have it. Their correlation is then not that of all rows, whatever the model.
fn is_biased(data: &Counted<'_>, columns: [ColIx; 2], features: [usize; 2]) -> bool {
    /// Smallest shift of a mean that matters, in standard deviations, and the fewest standard errors of it.
    const SHIFT: f64 = 0.05;
    const ERRORS: f64 = 3.0;
    let moments = data.moments;
    let n = moments.pair_weight(columns[0], columns[1]);
    [0, 1].iter().any(|&end| {
        let (own, other, feature) = (columns[end], columns[1 - end], features[end]);
        let n_own = moments.weight(own);
        let mean = |beside: ColIx| moments.feature_mean_beside(own, feature, beside);
        let variance = moments.feature_variance_beside(own, feature, own).filter(|it| *it > 0.0);
        let (true, Some(variance)) = (n < n_own, variance) else { return false };
        let shift = (mean(other) - mean(own)).abs() / variance.sqrt();
        shift > SHIFT && shift > ERRORS * (1.0 / n - 1.0 / n_own).sqrt()
    })
}

fn fisher(observed: f64, expected: f64, n: f64) -> f64 {
    let bent = |r: f64| r.clamp(-0.999_999, 0.999_999).atanh();
    (bent(observed) - bent(expected)) * (n - 3.0).max(1.0).sqrt()
}

fn gaussian(model: &LatentTree, data: &Counted<'_>) -> Misfits {
    let tree = model.tree();
    let marginals: Vec<Marginal> = model.marginals();
    let correlations = crate::report::profile::correlations(model, &marginals);
    let mut place = vec![None; tree.n_nodes()];
    for (ix, &column) in data.pair_columns.iter().enumerate() {
        place[model.node_of(model.schema().variable_of(column)).get()] = Some(ix);
    }
    let parts = data.pair_columns.par_iter().enumerate().map(|(first, &column)| {
        let mut found = Misfits::default();
        let origin = model.node_of(model.schema().variable_of(column));
        let mut expected = vec![0.0; first];
        let mut stack = vec![(origin, None, 1.0)];
        while let Some((node, from, correlation)) = stack.pop() {
            if let Some(second) = place[node.get()].filter(|&second| second < first) {
                expected[second] = correlation;
            }
            for link in tree.links(node).iter().filter(|link| Some(link.to) != from) {
                let child = if model.parent(node) == Some(link.to) { node } else { link.to };
                stack.push((link.to, Some(node), correlation * correlations[child.get()]));
            }
        }
        for (second, &expected) in expected.iter().enumerate() {
            let (i, j) = (ColIx::new(first), ColIx::new(second));
            let n = data.moments.pair_weight(i, j);
            let is_biased = || n < data.moments.total_weight() && is_biased(data, [i, j], [0, 0]);
            let observed = data.moments.correlation(i, j).filter(|_| n >= MIN_COUNT && !is_biased());
            found.add(observed.map(|observed| Misfit {
                columns: [data.pair_columns[second], column],
                labels: [None, None],
                is_correlation: true,
                observed,
                expected,
                z: fisher(observed, expected, n),
            }));
        }
        found
    });
    joined(parts.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{ColumnData, Dataset, Schema};
    use crate::inference::Inference;
    use crate::model::{Distribution, Emission, Table};
    use crate::moments::{Summary, fold};
    use crate::parameters::independent;
    use crate::tree::Tree;
    use crate::{LatentTree, Silent};

    /// Sex, height and sport depend on one hidden variable.
    fn model() -> LatentTree {
        let labels = |labels: &[&str]| Kind::Categorical { labels: labels.iter().map(|&it| it.to_owned()).collect() };
        let schema = Schema::builder()
            .scalar("sex", labels(&["female", "male"]))
            .scalar("height", Kind::Continuous)
            .scalar("sport", labels(&["none", "some", "much"]))
            .build()
            .unwrap();
        let mut tree = Tree::new();
        let leaves = ["sex", "height", "sport"].map(|name| tree.add_observed(name).unwrap());
        let root = tree.add_next_hidden();
        leaves.iter().for_each(|&leaf| tree.connect(root, leaf, None).unwrap());
        let height = Emission::Gaussian { means: vec![165.0, 178.0], variances: vec![40.0, 50.0] };
        LatentTree::builder(Arc::new(schema), tree)
            .root(root)
            .distribution(root, Distribution::Discrete(Table::new(2, vec![0.5, 0.5])))
            .distribution(leaves[0], Distribution::Discrete(Table::new(2, vec![0.95, 0.05, 0.05, 0.95])))
            .distribution(leaves[1], Distribution::Emission(height))
            .distribution(leaves[2], Distribution::Discrete(Table::new(3, vec![0.6, 0.3, 0.1, 0.1, 0.3, 0.6])))
            .build()
            .unwrap()
    }

    #[test]
    fn labels_and_numbers_of_the_model_itself_are_explained() {
        let model = model();
        let moments = PairMoments::new(Arc::clone(model.schema())).unwrap();
        let moments = fold(&mut Inference::new(&model).sampler(5000, 1), moments, &Silent).unwrap();
        let columns: Vec<ColIx> = (0..3).map(ColIx::new).collect();
        let found = worst(&model, Some(&Steps::new(&model)), &moments, &columns, usize::MAX);
        assert_eq!((found.pairs, found.beyond_four), (3, 0), "{:?}", found.worst);
        let sex = found.worst.iter().find(|it| it.is_correlation && it.labels.contains(&Some(1))).unwrap();
        assert!(sex.observed > 0.3 && sex.expected > 0.3, "{sex:?}");
    }
    #[test]
    fn cells_that_are_missing_for_a_reason_are_no_misfit() {
        let model = model();
        let rows = Inference::new(&model).sample(20_000, 3).unwrap();
        let schema = Arc::clone(model.schema());
        let kinds = schema.columns().iter().map(|column| ColumnData::for_kind(&column.kind, 20_000));
        let mut columns: Vec<ColumnData> = kinds.collect();
        let mut row_ix = 0;
        for batch in rows.batches() {
            for row in 0..batch.n_rows {
                let [sex, height, sport] = [0, 1, 2].map(|column| batch.number(row, ColIx::new(column)));
                columns[0].push_number(sex);
                columns[1].push_number(height);
                // Few men say how much sport they do.
                columns[2].push_number(if sex == 1.0 && row_ix % 5 > 0 { f64::NAN } else { sport });
                row_ix += 1;
            }
        }
        let data = Dataset::from_columns(schema, columns, None).unwrap();
        let moments = fold(&mut data.source(), PairMoments::new(Arc::clone(model.schema())).unwrap(), &Silent).unwrap();
        let told = poor_pairs(&model, &moments);
        assert!(told.is_empty(), "{told:?}");
    }

    #[test]
    fn the_label_of_a_pair_is_named_unless_it_is_a_plain_one() {
        let labels = ["1", "2", "3"].map(str::to_owned).to_vec();
        let schema = Schema::builder().scalar("rating", Kind::Categorical { labels }).scalar("bought", Kind::binary()).build();
        let schema = Arc::new(schema.unwrap());
        let ratings = ColumnData::Codes8((0..900).map(|row| (row % 3) as u8).collect());
        let bought = ColumnData::Codes8((0..900).map(|row| u8::from(row % 3 == 0)).collect());
        let data = Dataset::from_columns(Arc::clone(&schema), vec![ratings, bought], None).unwrap();
        let summary = fold(&mut data.source(), Summary::new(Arc::clone(&schema)), &Silent).unwrap();
        let moments = fold(&mut data.source(), PairMoments::new(Arc::clone(&schema)).unwrap(), &Silent).unwrap();
        let apart = independent(&schema, &summary).unwrap();
        let told = poor_pairs(&apart, &moments)[0].text();
        assert!(told.starts_with("rating=1 and bought: 33.3% of rows have both, 11.1% in the model"), "{told}");
    }
}
