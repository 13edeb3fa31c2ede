//! Dependence between pairs of branches that a star does not explain.
//!
//! Each branch is reduced to a label: that of a variable, whether a number is above the middle, or the most probable state
//! behind a message. For two branches with counts `n(a, b)` and expected counts `E(a, b) = Σ_s N π_s P(a|s) P(b|s)` under the
//! star, the residual is `Σ n ln(n/E)`: about what a hidden node above the two could gain.

use crate::patch::{CHUNK, Column, Columns, Leaf, Local, Source};

/// Maximum work of comparing all pairs of branches: pairs times rows.
const MOST_WORK: usize = 1_000_000_000;
/// Minimum average residual, in nats, for a branch to join a group.
const LEAST: f64 = 1.0;

/// Labels of branches, counts of pairs, and residuals.
pub(super) struct Residuals {
    n_branches: usize,
    n_labels: Vec<usize>,
    labels: Vec<Vec<u8>>,
    weights: Vec<f64>,
    /// For each branch, the weights of labels in each state, `[state][label]`.
    given: Vec<Vec<f64>>,
    /// For each pair, minus half the degrees of freedom.
    nats: Vec<f64>,
    n_states: usize,
}

const MISSING: u8 = u8::MAX;
/// Maximum number of labels; the rest are combined.
const MOST_LABELS: usize = 12;

impl Residuals {
    pub(super) fn new(star: &Local, columns: &Columns) -> Self {
        let patch = &star.patch;
        let n_branches = star.branches.len();
        let n_states = patch.nodes[0].n_states;
        let weights = columns.weights.clone();
        let mut all = Self {
            n_branches,
            n_labels: Vec::new(),
            labels: Vec::new(),
            weights,
            given: Vec::new(),
            nats: vec![0.0; n_branches * n_branches],
            n_states,
        };
        for (_, leaves) in &star.branches {
            let (n_labels, labels) = labels(&patch.leaves[leaves.start], columns);
            all.n_labels.push(n_labels);
            all.labels.push(labels);
        }
        if n_branches * n_branches / 2 * columns.n_rows > MOST_WORK {
            return all;
        }
        let mut given: Vec<Vec<f64>> = all.n_labels.iter().map(|n| vec![0.0; n_states * n]).collect();
        let mut work = patch.work();
        patch.expect(columns, &mut work, |chunk, work| {
            let first = chunk * CHUNK;
            let n = (columns.n_rows - first).min(CHUNK);
            for (branch, labels) in all.labels.iter().enumerate() {
                let n_labels = all.n_labels[branch];
                for state in 0..n_states {
                    let beliefs = &work.beliefs[0][state * CHUNK..][..n];
                    let own = &mut given[branch][state * n_labels..][..n_labels];
                    for (belief, &label) in beliefs.iter().zip(&labels[first..first + n]) {
                        if let Some(cell) = own.get_mut(usize::from(label)) {
                            *cell += belief;
                        }
                    }
                }
            }
        });
        all.given = given;
        for a in 0..n_branches {
            for b in a + 1..n_branches {
                let value = all.residual(a, b);
                all.nats[a * n_branches + b] = value;
                all.nats[b * n_branches + a] = value;
            }
        }
        all
    }

    /// Joint counts of the labels of two branches.
    fn counts(&self, a: usize, b: usize) -> Vec<f64> {
        let (n_a, n_b) = (self.n_labels[a], self.n_labels[b]);
        // Missing labels have their own row and column, which avoids a condition per row.
        let mut counts = vec![0.0; (n_a + 1) * (n_b + 1)];
        let rows = self.labels[a].iter().zip(&self.labels[b]).zip(&self.weights);
        for ((&a, &b), weight) in rows {
            counts[usize::from(a).min(n_a) * (n_b + 1) + usize::from(b).min(n_b)] += weight;
        }
        (0..n_a).flat_map(|a| counts[a * (n_b + 1)..][..n_b].to_vec()).collect()
    }

