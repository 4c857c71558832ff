//! The feedback and the costs of an action some of whose costs are unknown.
//!
//! Feedback is always known, a cost is not, and whether it is may depend on the feedback. Feedback that is left out with its
//! cost is then a selection, and no width covers its shares. So all feedback counts. Costs known before the first unknown
//! one form one sum with the feedback, as if all were known; the costs known since form another, and their mean stands for
//! every cost since. The width of both sums in one mixture is that of the proof in docs/theory.md ("Unknown costs"); without
//! an unknown cost it is the earlier one, bit by bit.
//!
//! Where most later costs are unknown, their mean can be less precise than the earlier one. Until it is as precise, the
//! estimate is that of the observations before the first unknown cost.

use crate::mixture::Mixture;

/// What an estimate does with feedback whose cost is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownCostRule {
    /// The feedback counts, and the mean of later costs stands for the unknown one.
    Impute,
    /// The feedback is left out. Bounds hold only where unknown costs are independent of the feedback.
    Drop,
}

/// The observations of an action since its first unknown cost, and those before it.
#[derive(Clone, Debug)]
pub(crate) struct UnknownCosts {
    /// Feedback by next pair, before the first unknown cost and from it on.
    before: Vec<u64>,
    since: Vec<u64>,
    cost_before: f64,
    cost_since: f64,
    numbers: CostNumbers,
}

/// The numbers of observations of an action with unknown costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CostNumbers {
    /// Observations before the first unknown cost.
    before: u64,
    /// Feedback from the first unknown cost on.
    feedback: u64,
    /// Costs known since.
    costs: u64,
}

impl UnknownCosts {
    /// After these observations, all with a known cost: the feedback by next pair, and the sum of the costs.
    pub(crate) fn after(before: impl Iterator<Item = u64>, cost_before: f64) -> UnknownCosts {
        let before: Vec<u64> = before.collect();
        UnknownCosts {
            since: vec![0; before.len()],
            numbers: CostNumbers {
                before: before.iter().sum(),
                feedback: 0,
                costs: 0,
            },
            before,
            cost_before,
            cost_since: 0.0,
        }
    }

    /// Adds an observation: the place of the next pair, and the cost if it is known.
    pub(crate) fn add(&mut self, next: usize, cost: Option<f64>) {
        self.since[next] += 1;
        self.numbers.feedback += 1;
        if let Some(cost) = cost {
            self.numbers.costs += 1;
            self.cost_since += cost;
        }
    }

    /// The feedback that the estimate uses, by next pair.
    pub(crate) fn feedback(&self) -> impl Iterator<Item = u64> {
        let with_later = self.numbers.uses_later();
        let all = self.before.iter().zip(&self.since);
        all.map(move |(before, since)| before + if with_later { *since } else { 0 })
    }

    /// The number of feedbacks that the estimate uses, and the sum of as many costs.
    pub(crate) fn cost(&self) -> (u64, f64) {
        let later = match self.numbers.uses_later() {
            true => self.cost_since * (self.numbers.feedback as f64 / self.numbers.costs as f64),
            false => 0.0,
        };
        (self.numbers.used(), self.cost_before + later)
    }

    /// The number of known costs, and their sum.
    pub(crate) fn known(&self) -> (u64, f64) {
        let CostNumbers { before, costs, .. } = self.numbers;
        (before + costs, self.cost_before + self.cost_since)
    }

    pub(crate) fn numbers(&self) -> CostNumbers {
        self.numbers
    }
}

impl CostNumbers {
    /// Whether observations since the first unknown cost are used: the variance of the mean cost is at most that before it.
    fn uses_later(self) -> bool {
        let (before, feedback, costs) =
            (self.before as f64, self.feedback as f64, self.costs as f64);
        self.costs > 0 && feedback * before <= costs * (2.0 * before + feedback)
    }

    /// The number of feedbacks that the estimate uses.
    fn used(self) -> u64 {
        self.before + if self.uses_later() { self.feedback } else { 0 }
    }

    /// What unknown costs add to the variance of the mean cost, and to its spread in the mixture, at a proxy of 1.
    fn excess(self, rho: f64) -> f64 {
        if !self.uses_later() {
            return 0.0;
        }
        let (n, feedback, costs) = (self.used() as f64, self.feedback as f64, self.costs as f64);
        let weight = feedback / n;
        weight * weight * (costs + rho) / (costs * costs) - feedback / (n * n)
    }
}

/// The width of a mean over feedback and costs of an action, with everything else in its mixture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionSums {
    /// The number of feedbacks that the estimate uses.
    pub(crate) n: u64,
    /// The proxy of the costs, and that of feedback and cost together.
    pub(crate) of_cost: f64,
    pub(crate) proxy: f64,
    pub(crate) unknown: Option<CostNumbers>,
}

