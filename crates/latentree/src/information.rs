//! Mutual information, in nats, and the Bayesian information criterion.

/// Pointwise mutual information `ln(n(a, b) n / (n(a) n(b)))` of counts or shares of a total n; zero for an empty cell, which has
/// no weight.
pub(crate) fn pointwise(joint: f64, a: f64, b: f64, total: f64) -> f64 {
    if joint > 0.0 { (joint * total / (a * b)).ln() } else { 0.0 }
}

/// Mutual information of a table of counts, a row per state of the first, times their sum.
pub(crate) fn of_joint(joint: &[f64], n_columns: usize) -> f64 {
    let total: f64 = joint.iter().sum();
    let mut columns = vec![0.0; n_columns];
    joint.chunks_exact(n_columns).for_each(|row| columns.iter_mut().zip(row).for_each(|(sum, value)| *sum += value));
    let mut information = 0.0;
    for row in joint.chunks_exact(n_columns) {
        let own: f64 = row.iter().sum();
        row.iter().zip(&columns).for_each(|(&value, &column)| information += value * pointwise(value, own, column, total));
    }
    information
}

/// Mutual information of a node with these probabilities and another that is distributed by this table given it.
pub(crate) fn of_table(prior: &[f64], table: &[f64], n_states: usize) -> f64 {
    let mut total = 0.0;
    for state in 0..n_states {
        let own: f64 = prior.iter().enumerate().map(|(from, weight)| weight * table[from * n_states + state]).sum();
        for (from, &weight) in prior.iter().enumerate() {
            let value = table[from * n_states + state];
            if weight * value > 0.0 {
                total += weight * value * (value / own).ln();
            }
        }
    }
    total.max(0.0)
}

/// Mutual information `−½ ln(1 − ρ²)` of two Gaussian variables. Two copies of one column have ρ = 1: as strong as can be, but
/// finite.
pub(crate) fn of_correlation(correlation: f64) -> f64 {
    -0.5 * (1.0 - correlation.powi(2)).max(1e-300).ln()
}

/// The same with ρ² = explained / (explained + rest), without the cancellation.
pub(crate) fn of_variances(explained: f64, rest: f64) -> f64 {
    0.5 * (explained / rest).ln_1p()
}

/// What a free parameter costs in the Bayesian information criterion, on the scale of the log-likelihood: `½ ln N`.
pub(crate) fn bic_cost(rows: f64) -> f64 {
    0.5 * rows.ln()
}

/// The Bayesian information criterion on the scale of the log-likelihood, larger is better: `ln L − ½ parameters · ln N`.
pub(crate) fn bic(log_likelihood: f64, free_parameters: usize, rows: f64) -> f64 {
    log_likelihood - free_parameters as f64 * bic_cost(rows)
}

/// Whether a log-likelihood or BIC is below that of a simpler model by more than smoothing costs.
pub(crate) fn falls_short(own: f64, simpler: f64) -> bool {
    own < simpler - 1e-4 * simpler.abs() - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisy_copy_has_the_information_of_its_channel_in_every_form() {
        let noise: f64 = 0.2;
        let capacity = 2_f64.ln() + noise * noise.ln() + (1.0 - noise) * (1.0 - noise).ln();
        let table = [1.0 - noise, noise, noise, 1.0 - noise];
        assert!((of_table(&[0.5, 0.5], &table, 2) - capacity).abs() < 1e-15);
        let counts = table.map(|value| 500.0 * value);
        assert!((of_joint(&counts, 2) / 1000.0 - capacity).abs() < 1e-15);
        assert_eq!(of_joint(&[5.0, 0.0, 0.0, 5.0], 2), 10.0 * 2_f64.ln());
        assert!(of_joint(&[2.0, 4.0, 3.0, 6.0], 2).abs() < 1e-14, "independent");
    }

    #[test]
    fn correlations_and_variances_tell_the_same() {
        for correlation in [0.0, -0.3, 0.9] {
            let square = correlation * correlation;
            assert!((of_correlation(correlation) - of_variances(square, 1.0 - square)).abs() < 1e-15);
        }
        assert!(of_correlation(1.0).is_finite());
    }
}
