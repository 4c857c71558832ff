//! The reachable pairs of a specification, and the comparison of two specifications.

use std::collections::BTreeSet;
use std::fmt;

use crate::spec::{Point, PointError, Spec};

/// The step-state pairs that are reachable by any actions and feedbacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reachable {
    /// Steps from 1 and states, in order.
    pub pairs: Vec<(usize, usize)>,
    /// Whether these are all, or the limit was reached.
    pub complete: bool,
}

/// The result of comparing two specifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecComparison {
    /// They allow the same episodes with the same states.
    Same,
    /// They differ.
    Differ(SpecDifference),
    /// They are too large to compare completely, and equal up to the limit.
    TooLarge,
}

/// The first difference of two specifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecDifference {
    /// The field of the problem file.
    pub field: &'static str,
    /// What differs, in words.
    pub what: String,
    /// The value in the first.
    pub one: String,
    /// The value in the second.
    pub other: String,
}

impl Spec {
    /// The reachable pairs, up to `limit` pairs and ten times as many outcomes. Fails where the mask or a transition is
    /// invalid.
    ///
    /// ```
    /// use emab::{Names, Spec};
    /// let spec = Spec::numbered(3, 9, 1, 2).unwrap()
    ///     .transition(|_t, x, _a, f| (x + f) as f64);
    /// let reachable = spec.reachable(1000).unwrap();
    /// assert_eq!(reachable.pairs, [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]);
    /// assert!(reachable.complete && !spec.reachable(3).unwrap().complete);
    /// ```
    pub fn reachable(&self, limit: usize) -> Result<Reachable, PointError> {
        traverse(self, limit, |t, x, actions, next| {
            follow(self, (t, x), actions, next)
        })
    }

    /// Compares with another specification: sizes, names of actions and feedbacks, and mask and transitions in up to `limit`
    /// reachable pairs. Names of states and unreachable pairs are ignored.
    ///
    /// ```
    /// use emab::{Names, Spec, reach::SpecComparison};
    /// let spec = || Spec::numbered(2, 3, 1, 2).unwrap();
    /// let one = spec().transition(|_t, x, _a, f| (x + f) as f64);
    /// // Equal in all reachable pairs.
    /// let same = spec().transition(|_t, _x, _a, f| f as f64);
    /// assert_eq!(one.compare(&same, 1000), Ok(SpecComparison::Same));
    /// let other = spec().transition(|_t, x, _a, f| (x + 2 * f) as f64);
    /// let Ok(SpecComparison::Differ(found)) = one.compare(&other, 1000) else { panic!() };
    /// assert_eq!(found.what, "`transition` at t = 1, x = 0, a = 0, f = 1");
    /// assert_eq!((found.one, found.other), ("1".into(), "2".into()));
    /// ```
    pub fn compare(&self, other: &Spec, limit: usize) -> Result<SpecComparison, PointError> {
        let differ = |field, what: String, one: &dyn fmt::Display, other: &dyn fmt::Display| {
            SpecComparison::Differ(SpecDifference {
                field,
                what,
                one: one.to_string(),
                other: other.to_string(),
            })
        };
        for (field, one, two) in [
            ("horizon", self.horizon(), other.horizon()),
            ("states", self.states().len(), other.states().len()),
            ("actions", self.actions().len(), other.actions().len()),
            ("feedbacks", self.feedbacks().len(), other.feedbacks().len()),
        ] {
            if one != two {
                let what = match field {
                    "horizon" => format!("`{field}`"),
                    _ => format!("the number of `{field}`"),
                };
                return Ok(differ(field, what, &one, &two));
            }
        }
        if self.starts() != other.starts() {
            let [one, two] = [self, other].map(|spec| match spec.starts() {
                [one] => one.to_string(),
                several => format!("{several:?}"),
            });
            return Ok(differ("start", "`start`".into(), &one, &two));
        }
        for (field, one, two) in [
            ("actions", self.actions(), other.actions()),
            ("feedbacks", self.feedbacks(), other.feedbacks()),
        ] {
            if let Some(i) = (0..one.len()).find(|&i| one.name(i) != two.name(i)) {
                let what = format!("number {i} of the `{field}`");
                let [one, two] = [one, two].map(|names| format!("`{}`", names.name(i)));
                return Ok(differ(field, what, &one, &two));
            }
        }
        let mut found = None;
        let reachable = traverse(self, limit, |t, x, actions, next| {
            // The first difference is enough.
            if found.is_none() {
                found = difference_at(self, other, (t, x))?;
            }
            match found {
                None => follow(self, (t, x), actions, next),
                Some(_) => Ok(()),
            }
        })?;
        Ok(match found {
            Some(found) => SpecComparison::Differ(found),
            None if reachable.complete => SpecComparison::Same,
            None => SpecComparison::TooLarge,
        })
    }
}

