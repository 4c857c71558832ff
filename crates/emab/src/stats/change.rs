//! Tests of whether a distribution has changed, valid at all times at once.
//!
//! Both tests compare what a mixture of forecasts assigns to the observations with the most that any constant distribution
//! assigns to them. The forecast is at first the average of all observations; at the n-th scored one `1/(n + 1)` of the weight that
//! is left moves to exponentially weighted averages. A forecast is made before its observation, so that, if nothing
//! changes, the ratio to the true distribution is a nonnegative supermartingale that begins at 1. The most likely constant
//! distribution makes the ratio smaller only. By Ville's inequality it exceeds `1/p` at any time with probability at most `p`
//! (universal inference: Wasserman, Ramdas and Balakrishnan 2020). docs/theory.md has the proof.

/// The weights of new observations in the weighted averages.
const RATES: [f64; 3] = [1.0 / 8.0, 1.0 / 32.0, 1.0 / 128.0];

/// The forecaster: logarithms of the weights of its averages times what they have assigned to the observations.
#[derive(Clone, Debug)]
struct Forecaster {
    constant: f64,
    weighted: [f64; RATES.len()],
    count: u64,
}

impl Forecaster {
    fn new() -> Forecaster {
        Forecaster {
            constant: 0.0,
            weighted: [f64::NEG_INFINITY; RATES.len()],
            count: 0,
        }
    }

    /// Adds an observation, to which the averages have assigned these logarithms.
    fn add(&mut self, constant: f64, weighted: [f64; RATES.len()]) {
        self.count += 1;
        let moved = 1.0 / (self.count + 1) as f64;
        let share = self.constant + libm::log(moved / RATES.len() as f64);
        for (weight, assigned) in self.weighted.iter_mut().zip(weighted) {
            *weight = log_sum(*weight, share) + assigned;
        }
        self.constant += libm::log1p(-moved) + constant;
    }

    /// The logarithm of what it has assigned to all observations.
    fn total(&self) -> f64 {
        self.weighted.into_iter().fold(self.constant, log_sum)
    }
}

/// `log(exp(a) + exp(b))`.
fn log_sum(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY {
        return large;
    }
    large + libm::log1p(libm::exp(small - large))
}

/// A test of whether the mean of sub-Gaussian observations has changed.
///
/// ```
/// use emab::stats::MeanChange;
/// let mut test = MeanChange::new(0.25);
/// for i in 0..400 {
///     test.add(if i < 200 { 0.0 } else { 1.0 });
/// }
/// // So much evidence has probability at most exp(-50) if the mean is constant.
/// assert!(test.log_evidence() > 50.0);
/// ```
#[derive(Clone, Debug)]
pub struct MeanChange {
    proxy: f64,
    count: u64,
    /// Of all observations.
    mean: f64,
    weighted: [f64; RATES.len()],
    /// Of all but the first observation, which only the averages use.
    scored_mean: f64,
    squares: f64,
    forecaster: Forecaster,
}

impl MeanChange {
    /// For observations with this variance proxy, which must be positive.
    pub fn new(proxy: f64) -> MeanChange {
        MeanChange {
            proxy,
            count: 0,
            mean: 0.0,
            weighted: [0.0; RATES.len()],
            scored_mean: 0.0,
            squares: 0.0,
            forecaster: Forecaster::new(),
        }
    }

    /// Adds the next observation.
    pub fn add(&mut self, value: f64) {
        if self.count > 0 {
            let loss = |mean: f64| -(value - mean) * (value - mean) / (2.0 * self.proxy);
            self.forecaster
                .add(loss(self.mean), self.weighted.map(loss));
            let before = value - self.scored_mean;
            self.scored_mean += before / self.count as f64;
            self.squares += before * (value - self.scored_mean);
        }
        self.count += 1;
        let average = 1.0 / self.count as f64;
        self.mean += (value - self.mean) * average;
        for (mean, rate) in self.weighted.iter_mut().zip(RATES) {
            *mean += (value - *mean) * rate.max(average);
        }
    }

    /// The logarithm of the evidence against a constant mean: if the mean is constant, it exceeds `log(1/p)` at any time with
    /// probability at most `p`.
    pub fn log_evidence(&self) -> f64 {
        self.forecaster.total() + self.squares / (2.0 * self.proxy)
    }
}

/// A test of whether the distribution over a few values has changed.
///
/// ```
/// use emab::stats::FrequencyChange;
/// let mut test = FrequencyChange::new(2);
/// for i in 0..400 {
///     test.add(usize::from(i % 4 == 0) ^ usize::from(i >= 200));
/// }
/// assert!(test.log_evidence() > 20.0);
/// ```
#[derive(Clone, Debug)]
pub struct FrequencyChange {
    counts: Vec<u64>,
    count: u64,
    /// For each rate, the weighted frequencies.
    weighted: Vec<f64>,
    forecaster: Forecaster,
}

impl FrequencyChange {
    /// For values from 0 to this number, less 1.
    pub fn new(values: usize) -> FrequencyChange {
        FrequencyChange {
            counts: vec![0; values],
            count: 0,
            weighted: vec![1.0 / values as f64; RATES.len() * values],
            forecaster: Forecaster::new(),
        }
    }

