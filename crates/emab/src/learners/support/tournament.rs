//! The best of many arms by `mean + radius * spread`, without looking at all of them: a kinetic tournament.
//!
//! A scan of all arms in every episode makes UCB1 slow with many arms. The radius only grows, and an arm's line (its index
//! as a function of the radius) changes only when the arm is observed. So the arms are the leaves of a binary tree in which
//! each node stores the winner of the arms below it and the radius up to which that is certain. An observation invalidates
//! the nodes above its arm; a choice recomputes invalid and expired nodes only. With `k` arms an observation or a choice
//! costs about `log k` nodes, and the first choice after [`Tournament::clear`] about `k`.
//!
//! The choice is, bit for bit, that of comparing all arms in order and keeping the first of the largest index as it
//! is *computed*. Rounding can make two indices equal at one radius and not at the next, so a node does not store the first
//! of the largest. It guarantees that the computed index of its winner is as large as any below it; a descent then finds the
//! first arm with this index.

/// Up to this many arms all are scanned. A tree is faster from about 200 arms if an episode observes one of them, and
/// from about 600 if it observes all prefixes of a sequence.
const FEW: usize = 512;

/// An arm's index as a function of the radius.
#[derive(Clone, Copy, Debug)]
struct Line {
    mean: f64,
    spread: f64,
}

impl Line {
    const UNKNOWN: Line = Line {
        mean: 0.0,
        spread: f64::INFINITY,
    };
    /// Fills the tree up to a power of 2; it comes after all arms, so it is never the first of the largest.
    const NONE: Line = Line {
        mean: f64::NEG_INFINITY,
        spread: 0.0,
    };

    /// The index. What is not a number is never chosen, as if it were the smallest.
    #[inline]
    fn at(self, radius: f64) -> f64 {
        (self.mean + radius * self.spread).max(f64::NEG_INFINITY)
    }

    /// Whether its index is as large as the other's at every radius, rounding included: products and sums of larger
    /// numbers are never rounded to smaller ones. An infinite spread is left out, as 0 times it is not a number.
    #[inline]
    fn is_above(self, other: Line) -> bool {
        self.mean >= other.mean && self.spread >= other.spread && self.spread < f64::INFINITY
    }

    /// Up to which radius, from this one, its computed index is certainly as large as the other's; if that is not
    /// certain even now, no radius at all.
    ///
    /// With `M` the sum of the sizes of the two means, `S` the sum of the two spreads, and `u = 2^-53`: a product and
    /// a sum are each off by at most `u` of what they are, so the two computed indices together by at most about
    /// `2 u (M + radius S)`. While the lines are further apart than that, rounding cannot change their order. Here
    /// they must be apart by `16 u (M + radius S)`, more than enough to cover the rounding in this function as well:
    /// at most 3 `u` of `M` in `a` and of `S` in `b`, and 2 `u` in what is made of them. `MIN_POSITIVE` does the same
    /// for what is lost to underflow. Lines and margin are linear in the radius, so what holds at both ends holds
    /// between them. Where anything is not finite, the last comparison fails, and nothing is guaranteed.
    #[inline]
    fn ahead_until(self, other: Line, radius: f64) -> f64 {
        let (means, spreads) = (
            self.mean.abs() + other.mean.abs(),
            self.spread + other.spread,
        );
        let margin = |size: f64| 8.0 * f64::EPSILON * size + f64::MIN_POSITIVE;
        let a = self.mean - other.mean - margin(means);
        let b = self.spread - other.spread - margin(spreads);
        match a + b * radius > 0.0 {
            true if b >= 0.0 => f64::INFINITY,
            true => a / -b,
            false => f64::NEG_INFINITY,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The largest radius at which all winners from here down are certain.
    until: f64,
    /// An arm whose index is as large as any below this node.
    winner: u32,
}

impl Node {
    const UNDECIDED: Node = Node {
        until: f64::NEG_INFINITY,
        winner: 0,
    };
}

/// Arms with their lines.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    arms: usize,
    /// By arm; with a tree, as many as its leaves.
    lines: Vec<Line>,
    /// The root is node 1, the children of `i` are `2 i` and `2 i + 1`, and those beyond the nodes are the arms in
    /// order. Empty if the arms are few.
    nodes: Vec<Node>,
}

impl Tournament {
    /// So many arms of which nothing is known: mean 0, infinite spread.
    pub(crate) fn new(arms: usize) -> Tournament {
        Tournament::with(arms, arms > FEW)
    }

