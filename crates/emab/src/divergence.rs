//! The smallest Kullback-Leibler divergence from the observations of an action, feedback and cost, to observations of a larger
//! mean: what a change of measure costs (`theory::LowerBound`), and what an index of a learner asks for.
//!
//! Alternatives keep the support, and feedback and cost stay independent. For a multiplier `lambda >= 0` the alternative that
//! minimises `divergence - lambda * mean` has a closed form ([`tilt`], [`CostFamily`]); the multiplier that reaches a mean is
//! found by a search in one variable ([`least_multiplier`]). Only sums, quotients and `libm` are used: the bits are the same
//! on all machines.

use crate::model::Noise;

/// A feedback that can come: its probability, and the value of the pair that it leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub probability: f64,
    pub value: f64,
}

/// An alternative: how far its mean is above that of the model, and its divergence from the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shift {
    /// The mean of the alternative less that of the model.
    pub mean: f64,
    /// The divergence, in nats per observation.
    pub divergence: f64,
}

/// `q log q - q + 1` at `q = 1 + u`, to a small relative error.
fn excess(u: f64) -> f64 {
    if u.abs() < 1e-3 {
        u * u * (0.5 - u * (1.0 / 6.0 - u * (1.0 / 12.0 - u / 20.0)))
    } else if u <= -1.0 {
        1.0
    } else {
        (1.0 + u) * libm::log1p(u) - u
    }
}

/// The distribution `p'` that minimises `KL(p, p') - lambda * E'[value]`: `p' = p / (nu - lambda * value)`.
///
/// It is the divergence from the model to the alternative, as a change of measure needs it. Exponential weights
/// `p exp(lambda * value)` minimise that of the other direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tilt {
    lambda: f64,
    /// The largest value.
    top: f64,
    /// `nu - lambda * top`.
    normaliser: f64,
    /// The probability of an outcome with the largest value, if it has none in the model.
    rest: f64,
}

/// See [`Tilt`]. Outcomes of probability 0 have the largest value or none in the alternative.
pub(crate) fn tilt(outcomes: &[Outcome], lambda: f64) -> Tilt {
    let top = largest(outcomes);
    // With y = lambda (top - value) >= 0 the normaliser s solves sum p / (s + y) = 1. It is at least the probability of the top,
    // and at most 1. The reciprocal of the sum is increasing and concave in s, so that Newton's steps from the left never pass
    // the solution.
    let (mut at_top, mut average) = (0.0, 0.0);
    for outcome in outcomes {
        if outcome.value == top {
            at_top += outcome.probability;
        }
        average += outcome.probability * (top - outcome.value);
    }
    // The harmonic mean is at most the arithmetic one: the solution is at least 1 less the average y.
    let mut s = f64::max(at_top, 1.0 - lambda * average);
    let mut rest = 0.0;
    if s <= 0.0 {
        s = 0.0;
        let others = outcomes.iter().filter(|outcome| outcome.probability > 0.0);
        let sum: f64 =
            (others.map(|outcome| outcome.probability / (lambda * (top - outcome.value)))).sum();
        if sum <= 1.0 {
            rest = 1.0 - sum;
        }
    }
    if rest == 0.0 {
        for _ in 0..100 {
            let (mut sum, mut slope) = (0.0, 0.0);
            for outcome in outcomes {
                if outcome.probability > 0.0 {
                    let inverse = 1.0 / (s + lambda * (top - outcome.value));
                    sum += outcome.probability * inverse;
                    slope += outcome.probability * inverse * inverse;
                }
            }
            let step = (sum - 1.0) * sum / slope;
            s = (s + step).min(1.0);
            if step <= 1e-15 * s {
                break;
            }
        }
    }
    Tilt {
        lambda,
        top,
        normaliser: s,
        rest,
    }
}

impl Tilt {
    /// The probability of an outcome in the model less 1 over that in the alternative.
    #[inline]
    fn u(&self, outcome: &Outcome) -> f64 {
        (self.normaliser - 1.0) + self.lambda * (self.top - outcome.value)
    }

