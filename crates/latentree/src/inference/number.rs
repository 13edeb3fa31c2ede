//! Number types of messages.
//!
//! Plain `f64` is enough, and fast, when the compiled [`Plan`](super::plan::Plan) can prove that no product leaves its
//! range. It cannot when tables hold zeros or tiny entries above long products (a state with relative weight 10⁻⁴⁰⁰ may be
//! brought back by evidence elsewhere in the tree); then the same code runs on [`Wide`] numbers, whose exponent is an integer
//! of its own.

use super::kernel::{self, Matrix};

/// Least power of two of a density. Densities below it, of numbers some 10⁷ standard deviations from the mean, count as that, so
/// that exponents of thousands of them still have a sum.
const LEAST_EXPONENT: f64 = -((1_i64 << 48) as f64);

/// What message passing asks of a number.
pub(crate) trait Number: Copy + Send + Sync + Default + 'static {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Whether products must be renormalised by plan.
    const BOUNDED: bool;

    fn times(self, other: Self) -> Self;
    fn times_f64(self, factor: f64) -> Self;
    fn plus(self, other: Self) -> Self;
    /// `self / other`, zero when `other` is zero.
    fn ratio(self, other: Self) -> Self;
    fn to_f64(self) -> f64;
    fn ln(self) -> f64;
    /// e^`ln` as a number in [½, 1) and a power of two, at least that of `LEAST_EXPONENT`; for numbers without bounds, all of
    /// it and 0.
    fn from_ln(ln: f64) -> (Self, i64);
    /// Splits off a power of two, so that the rest is in [½, 1); zero stays as it is.
    fn split(self) -> (Self, i64);
    /// `self · 2^exponent` for exponents ≤ 0.
    fn shifted(self, exponent: i64) -> Self;

    /// `Σ a·b`, in an order that follows from the length alone.
    #[inline(always)]
    fn dot(a: &[Self], b: &[Self]) -> Self {
        a.iter().zip(b).fold(Self::ZERO, |sum, (a, b)| sum.plus(a.times(*b)))
    }

    /// [`kernel::mix`], where numbers have it: says whether it was done.
    #[inline(always)]
    fn mix(_: Matrix<'_>, _: (usize, usize), _: &[Self], _: &mut [Self], _: usize, _: usize) -> bool {
        false
    }

    /// [`kernel::turn`] and [`kernel::correlate`], where numbers have them: says whether it was done.
    #[inline(always)]
    fn correlate(
        _: &[f64],
        _: (usize, usize),
        _: [&[Self]; 2],
        _: (usize, usize),
        _scratch: &mut Vec<f64>,
        _counts: &mut [f64],
    ) -> bool {
        false
    }

    /// `Σ a·b` for numbers that fit `f64`.
    #[inline(always)]
    fn dot_f64(a: &[Self], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a.to_f64() * b).sum()
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const BOUNDED: bool = true;

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }

    #[inline(always)]
    fn times_f64(self, factor: f64) -> Self {
        self * factor
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn ratio(self, other: Self) -> Self {
        if other == 0.0 { 0.0 } else { self / other }
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn ln(self) -> f64 {
        f64::ln(self)
    }

    #[inline(always)]
    fn from_ln(ln: f64) -> (Self, i64) {
        if ln == f64::NEG_INFINITY {
            return (0.0, 0);
        }
        let exponent = (ln * std::f64::consts::LOG2_E).floor() + 1.0;
        if exponent < LEAST_EXPONENT {
            return (0.5, LEAST_EXPONENT as i64);
        }
        ((ln - exponent * std::f64::consts::LN_2).exp(), exponent as i64)
    }

    #[inline(always)]
    fn split(self) -> (Self, i64) {
        const FIELD: u64 = 0x7ff << 52;
        let bits = self.to_bits();
        if bits & FIELD == 0 {
            // Zero; the plan keeps products far from the subnormal range.
            return (self, 0);
        }
        let exponent = ((bits & FIELD) >> 52) as i64 - 1022;
        (f64::from_bits((bits & !FIELD) | (1022 << 52)), exponent)
    }

    #[inline(always)]
    fn mix(matrix: Matrix<'_>, sizes: (usize, usize), input: &[Self], output: &mut [Self], stride: usize, n_rows: usize) -> bool {
        if sizes.0.min(sizes.1) < kernel::MIN_STATES {
            return false;
        }
        kernel::mix(matrix, sizes, input, output, stride, n_rows);
        true
    }

    #[inline(always)]
    fn correlate(
        table: &[f64],
        sizes: (usize, usize),
        [a, b]: [&[Self]; 2],
        (stride, n_rows): (usize, usize),
        scratch: &mut Vec<f64>,
        counts: &mut [f64],
    ) -> bool {
        if sizes.0.min(sizes.1) < kernel::MIN_STATES {
            return false;
        }
        let width = kernel::padded(sizes.1);
        scratch.resize(width * stride, 0.0);
        kernel::turn(b, sizes.1, width, stride, n_rows, scratch);
        kernel::correlate(table, sizes, a, scratch, stride, n_rows, counts);
        true
    }

    #[inline(always)]
    fn dot(a: &[Self], b: &[Self]) -> Self {
        // Eight sums side by side fill the vector registers; a single one would wait for every addition.
        let (a_chunks, a_rest) = a.as_chunks::<8>();
        let (b_chunks, b_rest) = b.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            for lane in 0..8 {
                sums[lane] += a[lane] * b[lane];
            }
        }
        for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
            *sum += a * b;
        }
        ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
    }

    #[inline(always)]
    fn dot_f64(a: &[Self], b: &[f64]) -> f64 {
        Self::dot(a, b)
    }

    #[inline(always)]
    fn shifted(self, exponent: i64) -> Self {
        if exponent < -1000 { 0.0 } else { self * f64::from_bits(((1023 + exponent) as u64) << 52) }
    }
}