/// The first difference of mask and transitions in a pair.
fn difference_at(
    one: &Spec,
    other: &Spec,
    (t, x): (usize, usize),
) -> Result<Option<SpecDifference>, PointError> {
    let found = |field: &'static str, a, f, one: String, other: String| {
        let point = Point::new(t, x, Some(a), f);
        Ok(Some(SpecDifference {
            field,
            what: format!("`{field}` at {point}"),
            one,
            other,
        }))
    };
    for a in 0..one.actions().len() {
        let allowed = [one.check_allowed(t, x, a)?, other.check_allowed(t, x, a)?];
        if allowed[0] != allowed[1] {
            let [one, other] = allowed.map(|allowed| allowed.to_string());
            return found("allowed", a, None, one, other);
        }
        for f in (0..one.feedbacks().len()).filter(|_| allowed[0]) {
            let next = [one.next(t, x, a, f)?, other.next(t, x, a, f)?];
            if next[0] != next[1] {
                let [one, other] = next.map(|next| next.to_string());
                return found("transition", a, Some(f), one, other);
            }
        }
    }
    Ok(None)
}

/// Adds the states that these actions can lead to.
fn follow(
    spec: &Spec,
    (t, x): (usize, usize),
    actions: &[usize],
    next: &mut BTreeSet<usize>,
) -> Result<(), PointError> {
    for &a in actions {
        for f in 0..spec.feedbacks().len() {
            next.insert(spec.next(t, x, a, f)?);
        }
    }
    Ok(())
}

/// Visits reachable pairs step by step.
pub(crate) fn traverse(
    spec: &Spec,
    limit: usize,
    mut visit: impl FnMut(usize, usize, &[usize], &mut BTreeSet<usize>) -> Result<(), PointError>,
) -> Result<Reachable, PointError> {
    let mut reachable = Reachable {
        pairs: Vec::new(),
        complete: true,
    };
    let mut level = BTreeSet::from_iter(spec.starts().iter().copied());
    let mut allowed = Vec::new();
    // Actions and feedbacks multiply the work of a pair.
    let branch = spec.actions().len() * spec.feedbacks().len();
    let mut outcomes = 0_usize;
    for t in 1..=spec.horizon() {
        let mut next = BTreeSet::new();
        for &x in &level {
            if reachable.pairs.len() == limit || outcomes + branch > 10 * limit {
                reachable.complete = false;
                return Ok(reachable);
            }
            reachable.pairs.push((t, x));
            allowed.clear();
            for a in 0..spec.actions().len() {
                if spec.check_allowed(t, x, a)? {
                    allowed.push(a);
                }
            }
            outcomes += branch;
            visit(t, x, &allowed, &mut next)?;
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Ok(reachable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Names;

    fn spec(horizon: usize) -> Spec {
        let names = |of: [&str; 2]| Names::List(of.map(str::to_owned).to_vec());
        Spec::new(
            horizon,
            Names::Count(9, ""),
            names(["blood", "scan"]),
            names(["no", "yes"]),
        )
        .unwrap()
        .transition(|_t: usize, x: usize, _a: usize, f: usize| (x + f) as f64)
    }

    fn differ(one: &Spec, other: &Spec) -> [String; 3] {
        match one.compare(other, 1000) {
            Ok(SpecComparison::Differ(found)) => [found.what, found.one, found.other],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn finds_every_kind_of_difference() {
        let one = spec(3);
        assert_eq!(differ(&one, &spec(4)), ["`horizon`", "3", "4"]);
        let started = spec(3).start_at(2).unwrap();
        assert_eq!(differ(&one, &started), ["`start`", "0", "2"]);
        let several = spec(3).start_in([2, 0]).unwrap();
        assert_eq!(differ(&one, &several), ["`start`", "0", "[2, 0]"]);
        let masked = spec(3).allowed(|t: usize, x: usize, a: usize, _f: usize| {
            f64::from(u8::from(!(t == 2 && x == 1 && a == 1)))
        });
        let found = ["`allowed` at t = 2, x = 1, a = 1", "true", "false"];
        assert_eq!(differ(&one, &masked), found);
        let moved =
            spec(3).transition(|t: usize, x: usize, a: usize, f: usize| (x + f + t * a / 2) as f64);
        let found = ["`transition` at t = 2, x = 0, a = 1, f = 0", "0", "1"];
        assert_eq!(differ(&one, &moved), found);
        let other =
            |actions, feedbacks| Spec::new(3, Names::Count(9, ""), actions, feedbacks).unwrap();
        let named = other(one.actions().clone(), Names::Count(2, ""));
        let found = ["number 0 of the `feedbacks`", "`no`", "`0`"];
        assert_eq!(differ(&one, &named), found);
        let more = other(Names::Count(3, "a"), one.feedbacks().clone());
        assert_eq!(differ(&one, &more), ["the number of `actions`", "2", "3"]);
    }

    #[test]
    fn unreachable_pairs_make_no_difference() {
        // State 8 is too far for three steps, and at the horizon nothing follows.
        let elsewhere = spec(3).transition(|t: usize, x: usize, _a: usize, f: usize| {
            (if t == 3 || x == 8 { 0 } else { x + f }) as f64
        });
        assert_eq!(spec(3).compare(&elsewhere, 1000), Ok(SpecComparison::Same));
        assert_eq!(spec(3).compare(&elsewhere, 5), Ok(SpecComparison::TooLarge));
        let wrong = spec(3).transition(|_t: usize, _x: usize, _a: usize, _f: usize| 9.0);
        assert!(spec(3).compare(&wrong, 1000).is_err());
    }
}
