//! Confidence widths: how far a sample mean may be from its expectation, at every count at once.
//!
//! All have the form of Equations 3 and 4 of the paper,
//! `conf(N) = sqrt((1 + N) / N^2 * w * log(K sqrt(1 + N) / delta))`, and differ in the coefficient `w`.

use serde::Serialize;

use crate::parameter::{Delta, FeedbackSpread, Sigma2};

/// Which confidence width to use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WidthKind {
    /// Equations 3 and 4 as printed. They leave out that the feedback, and with it the next expected reward, is random.
    #[default]
    Paper,
    /// Lemma 1 made true: the variance proxy of an action also covers how far one feedback can move the next expected
    /// reward, and that of `stop`, where no feedback enters, is what the paper's appendix proves.
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
    /// Whether these are at least those, but for rounding.
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
    /// use emab::{Sigma2, Spread};
    /// use emab::width::WidthKind;
    /// let sigma2 = Sigma2::new(0.2).unwrap();
    /// let paper = WidthKind::Paper.coefficients(sigma2, sigma2);
    /// assert_eq!((paper.action, paper.stop), (0.8, 0.8)); // 4 sigma^2
    /// let sound = WidthKind::Sound(Spread::new(1.0).unwrap()).coefficients(sigma2, sigma2);
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

/// A confidence width as a function of the count.
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

    /// The same where observations weigh less than 1 each, such as those of a learner that forgets: infinite at 0.
    pub fn at_weight(&self, n: f64) -> f64 {
        if n <= 0.0 {
            return f64::INFINITY;
        }
        let log = self.log_k_over_delta + 0.5 * libm::log1p(n);
        ((1.0 + n) / (n * n) * self.coefficient * log).sqrt()
    }
}

/// `log(k / delta)`, also where the ratio is beyond the largest number.
pub(crate) fn log_ratio(k: f64, delta: f64) -> f64 {
    let ratio = k / delta;
    if ratio.is_finite() {
        libm::log(ratio)
    } else {
        libm::log(k) - libm::log(delta)
    }
}

/// What makes an index of a sum, by count: the index is `sum * reciprocal + width`, with what is added to every width
/// of this kind in it. Kept as far as counts have come, so that a learner's loop has no logarithm in it.
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
    /// The most counts that are kept (16 MiB); beyond them what is asked for is worked out.
    pub const MAX_LEN: usize = 1 << 20;

    /// The most counts that are kept unasked (1 MiB): a learner that serves for years stays small, and a logarithm now
    /// and then costs it nothing. Who knows that a long run comes reserves more with [`IndexTable::extend_to`].
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

    /// The reciprocal of a count and what is added to the mean at it.
    #[inline]
    pub fn at(&mut self, n: u64) -> [f64; 2] {
        match self.values.get(n as usize) {
            Some(value) => *value,
            None => self.grow(n),
        }
    }

    /// The same, without keeping anything.
    pub fn compute(&self, n: u64) -> [f64; 2] {
        // No mean at count 0: its sum is 0, and 0 times infinity would not be.
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

    /// Keeps the values of all counts up to this one, or the most.
    pub fn extend_to(&mut self, n: u64) {
        let old = self.values.len();
        let new = (n.saturating_add(1)).min(Self::MAX_LEN as u64) as usize;
        let more: Vec<[f64; 2]> = (old..new).map(|n| self.compute(n as u64)).collect();
        self.values.extend(more);
    }

    /// The values kept, by count.
    pub fn values(&self) -> &[[f64; 2]] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_printed() {
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
    fn the_smallest_delta_has_a_width() {
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
    fn the_table_holds_the_function() {
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
