//! Confidence sequences by the method of mixtures: bounds that hold at all counts at once, for several sums together.
//!
//! Let `S_i` be sums of `n_i` conditionally sub-Gaussian terms of proxy `v_i`, in any order, which may
//! depend on the past. `exp(sum_i lambda_i S_i - lambda_i^2 v_i n_i / 2)` is a supermartingale for every `lambda`; mixed over
//! independent `lambda_i ~ N(0, 1 / (rho v_i))` it is
//! `prod_i (1 + n_i/rho)^(-1/2) exp(S_i^2 / (2 v_i (n_i + rho)))`, and by Ville's inequality, with probability at least
//! `1 - delta`, at all times
//!
//! `sum_i S_i^2 / (v_i (n_i + rho)) <= 2 log(1/delta) + sum_i log(1 + n_i/rho)`.
//!
//! For all weights `u_i`, random ones included, the Cauchy-Schwarz inequality gives
//! `|sum_i u_i S_i/n_i| <= sqrt(sum_i u_i^2 v_i (n_i + rho)/n_i^2) sqrt(2 log(1/delta) + sum_i log(1 + n_i/rho))`.
//! With one sum and `rho = 1` this is the width of Equation 3 with the coefficient `2 v` (Abbasi-Yadkori et al. 2011,
//! Theorem 1). docs/theory.md has the proofs.

/// The mixture; `rho` is about the number of observations for which the bound is tightest.
///
/// ```
/// use emab::stats::Mixture;
/// // One mean of 100 observations of variance proxy 1/4, at all times with probability 0.95.
/// let mut mixture = Mixture::new(10.0, (1.0_f64 / 0.05).ln());
/// assert!((mixture.width(0.25, 100) - 0.1519).abs() < 1e-4);
/// ```
#[derive(Clone, Debug)]
pub struct Mixture {
    rho: f64,
    /// `log(1/delta)` of each bound.
    log: f64,
    /// Cache of `log(1 + n/rho)` by `n`.
    logs: Vec<f64>,
}

/// The maximum size of the cache (8 MiB).
const MOST: usize = 1 << 20;

impl Mixture {
    /// For bounds that each fail with probability `exp(-log)` at most.
    pub fn new(rho: f64, log: f64) -> Mixture {
        Mixture {
            rho,
            log,
            logs: Vec::new(),
        }
    }

    pub(crate) fn rho(&self) -> f64 {
        self.rho
    }

    /// `log(1/delta)`.
    pub(crate) fn log(&self) -> f64 {
        self.log
    }

    /// `log(1 + n/rho)`.
    #[inline]
    pub(crate) fn log_of(&mut self, n: u64) -> f64 {
        match self.logs.get(n as usize) {
            Some(&log) => log,
            None => self.grow(n),
        }
    }

    #[cold]
    fn grow(&mut self, n: u64) -> f64 {
        let log = |n: u64| libm::log1p(n as f64 / self.rho);
        let reach = (n.max(63) as usize + 1).max(2 * self.logs.len()).min(MOST);
        let more: Vec<f64> = (self.logs.len()..reach).map(|n| log(n as u64)).collect();
        self.logs.extend(more);
        libm::log1p(n as f64 / self.rho)
    }

    /// `v (n + rho) / n^2`: what a mean of `n` terms adds to the first factor, at weight 1.
    #[inline]
    pub fn spread(&self, proxy: f64, n: u64) -> f64 {
        let n = n as f64;
        proxy * (n + self.rho) / (n * n)
    }

    /// The bound from the sum of the spreads and the sum of the logarithms.
    #[inline]
    pub fn bound(&self, spreads: f64, logs: f64) -> f64 {
        (spreads * (2.0 * self.log + logs)).sqrt()
    }

    /// The width of a mean of `n` terms; infinite for 0.
    #[inline]
    pub fn width(&mut self, proxy: f64, n: u64) -> f64 {
        if n == 0 {
            return f64::INFINITY;
        }
        let logs = self.log_of(n);
        self.bound(self.spread(proxy, n), logs)
    }
}