    /// The divergence from the model.
    pub fn divergence(&self, outcomes: &[Outcome]) -> f64 {
        let possible = outcomes.iter().filter(|outcome| outcome.probability > 0.0);
        let terms = possible.map(|outcome| {
            let u = self.u(outcome);
            outcome.probability / (1.0 + u) * excess(u)
        });
        terms.sum::<f64>() + self.rest
    }

    /// The mean of the alternative less that of the model, where outcome `i` is worth `value(i)`. Of several outcomes with the
    /// largest value and no probability in the model, the one of most worth has the rest.
    pub fn rise(&self, outcomes: &[Outcome], value: impl Fn(usize) -> f64) -> f64 {
        let mut rise = 0.0;
        for (i, outcome) in outcomes.iter().enumerate() {
            if outcome.probability > 0.0 {
                let u = self.u(outcome);
                rise -= outcome.probability * u / (1.0 + u) * value(i);
            }
        }
        if self.rest > 0.0
            && let Some(i) = outcomes
                .iter()
                .position(|outcome| outcome.value == self.top)
        {
            rise += self.rest * value(i);
        }
        rise
    }

    /// Its mean and divergence.
    pub fn shift(&self, outcomes: &[Outcome]) -> Shift {
        Shift {
            // Relative to the largest value, to avoid cancellation.
            mean: self.rise(outcomes, |i| outcomes[i].value - self.top),
            divergence: self.divergence(outcomes),
        }
    }
}

fn largest(outcomes: &[Outcome]) -> f64 {
    let values = outcomes.iter().map(|outcome| outcome.value);
    values.fold(f64::NEG_INFINITY, f64::max)
}

/// The least multiplier with which the mean of feedback and cost rises by `need`; none if no alternative does, or if the least
/// divergence is `enough`: this is asked, for multipliers on the way, of bounds that are at most the least divergence.
pub(crate) fn least_multiplier(
    outcomes: &[Outcome],
    cost: &CostFamily,
    need: f64,
    enough: impl Fn(f64) -> bool,
) -> Option<f64> {
    if need <= 0.0 {
        return Some(0.0);
    }
    let (average, variance) = moments(outcomes);
    let most = largest(outcomes) - average + cost.most();
    if need >= most * (1.0 - 1e-12) {
        return None;
    }
    let variance = variance + cost.variance();
    let excess = |lambda: f64| {
        let tilted = tilt(outcomes, lambda).shift(outcomes);
        let cost = cost.reduce(lambda);
        let excess = tilted.mean + cost.mean - need;
        (
            excess,
            tilted.divergence + cost.divergence - lambda * excess,
        )
    };
    let first = need / variance;
    let mut high = (if first.is_finite() { first } else { 1.0 }, 0.0);
    let mut low = (0.0, -need);
    loop {
        let (value, at_most) = excess(high.0);
        high.1 = value;
        if value >= 0.0 {
            break;
        }
        if high.0 > 1e300 {
            return None;
        }
        if enough(at_most) {
            return None;
        }
        low = high;
        high.0 *= 2.0;
    }
    let mut is_enough = false;
    let lambda = root(low, high, 1e-14, |lambda| {
        let (value, at_most) = excess(lambda);
        is_enough = enough(at_most);
        (!is_enough).then_some(value)
    });
    (!is_enough).then_some(lambda)
}

/// The root of an increasing function between two places with its values there, from above: regula falsi with halved weights of
/// an end that stays (the Illinois rule). It ends at this relative width, or where `value` gives none.
fn root(
    mut low: (f64, f64),
    mut high: (f64, f64),
    width: f64,
    mut value: impl FnMut(f64) -> Option<f64>,
) -> f64 {
    let mut side = 0;
    for _ in 0..200 {
        let place = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
        if place <= low.0 || place >= high.0 || high.0 - low.0 <= width * high.0 {
            break;
        }
        let Some(value) = value(place) else { break };
        if value >= 0.0 {
            high = (place, value);
            low.1 *= if side == 1 { 0.5 } else { 1.0 };
            side = 1;
        } else {
            low = (place, value);
            high.1 *= if side == -1 { 0.5 } else { 1.0 };
            side = -1;
        }
    }
    high.0
}