    fn residual(&self, a: usize, b: usize) -> f64 {
        let counts = self.counts(a, b);
        let total: f64 = counts.iter().sum();
        let (n_a, n_b) = (self.n_labels[a], self.n_labels[b]);
        let mut expected = vec![0.0; n_a * n_b];
        for state in 0..self.n_states {
            let (x, y) = (&self.given[a][state * n_a..][..n_a], &self.given[b][state * n_b..][..n_b]);
            let weight: f64 = 1.0 / x.iter().sum::<f64>().max(1e-300) / y.iter().sum::<f64>().max(1e-300);
            let mass = x.iter().sum::<f64>();
            for (cells, x) in expected.chunks_exact_mut(n_b).zip(x) {
                cells.iter_mut().zip(y).for_each(|(cell, y)| *cell += mass * x * y * weight);
            }
        }
        let all: f64 = expected.iter().sum();
        let cells = counts.iter().zip(&expected).filter(|(count, _)| **count > 0.0);
        let nats: f64 = cells.map(|(count, value)| count * (count * all / (total * value.max(1e-12))).ln()).sum();
        nats - 0.5 * ((n_a - 1) * (n_b - 1)) as f64
    }

    fn of(&self, a: usize, b: usize) -> f64 {
        self.nats[a * self.n_branches + b]
    }

    /// The pair of branches with the largest residual.
    pub(super) fn worst_pair(&self) -> Option<(usize, usize)> {
        let pairs = (0..self.n_branches).flat_map(|a| (a + 1..self.n_branches).map(move |b| (a, b)));
        pairs
            .max_by(|x, y| self.of(x.0, x.1).total_cmp(&self.of(y.0, y.1)).then(y.cmp(x)))
            .filter(|pair| self.of(pair.0, pair.1) > LEAST)
    }

    /// Groups of branches that may need their own node: grown around the worst pair, small and large, leaving at least `left`
    /// branches.
    pub(super) fn groups(&self, left: usize) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let Some((a, b)) = self.worst_pair() else { return groups };
        let most = self.n_branches.saturating_sub(left);
        let seeds = if self.strength(a) >= self.strength(b) { vec![a, b] } else { vec![b, a] };
        let mut group = seeds;
        if group.len() <= most {
            groups.push(group.clone());
        }
        while group.len() < most {
            let to_group = |it: usize| group.iter().map(|&member| self.of(it, member)).sum::<f64>() / group.len() as f64;
            let others = (0..self.n_branches).filter(|it| !group.contains(it));
            let Some(next) = others.max_by(|&x, &y| to_group(x).total_cmp(&to_group(y)).then(y.cmp(&x))) else { break };
            if to_group(next) < LEAST {
                break;
            }
            group.push(next);
            if group.len() == 3 && most > 3 {
                groups.push(group.clone());
            }
        }
        let sizes = [group.len(), self.n_branches / 3, self.n_branches / 2];
        for size in sizes.into_iter().filter(|&size| size > 3 && size <= group.len()) {
            let cut = group[..size].to_vec();
            if !groups.contains(&cut) {
                groups.push(cut);
            }
        }
        groups
    }

    fn strength(&self, branch: usize) -> f64 {
        (0..self.n_branches).map(|other| self.of(branch, other).max(0.0)).sum()
    }

    /// The class of each label of the seed branch: the most common labels have their own class, the others share one.
    fn classes(&self, seed: usize, n_classes: usize) -> Vec<usize> {
        let n_labels = self.n_labels[seed];
        let mass = |label: usize| (0..self.n_states).map(|state| self.given[seed][state * n_labels + label]).sum::<f64>();
        let mut order: Vec<usize> = (0..n_labels).collect();
        order.sort_by(|&a, &b| mass(b).total_cmp(&mass(a)).then(a.cmp(&b)));
        let mut classes = vec![0; n_labels];
        order.into_iter().enumerate().for_each(|(rank, label)| classes[label] = rank.min(n_classes - 1));
        classes
    }

    /// The table of classes given the star's states.
    pub(super) fn classes_given_states(&self, seed: usize, n_classes: usize) -> Vec<f64> {
        let n_labels = self.n_labels[seed];
        let classes = self.classes(seed, n_classes);
        let mut table = Vec::with_capacity(self.n_states * n_classes);
        for state in 0..self.n_states {
            let mut row = vec![0.5; n_classes];
            for label in 0..n_labels {
                row[classes[label]] += self.given[seed][state * n_labels + label];
            }
            let total: f64 = row.iter().sum();
            table.extend(row.into_iter().map(|cell| cell / total));
        }
        table
    }

    /// The parameters of a branch's leaf given the classes of a seed.
    pub(super) fn given_classes(
        &self,
        seed: usize,
        branch: usize,
        offset: usize,
        n_classes: usize,
        leaf: &Leaf,
        columns: &Columns,
    ) -> Vec<f64> {
        let width = leaf.values.len() / self.n_states;
        let same = seed == branch && offset == 0;
        let is_number = matches!(&leaf.source, Source::Column(column) if !columns.columns[*column].is_discrete());
        if is_number {
            return self.number_given_classes(seed, n_classes, leaf, columns, if same { 0.5 } else { 1.0 });
        }
        let labels;
        let (own, n_own) = if offset == 0 {
            (&self.labels[branch], self.n_labels[branch])
        } else {
            labels = self::labels(leaf, columns);
            (&labels.1, labels.0)
        };
        let classes = self.classes(seed, n_classes);
        let mut counts = vec![0.0; n_classes * n_own];
        for ((&seed_label, &label), weight) in self.labels[seed].iter().zip(own).zip(&self.weights) {
            if seed_label != MISSING && usize::from(label) < n_own {
                counts[classes[usize::from(seed_label)] * n_own + usize::from(label)] += weight;
            }
        }
        let mut values = Vec::with_capacity(n_classes * width);
        let overall: Vec<f64> = (0..n_own).map(|label| (0..n_classes).map(|class| counts[class * n_own + label]).sum()).collect();
        let all: f64 = overall.iter().sum::<f64>().max(1e-9);
        for class in 0..n_classes {
            let row = &counts[class * n_own..][..n_own];
            let total: f64 = row.iter().sum::<f64>().max(1e-9);
            // Never certain; combined labels share equally.
            let share = |label: usize| {
                let (label, among) =
                    if label + 1 >= n_own { (n_own - 1, width.saturating_sub(n_own - 1).max(1)) } else { (label, 1) };
                (0.8 * row[label] / total + 0.2 * overall[label] / all + 1e-4) / among as f64
            };
            let own: Vec<f64> = (0..width).map(share).collect();
            let total: f64 = own.iter().sum();
            values.extend(own.into_iter().map(|cell| cell / total));
        }
        values
    }

    fn number_given_classes(&self, seed: usize, n_classes: usize, leaf: &Leaf, columns: &Columns, trust: f64) -> Vec<f64> {
        let Source::Column(column) = leaf.source else { return Vec::new() };
        let Column::Numbers { is_count, mean, variance, values, .. } = &columns.columns[column] else { return Vec::new() };
        let classes = self.classes(seed, n_classes);
        let mut sums = vec![[1e-9, 0.0]; n_classes];
        for ((&label, value), weight) in self.labels[seed].iter().zip(values).zip(&self.weights) {
            if label != MISSING && !value.is_nan() {
                let class = classes[usize::from(label)];
                sums[class][0] += weight;
                sums[class][1] += weight * value;
            }
        }
        let center = if *is_count { *mean } else { 0.0 };
        let own = |sums: &[f64; 2]| center + trust * (sums[1] / sums[0] - center);
        if *is_count {
            sums.iter().map(|it| own(it).max(1e-3 * mean.max(1e-9))).collect()
        } else {
            sums.iter().flat_map(|it| [own(it), 0.8 * variance]).collect()
        }
    }
}

