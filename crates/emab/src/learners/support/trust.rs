//! The choice between actions that have an estimate with a confidence width and a standard error.
//!
//! FeedBAL plays the action `a` with the largest upper confidence bound. Widths that hold at all times for all pairs are
//! wide, so it explores long after the estimates have separated. Here the action `b` with the largest *moderate* index,
//! `mean + explore * se`, is played if it can be *trusted*,
//!
//! `mean_b + trust * w_b >= upper_a`, `w_b = max(upper_b - mean_b, (upper_a - mean_a) sqrt(N_a/N_b))`,
//!
//! and `a` otherwise. `stop` has no bonus in the moderate index: its reward is revealed whatever is played. While all bounds
//! hold, the shortfall of `a` is at most `2 width_a`, as in the paper, and that of a trusted action at most
//! `trust * w_b + width_b`, which shrinks with `N_b` as a width does. Lemma 2 then holds with the larger of the two
//! coefficients and a factor of `((1 + trust)/2)^2`, besides that of the widths (docs/theory.md). [`Rule::UpperBound`] is
//! FeedBAL's rule.

use crate::spec::Action;

/// The estimate of the gain of one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GainEstimate {
    pub(crate) mean: f64,
    /// The confidence width; infinite before the first observation.
    pub(crate) width: f64,
    /// The upper confidence bound: at most `mean + width`.
    pub(crate) upper: f64,
    /// The standard error.
    pub(crate) se: f64,
    /// Number of observations.
    pub(crate) count: u64,
}

impl GainEstimate {
    /// Without observations.
    pub(crate) const UNOBSERVED: GainEstimate = GainEstimate {
        mean: 0.0,
        width: f64::INFINITY,
        upper: f64::INFINITY,
        se: f64::INFINITY,
        count: 0,
    };

    /// With the standard error of the difference to `stop`.
    pub(crate) fn against(self, stop: GainEstimate) -> GainEstimate {
        GainEstimate {
            se: (self.se * self.se + stop.se * stop.se).sqrt(),
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// The largest upper bound, as FeedBAL.
    UpperBound,
    /// The largest moderate index, if the action can be trusted.
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
        // The actions with the largest upper bound and the largest moderate index.
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
        // Widths on the scale of the optimistic action: an action with less noise must not be trusted less.
        let scale = (largest - optimistic.1.mean) * (optimistic.1.count as f64).sqrt();
        let width =
            (moderate.1.upper - moderate.1.mean).max(scale / (moderate.1.count as f64).sqrt());
        match moderate.1.mean + trust * width >= largest {
            true => moderate.0,
            false => optimistic.0,
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

    fn trusting(trust: f64) -> Rule {
        let explore = 1.0;
        Rule::Trust { trust, explore }
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
    fn the_moderate_action_if_it_can_be_trusted() {
        let rule = trusting(3.0);
        // Bounds 0.8 and 0.7. By the moderate index stop is better while the standard error is below 0.1; it is trusted
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
    fn an_untrusted_action_yields_to_the_largest_upper_bound() {
        let rule = trusting(2.0);
        // The moderate action is 0 with mean 0.7; the largest upper bound is that of action 2.
        let actions = [
            (0, estimate(0.7, 0.01, 0.0, 1_000_000)),
            (1, estimate(0.6, 0.5, 0.0, 10)),
            (2, estimate(0.5, 0.9, 0.0, 10)),
        ];
        let chosen = rule.choose(estimate(0.1, 0.1, 0.0, 10), &actions);
        assert_eq!(chosen, Action::Continue(2));
    }

    #[test]
    fn untried_actions_are_tried() {
        let rule = trusting(4.0);
        let tried = estimate(0.4, 0.1, 0.0, 5);
        let choice = |stop, actions: &[(usize, GainEstimate)]| rule.choose(stop, actions);
        let never = GainEstimate::UNOBSERVED;
        assert_eq!(choice(never, &[(0, never)]), Action::Stop);
        let untried = choice(tried, &[(0, tried), (1, never)]);
        assert_eq!(untried, Action::Continue(1));
        assert_eq!(choice(tried, &[]), Action::Stop);
    }
}
