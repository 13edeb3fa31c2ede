//! Distances between the variables of a discrete model by what it says of each pair.
//!
//! The lengths of edges are maximal correlations. They add up to the dependence of a pair exactly if all nodes on the path have two states;
//! hidden nodes of more states carry several correlations at once, and a pair may use the weaker ones. Lengths also have no sign: two
//! diagnoses that exclude each other are as close as two that come together. The joint distribution of a pair knows both. Its distance is
//! `√(2 (1 − ρ))`, that of the standardised variables in a Euclidean space: 0 if they are the same, √2 if they are independent, more if they
//! exclude each other. For variables of more than two labels, `ρ` is the root of Pearson's mean-square contingency divided by its largest value.

use super::{Distribution, LatentTree, Marginal, Table};
use crate::index::NodeIx;

impl LatentTree {
    /// The distances `√(2 (1 − ρ))` of all pairs of observed nodes, row by row in their order; `None` if some variable is not a label.
    ///
    /// # Complexity
    /// O(p · n · d · k²) for p observed of n nodes with d labels and k hidden states; 8 p² bytes.
    #[must_use]
    pub fn implied_distances(&self) -> Option<Vec<f64>> {
        let tree = self.tree();
        let marginals = self.marginals();
        let weights: Vec<&[f64]> = marginals
            .iter()
            .map(|marginal| match marginal {
                Marginal::Discrete(weights) => Some(weights.as_slice()),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let tables: Vec<&Table> = tree
            .node_ixs()
            .map(|node| match self.distribution(node) {
                Distribution::Discrete(table) => Some(table),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let observed: Vec<NodeIx> = tree.node_ixs().filter(|&node| tree.is_observed(node)).collect();
        let p = observed.len();
        let mut place = vec![None; tree.n_nodes()];
        observed.iter().enumerate().for_each(|(ix, node)| place[node.get()] = Some(ix));
        let mut distances = vec![2.0_f64.sqrt(); p * p];
        for (row, &start) in observed.iter().enumerate() {
            distances[row * p + row] = 0.0;
            let own = weights[start.get()];
            // P(label, state of the node) for the node that is walked to.
            let mut joint = vec![0.0; own.len() * own.len()];
            own.iter().enumerate().for_each(|(label, &weight)| joint[label * own.len() + label] = weight);
            let mut stack = vec![(start, start, joint)];
            while let Some((node, from, joint)) = stack.pop() {
                if let Some(column) = place[node.get()].filter(|&column| column != row) {
                    distances[row * p + column] = contingency_distance(&joint, own, weights[node.get()]);
                }
                for link in tree.links(node).iter().filter(|link| link.to != from) {
                    let next = if self.parent(link.to) == Some(node) {
                        downward(&joint, own.len(), tables[link.to.get()])
                    } else {
                        upward(&joint, own.len(), tables[node.get()], weights[link.to.get()], weights[node.get()])
                    };
                    stack.push((link.to, node, next));
                }
            }
        }
        Some(distances)
    }
}

/// The joint distribution with a child's states.
fn downward(joint: &[f64], n_labels: usize, table: &Table) -> Vec<f64> {
    let (from, to) = (table.n_parent_states(), table.n_states());
    let mut next = vec![0.0; n_labels * to];
    for label in 0..n_labels {
        for state in 0..from {
            let weight = joint[label * from + state];
            next[label * to..][..to].iter_mut().zip(table.given(state)).for_each(|(sum, value)| *sum += weight * value);
        }
    }
    next
}

/// The joint distribution with the parent's states, by Bayes' rule.
fn upward(joint: &[f64], n_labels: usize, table: &Table, parent: &[f64], own: &[f64]) -> Vec<f64> {
    let (from, to) = (own.len(), parent.len());
    let mut next = vec![0.0; n_labels * to];
    for label in 0..n_labels {
        for (state, &share) in own.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let weight = joint[label * from + state] / share;
            for above in 0..to {
                next[label * to + above] += weight * parent[above] * table.given(above)[state];
            }
        }
    }
    next
}

fn contingency_distance(joint: &[f64], rows: &[f64], columns: &[f64]) -> f64 {
    let correlation = match (rows, columns) {
        (&[_, a], &[_, b]) => {
            let variance = a * (1.0 - a) * b * (1.0 - b);
            if variance > 0.0 { (joint[3] - a * b) / variance.sqrt() } else { 0.0 }
        }
        _ => contingency(joint, rows, columns).sqrt(),
    };
    (2.0 * (1.0 - correlation.clamp(-1.0, 1.0))).sqrt()
}

/// Pearson's mean-square contingency, divided by its largest value.
fn contingency(joint: &[f64], rows: &[f64], columns: &[f64]) -> f64 {
    let mut squared = 0.0;
    for (i, &row) in rows.iter().enumerate() {
        for (j, &column) in columns.iter().enumerate() {
            let expected = row * column;
            if expected > 0.0 {
                squared += (joint[i * columns.len() + j] - expected).powi(2) / expected;
            }
        }
    }
    let largest = rows.len().min(columns.len()).saturating_sub(1).max(1) as f64;
    (squared / largest).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::inference::tests::random_discrete;
    use crate::inference::{Evidence, Inference, JointAnswer};

    #[test]
    fn distances_are_those_of_the_exact_joint_distributions() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..60 {
            let model = random_discrete(&mut rng, 8, false);
            let Some(found) = model.implied_distances() else { continue };
            let observed: Vec<NodeIx> = model.tree().node_ixs().filter(|&node| model.tree().is_observed(node)).collect();
            let inference = Inference::new(&model);
            for (i, &a) in observed.iter().enumerate() {
                for (j, &b) in observed.iter().enumerate().filter(|(j, _)| *j > i) {
                    let JointAnswer::Table { probabilities, n_states } =
                        inference.joint(&Evidence::none(&model), &[a, b]).unwrap()
                    else {
                        panic!("discrete")
                    };
                    let [rows, columns] = [n_states[0], n_states[1]];
                    let of_row: Vec<f64> = probabilities.chunks(columns).map(|row| row.iter().sum()).collect();
                    let of_column: Vec<f64> =
                        (0..columns).map(|c| (0..rows).map(|r| probabilities[r * columns + c]).sum()).collect();
                    let expected = contingency_distance(&probabilities, &of_row, &of_column);
                    let (found, other) = (found[i * observed.len() + j], found[j * observed.len() + i]);
                    assert!((found - expected).abs() < 1e-6 && (found - other).abs() < 1e-6, "{found} instead of {expected}");
                }
            }
        }
    }
}