    fn with(arms: usize, tree: bool) -> Tournament {
        let nodes = if tree { arms.next_power_of_two() } else { 0 };
        let mut lines = vec![Line::UNKNOWN; arms];
        lines.resize(nodes.max(arms), Line::NONE);
        Tournament {
            arms,
            lines,
            nodes: vec![Node::UNDECIDED; nodes],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.lines[..self.arms].fill(Line::UNKNOWN);
        self.nodes.fill(Node::UNDECIDED);
    }

    /// An arm was observed. A spread is never negative.
    #[inline]
    pub(crate) fn observe(&mut self, arm: usize, mean: f64, spread: f64) {
        self.lines[arm] = Line { mean, spread };
        if self.nodes.is_empty() {
            return;
        }
        // Above an undecided node all are undecided: before the first choice this ends at once. So is node 0, which is
        // no node, above the root.
        let mut i = (self.nodes.len() + arm) / 2;
        while let Some(node) = self.nodes.get_mut(i)
            && node.until > f64::NEG_INFINITY
        {
            node.until = f64::NEG_INFINITY;
            i /= 2;
        }
    }

    /// The lowest of the arms of the largest index.
    ///
    /// The radius is not negative and not smaller than at the choice before, unless `clear` came between. It is no
    /// subnormal number, and its product with a finite spread is finite, as `sqrt(2 ln n)` and spreads up to 1 are.
    pub(crate) fn best(&mut self, radius: f64) -> usize {
        if self.nodes.is_empty() {
            return self.scan(radius);
        }
        self.decide(1, radius);
        let index = self.lines[self.winner(1)].at(radius);
        let mut i = 1;
        while i < self.nodes.len() {
            let in_left = self.lines[self.winner(2 * i)].at(radius) == index;
            i = 2 * i + usize::from(!in_left);
        }
        i - self.nodes.len()
    }

    #[inline]
    fn scan(&self, radius: f64) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for (arm, line) in self.lines.iter().enumerate() {
            let index = line.mean + radius * line.spread;
            if index > best.1 {
                best = (arm, index);
            }
        }
        best.0
    }

    fn winner(&self, i: usize) -> usize {
        match self.nodes.get(i) {
            Some(node) => node.winner as usize,
            None => i - self.nodes.len(),
        }
    }

