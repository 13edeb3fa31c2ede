//! How finely the numbers of a column were recorded.
//!
//! Ages in years, halves of points and prices in round sums repeat. A density that is free to become narrow around each recorded
//! value would have a likelihood without bound, which says nothing about the column. The resolution r is the geometric mean, over
//! the different values, of the width of the cell around each value that ends half way to the next values: `r = exp(mean ln width)`.
//! Normal densities of variance r²/2π have the height 1/r, so that for even steps a model of one narrow density for every value has
//! the likelihood of a table of the values whose cells are spread evenly: numbers then pay off as labels do, and not more. Numbers
//! that are all different have a resolution as well, which is as small as they are many.
//!
//! How often a value occurs does not count, so that a row of weight two is the same as two rows.

/// The resolution of different numbers, in order; `None` for fewer than two.
pub(super) fn resolution(values: &[f64]) -> Option<f64> {
    let last = values.len().checked_sub(2)? + 1;
    let width = |ix: usize| match ix {
        0 => values[1] - values[0],
        _ if ix == last => values[last] - values[last - 1],
        _ => 0.5 * (values[ix + 1] - values[ix - 1]),
    };
    let mean = (0..values.len()).map(|ix| width(ix).ln()).sum::<f64>() / values.len() as f64;
    let found = mean.exp();
    (found.is_finite() && found > 0.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resolution_is_the_step_of_even_values_and_a_mean_of_uneven_ones() {
        let even: Vec<f64> = (0..14).map(|ix| 1.0 + 0.5 * f64::from(ix)).collect();
        assert!((resolution(&even).unwrap() - 0.5).abs() < 1e-12);
        // Widths 1, 2.5, 4.
        assert!((resolution(&[0.0, 1.0, 5.0]).unwrap() - 10.0_f64.cbrt()).abs() < 1e-12);
        assert_eq!((resolution(&[3.0]), resolution(&[])), (None, None));
    }
}