/// Whether the mean of feedback and cost can rise by more than `need` with a divergence below `budget`, where costs are normal
/// with this variance.
pub(crate) fn can_rise(outcomes: &[Outcome], cost_variance: f64, need: f64, budget: f64) -> bool {
    if need <= 0.0 {
        return budget > 0.0;
    }
    // For lambda > 0 and m = lambda * cost_variance with 1 + lambda (need - m - z) >= 0 for all outcomes z, measured from the
    // average, the dual is sum p log(1 + lambda (need - m - z)) + lambda m / 2: at most the least divergence, and equal to it
    // at the multiplier that reaches `need`. It mostly shows at once that the budget is too small.
    let (average, variance) = moments(outcomes);
    let short = need - (largest(outcomes) - average);
    // The root of 1 + lambda * short - lambda^2 * cost_variance.
    let most = 2.0 / (libm::sqrt(short * short + 4.0 * cost_variance) - short);
    let mut lambda = need / (variance + cost_variance);
    for _ in 0..4 {
        lambda = lambda.min(0.99 * most);
        if !lambda.is_finite() {
            break;
        }
        let m = lambda * cost_variance;
        let (mut dual, mut slope, mut curvature) = (0.5 * lambda * m, m, -cost_variance);
        for outcome in outcomes {
            if outcome.probability > 0.0 {
                let z = outcome.value - average;
                let u = lambda * (need - m - z);
                let share = outcome.probability / (1.0 + u);
                let by_lambda = need - 2.0 * m - z;
                dual += outcome.probability * libm::log1p(u);
                slope += share * by_lambda;
                curvature += share * (by_lambda * by_lambda / (1.0 + u) + 2.0 * cost_variance);
            }
        }
        if dual >= budget {
            return false;
        }
        let step = slope / curvature;
        if step.is_nan() || step.abs() <= 1e-3 * lambda {
            break;
        }
        lambda = (lambda + step).max(0.5 * lambda);
    }
    let cost = CostFamily::normal(cost_variance);
    least_multiplier(outcomes, &cost, need, |at_most| at_most >= budget).is_some()
}

/// The mean and the variance of the values.
fn moments(outcomes: &[Outcome]) -> (f64, f64) {
    let average: f64 = (outcomes.iter())
        .map(|outcome| outcome.probability * outcome.value)
        .sum();
    let spread = |outcome: &Outcome| {
        let away = outcome.value - average;
        outcome.probability * away * away
    };
    (average, outcomes.iter().map(spread).sum())
}

/// How far the mean of feedback and cost can rise with a divergence of `budget`, where costs are normal with this variance.
pub(crate) fn largest_rise(outcomes: &[Outcome], cost_variance: f64, budget: f64) -> f64 {
    let cost = CostFamily::normal(cost_variance);
    let (_, variance) = moments(outcomes);
    let variance = variance + cost_variance;
    // The root of the divergence is nearly proportional to the multiplier.
    let target = libm::sqrt(budget);
    let at = |lambda: f64| {
        let (feedback, cost) = (tilt(outcomes, lambda).shift(outcomes), cost.reduce(lambda));
        let divergence = feedback.divergence + cost.divergence;
        (feedback.mean + cost.mean, libm::sqrt(divergence) - target)
    };
    let first = libm::sqrt(2.0 * budget / variance);
    let mut high = (if first.is_finite() { first } else { 1.0 }, 0.0);
    let mut low = (0.0, -target);
    let mut rise;
    loop {
        (rise, high.1) = at(high.0);
        if high.1 >= 0.0 {
            break;
        }
        if high.0 > 1e100 {
            return rise; // all of the support
        }
        low = high;
        high.0 *= 4.0;
    }
    root(low, high, 1e-12, |lambda| {
        let (here, value) = at(lambda);
        rise = here;
        (value.abs() > 1e-12 * target).then_some(value)
    });
    rise
}