impl ActionSums {
    /// The bound on the error, together with other sums that have these spreads. `logs` has the logarithms of the other sums
    /// and that of `n`.
    #[inline]
    pub(crate) fn bound(self, mixture: &mut Mixture, spreads: f64, logs: f64) -> f64 {
        let own = mixture.spread(self.proxy, self.n);
        let Some(unknown) = self.unknown else {
            return mixture.bound(spreads + own, logs);
        };
        let own = own + self.of_cost * unknown.excess(mixture.rho());
        let unused = mixture.log_of(unknown.before + unknown.feedback) - mixture.log_of(self.n);
        let logs = logs + unused + mixture.log_of(unknown.costs);
        match unknown.uses_later() {
            true => mixture.bound(spreads + own, logs),
            // The mixture holds at each time for all sums of that time. These are of two times.
            false => mixture.bound(own, logs) + mixture.bound(spreads, logs),
        }
    }

    /// The bound on the error alone.
    #[inline]
    pub(crate) fn width(self, mixture: &mut Mixture) -> f64 {
        let logs = mixture.log_of(self.n);
        self.bound(mixture, 0.0, logs)
    }

    /// The variance of the mean, with this variance of the feedback.
    pub(crate) fn variance(self, of_feedback: f64) -> f64 {
        let excess = self.unknown.map_or(0.0, |unknown| unknown.excess(0.0));
        (self.of_cost + of_feedback) / self.n as f64 + self.of_cost * excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-12, "{one} {other}");
    }

    #[test]
    fn without_unknown_costs_it_is_one_sum() {
        let mut mixture = Mixture::new(3.0, 5.0);
        let sums = ActionSums {
            n: 7,
            of_cost: 0.1,
            proxy: 0.35,
            unknown: None,
        };
        assert_eq!(sums.width(&mut mixture), mixture.width(0.35, 7));
        close(sums.variance(0.25), 0.35 / 7.0);
    }

    #[test]
    fn estimate_and_width_by_hand() {
        // Four observations with costs of 2 in all, then feedback 0 without a cost and feedback 1 with a cost of 1.
        let mut unknown = UnknownCosts::after([3, 1].into_iter(), 2.0);
        unknown.add(0, None);
        // No later cost is known: the estimate is that before.
        assert_eq!(unknown.feedback().collect::<Vec<_>>(), [3, 1]);
        assert_eq!(unknown.cost(), (4, 2.0));
        unknown.add(1, Some(1.0));
        assert_eq!(unknown.feedback().collect::<Vec<_>>(), [4, 2]);
        assert_eq!(unknown.cost(), (6, 2.0 + 2.0 * 1.0));
        assert_eq!(unknown.known(), (5, 3.0));
        let mut mixture = Mixture::new(3.0, 5.0);
        let sums = ActionSums {
            n: 6,
            of_cost: 0.1,
            proxy: 0.35,
            unknown: Some(unknown.numbers()),
        };
        // Sum A: six feedbacks and four costs; sum B: one cost, with weight 2/6.
        let a = (0.25 * 6.0 + 0.1 * 4.0 + 0.35 * 3.0) / 36.0;
        let b = (2.0_f64 / 6.0).powi(2) * 0.1 * 4.0;
        let logs = 10.0 + 3.0_f64.ln() + (4.0_f64 / 3.0).ln() + 0.5;
        let others = 0.5 + mixture.log_of(6);
        close(
            sums.bound(&mut mixture, 0.2, others),
            ((a + b + 0.2) * logs).sqrt(),
        );
        close(
            sums.variance(0.25),
            0.25 / 6.0 + 0.1 * (4.0 / 36.0 + 1.0 / 9.0),
        );
    }

    #[test]
    fn a_long_gap_of_costs_does_not_make_the_estimate_worse() {
        let mut unknown = UnknownCosts::after([10].into_iter(), 5.0);
        (0..100).for_each(|_| unknown.add(0, None));
        unknown.add(0, Some(9.0));
        assert_eq!(unknown.cost(), (10, 5.0));
        let before = ActionSums {
            n: 10,
            of_cost: 0.1,
            proxy: 0.1,
            unknown: Some(unknown.numbers()),
        };
        let mut mixture = Mixture::new(3.0, 5.0);
        let logs = 10.0 + (1.0 + 111.0_f64 / 3.0).ln() + (4.0_f64 / 3.0).ln() + 0.5;
        let [own, other] = [0.1_f64 * 13.0 / 100.0, 0.2].map(|spread| (spread * logs).sqrt());
        let others = 0.5 + mixture.log_of(10);
        close(before.bound(&mut mixture, 0.2, others), own + other);
        // As many later costs as earlier ones are as precise.
        (0..9).for_each(|_| unknown.add(0, Some(9.0)));
        assert_eq!(unknown.cost().0, 120);
        // Without earlier ones, the first later cost is all that is known.
        let mut unknown = UnknownCosts::after([0].into_iter(), 0.0);
        unknown.add(0, None);
        assert_eq!(unknown.cost(), (0, 0.0));
        unknown.add(0, Some(2.0));
        assert_eq!(unknown.cost(), (2, 4.0));
    }
}