/// `N KL(p̂ || p)` exceeds `log(1/delta)` by at most this, at all times with probability `1 - delta`, for the empirical
/// distribution `p̂` of `counts`: the regret of the Krichevsky-Trofimov mixture, `log(prod p̂_j^{n_j}) - log KT(n)`.
pub(crate) fn kt_regret(counts: impl Iterator<Item = u64> + Clone) -> f64 {
    let (mut n, mut halves, mut excess) = (0, 0, 0.0);
    let half = log_gamma_of_half(1);
    for count in counts {
        n += count;
        halves += 1;
        excess += half - log_gamma_of_half(2 * count + 1);
        excess += n_log_n(count);
    }
    if n == 0 {
        return 0.0;
    }
    excess - n_log_n(n) + log_gamma_of_half(2 * n + halves) - log_gamma_of_half(halves)
}

/// `log(gamma(m/2))`.
pub(crate) fn log_gamma_of_half(m: u64) -> f64 {
    libm::lgamma(m as f64 / 2.0)
}

/// `n log(n)`; 0 for 0.
pub(crate) fn n_log_n(n: u64) -> f64 {
    match n {
        0 => 0.0,
        n => n as f64 * libm::log(n as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Delta;
    use crate::rng::{Role, Stream};
    use crate::width::Width;

    #[test]
    fn one_sum_is_the_papers_width() {
        let (k, delta, sigma2) = (200.0, 0.01, 0.2);
        let paper = Width::new(2.0 * sigma2, k, Delta::new(delta).unwrap());
        let mut mixture = Mixture::new(1.0, (k / delta).ln());
        for n in [1, 2, 17, 64, 65, 20_000] {
            assert!((mixture.width(sigma2, n) - paper.at(n)).abs() < 1e-12);
        }
        assert_eq!(mixture.width(sigma2, 0), f64::INFINITY);
    }

    #[test]
    fn the_joint_bound_of_two_sums_fails_in_at_most_delta_of_runs() {
        // Two sums that grow by the toss of a coin, weighted by what is worst: the bound fails in at most delta of runs.
        let (delta, runs) = (0.1_f64, 1000);
        let mut mixture = Mixture::new(10.0, (1.0 / delta).ln());
        let mut violations = 0;
        for run in 0..runs {
            let mut stream = Stream::new(11, run, Role::Learner);
            let (mut sums, mut counts) = ([0.0; 2], [0_u64; 2]);
            let mut fails = false;
            for _ in 0..2000 {
                let i = stream.below(2);
                sums[i] += stream.normal();
                counts[i] += 1;
                let [a, b] = counts;
                if a == 0 || b == 0 {
                    continue;
                }
                // The weights that make the most of the error, given the spreads.
                let weight = |i: usize| sums[i] / counts[i] as f64 / mixture.spread(1.0, counts[i]);
                let weights = [weight(0), weight(1)];
                let error: f64 = (0..2)
                    .map(|i| weights[i] * sums[i] / counts[i] as f64)
                    .sum();
                let spreads: f64 = (0..2)
                    .map(|i| weights[i] * weights[i] * mixture.spread(1.0, counts[i]))
                    .sum();
                let logs = mixture.log_of(a) + mixture.log_of(b);
                fails |= error > mixture.bound(spreads, logs);
            }
            violations += u32::from(fails);
        }
        let share = f64::from(violations) / runs as f64;
        assert!(share < delta, "{share}");
        // The bound is not vacuous: some runs exceed it.
        assert!(share > 0.005, "{share}");
    }

    #[test]
    fn kt_regret_of_a_coin_by_hand() {
        // KT gives 1/2 to the first toss and 3/4 to the second of the same side: KT(2, 0) = 3/8, and p̂ = (1, 0).
        assert!((kt_regret([2, 0].into_iter()) - (8.0_f64 / 3.0).ln()).abs() < 1e-12);
        // KT(1, 1) = 1/2 * 1/4, p̂ = (1/2, 1/2): log((1/4) / (1/8)).
        assert!((kt_regret([1, 1].into_iter()) - 2.0_f64.ln()).abs() < 1e-12);
        assert_eq!(kt_regret([0, 0, 0].into_iter()), 0.0);
    }
}
