//! Maximum of an expectation over an L1 ball of distributions.

/// The maximum of `sum_y q(y) v(y)` over the distributions `q` with `sum_y |q(y) - p(y)| <= radius`.
///
/// `outcomes` are the pairs `(v(y), p(y))`, which it sorts; the maximum over no outcomes is minus infinity. This is
/// the inner maximisation of extended value iteration (Jaksch, Ortner, Auer 2010, Figure 2), a linear program with a closed
/// solution: half the radius moves from the worst outcomes to the best.
pub(crate) fn max_over_l1_ball(outcomes: &mut [(f64, f64)], radius: f64) -> f64 {
    outcomes.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some(((best, p), others)) = outcomes.split_first() else {
        return f64::NEG_INFINITY;
    };
    let moved = (0.5 * radius).min(1.0 - p).max(0.0);
    let (mut sum, mut owed) = (best * (p + moved), moved);
    for (value, p) in others.iter().rev() {
        let taken = owed.min(*p);
        owed -= taken;
        sum += value * (p - taken);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let probabilities = [(0.5, 0.3), (1.0, 0.2), (0.0, 0.1), (0.25, 0.4)];
        // 0.15 to the first: all of the worst and 0.05 of the next.
        let near = max_over_l1_ball(&mut probabilities.clone(), 0.3);
        assert!((near - (0.35 + 0.5 * 0.3 + 0.25 * 0.35)).abs() < 1e-15);
        let mean: f64 = probabilities.iter().map(|(v, p)| v * p).sum();
        assert!((max_over_l1_ball(&mut probabilities.clone(), 0.0) - mean).abs() < 1e-15);
        for whole in [2.0, 1e9, f64::INFINITY] {
            assert_eq!(max_over_l1_ball(&mut probabilities.clone(), whole), 1.0);
        }
        assert_eq!(max_over_l1_ball(&mut [(0.7, 1.0)], 1.0), 0.7);
        assert_eq!(max_over_l1_ball(&mut [], 1.0), f64::NEG_INFINITY);
    }

    #[test]
    fn no_distribution_in_the_ball_is_better() {
        // All distributions of three outcomes on a grid of 0.02.
        let values = [0.3, 0.9, 0.1];
        let p = [0.4, 0.24, 0.36];
        for radius in [0.04, 0.2, 0.6, 1.2, 1.9] {
            let mut best = f64::NEG_INFINITY;
            for i in 0..=50 {
                for j in 0..=50 - i {
                    let q = [i, j, 50 - i - j].map(|n| f64::from(n) / 50.0);
                    let far: f64 = q.iter().zip(p).map(|(q, p)| (q - p).abs()).sum();
                    if far <= radius + 1e-12 {
                        best = best.max(q.iter().zip(values).map(|(q, v)| q * v).sum());
                    }
                }
            }
            let mut outcomes = [0, 1, 2].map(|y| (values[y], p[y]));
            let found = max_over_l1_ball(&mut outcomes, radius);
            assert!((found - best).abs() < 1e-12, "{radius}: {found}, {best}");
        }
    }
}