/// The observed costs that an alternative may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CostFamily {
    noise: Noise,
    cost: f64,
    /// The largest reduction of the expected cost.
    most: f64,
}

impl CostFamily {
    /// Costs of this expectation and noise; no alternative has an expected cost below `least`.
    pub fn new(noise: Noise, cost: f64, least: f64) -> CostFamily {
        let support = match noise {
            Noise::None => 0.0,
            Noise::Normal { sd } => {
                if sd > 0.0 {
                    f64::INFINITY
                } else {
                    0.0
                }
            }
            Noise::Uniform { half_width } => half_width,
            Noise::Bernoulli => cost,
        };
        CostFamily {
            noise,
            cost,
            most: support.min(cost - least).max(0.0),
        }
    }

    /// Any expected cost, with normal noise of this variance.
    pub fn normal(variance: f64) -> CostFamily {
        let sd = libm::sqrt(variance);
        CostFamily::new(Noise::Normal { sd }, 0.0, f64::NEG_INFINITY)
    }

    /// What no alternative reduces the expected cost by.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// The variance of the observed cost.
    pub fn variance(&self) -> f64 {
        if self.most == 0.0 {
            return 0.0;
        }
        match self.noise {
            Noise::None => 0.0,
            Noise::Normal { sd } => sd * sd,
            Noise::Uniform { half_width } => half_width * half_width / 3.0,
            Noise::Bernoulli => self.cost * (1.0 - self.cost),
        }
    }

