//! The exponential function of non-positive numbers for whole arrays, without calls or branches, so that the compiler can
//! vectorise it.
//!
//! `e^x = 2^n e^f` with n the integer nearest to `x / ln 2` and `|f| ≤ ½ ln 2`, where the series of `e^f` has a relative
//! error below 1e-11 after ten terms.

/// Lower limit of the argument; below it, the result is e⁻⁶⁹⁰, about 1e-300.
const LEAST: f64 = -690.0;
/// Adding this to a number in this range leaves the nearest integer in the lowest bits: 1.5 · 2⁵².
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// `e^x` for `x ≤ 0`, with a relative error of 1e-11.
#[inline(always)]
pub(super) fn exp_negative(x: f64) -> f64 {
    let x = if x > LEAST { x } else { LEAST };
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let f = x - (shifted - SHIFT) * std::f64::consts::LN_2;
    // 1/10!, …, 1/2!
    const TERMS: [f64; 9] =
        [1.0 / 3_628_800.0, 1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];
    let series = TERMS.iter().fold(0.0, |sum, term| sum * f + term);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    power * (1.0 + f + f * f * series)
}

#[cfg(test)]
mod tests {
    use super::exp_negative;

    #[test]
    fn it_is_the_exponential_function() {
        for step in 0..70_000 {
            let x = -0.01 * f64::from(step) + 1e-3;
            let x = x.min(0.0);
            let wanted = x.max(-690.0).exp();
            assert!((exp_negative(x) / wanted - 1.0).abs() < 1e-11, "{x}");
        }
        assert_eq!(exp_negative(0.0), 1.0);
        assert!(exp_negative(f64::NEG_INFINITY) > 0.0);
    }
}