    /// Makes the winners from node `i` down certain at this radius; returns until when they are.
    fn decide(&mut self, i: usize, radius: f64) -> f64 {
        match self.nodes.get(i) {
            None => return f64::INFINITY,
            Some(node) if node.until >= radius => return node.until,
            Some(_) => {}
        }
        let below = self
            .decide(2 * i, radius)
            .min(self.decide(2 * i + 1, radius));
        let arms = (self.winner(2 * i), self.winner(2 * i + 1));
        let (left, right) = (self.lines[arms.0], self.lines[arms.1]);
        let (winner, until) = if left.is_above(right) {
            (arms.0, f64::INFINITY)
        } else if right.is_above(left) {
            (arms.1, f64::INFINITY)
        } else if left.at(radius) >= right.at(radius) {
            (arms.0, left.ahead_until(right, radius))
        } else {
            (arms.1, right.ahead_until(left, radius))
        };
        let until = until.min(below);
        self.nodes[i] = Node {
            until,
            winner: winner as u32,
        };
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts nodes that the next choice decides: those whose time is up.
    fn undecided(tournament: &Tournament, radius: f64) -> usize {
        let nodes = tournament.nodes.iter().skip(1);
        nodes.filter(|node| node.until < radius).count()
    }

    fn any_mean() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => (-3_i32..4).prop_map(f64::from),
            4 => (0_u64..4).prop_map(|ulps| f64::from_bits(0.3_f64.to_bits() + ulps)),
            4 => -2.0..2.0,
            1 => prop::sample::select(vec![1e15, -1e150, 1e308, -1e308, 1e-310]),
            1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN]),
            1 => any::<f64>(),
        ]
    }

    fn any_spread() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => (1_u32..6).prop_map(|n| 1.0 / f64::from(n).sqrt()),
            2 => 0.0..2.0,
            1 => prop::sample::select(vec![0.0, 1e-310, 1e100, f64::INFINITY]),
        ]
    }

    /// What the radius is multiplied with, and what is added.
    fn any_growth() -> impl Strategy<Value = (f64, f64)> {
        prop_oneof![
            4 => Just((1.0, 0.0)),
            8 => (1.0_f64..1.1).prop_map(|factor| (factor, 0.0)),
            8 => (0.0_f64..0.2).prop_map(|more| (1.0, more)),
            1 => prop::sample::select(vec![(1e3, 0.0), (1e100, 0.0)]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn the_choice_is_that_of_the_scan(
            arms in 1_usize..40,
            observed_first in any::<bool>(),
            first in prop::collection::vec((any_mean(), any_spread()), 40),
            steps in prop::collection::vec(
                (prop::collection::vec((any::<usize>(), any_mean(), any_spread()), 0..3), any_growth()),
                1..60,
            ),
        ) {
            let mut tournament = Tournament::with(arms, true);
            for (arm, &(mean, spread)) in first.iter().enumerate().take(arms) {
                if observed_first {
                    tournament.observe(arm, mean, spread);
                }
            }
            let mut radius = 0.0;
            for (i, (observed, (factor, more))) in steps.into_iter().enumerate() {
                for (arm, mean, spread) in observed {
                    tournament.observe(arm % arms, mean, spread);
                }
                radius = (radius * factor + more).min(1e200);
                prop_assert_eq!(tournament.best(radius), tournament.scan(radius), "at {}", radius);
                if i == 40 {
                    tournament.clear();
                    radius = 0.0;
                }
            }
        }

        /// Lines that cross almost where another two do, and radii that come there in the smallest of steps.
        #[test]
        fn rounding_at_a_crossing_does_not_change_the_choice(
            at in 0.5..5.0_f64,
            height in prop_oneof![-1e3..1e3_f64, Just(0.0), Just(1.0)],
            lines in prop::collection::vec((1_u32..9, 0_u64..3), 2..20),
            steps in prop::collection::vec(0_u64..4, 40),
        ) {
            let mut tournament = Tournament::with(lines.len(), true);
            for (arm, (n, ulps)) in lines.into_iter().enumerate() {
                let spread = 1.0 / f64::from(n).sqrt();
                let mean = height - at * spread;
                tournament.observe(arm, f64::from_bits(mean.to_bits() + ulps), spread);
            }
            for radius in [at / 2.0, at * (1.0 - 1e-9)] {
                prop_assert_eq!(tournament.best(radius), tournament.scan(radius));
            }
            let mut radius = f64::from_bits(at.to_bits() - 40);
            for ulps in steps {
                radius = f64::from_bits(radius.to_bits() + ulps);
                prop_assert_eq!(tournament.best(radius), tournament.scan(radius));
            }
        }
    }

    #[test]
    fn a_choice_updates_about_log_k_nodes() {
        // Gains of three kinds: by arm with noise, 0 or 1, and different only by rounding.
        let gains: [fn(usize, usize) -> f64; 3] = [
            |arm, noise| (arm * 7919 % 1009 + noise % 1009) as f64 / 1e3,
            |_, noise| (noise % 2) as f64,
            |_, noise| f64::from_bits(0.3_f64.to_bits() + noise as u64 % 4),
        ];
        for (gain, depth) in gains
            .into_iter()
            .flat_map(|gain| [6, 10, 14].map(|depth| (gain, depth)))
        {
            let arms = 1 << depth;
            let mut tournament = Tournament::with(arms, true);
            let mut known = vec![(0.0, 0.0); arms];
            let radius = |n: usize| (2.0 * libm::log(n as f64)).sqrt();
            let (mut decided, episodes) = (0, 5000);
            for n in 0..arms + episodes {
                let arm = if n < arms {
                    n
                } else {
                    if n > arms {
                        decided += undecided(&tournament, radius(n));
                    }
                    tournament.best(radius(n))
                };
                let (sum, count) = &mut known[arm];
                *sum += gain(arm, (n * 7_368_787) % 1_000_003);
                *count += 1.0;
                tournament.observe(arm, *sum / *count, 1.0 / count.sqrt());
            }
            let each = decided as f64 / (episodes - 1) as f64;
            assert!(
                each < 1.2 * f64::from(depth),
                "{each} nodes of a tree of depth {depth}"
            );
        }
    }
}
