//! Which action to play when each has an estimate with a width that holds and a standard error.
//!
//! FeedBAL plays the action of the largest upper confidence bound: call it the boldest, `a`. That is safe
//! and, as the widths must hold at all times and everywhere at once, bold: it goes on long after the estimates have
//! parted. Here the action `b` of the largest *modest* index, `mean + explore * se`, is played if it can be *trusted*,
//!
//! `mean_b + trust * w_b >= upper_a`, `w_b = max(upper_b - mean_b, (upper_a - mean_a) sqrt(N_a/N_b))`,
//!
//! and the boldest otherwise. `stop` has no bonus in the modest index: its reward is revealed whatever is played.
//! While all bounds hold, the boldest falls short of the best by at most `2 width_a`, as in the paper, and a trusted
//! action by at most `trust * w_b + width_b`, which shrinks with `N_b` as a width does. So wrong choices are counted as in
//! the paper's Lemma 2, with the larger of the two coefficients and a factor of about `((1 + trust)/2)^2`
//! (docs/theory.md). [`Rule::UpperBound`] is FeedBAL's rule.

use crate::spec::Action;

/// What is known of the gain of one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GainEstimate {
    pub(crate) mean: f64,
    /// How far it can be off, with the confidence promised; infinite before the first observation.
    pub(crate) width: f64,
    /// The upper confidence bound: at most `mean + width`.
    pub(crate) upper: f64,
    /// Its standard error, as far as that is known.
    pub(crate) se: f64,
    /// Observations.
    pub(crate) count: u64,
}

impl GainEstimate {
    /// Nothing.
    pub(crate) const UNOBSERVED: GainEstimate = GainEstimate {
        mean: 0.0,
        width: f64::INFINITY,
        upper: f64::INFINITY,
        se: f64::INFINITY,
        count: 0,
    };

    /// With the standard error of its difference to `stop`, which is what is decided about.
    pub(crate) fn against(self, stop: GainEstimate) -> GainEstimate {
        GainEstimate {
            se: (self.se * self.se + stop.se * stop.se).sqrt(),
            ..self
        }
    }
}

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// FeedBAL's: the boldest, always.
    UpperBound,
    /// The modest, if it can be trusted.
    Trust { trust: f64, explore: f64 },
}

impl Rule {
    /// The action to play, of `stop` and the allowed continuation actions in rising order. As in Algorithm 2 `stop` wins
    /// ties, also that of two infinite bounds, then the lowest index does.
    pub(crate) fn choose(&self, stop: GainEstimate, actions: &[(usize, GainEstimate)]) -> Action {
        let (trust, explore) = match *self {
            Rule::UpperBound => (1.0, 0.0),
            Rule::Trust { trust, explore } => (trust, explore),
        };
        // The boldest is the action of the largest upper bound, the modest of the largest modest index.
        let (mut optimistic, mut moderate) = ((Action::Stop, stop), (Action::Stop, stop));
        let mut index = stop.mean;
        for &(a, estimate) in actions {
            if estimate.upper > optimistic.1.upper {
                optimistic = (Action::Continue(a), estimate);
            }
            if estimate.mean + explore * estimate.se > index {
                moderate = (Action::Continue(a), estimate);
                index = estimate.mean + explore * estimate.se;
            }
        }
        let largest = optimistic.1.upper;
        if largest == f64::INFINITY || *self == Rule::UpperBound {
            return optimistic.0;
        }
        // Widths that all have the scale of the boldest one's: an action that is known better for its little noise must
        // not be trusted less for it.
        let scale = (largest - optimistic.1.mean) * (optimistic.1.count as f64).sqrt();
        let width =
            (moderate.1.upper - moderate.1.mean).max(scale / (moderate.1.count as f64).sqrt());
        if moderate.1.mean + trust * width >= largest {
            moderate.0
        } else {
            optimistic.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, width: f64, se: f64, count: u64) -> GainEstimate {
        GainEstimate {
            mean,
            width,
            upper: mean + width,
            se,
            count,
        }
    }

    #[test]
    fn the_largest_upper_bound() {
        let rule = Rule::UpperBound;
        let stop = estimate(0.5, 0.2, 0.0, 100);
        let choice = |mean, width| rule.choose(stop, &[(0, estimate(mean, width, 9.0, 1))]);
        assert_eq!(choice(0.4, 0.4), Action::Continue(0));
        assert_eq!(choice(0.6, 0.05), Action::Stop);
        assert_eq!(choice(0.5, 0.2), Action::Stop); // stop wins ties
    }

    #[test]
    fn the_modest_if_it_can_be_trusted() {
        let rule = Rule::Trust {
            trust: 3.0,
            explore: 1.0,
        };
        // Bounds 0.8 and 0.7. By the modest index stop is better while the standard error is below 0.1; it is trusted
        // while 0.5 + 3 * 0.4 * sqrt(N_a / N_stop) >= 0.8, up to 16 times as many observations.
        let choice = |se, n| {
            let stop = estimate(0.5, 0.05, 0.0, n);
            rule.choose(stop, &[(0, estimate(0.4, 0.4, se, 100))])
        };
        assert_eq!(choice(0.05, 100), Action::Stop);
        assert_eq!(choice(0.15, 100), Action::Continue(0));
        assert_eq!(choice(0.05, 1600), Action::Stop);
        assert_eq!(choice(0.05, 1601), Action::Continue(0));
    }

    #[test]
    fn who_is_not_trusted_gives_way_to_the_boldest() {
        let rule = Rule::Trust {
            trust: 2.0,
            explore: 1.0,
        };
        // The modest is action 0 at a mean of 0.7; the boldest is action 2, and only its observations are wanted.
        let actions = [
            (0, estimate(0.7, 0.01, 0.0, 1_000_000)),
            (1, estimate(0.6, 0.5, 0.0, 10)),
            (2, estimate(0.5, 0.9, 0.0, 10)),
        ];
        assert_eq!(
            rule.choose(estimate(0.1, 0.1, 0.0, 10), &actions),
            Action::Continue(2)
        );
    }

    #[test]
    fn what_was_never_tried() {
        let rule = Rule::Trust {
            trust: 4.0,
            explore: 1.0,
        };
        let tried = estimate(0.4, 0.1, 0.0, 5);
        let choice = |stop, actions: &[(usize, GainEstimate)]| rule.choose(stop, actions);
        let never = GainEstimate::UNOBSERVED;
        assert_eq!(choice(never, &[(0, never)]), Action::Stop);
        assert_eq!(
            choice(tried, &[(0, tried), (1, never)]),
            Action::Continue(1)
        );
        assert_eq!(choice(tried, &[]), Action::Stop);
    }
}
