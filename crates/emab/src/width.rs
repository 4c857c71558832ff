//! Confidence widths of sample means, which hold at all counts at once (Equations 3 and 4).
//!
//! All have the form of Equations 3 and 4 of the paper,
//! `conf(N) = sqrt((1 + N) / N^2 * w * log(K sqrt(1 + N) / delta))`, and differ in the coefficient `w`. A width of
//! another form (`width=bernstein`) is in `learners/support/estimator.rs`. The words of the parameter `width` are read in
//! `learners/registry/settings.rs`.

use serde::Serialize;

use crate::parameter::{Delta, FeedbackSpread, Sigma2};

/// The kind of confidence width.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WidthKind {
    /// Equations 3 and 4 as printed. They do not cover the randomness of the feedback and of the next expected reward.
    #[default]
    Paper,
    /// The width for which Lemma 1 holds: the variance proxy of an action also covers how far one feedback can move the
    /// next expected reward; that of `stop`, which has no feedback, is the one that the paper's appendix proves.
    Sound(FeedbackSpread),
}

/// The coefficients `w` of the widths: one for continuation actions, one for `stop`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coefficients {
    /// For continuation actions.
    pub action: f64,
    /// For `stop`.
    pub stop: f64,
}

impl Coefficients {
    /// Whether these are at least the `needed` ones, up to rounding.
    pub fn cover(self, needed: Coefficients) -> bool {
        let covers = |has: f64, needs: f64| has >= needs * (1.0 - 1e-12);
        covers(self.action, needed.action) && covers(self.stop, needed.stop)
    }
}

impl WidthKind {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            WidthKind::Paper => "paper",
            WidthKind::Sound(_) => "sound",
        }
    }

    /// The coefficients, for noise of these variance proxies on costs and on rewards.
    ///
    /// ```
    /// use emab::{FeedbackSpread, Sigma2};
    /// use emab::width::WidthKind;
    /// let sigma2 = Sigma2::new(0.2).unwrap();
    /// let paper = WidthKind::Paper.coefficients(sigma2, sigma2);
    /// assert_eq!((paper.action, paper.stop), (0.8, 0.8)); // 4 sigma^2
    /// let sound = WidthKind::Sound(FeedbackSpread::new(1.0).unwrap()).coefficients(sigma2, sigma2);
    /// assert_eq!((sound.action, sound.stop), (1.3, 0.4)); // 2 (2 sigma^2 + D^2/4) and 2 sigma^2
    /// ```
    pub fn coefficients(self, cost: Sigma2, reward: Sigma2) -> Coefficients {
        let noise = cost.get() + reward.get();
        match self {
            WidthKind::Paper => Coefficients {
                action: 2.0 * noise,
                stop: 2.0 * noise,
            },
            WidthKind::Sound(spread) => Coefficients {
                action: 2.0 * (noise + spread.proxy()),
                stop: 2.0 * reward.get(),
            },
        }
    }
}

/// A confidence width as a function of the count. Lemma 1: with probability `1 - delta` no sample mean, of any triplet and at
/// any time, is further than this from its expectation.
///
/// ```
/// use emab::{Delta, Width};
/// let width = Width::new(4.0 * 0.2, 200.0, Delta::new(0.01).unwrap());
/// assert_eq!(width.at(0), f64::INFINITY);
/// assert!(width.at(100) < width.at(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    coefficient: f64,
    log_k_over_delta: f64,
}

impl Width {
    /// The width with this coefficient `w`.
    pub fn new(coefficient: f64, k: f64, delta: Delta) -> Width {
        Width {
            coefficient,
            log_k_over_delta: log_ratio(k, delta.get()),
        }
    }

    /// The width after `n` observations; infinite after none.
    pub fn at(&self, n: u64) -> f64 {
        self.at_weight(n as f64)
    }

    /// The same for a sum of weights instead of a count; infinite at 0.
    pub fn at_weight(&self, n: f64) -> f64 {
        if n <= 0.0 {
            return f64::INFINITY;
        }
        let log = self.log_k_over_delta + 0.5 * libm::log1p(n);
        ((1.0 + n) / (n * n) * self.coefficient * log).sqrt()
    }
}

/// `log(k / delta)`, also where the ratio overflows.
pub(crate) fn log_ratio(k: f64, delta: f64) -> f64 {
    let ratio = k / delta;
    if ratio.is_finite() {
        libm::log(ratio)
    } else {
        libm::log(k) - libm::log(delta)
    }
}

