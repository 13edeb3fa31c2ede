//! How finely the numbers of a column were recorded.
//!
//! Ages in years, halves of points and prices in round sums repeat. A density that is free to become narrow around each recorded
//! value would have a likelihood without bound, which says nothing about the column. The resolution r is the geometric mean, over
//! the rows, of the width of the cell around each value that ends half way to the next values: `r = exp(Σ w_v ln width_v / Σ w_v)`.
//! Normal densities of variance r²/2π have the height 1/r, so that a model of one narrow density for every value has the
//! likelihood of a table of the values whose cells are spread evenly: numbers then pay off as labels do, and not more.

/// Fewest rows for each different value, on average, for which numbers count as rounded.
const REPEATS: u64 = 2;

/// The resolution of numbers, in order, with their frequencies; `None` if they hardly repeat.
pub(super) fn resolution(values: &[(f64, u64)]) -> Option<f64> {
    let n: u64 = values.iter().map(|it| it.1).sum();
    if values.len() < 2 || n < REPEATS * values.len() as u64 {
        return None;
    }
    let at = |ix: usize| values[ix].0;
    let last = values.len() - 1;
    let width = |ix: usize| match ix {
        0 => at(1) - at(0),
        _ if ix == last => at(last) - at(last - 1),
        _ => 0.5 * (at(ix + 1) - at(ix - 1)),
    };
    let sum: f64 = values.iter().enumerate().map(|(ix, &(_, count))| count as f64 * width(ix).ln()).sum();
    let found = (sum / n as f64).exp();
    (found.is_finite() && found > 0.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolution_is_the_step_of_even_values_and_a_mean_of_uneven_ones() {
        let even: Vec<(f64, u64)> = (0..14).map(|ix| (1.0 + 0.5 * f64::from(ix), 5)).collect();
        assert!((resolution(&even).unwrap() - 0.5).abs() < 1e-12);
        // Widths 1, 2.5, 4 of weights 1, 2, 1.
        let uneven = [(0.0, 1), (1.0, 2), (5.0, 1)];
        assert_eq!(resolution(&uneven), None, "fewer than two rows a value");
        let uneven = uneven.map(|(value, count)| (value, 2 * count));
        assert!((resolution(&uneven).unwrap() - (1.0_f64 * 2.5 * 2.5 * 4.0).powf(0.25)).abs() < 1e-12);
    }
}