    /// Adds the next value.
    pub fn add(&mut self, value: usize) {
        let values = self.counts.len();
        let constant =
            (self.counts[value] as f64 + 0.5) / (self.count as f64 + values as f64 / 2.0);
        let mut weighted = [0.0; RATES.len()];
        for (j, rate) in RATES.into_iter().enumerate() {
            let frequencies = &mut self.weighted[j * values..][..values];
            // Never 0: a value that was not seen for long may come.
            let assigned = (1.0 - rate) * frequencies[value] + rate / values as f64;
            weighted[j] = libm::log(assigned);
            let rate = rate.max(1.0 / (self.count + 2) as f64);
            for (i, frequency) in frequencies.iter_mut().enumerate() {
                *frequency += (f64::from(u8::from(i == value)) - *frequency) * rate;
            }
        }
        self.forecaster.add(libm::log(constant), weighted);
        self.counts[value] += 1;
        self.count += 1;
    }

    /// The logarithm of the evidence against a constant distribution, as [`MeanChange::log_evidence`].
    pub fn log_evidence(&self) -> f64 {
        let seen = self.counts.iter().filter(|count| **count > 0);
        let likelihood = |&count: &u64| count as f64 * libm::log(count as f64 / self.count as f64);
        self.forecaster.total() - seen.map(likelihood).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Stream};

    /// The evidence written as a sum over all times at which each average may take over.
    fn by_definition(values: &[f64], proxy: f64) -> f64 {
        let density = |value: f64, mean: f64| (-(value - mean).powi(2) / (2.0 * proxy)).exp();
        let mut averages = vec![values[0]; 1 + RATES.len()];
        let mut assigned: Vec<Vec<f64>> = Vec::new();
        for (i, &value) in values.iter().enumerate().skip(1) {
            assigned.push(averages.iter().map(|&mean| density(value, mean)).collect());
            let n = (i + 1) as f64;
            for (j, mean) in averages.iter_mut().enumerate() {
                let rate = if j == 0 { 0.0 } else { RATES[j - 1] };
                *mean += (value - *mean) * rate.max(1.0 / n);
            }
        }
        let n = assigned.len();
        let constant = |range: std::ops::Range<usize>| assigned[range].iter().map(|it| it[0]);
        // The average of all keeps 1/(n + 1) of the weight.
        let mut total = constant(0..n).product::<f64>() / (n + 1) as f64;
        for switch in 0..n {
            let prior = 1.0 / ((switch + 1) * (switch + 2)) as f64 / RATES.len() as f64;
            for j in 1..=RATES.len() {
                let after = assigned[switch..].iter().map(|it| it[j]);
                total += prior * constant(0..switch).product::<f64>() * after.product::<f64>();
            }
        }
        let scored = &values[1..];
        let mean = scored.iter().sum::<f64>() / scored.len() as f64;
        let most: f64 = scored.iter().map(|&value| density(value, mean)).product();
        (total / most).ln()
    }

    #[test]
    fn the_recursion_is_the_sum_over_all_times_of_a_change() {
        let mut stream = Stream::new(3, 0, Role::Learner);
        for _ in 0..20 {
            let values: Vec<f64> = (0..30).map(|_| stream.uniform()).collect();
            let mut test = MeanChange::new(0.3);
            for &value in &values {
                test.add(value);
            }
            let expected = by_definition(&values, 0.3);
            assert!((test.log_evidence() - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn nothing_is_known_of_no_or_one_observation() {
        let mut mean = MeanChange::new(1.0);
        assert_eq!(mean.log_evidence(), 0.0);
        mean.add(1e9);
        assert_eq!(mean.log_evidence(), 0.0);
        let mut frequency = FrequencyChange::new(3);
        assert_eq!(frequency.log_evidence(), 0.0);
        frequency.add(2);
        assert!(frequency.log_evidence() < 0.0);
    }

    /// The share of 400 sequences in which the evidence exceeds 1/p at any time, and the mean delay of those that change after
    /// 500 observations.
    fn alarms(change: f64, p: f64) -> (f64, f64) {
        let (mut alarms, mut delays) = (0.0, 0.0);
        for seed in 0..400 {
            let mut stream = Stream::new(11, seed, Role::Learner);
            let (mut mean, mut frequency) = (MeanChange::new(0.25), FrequencyChange::new(2));
            for i in 0..1_500 {
                let rate = if i < 500 { 0.4 } else { 0.4 + change };
                let hit = usize::from(stream.uniform() < rate);
                mean.add(hit as f64);
                frequency.add(hit);
                let most = mean.log_evidence().max(frequency.log_evidence());
                // Two tests share p.
                if most >= (2.0 / p).ln() {
                    alarms += 1.0;
                    delays += i as f64 - 500.0;
                    break;
                }
            }
        }
        (alarms / 400.0, delays / f64::max(alarms, 1.0))
    }

    #[test]
    fn alarms_are_rare_without_a_change_and_soon_after_one() {
        let (alarms_without, _) = alarms(0.0, 0.2);
        assert!(alarms_without <= 0.2, "{alarms_without}");
        let (alarms_with, delay) = alarms(0.4, 0.01);
        assert!(alarms_with > 0.99, "{alarms_with}");
        assert!((20.0..120.0).contains(&delay), "{delay}");
    }
}
