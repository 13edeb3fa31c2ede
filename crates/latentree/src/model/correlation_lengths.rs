//! Lengths of a model's edges from its own distributions: `−ln ρ`, with the maximal correlation `ρ` of the two ends.
//!
//! Trees that a search by likelihood finds, and hidden class trees, come without lengths: nothing was measured along their
//! edges. Their models still say how closely the two ends of an edge depend on each other. The maximal correlation is the
//! largest correlation of any two functions of the ends: `|ρ|` of Gaussian and of two-state variables, for which lengths add
//! up along paths exactly.

use super::{Distribution, Emission, LatentTree, Marginal, Table};
use crate::linalg::{DenseOperator, leading_singular_values};
use crate::tree::Tree;

impl LatentTree {
    /// The model's tree with `−ln ρ` on every edge, infinite where its ends are independent. For a continuous or count leaf below
    /// a discrete node, `ρ` is that of the node and the value itself (the correlation ratio); for a group, that of its closest
    /// member.
    #[must_use]
    pub fn correlation_lengths(&self) -> Tree {
        let marginals = self.marginals();
        let lengths: Vec<Option<f64>> = self
            .tree()
            .node_ixs()
            .map(|node| {
                let parent = self.parent(node)?;
                let correlation = match (self.distribution(node), &marginals[parent.get()]) {
                    (Distribution::Discrete(table), Marginal::Discrete(weights)) => of_table(table, weights),
                    (Distribution::Emission(emission), Marginal::Discrete(weights)) => of_emission(emission, weights),
                    (
                        &Distribution::LinearGaussian { coefficient, variance, .. },
                        &Marginal::Gaussian { variance: above, .. },
                    ) => {
                        let explained = coefficient * coefficient * above;
                        (explained / (explained + variance)).sqrt()
                    }
                    _ => return None,
                };
                // Adding 0 makes the length of a perfect correlation 0, not −0.
                Some(-correlation.clamp(0.0, 1.0).ln() + 0.0)
            })
            .collect();
        self.tree().with_lengths(|edge| {
            let child = if self.parent(edge.b) == Some(edge.a) { edge.b } else { edge.a };
            lengths[child.get()]
        })
    }
}

/// The largest singular value but the first of the joint distribution divided by the roots of both marginals.
fn of_table(table: &Table, weights: &[f64]) -> f64 {
    let n_states = table.n_states();
    let mut own = vec![0.0; n_states];
    for (row, &weight) in table.rows().zip(weights) {
        own.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
    }
    let mut cells = Vec::with_capacity(weights.len() * n_states);
    for (row, &weight) in table.rows().zip(weights) {
        // Without the first singular value, which is 1 for the roots of the marginals themselves.
        let cell = |(&value, &own): (&f64, &f64)| if own > 0.0 { weight.sqrt() * (value - own) / own.sqrt() } else { 0.0 };
        cells.extend(row.iter().zip(&own).map(cell));
    }
    leading_singular_values(&DenseOperator { cells: &cells, n_cols: n_states }, 1, 0).values.first().copied().unwrap_or(0.0)
}

fn of_emission(emission: &Emission, weights: &[f64]) -> f64 {
    let parts: Vec<(f64, f64)> = match emission {
        Emission::Categorical(table) => return of_table(table, weights),
        Emission::Group(members) => return members.iter().map(|member| of_emission(member, weights)).fold(0.0, f64::max),
        Emission::Gaussian { means, variances } => means.iter().copied().zip(variances.iter().copied()).collect(),
        Emission::Poisson { rates } => rates.iter().map(|&rate| (rate, rate)).collect(),
    };
    let mean: f64 = parts.iter().zip(weights).map(|(part, weight)| weight * part.0).sum();
    let between: f64 = parts.iter().zip(weights).map(|(part, weight)| weight * (part.0 - mean).powi(2)).sum();
    let within: f64 = parts.iter().zip(weights).map(|(part, weight)| weight * part.1).sum();
    if between > 0.0 { (between / (between + within)).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::inference::tests::random_discrete;
    use crate::inference::{Evidence, Inference, JointAnswer};

    /// The correlation of two two-state nodes by their exact joint distribution.
    fn correlation(p: &[f64]) -> f64 {
        let (a, b) = (p[2] + p[3], p[1] + p[3]);
        (p[3] - a * b) / (a * (1.0 - a) * b * (1.0 - b)).sqrt()
    }

    #[test]
    fn lengths_of_two_state_trees_add_up_to_the_exact_correlation_of_any_two_nodes() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut compared = 0;
        for _ in 0..1000 {
            let model = random_discrete(&mut rng, 7, false);
            let tree = model.correlation_lengths();
            let is_binary = |node| model.n_states(node) == Some(2);
            let inference = Inference::new(&model);
            for a in tree.node_ixs() {
                for b in tree.node_ixs().filter(|&b| a < b) {
                    let Some(path) = tree.path(a, b) else { continue };
                    if !path.iter().all(|&node| is_binary(node)) {
                        continue;
                    }
                    let JointAnswer::Table { probabilities, .. } = inference.joint(&Evidence::none(&model), &[a, b]).unwrap()
                    else {
                        panic!("discrete")
                    };
                    let expected = correlation(&probabilities).abs();
                    let length: f64 = path
                        .windows(2)
                        .map(|pair| tree.links(pair[0]).iter().find(|link| link.to == pair[1]).unwrap().length.unwrap())
                        .sum();
                    // A state that hardly occurs leaves nothing but rounding in the joint distribution.
                    let shares = [0, 1]
                        .map(|ix| [probabilities[2 * ix] + probabilities[2 * ix + 1], probabilities[ix] + probabilities[2 + ix]]);
                    if shares.iter().flatten().all(|share| *share > 1e-4) {
                        assert!(((-length).exp() - expected).abs() < 1e-9, "{} instead of {expected}", (-length).exp());
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 100, "{compared}");
    }

    #[test]
    fn the_length_above_a_number_is_that_of_its_correlation_ratio() {
        let emission = Emission::Gaussian { means: vec![-1.0, 1.0], variances: vec![3.0, 3.0] };
        assert!((of_emission(&emission, &[0.5, 0.5]) - 0.5).abs() < 1e-12);
        let constant = Emission::Poisson { rates: vec![2.0, 2.0] };
        assert_eq!(of_emission(&constant, &[0.3, 0.7]), 0.0);
        let both = Emission::Group(vec![constant, emission]);
        assert!((of_emission(&both, &[0.5, 0.5]) - 0.5).abs() < 1e-12);
    }
}