/// A number `mantissa · 2^exponent` with an exponent of 64 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Wide {
    mantissa: f64,
    exponent: i64,
}

impl Wide {
    fn normal(mantissa: f64, exponent: i64) -> Self {
        let (mantissa, extra) = mantissa.split();
        Self { mantissa, exponent: if mantissa == 0.0 { 0 } else { exponent + extra } }
    }
}

impl Number for Wide {
    const ZERO: Self = Self { mantissa: 0.0, exponent: 0 };
    const ONE: Self = Self { mantissa: 0.5, exponent: 1 };
    const BOUNDED: bool = false;

    fn times(self, other: Self) -> Self {
        Self::normal(self.mantissa * other.mantissa, self.exponent + other.exponent)
    }

    fn times_f64(self, factor: f64) -> Self {
        let (factor, exponent) = if factor.is_subnormal() {
            ((factor * 2f64.powi(100)).split().0, (factor * 2f64.powi(100)).split().1 - 100)
        } else {
            factor.split()
        };
        Self::normal(self.mantissa * factor, self.exponent + exponent)
    }

    fn plus(self, other: Self) -> Self {
        if self.mantissa == 0.0 {
            return other;
        }
        if other.mantissa == 0.0 {
            return self;
        }
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        Self::normal(large.mantissa + small.mantissa.shifted(small.exponent - large.exponent), large.exponent)
    }

    fn ratio(self, other: Self) -> Self {
        if other.mantissa == 0.0 {
            return Self::ZERO;
        }
        Self::normal(self.mantissa / other.mantissa, self.exponent - other.exponent)
    }

    fn to_f64(self) -> f64 {
        if self.exponent > 1 {
            // Beliefs are at most 1 up to rounding; anything larger is not asked for.
            return self.mantissa * 2f64.powi(i32::try_from(self.exponent).unwrap_or(i32::MAX));
        }
        self.mantissa.shifted(self.exponent)
    }

    fn ln(self) -> f64 {
        f64::ln(self.mantissa) + self.exponent as f64 * std::f64::consts::LN_2
    }

    fn from_ln(ln: f64) -> (Self, i64) {
        let (mantissa, exponent) = f64::from_ln(ln);
        (Self::normal(mantissa, exponent), 0)
    }

    fn split(self) -> (Self, i64) {
        (self, 0)
    }

    fn shifted(self, exponent: i64) -> Self {
        Self { exponent: self.exponent + exponent, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_numbers_add_and_multiply_like_f64_in_its_range() {
        for a in [0.0, 1e-300, 0.3, 1.0, 7.5] {
            for b in [0.0, 2e-9, 0.3, 1.0, 1e200] {
                let (x, y) = (Wide::ONE.times_f64(a), Wide::ONE.times_f64(b));
                assert_eq!(x.plus(y).ln(), Wide::ONE.times_f64(a + b).ln());
                let product = x.times(y).ln();
                assert!(product == (a.ln() + b.ln()) || (product - (a.ln() + b.ln())).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn exponents_of_tiny_densities_have_a_sum() {
        for ln in [-3.0, -1e5, -1e13, -1e16, -1e40, f64::MIN] {
            let ((mantissa, exponent), wide) = (f64::from_ln(ln), Wide::from_ln(ln).0);
            assert!((0.5..=1.0).contains(&mantissa) && exponent.checked_mul(10_000).is_some(), "{ln}");
            let told = mantissa.ln() + exponent as f64 * std::f64::consts::LN_2;
            assert!(ln < -1e14 || (told - ln).abs() <= 1e-9 * ln.abs(), "{ln} {told}");
            assert_eq!(wide.ln(), told);
        }
        assert_eq!(f64::from_ln(f64::NEG_INFINITY), (0.0, 0));
    }

    #[test]
    fn split_and_shift_are_exact() {
        for value in [0.75, 1.0, 3.0e-200, 5.0e200] {
            let (mantissa, exponent) = value.split();
            assert!((0.5..1.0).contains(&mantissa));
            assert_eq!(mantissa * 2f64.powi(exponent as i32), value);
        }
        assert_eq!(0.75.shifted(-3), 0.75 / 8.0);
        assert_eq!(0.0.split(), (0.0, 0));
    }
}
