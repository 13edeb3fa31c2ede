//! Log-densities of emitting leaves in each state of their parent.

use super::evidence::EvidenceBlock;
use super::plan::Term;

/// Adds to `out` (a block of rows per state of the parent, `stride` apart) the log-density of what is known of a leaf.
/// Members that are missing in a row add nothing: they are summed out.
pub(crate) fn add_ln_density(terms: &[Term], block: &EvidenceBlock<'_>, stride: usize, out: &mut [f64]) {
    for term in terms {
        match term {
            Term::Categorical { column, ln_by_state } => {
                let cells = block.column(*column);
                let n_parent_states = out.len() / stride;
                for row in 0..block.n_rows {
                    if let Some(code) = cells.code(row) {
                        for (state, ln) in ln_by_state[code * n_parent_states..][..n_parent_states].iter().enumerate() {
                            out[state * stride + row] += ln;
                        }
                    }
                }
            }
            Term::Gaussian { column, parts } => {
                let cells = block.column(*column);
                for row in 0..block.n_rows {
                    let value = cells.number(row);
                    if value.is_nan() {
                        continue;
                    }
                    for (state, [mean, constant, precision]) in parts.iter().enumerate() {
                        out[state * stride + row] += constant - (value - mean).powi(2) * precision;
                    }
                }
            }
            Term::Poisson { column, parts } => {
                let cells = block.column(*column);
                for row in 0..block.n_rows {
                    let value = cells.number(row);
                    if value.is_nan() {
                        continue;
                    }
                    let ln_factorial = ln_factorial(value);
                    for (state, [rate, ln_rate]) in parts.iter().enumerate() {
                        // 0 · ln 0 is 0: a rate of zero is sure of a count of zero.
                        let power = if value == 0.0 { 0.0 } else { value * ln_rate };
                        out[state * stride + row] += power - rate - ln_factorial;
                    }
                }
            }
        }
    }
}

/// ln(n!) for a count n ≥ 0: a product up to 20, Stirling's series above (error below 1e-15 relative).
#[must_use]
pub(crate) fn ln_factorial(count: f64) -> f64 {
    if count <= 20.0 {
        let mut product = 1.0;
        let mut factor = 2.0;
        while factor <= count {
            product *= factor;
            factor += 1.0;
        }
        return product.ln();
    }
    // Γ(x) with x = n + 1.
    let x = count + 1.0;
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series =
        inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::ln_factorial;

    #[test]
    fn ln_factorial_follows_its_recurrence() {
        let mut sum = 0.0;
        for n in 1..500 {
            sum += f64::from(n).ln();
            assert!((ln_factorial(f64::from(n)) - sum).abs() < 1e-13 * (1.0 + sum), "{n}");
        }
        assert_eq!(ln_factorial(0.0), 0.0);
    }
}