/// The label of each row for a leaf.
pub(super) fn labels(leaf: &Leaf, columns: &Columns) -> (usize, Vec<u8>) {
    let narrow = |n_codes: usize, code: usize| if code >= n_codes { MISSING } else { code.min(MOST_LABELS - 1) as u8 };
    match &leaf.source {
        Source::Column(column) | Source::Identity(column) => match &columns.columns[*column] {
            Column::Labels { n_codes, usual, listed } => {
                let mut labels = vec![narrow(*n_codes, *usual); columns.n_rows];
                listed.cells().for_each(|(row, code)| labels[row] = narrow(*n_codes, code));
                ((*n_codes).min(MOST_LABELS), labels)
            }
            Column::Numbers { is_count, mean, values, .. } => {
                let middle = if *is_count { *mean } else { 0.0 };
                let label = |value: &f64| if value.is_nan() { MISSING } else { u8::from(*value > middle) };
                (2, values.iter().map(label).collect())
            }
        },
        Source::Soft(soft) | Source::Fixed(soft) => {
            let n_rows = columns.n_rows;
            let label = |row: usize| {
                let value = |state: usize| soft.values[state * n_rows + row];
                let best = (0..soft.n_states).max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a))).unwrap_or(0);
                narrow(soft.n_states, best)
            };
            (soft.n_states.min(MOST_LABELS), (0..n_rows).map(label).collect())
        }
    }
}
