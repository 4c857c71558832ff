//! Exact sums of floating-point numbers, independent of their order.
//!
//! Runs finish in any order, on any thread, in any shard. An exact sum is a fixed-point number as wide as the range of
//! `f64` (Kulisch) that is rounded once, when it is read. Mean and standard error depend on the set of runs alone.

use serde::{Deserialize, Serialize};

/// 32-bit digits from 2^-1074 to beyond the largest `f64`, with room for 2^63 of them.
const DIGITS: usize = 70;

/// An exact sum of `f64`s.
///
/// ```
/// use emab::stats::ExactSum;
/// let mut sum = ExactSum::default();
/// for v in [1e100, 1.0, -1e100] {
///     sum.add(v);
/// }
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Packed", try_from = "Packed")]
pub struct ExactSum {
    /// Little-endian, base 2^32; every digit may hold carries until they are settled.
    digits: [i64; DIGITS],
    /// Additions since carries were last settled.
    pending: u32,
    /// Infinities and NaNs, which have no digits.
    special: Option<Special>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Special {
    Infinity,
    MinusInfinity,
    Nan,
}

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum {
            digits: [0; DIGITS],
            pending: 0,
            special: None,
        }
    }
}

impl ExactSum {
    /// Adds a number.
    pub fn add(&mut self, v: f64) {
        if !v.is_finite() {
            let this = if v.is_nan() {
                Special::Nan
            } else if v > 0.0 {
                Special::Infinity
            } else {
                Special::MinusInfinity
            };
            self.add_special(this);
            return;
        }
        if v == 0.0 {
            return;
        }
        let bits = v.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as usize;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, position) = if exponent == 0 {
            (fraction, 0)
        } else {
            (fraction | 1 << 52, exponent - 1)
        };
        let wide = u128::from(mantissa) << (position % 32);
        let sign = if v < 0.0 { -1 } else { 1 };
        for (i, digit) in self.digits[position / 32..].iter_mut().take(3).enumerate() {
            *digit += sign * i64::from((wide >> (32 * i)) as u32);
        }
        self.pending += 1;
        if self.pending >= 1 << 30 {
            self.settle();
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        self.settle();
        let mut other = other.clone();
        other.settle();
        for (digit, more) in self.digits.iter_mut().zip(other.digits) {
            *digit += more;
        }
        if let Some(special) = other.special {
            self.add_special(special);
        }
        self.settle();
    }

    fn add_special(&mut self, special: Special) {
        self.special = match self.special {
            None => Some(special),
            Some(old) if old == special => Some(old),
            Some(_) => Some(Special::Nan),
        };
    }

    /// Brings every digit but the last into [0, 2^32): one form for one value.
    fn settle(&mut self) {
        let mut carry = 0;
        for digit in &mut self.digits[..DIGITS - 1] {
            let sum = *digit + carry;
            *digit = sum & 0xffff_ffff;
            carry = sum >> 32;
        }
        self.digits[DIGITS - 1] += carry;
        self.pending = 0;
    }

    /// The sum, rounded once, to the nearest.
    pub fn value(&self) -> f64 {
        self.double().0
    }

    /// The sum as a rounded value and the rounded rest, which together hold about 106 bits of it.
    pub fn double(&self) -> (f64, f64) {
        let high = self.rounded();
        if !high.is_finite() {
            return (high, 0.0);
        }
        let mut rest = self.clone();
        rest.add(-high);
        (high, rest.rounded())
    }

    fn rounded(&self) -> f64 {
        match self.special {
            Some(Special::Nan) => return f64::NAN,
            Some(Special::Infinity) => return f64::INFINITY,
            Some(Special::MinusInfinity) => return f64::NEG_INFINITY,
            None => {}
        }
        let mut settled = self.clone();
        settled.settle();
        let negative = settled.digits[DIGITS - 1] < 0;
        if negative {
            for digit in &mut settled.digits {
                *digit = -*digit;
            }
            settled.settle();
        }
        let Some(top) = settled.digits.iter().rposition(|&d| d != 0) else {
            return 0.0;
        };
        // The leading 96 bits hold the 53 that stay, the one that decides, and a sticky bit for all below.
        let mut wide = 0_u128;
        for i in 0..3 {
            let digit = top.checked_sub(i).map_or(0, |j| settled.digits[j] as u128);
            wide = wide << 32 | digit;
        }
        if top >= 3 && settled.digits[..top - 2].iter().any(|&d| d != 0) {
            wide |= 1;
        }
        // `u128 as f64` rounds to nearest, ties to even; scaling by powers of two is exact outside of subnormals,
        // and there every bit above 2^-1074 was in the mantissa to begin with.
        let mut value = wide as f64;
        let mut power = 32 * (top as i32 - 2) - 1074;
        while power > 0 {
            let by = power.min(1000);
            value *= libm::ldexp(1.0, by);
            power -= by;
        }
        value = libm::ldexp(value, power.min(0));
        if negative { -value } else { value }
    }
}

/// The settled digits between the first and the last that are not 0.
#[derive(Serialize, Deserialize)]
struct Packed {
    from: usize,
    digits: Vec<i64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    special: Option<Special>,
}

impl From<ExactSum> for Packed {
    fn from(mut sum: ExactSum) -> Packed {
        sum.settle();
        let from = sum.digits.iter().position(|&d| d != 0).unwrap_or(0);
        let last = sum.digits.iter().rposition(|&d| d != 0);
        let to = last.map_or(0, |i| i + 1);
        Packed {
            from,
            digits: sum.digits[from.min(to)..to].to_vec(),
            special: sum.special,
        }
    }
}

impl TryFrom<Packed> for ExactSum {
    type Error = &'static str;

