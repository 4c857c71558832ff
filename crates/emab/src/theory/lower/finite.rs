//! The lower bound after a number of episodes, without a limit: a change of measure at this number.

/// The least expected number of times that a triplet is chosen by a learner whose regret in an alternative is at most
/// `regret`.
///
/// `visits` is the expected number of times that the benchmark passes the pair, `information` the divergence of the
/// alternative per observation and `surplus` what the action earns there beyond the benchmark of the model. It is the
/// least `N` with `N * information >= kl(N / visits, 1 - regret / (surplus * visits))`, or `visits - regret / surplus` if
/// that is less.
///
/// ```
/// use emab::theory::least_choices;
/// let few = least_choices(1e4, 0.02, 0.1, 50.0);
/// assert!(few > 100.0 && few < least_choices(1e6, 0.02, 0.1, 50.0));
/// assert_eq!(least_choices(1e4, 0.02, 0.1, 1001.0), 0.0); // even a learner that never chooses it may lose so little
/// ```
pub fn least_choices(visits: f64, information: f64, surplus: f64, regret: f64) -> f64 {
    let missed = regret / (surplus * visits);
    if missed.is_nan() || missed >= 1.0 {
        return 0.0;
    }
    let most = 1.0 - missed;
    if missed <= 0.0 {
        return visits;
    }
    // information * visits * share - kl(share, most) is concave and increasing below `most`, and not negative there:
    // Newton's steps from a share below the solution never pass it.
    let slope = information * visits;
    let log_missed = -libm::log(missed);
    let log_most = -libm::log(most);
    let kl = |share: f64| {
        let rest = 1.0 - share;
        share * (libm::log(share) + log_most) + rest * (libm::log1p(-share) + log_missed)
    };
    // kl(share, most) >= (1 - share) log(1 / missed) - log 2
    let below = (log_missed - core::f64::consts::LN_2) / (slope + log_missed);
    let mut share = below.clamp(1e-30 * most, most);
    for _ in 0..100 {
        let value = slope * share - kl(share);
        if value >= 0.0 {
            break;
        }
        let steepness = slope - (libm::log(share) - libm::log1p(-share) + log_most - log_missed);
        let next = (share - value / steepness).min(most);
        if next - share <= 1e-12 * share {
            break;
        }
        share = next;
    }
    share * visits
}

/// The solution of `regret = bound(regret)` for a decreasing function that is at most `most`, from below.
pub(super) fn fixed_point(most: f64, bound: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if high - low <= 1e-9 * high {
            break;
        }
        if bound(middle) >= middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kl(a: f64, b: f64) -> f64 {
        a * (a / b).ln() + (1.0 - a) * ((1.0 - a) / (1.0 - b)).ln()
    }

    #[test]
    fn the_least_number_of_choices_solves_the_inequality() {
        for visits in [10.0, 1e3, 1e6] {
            for information in [1e-6, 1e-3, 0.1, 2.0] {
                for missed in [1e-6, 0.01, 0.3, 0.9] {
                    let regret = missed * 0.2 * visits;
                    let least = least_choices(visits, information, 0.2, regret);
                    let share = least / visits;
                    assert!((0.0..=1.0 - missed).contains(&share));
                    let (left, right) = (information * least, kl(share, 1.0 - missed));
                    assert!(
                        (left - right).abs() <= 1e-6 * right + 1e-9,
                        "{left} {right}"
                    );
                    // A little less violates it.
                    let less = 0.99 * share;
                    assert!(information * less * visits < kl(less, 1.0 - missed));
                }
            }
        }
    }

    #[test]
    fn it_grows_like_the_logarithm_over_the_information() {
        let at = |n: f64| least_choices(n, 0.05, 0.1, n.powf(0.01));
        let slope = (at(1e12) - at(1e9)) / (1e12_f64 / 1e9).ln();
        assert!((slope * 0.05 - 0.99).abs() < 0.01, "{slope}");
    }
}
