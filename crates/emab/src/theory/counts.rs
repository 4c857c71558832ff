//! Bounds on the number of suboptimal choices.

use super::Bound;

/// Lemma 2: on the event of Lemma 1, the maximum number of times that an action with this gap is chosen in a pair.
///
/// `w` is the coefficient of the action's width and `log_k_over_delta` is `log(K / delta)`. The printed statement
/// halves the first logarithm of its own derivation; it is not true of every path (see `tight`, which may exceed it).
///
/// ```
/// use emab::theory::lemma2;
/// let bound = lemma2(0.1, 4.0 * 0.2, f64::ln(200.0 / 0.01));
/// assert!(bound.tight < bound.derived);
/// assert_eq!(lemma2(0.1, 0.0, 10.0).derived, 3.0); // no noise
/// ```
pub fn lemma2(gap: f64, w: f64, log_k_over_delta: f64) -> Bound {
    // 4 w / gap^2, without squaring what may be too small to be squared.
    let x = 4.0 * (w / gap) / gap;
    if x == 0.0 {
        // With widths of 0 one observation is enough. x log x tends to 0.
        return Bound {
            printed: 3.0,
            derived: 3.0,
            tight: 1.0,
        };
    }
    let log_x = libm::log(x);
    let derived = 3.0 + 2.0 * x * log_k_over_delta + x * log_x;
    Bound {
        printed: 3.0 + x * (log_x + log_k_over_delta),
        derived,
        tight: most_chosen(x, log_k_over_delta, derived),
    }
}

/// One more than the largest count at which the width is still half the gap: `z^2 / (z + 1) <= x log(K sqrt(1 + z) /
/// delta)`. The left side is convex and the right one concave in `z`, so that there is one crossing to find.
fn most_chosen(x: f64, log_k_over_delta: f64, at_most: f64) -> f64 {
    if !at_most.is_finite() {
        return at_most;
    }
    let right = |z: f64| x * (log_k_over_delta + 0.5 * libm::log1p(z));
    let allowed = |z: f64| z / (1.0 + 1.0 / z) <= right(z);
    // From above, each step goes at least half of the way that is left: the right side rises by less than 1/2.
    let mut z = at_most;
    loop {
        let next = right(z) + 1.0 - 1.0 / (1.0 + z);
        if next >= z - 0.25 || next.is_nan() {
            break;
        }
        z = next;
    }
    let mut count = z.floor() + 1.0;
    while count >= 1.0 && !allowed(count) {
        count -= 1.0;
        if count > 1e15 {
            break; // neighbours are as good as equal
        }
    }
    count.max(0.0) + 1.0
}

/// Corollary 1: on the event of Lemma 1, the most by which the action chosen falls short of the best next step, when
/// its width is `conf`. The learner can compute it when it chooses.
pub fn corollary1(conf: f64) -> f64 {
    2.0 * conf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tight_is_the_largest_count_plus_one() {
        for (gap, w, l) in [
            (0.5, 0.8, 9.9),
            (0.1, 0.01, 3.0),
            (1.0, 0.05, 5.0),
            (3.0, 0.5, 0.7),
        ] {
            let width = |n: f64| ((1.0 + n) / (n * n) * w * (l + 0.5 * (1.0 + n).ln())).sqrt();
            let count = (1..100_000)
                .take_while(|&n| width(f64::from(n)) >= gap / 2.0)
                .count();
            assert_eq!(lemma2(gap, w, l).tight, count as f64 + 1.0, "{gap} {w} {l}");
        }
    }

    #[test]
    fn the_derivation_covers_every_count_also_after_the_choice() {
        // x from far below 1 to far above, K / delta from 2 up: `tight` counts the last choice too.
        for i in -60..60 {
            for j in 1..60 {
                let (x, l) = (1.3_f64.powi(i), 0.5 * f64::from(j) + 0.2);
                let bound = lemma2(1.0, x / 4.0, l);
                assert!(bound.tight <= bound.derived, "{x} {l}: {bound:?}");
            }
        }
    }

    #[test]
    fn the_printed_lemma_does_not_cover_every_count() {
        let bound = lemma2(1.0, 5.0 / 4.0, 20.0);
        assert!(bound.tight > bound.printed, "{bound:?}");
    }

    #[test]
    fn tiny_gaps_give_large_numbers_and_never_nan() {
        for gap in [1e-6, 1e-12, 1e-100, 1e-200, f64::MIN_POSITIVE] {
            let bound = lemma2(gap, 0.8, 9.9);
            for value in [bound.printed, bound.derived, bound.tight] {
                assert!(value > 1e12, "{gap}: {bound:?}");
            }
        }
    }
}
