//! Numbers below a discrete node, cut into intervals, to compute their information about the node without a closed form.
//!
//! The mutual information with the interval of a number is a lower bound of that with the number itself. Intervals end at quantiles
//! of the number's distribution in every state, which resolves both narrow and wide states.

use crate::model::Emission;

/// Standard normal quantiles at which a state's distribution is cut.
const CUTS: [f64; 17] = [-3.0, -2.5, -2.0, -1.6, -1.2, -0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9, 1.2, 1.6, 2.0, 2.5, 3.0];
/// Poisson distributions with higher rates are treated as normal.
const NORMAL_RATE: f64 = 400.0;

/// Probabilities of intervals, one row per state of the parent: the number of intervals and the values. `None` for labels and
/// groups.
pub(super) fn intervals(emission: &Emission) -> Option<(usize, Vec<f64>)> {
    let mut cuts: Vec<f64> = match emission {
        Emission::Gaussian { means, variances } => {
            let states = means.iter().zip(variances);
            states.flat_map(|(mean, variance)| CUTS.map(|cut| mean + cut * variance.sqrt())).collect()
        }
        // Cuts lie midway between two counts.
        Emission::Poisson { rates } => {
            rates.iter().flat_map(|rate| CUTS.map(|cut| (rate + cut * rate.sqrt()).floor().max(0.0) + 0.5)).collect()
        }
        Emission::Categorical(_) | Emission::Group(_) => return None,
    };
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let n_intervals = cuts.len() + 1;
    let mut values = Vec::new();
    let mut row = |below: &mut dyn FnMut(f64) -> f64| {
        let mut last = 0.0;
        for &cut in &cuts {
            let up_to = below(cut).clamp(last, 1.0);
            values.push(up_to - last);
            last = up_to;
        }
        values.push(1.0 - last);
    };
    match emission {
        Emission::Gaussian { means, variances } => {
            means.iter().zip(variances).for_each(|(mean, variance)| row(&mut |cut| normal_below((cut - mean) / variance.sqrt())));
        }
        Emission::Poisson { rates } => rates.iter().for_each(|&rate| row(&mut |cut| poisson_below(rate, cut))),
        Emission::Categorical(_) | Emission::Group(_) => return None,
    }
    Some((n_intervals, values))
}

/// Means and variances in each state of the parent.
pub(super) fn moments(emission: &Emission) -> Option<Vec<(f64, f64)>> {
    match emission {
        Emission::Gaussian { means, variances } => Some(means.iter().copied().zip(variances.iter().copied()).collect()),
        Emission::Poisson { rates } => Some(rates.iter().map(|&rate| (rate, rate)).collect()),
        Emission::Categorical(_) | Emission::Group(_) => None,
    }
}

/// The standard normal distribution function by Abramowitz and Stegun 26.2.17, within 7.5e-8.
fn normal_below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let above = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt() * series;
    if z > 0.0 { 1.0 - above } else { above }
}

fn poisson_below(rate: f64, cut: f64) -> f64 {
    if rate > NORMAL_RATE {
        return normal_below((cut - rate) / rate.sqrt());
    }
    let mut term = (-rate).exp();
    let mut sum = term;
    let mut count = 1.0;
    // Beyond this, all terms are below the last digit of the sum.
    let most = cut.min(rate + 40.0 * rate.sqrt() + 40.0);
    while count <= most {
        term *= rate / count;
        sum += term;
        count += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_functions_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.1; Poisson: e⁻² (1 + 2 + 2).
        for (z, expected) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (3.0, 0.998_650_102)] {
            assert!((normal_below(z) - expected).abs() < 1e-7);
        }
        assert!((poisson_below(2.0, 2.5) - 5.0 * (-2.0_f64).exp()).abs() < 1e-14);
        assert!((poisson_below(399.0, 399.5) - poisson_below(401.0, 401.5)).abs() < 1e-1);
    }

    #[test]
    fn intervals_are_distributions_whatever_the_scales() {
        let emissions = [
            Emission::Gaussian { means: vec![0.0, 1e6, -3.0], variances: vec![1e-12, 4.0, 1e12] },
            Emission::Poisson { rates: vec![0.0, 3.5, 1e9] },
        ];
        for emission in emissions {
            let (n_intervals, values) = intervals(&emission).unwrap();
            assert_eq!(values.len(), 3 * n_intervals);
            for row in values.chunks(n_intervals) {
                assert!(row.iter().all(|value| *value >= 0.0) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
    }
}