/// Cached reciprocals and widths by count: the index of a sum is `sum * reciprocal + width`, a constant bias included. The
/// cache keeps logarithms out of the loop of a learner.
///
/// ```
/// use emab::{Delta, Width};
/// use emab::width::IndexTable;
/// let width = Width::new(4.0 * 0.2, 200.0, Delta::new(0.01).unwrap());
/// let mut table = IndexTable::new(width, 0.0);
/// let [reciprocal, added] = table.at(100);
/// assert_eq!((reciprocal, added), (1.0 / 100.0, width.at(100)));
/// ```
#[derive(Clone, Debug)]
pub struct IndexTable {
    width: Width,
    bias: f64,
    values: Vec<[f64; 2]>,
}

impl IndexTable {
    /// The maximum size of the cache (16 MiB); values beyond it are computed.
    pub const MAX_LEN: usize = 1 << 20;

    /// The size up to which the cache grows by itself (1 MiB), so that a learner of a long study stays small.
    /// [`IndexTable::extend_to`] reserves more for a long run.
    pub const MAX_GROWN: usize = 1 << 16;

    /// The table of this width, with a bias added to it.
    pub fn new(width: Width, bias: f64) -> IndexTable {
        let values = Vec::new();
        let mut table = IndexTable {
            width,
            bias,
            values,
        };
        table.extend_to(63);
        table
    }

    /// The reciprocal of a count, and the width with bias at it.
    #[inline]
    pub fn at(&mut self, n: u64) -> [f64; 2] {
        match self.values.get(n as usize) {
            Some(value) => *value,
            None => self.grow(n),
        }
    }

    /// The same, computed without the cache.
    pub fn compute(&self, n: u64) -> [f64; 2] {
        // At count 0 the sum is 0, and 0 times infinity is NaN.
        let reciprocal = if n == 0 { 0.0 } else { 1.0 / n as f64 };
        [reciprocal, self.width.at(n) + self.bias]
    }

    #[cold]
    fn grow(&mut self, n: u64) -> [f64; 2] {
        // Doubling keeps the cost per count constant.
        if n < Self::MAX_GROWN as u64 {
            let doubled = n.max(2 * self.values.len() as u64);
            self.extend_to(doubled.min(Self::MAX_GROWN as u64 - 1));
        }
        self.compute(n)
    }

    /// Extends the cache to this count, at most to its maximum size.
    pub fn extend_to(&mut self, n: u64) {
        let old = self.values.len();
        let new = (n.saturating_add(1)).min(Self::MAX_LEN as u64) as usize;
        let more: Vec<[f64; 2]> = (old..new).map(|n| self.compute(n as u64)).collect();
        self.values.extend(more);
    }

    /// The cached values, by count.
    pub fn values(&self) -> &[[f64; 2]] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_width_is_as_printed() {
        let (sigma2, delta, k) = (0.2, 0.01, 200.0);
        let parameters = Sigma2::new(sigma2).unwrap();
        let w = WidthKind::Paper.coefficients(parameters, parameters).action;
        let width = Width::new(w, k, Delta::new(delta).unwrap());
        for n in [1.0_f64, 2.0, 17.0, 20_000.0] {
            let printed = ((1.0 + n) / n.powi(2)
                * (4.0 * sigma2 * (k * (1.0 + n).sqrt() / delta).ln()))
            .sqrt();
            assert!((width.at(n as u64) - printed).abs() < 1e-14 * printed);
        }
    }

    #[test]
    fn tiny_deltas_have_finite_widths() {
        for delta in [1e-300, 1e-308, f64::from_bits(1)] {
            let width = Width::new(0.8, 200.0, Delta::new(delta).unwrap());
            assert!(
                width.at(1) > 30.0 && width.at(1) < 60.0,
                "{delta}: {}",
                width.at(1)
            );
        }
    }

    #[test]
    fn the_table_equals_the_width() {
        let width = Width::new(0.8, 200.0, Delta::new(0.01).unwrap());
        let mut table = IndexTable::new(width, 0.25);
        for n in [1, 63, 64, 65, 1000, 5_000_000] {
            assert_eq!(table.at(n), [1.0 / n as f64, width.at(n) + 0.25]);
            assert_eq!(table.at(n), table.compute(n));
        }
        assert_eq!(table.at(0), [0.0, f64::INFINITY]);
        assert!(table.values().len() <= IndexTable::MAX_GROWN);
        table.at(IndexTable::MAX_GROWN as u64 - 1);
        assert_eq!(table.values().len(), IndexTable::MAX_GROWN);
        table.extend_to(u64::MAX);
        assert_eq!(table.values().len(), IndexTable::MAX_LEN);
    }
}