    /// The alternative that minimises `divergence - lambda * reduction` of the expected cost.
    pub fn reduce(&self, lambda: f64) -> Shift {
        if self.most == 0.0 || lambda == 0.0 {
            return Shift::default();
        }
        let free = self.reduce_freely(lambda);
        if free.mean <= self.most {
            return free;
        }
        // The expected cost is at its least: the multiplier that leads there is smaller.
        let (mut low, mut high) = (0.0, lambda);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.reduce_freely(middle).mean <= self.most {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.reduce_freely(low)
    }

    fn reduce_freely(&self, lambda: f64) -> Shift {
        match self.noise {
            Noise::None => Shift::default(),
            Noise::Normal { sd } => {
                let mean = lambda * sd * sd;
                Shift {
                    mean,
                    divergence: 0.5 * lambda * mean,
                }
            }
            Noise::Uniform { half_width } => tilt_uniform(half_width, lambda),
            Noise::Bernoulli => {
                let outcome = |probability, value| Outcome { probability, value };
                let outcomes = [outcome(1.0 - self.cost, 0.0), outcome(self.cost, -1.0)];
                tilt(&outcomes, lambda).shift(&outcomes)
            }
        }
    }
}

/// [`tilt`] of the uniform distribution on `[-h, h]`: with `x = lambda h` the normaliser is `x coth x`.
fn tilt_uniform(h: f64, lambda: f64) -> Shift {
    let x = lambda * h;
    if x < 0.05 {
        let square = x * x;
        return Shift {
            mean: h * x * (1.0 / 3.0 - square * (1.0 / 45.0 - square * 2.0 / 945.0)),
            divergence: square * (1.0 / 6.0 - square * (1.0 / 60.0 - square / 567.0)),
        };
    }
    let nu = x / libm::tanh(x);
    let log_expm1 = if x < 20.0 {
        libm::log(libm::expm1(2.0 * x))
    } else {
        2.0 * x
    };
    Shift {
        mean: (nu - 1.0) / lambda,
        divergence: libm::log(2.0 * x) - log_expm1 + nu + x - 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes<const N: usize>(p: [f64; N], z: [f64; N]) -> Vec<Outcome> {
        let both = p.into_iter().zip(z);
        both.map(|(probability, value)| Outcome { probability, value })
            .collect()
    }

    fn kl(p: &[Outcome], q: &[f64]) -> f64 {
        let terms = p.iter().zip(q).filter(|(p, _)| p.probability > 0.0);
        terms
            .map(|(p, q)| p.probability * (p.probability / q).ln())
            .sum()
    }

    fn tilted(p: &[Outcome], lambda: f64) -> Vec<f64> {
        let tilt = tilt(p, lambda);
        let all =
            (0..p.len()).map(|i| p[i].probability + tilt.rise(p, |j| f64::from(u8::from(i == j))));
        all.collect()
    }

    #[test]
    fn tilted_distributions_have_the_least_divergence_of_their_mean() {
        // The second has a largest value that never came; the third, one that cannot be better.
        for p in [
            outcomes([0.5, 0.3, 0.2], [0.0, 0.7, 1.0]),
            outcomes([0.5, 0.3, 0.2, 0.0], [0.0, 0.7, 1.0, 1.5]),
            outcomes([0.5, 0.3, 0.2, 0.0], [0.0, 0.7, 1.0, 0.2]),
        ] {
            for lambda in [1e-6, 0.01, 0.3, 1.0, 5.0, 1e3, 1e9] {
                let q = tilted(&p, lambda);
                let shift = tilt(&p, lambda).shift(&p);
                assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{lambda}");
                assert!((shift.divergence - kl(&p, &q)).abs() < 1e-13 + 1e-6 * shift.divergence);
                let mean: f64 = p
                    .iter()
                    .zip(&q)
                    .map(|(p, q)| p.value * (q - p.probability))
                    .sum();
                assert!((shift.mean - mean).abs() < 1e-9, "{lambda}");
                // A move that keeps the sum and the mean changes the divergence in the second order only, and upwards.
                let direction = [p[2].value - p[1].value, -p[2].value, p[1].value];
                for size in [-1e-4, 1e-4] {
                    let room = q[0].min(q[1]).min(q[2]);
                    let mut moved = q.clone();
                    for (q, d) in moved.iter_mut().zip(direction) {
                        *q += size * room * d;
                    }
                    assert!(kl(&p, &moved) >= kl(&p, &q) - 1e-14, "{lambda}");
                }
            }
        }
    }

    #[test]
    fn small_tilts_have_the_divergence_of_a_normal_distribution() {
        let p = outcomes([0.25, 0.5, 0.25], [0.0, 1.0, 3.0]);
        let variance = 0.5 + 0.25 * 9.0 - 1.25 * 1.25;
        let shift = tilt(&p, 1e-7).shift(&p);
        assert!((shift.divergence / (0.5 * 1e-14 * variance) - 1.0).abs() < 1e-5);
        assert!((shift.mean / (1e-7 * variance) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn the_multiplier_reaches_the_mean_and_bounds_on_the_way_are_below_the_divergence() {
        let p = outcomes([0.6, 0.3, 0.1, 0.0], [0.0, 1.0, 2.0, 4.0]);
        for variance in [0.0, 0.01, 1.0] {
            let cost = CostFamily::normal(variance);
            for need in [1e-6, 0.1, 1.0, 2.0, 3.4] {
                let lambda = least_multiplier(&p, &cost, need, |_| false).unwrap();
                let (feedback, cost_shift) = (tilt(&p, lambda).shift(&p), cost.reduce(lambda));
                assert!((feedback.mean + cost_shift.mean - need).abs() < 1e-9 * (1.0 + need));
                let least = feedback.divergence + cost_shift.divergence;
                let below = |at_most: f64| {
                    assert!(at_most <= least * (1.0 + 1e-9) + 1e-15, "{at_most} {least}");
                    false
                };
                least_multiplier(&p, &cost, need, below);
            }
        }
        let fixed = CostFamily::normal(0.0);
        assert_eq!(least_multiplier(&p, &fixed, 3.5, |_| false), None);
        assert_eq!(least_multiplier(&p, &fixed, 0.0, |_| false), Some(0.0));
        // One feedback, and a larger value that never came.
        let sure = outcomes([1.0, 0.0], [0.0, 1.0]);
        let lambda = least_multiplier(&sure, &fixed, 0.25, |_| false).unwrap();
        let divergence = tilt(&sure, lambda).divergence(&sure);
        assert!(
            (divergence - (4.0_f64 / 3.0).ln()).abs() < 1e-9,
            "{divergence}"
        );
    }

    #[test]
    fn the_largest_rise_has_the_divergence_of_the_budget() {
        let p = outcomes([0.6, 0.3, 0.1, 0.0], [0.0, 1.0, 2.0, 4.0]);
        for variance in [0.0, 0.01, 1.0] {
            for budget in [1e-9, 1e-3, 0.1, 1.0, 20.0] {
                let rise = largest_rise(&p, variance, budget);
                let can_rise = |need| can_rise(&p, variance, need, budget);
                assert!(can_rise(0.0) && can_rise(0.5 * rise), "{variance} {budget}");
                assert!(can_rise(rise * (1.0 - 1e-6)), "{variance} {budget}");
                assert!(!can_rise(rise * (1.0 + 1e-6)), "{variance} {budget}");
                assert!(!can_rise(rise * 1.5) && !can_rise(rise * 100.0));
            }
        }
        // A sure outcome does not rise without a larger one that may come, but for its cost.
        let sure = outcomes([1.0, 0.0], [1.0, 0.5]);
        assert_eq!(largest_rise(&sure, 0.0, 0.1), 0.0);
        let rise = largest_rise(&sure, 0.5, 0.1);
        assert!((rise - (2.0 * 0.5 * 0.1_f64).sqrt()).abs() < 1e-9, "{rise}");
    }

    #[test]
    fn uniform_costs_are_the_limit_of_a_fine_grid() {
        let p: [f64; 2000] = [1.0 / 2000.0; 2000];
        let grid = outcomes(
            p,
            std::array::from_fn(|i| 0.7 * ((i as f64 + 0.5) / 1000.0 - 1.0)),
        );
        for lambda in [0.01, 0.0714, 0.0715, 1.0, 4.0] {
            let (shift, fine) = (tilt_uniform(0.7, lambda), tilt(&grid, lambda).shift(&grid));
            assert!(
                (shift.divergence / fine.divergence - 1.0).abs() < 1e-3,
                "{lambda}"
            );
            assert!((shift.mean / fine.mean - 1.0).abs() < 1e-3, "{lambda}");
        }
        // A grid is too coarse near the end of the interval. The multiplier is the slope of the divergence by the mean.
        for lambda in [8.0, 20.0, 28.5, 28.6, 100.0] {
            let (low, high) = (
                tilt_uniform(0.7, 0.999 * lambda),
                tilt_uniform(0.7, 1.001 * lambda),
            );
            let slope = (high.divergence - low.divergence) / (high.mean - low.mean);
            assert!((slope / lambda - 1.0).abs() < 1e-5, "{lambda}: {slope}");
        }
        let far = tilt_uniform(0.7, 1e4);
        assert!(far.mean < 0.7 && far.divergence.is_finite());
    }

    #[test]
    fn costs_stay_in_their_family() {
        let normal = CostFamily::new(Noise::normal(0.25).unwrap(), 1.0, 0.0);
        assert_eq!(
            normal.reduce(2.0),
            Shift {
                mean: 0.5,
                divergence: 0.5
            }
        );
        let least = normal.reduce(100.0);
        assert!((least.mean - 1.0).abs() < 1e-12 && (least.divergence - 2.0).abs() < 1e-9);
        assert_eq!(CostFamily::normal(0.25).reduce(100.0).mean, 25.0);
        assert_eq!(
            CostFamily::new(Noise::None, 1.0, 0.0).reduce(9.0),
            Shift::default()
        );
        let bernoulli = CostFamily::new(Noise::Bernoulli, 0.4, f64::NEG_INFINITY).reduce(3.0);
        let c = 0.4 - bernoulli.mean;
        let coin = outcomes([0.6, 0.4], [0.0, 1.0]);
        assert!((bernoulli.divergence - kl(&coin, &[1.0 - c, c])).abs() < 1e-14);
    }
}