    fn try_from(packed: Packed) -> Result<ExactSum, Self::Error> {
        let fits = packed.from.saturating_add(packed.digits.len()) <= DIGITS;
        let settled = packed.digits.iter().enumerate().all(|(i, &digit)| {
            // Only the last place there is may hold more, or a sign.
            packed.from + i == DIGITS - 1 || (0..1 << 32).contains(&digit)
        });
        if !fits || !settled {
            return Err("these are not the digits of a sum");
        }
        let mut sum = ExactSum {
            special: packed.special,
            ..ExactSum::default()
        };
        sum.digits[packed.from..packed.from + packed.digits.len()].copy_from_slice(&packed.digits);
        Ok(sum)
    }
}

/// Count, mean and standard error of a set of numbers, independent of their order.
///
/// ```
/// use emab::stats::Moments;
/// let mut moments = Moments::default();
/// for v in [1.0, 2.0, 3.0] {
///     moments.add(v);
/// }
/// assert_eq!(moments.mean(), 2.0);
/// assert!((moments.stderr() - (1.0_f64 / 3.0).sqrt()).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    n: u64,
    sum: ExactSum,
    squares: ExactSum,
}

impl Moments {
    /// Adds a number.
    pub fn add(&mut self, v: f64) {
        self.n += 1;
        self.sum.add(v);
        let square = v * v;
        self.squares.add(square);
        let lost = v.mul_add(v, -square);
        if lost.is_finite() {
            self.squares.add(lost);
        }
    }

    /// Adds the numbers of another set.
    pub fn merge(&mut self, other: &Moments) {
        self.n += other.n;
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    /// The count of numbers.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// The mean; 0 of no numbers.
    pub fn mean(&self) -> f64 {
        match self.n {
            0 => 0.0,
            n => self.sum.value() / n as f64,
        }
    }

    /// The sample variance; 0 of fewer than two numbers.
    pub fn variance(&self) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        let n = self.n as f64;
        // Sum of squares less n times the squared mean, in double-double: what cancels is the leading part.
        let (s, s_low) = self.sum.double();
        let (q, q_low) = self.squares.double();
        let (mean, mean_low) = {
            let high = s / n;
            (high, ((-high).mul_add(n, s) + s_low) / n)
        };
        let (product, product_low) = {
            let high = mean * s;
            let low = mean.mul_add(s, -high) + mean * s_low + mean_low * s;
            (high, low)
        };
        let centred = (q - product) + (q_low - product_low);
        if centred.is_nan() {
            return f64::INFINITY;
        }
        (centred / (n - 1.0)).max(0.0)
    }

    /// The standard error of the mean; 0 of fewer than two numbers.
    pub fn stderr(&self) -> f64 {
        match self.n {
            0 => 0.0,
            n => (self.variance() / n as f64).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_finite() -> impl Strategy<Value = f64> {
        any::<u64>()
            .prop_map(f64::from_bits)
            .prop_filter("finite", |v| v.is_finite())
    }

    fn sum_of(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        for &v in values {
            sum.add(v);
        }
        sum
    }

    proptest! {
        #[test]
        fn one_number_is_itself(v in any_finite()) {
            prop_assert_eq!(sum_of(&[v]).value(), v);
        }

        #[test]
        fn two_numbers_round_as_the_processor_rounds(a in any_finite(), b in any_finite()) {
            let both = a + b;
            prop_assume!(both.is_finite());
            prop_assert_eq!(sum_of(&[a, b]).value(), both);
        }

        #[test]
        fn order_and_grouping_do_not_matter(
            values in prop::collection::vec(any_finite(), 0..40),
            cut in 0_usize..40,
        ) {
            let cut = cut.min(values.len());
            let mut reversed = values.clone();
            reversed.reverse();
            let mut merged = sum_of(&values[cut..]);
            merged.merge(&sum_of(&values[..cut]));
            let whole = sum_of(&values);
            prop_assert_eq!(whole.value(), sum_of(&reversed).value());
            prop_assert_eq!(whole.value(), merged.value());
        }

        #[test]
        fn cancelling_terms_leave_no_trace(values in prop::collection::vec(any_finite(), 0..20), v in any_finite()) {
            let mut sum = sum_of(&values);
            sum.add(v);
            for u in values {
                sum.add(-u);
            }
            prop_assert_eq!(sum.value(), v);
        }

        #[test]
        fn moments_agree_with_two_passes(values in prop::collection::vec(-1e6_f64..1e6, 2..50), shift in -1e9_f64..1e9) {
            let mut moments = Moments::default();
            let values: Vec<f64> = values.iter().map(|v| v + shift).collect();
            values.iter().for_each(|&v| moments.add(v));
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - moments.mean()).powi(2)).sum::<f64>() / (n - 1.0);
            prop_assert!((moments.mean() - mean).abs() <= 1e-9 * mean.abs().max(1.0));
            prop_assert!((moments.variance() - variance).abs() <= 1e-9 * variance.max(1e-6), "{} {}", moments.variance(), variance);
        }
    }

    #[test]
    fn the_standard_error_of_three_numbers() {
        let mut moments = Moments::default();
        [1.0, 2.0, 3.0].iter().for_each(|&v| moments.add(v));
        assert_eq!(moments.mean(), 2.0);
        assert!((moments.stderr() - (1.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn infinities_and_nan_propagate() {
        assert_eq!(sum_of(&[f64::INFINITY, 1.0]).value(), f64::INFINITY);
        assert!(sum_of(&[f64::INFINITY, f64::NEG_INFINITY]).value().is_nan());
        assert!(sum_of(&[f64::NAN]).value().is_nan());
    }
}
