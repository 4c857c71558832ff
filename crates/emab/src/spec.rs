//! The specification of a problem, which learners may read: horizon, states, actions, feedbacks, start states, transition,
//! action mask.
//!
//! Section 2 of the paper: the learner knows `phi_t(x, a, f)`, but not the distributions of feedback, costs and rewards.
//! Those are in [`crate::Model`], which learners do not receive.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use crate::input::did_you_mean;

/// One choice at one step: continue with an action, or end the episode.
///
/// ```
/// use emab::Action;
/// assert_ne!(Action::Continue(0), Action::Stop);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// A continuation action, by its index.
    Continue(usize),
    /// The terminal action, which every problem has.
    Stop,
}

/// A number that depends on step, state, action and feedback; every part of a problem is a quantity.
///
/// Steps count from 1, everything else from 0. Arguments that a quantity does not depend on are 0.
/// Closures of four indices are quantities.
///
/// ```
/// use emab::Quantity;
/// let reward = |t: usize, x: usize, _a: usize, _f: usize| 0.9_f64.powi(t as i32 - 1) * x as f64;
/// assert_eq!(reward.at(1, 3, 0, 0).unwrap(), 3.0);
/// ```
pub trait Quantity: Send + Sync {
    /// The value at step `t`, state `x`, action `a`, feedback `f`.
    fn at(&self, t: usize, x: usize, a: usize, f: usize) -> Result<f64, QuantityError>;
}

impl<F> Quantity for F
where
    F: Fn(usize, usize, usize, usize) -> f64 + Send + Sync,
{
    fn at(&self, t: usize, x: usize, a: usize, f: usize) -> Result<f64, QuantityError> {
        Ok(self(t, x, a, f))
    }
}

/// Why a [`Quantity`] has no value somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// The message.
    pub message: String,
    /// The bytes of the source text, when the quantity was read from a file.
    pub span: Option<Range<usize>>,
}

/// An invalid value of a quantity at one point.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("`{quantity}` at {point}: {what}")]
pub struct PointError {
    /// The quantity's name in the problem file.
    pub quantity: &'static str,
    /// The point.
    pub point: Point,
    /// The value and the rule.
    pub what: String,
    /// The bytes of the source text, when known.
    pub span: Option<Range<usize>>,
}

impl PointError {
    pub(crate) fn new(quantity: &'static str, point: Point, what: String) -> PointError {
        PointError {
            quantity,
            point,
            what,
            span: None,
        }
    }
}

/// A step, a state and, where they apply, an action and a feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Step, from 1.
    pub t: usize,
    /// State.
    pub x: usize,
    /// Continuation action.
    pub a: Option<usize>,
    /// Feedback.
    pub f: Option<usize>,
}

impl Point {
    pub(crate) fn new(t: usize, x: usize, a: Option<usize>, f: Option<usize>) -> Point {
        Point { t, x, a, f }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "t = {}, x = {}", self.t, self.x)?;
        if let Some(a) = self.a {
            write!(out, ", a = {a}")?;
        }
        if let Some(f) = self.f {
            write!(out, ", f = {f}")?;
        }
        Ok(())
    }
}

/// A number for a message, with an exponent where it is very large or small.
///
/// ```
/// assert_eq!(emab::spec::format_number(10.0), "10");
/// assert_eq!(emab::spec::format_number(1e300), "1e300");
/// ```
pub fn format_number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// The largest size of rewards and costs, so that sums of squares over many episodes stay finite.
pub(crate) const LARGEST: f64 = 1e100;

pub(crate) fn evaluate(
    quantity: &dyn Quantity,
    name: &'static str,
    point: Point,
) -> Result<f64, PointError> {
    let value = quantity
        .at(point.t, point.x, point.a.unwrap_or(0), point.f.unwrap_or(0))
        .map_err(|fault| PointError {
            span: fault.span,
            ..PointError::new(name, point, fault.message)
        })?;
    if value.abs() <= LARGEST {
        Ok(value)
    } else {
        let what = format!(
            "got {}, expected a finite number of at most 1e100 in size",
            format_number(value)
        );
        Err(PointError::new(name, point, what))
    }
}

/// A set of states, actions or feedbacks: a count, or one name each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// A count; names are a prefix and the index.
    Count(usize, &'static str),
    /// One name each.
    List(Vec<String>),
}

impl Names {
    /// The number of names.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Names::Count(n, _) => *n,
            Names::List(names) => names.len(),
        }
    }

    /// The name of number `i`.
    pub fn name(&self, i: usize) -> Cow<'_, str> {
        match self {
            Names::List(names) if i < names.len() => Cow::Borrowed(&names[i]),
            Names::Count(_, prefix) => Cow::Owned(format!("{prefix}{i}")),
            Names::List(_) => Cow::Owned(i.to_string()),
        }
    }

    /// What an error says about a name that is not among these: the nearest one, and the first few.
    ///
    /// ```
    /// let names = emab::Names::List(vec!["blood".into(), "scan".into()]);
    /// assert_eq!(names.instead_of("blod"), " (did you mean `blood`?); there are `blood`, `scan`");
    /// ```
    pub fn instead_of(&self, name: &str) -> String {
        const SHOWN: usize = 8;
        // Numbered names are not listed: there may be millions.
        let near = match self {
            Names::List(names) => did_you_mean(name, names.iter().take(10_000).map(String::as_str)),
            Names::Count(..) => String::new(),
        };
        let few = (0..self.len().min(SHOWN)).map(|i| format!("`{}`", self.name(i)));
        let few = few.collect::<Vec<_>>().join(", ");
        let more = if self.len() > SHOWN { ", …" } else { "" };
        let are = if self.len() == 1 { "is" } else { "are" };
        format!("{near}; there {are} {few}{more}")
    }
}

/// An invalid specification.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// A size outside the supported range.
    #[error("`{field}` must be from 1 to {most}, got {got}")]
    Size {
        /// The field of the problem file.
        field: &'static str,
        /// The given value.
        got: usize,
        /// The largest value.
        most: usize,
    },
    /// A start state that does not exist.
    #[error("`start` must be a state from 0 to {last}, got {got}")]
    Start {
        /// The given value.
        got: usize,
        /// The last state.
        last: usize,
    },
    /// A list of start states without an entry.
    #[error("`start` must list at least one state, got an empty list")]
    NoStart,
    /// A start state that is listed twice.
    #[error("`start` must list each state once, got {got} twice")]
    RepeatedStart {
        /// The state.
        got: usize,
    },
}

/// The specification of a problem: all that a learner may know of it.
///
/// ```
/// use emab::{Names, Spec};
/// let spec = Spec::new(10, Names::Count(10, ""), Names::List(vec!["cont".into()]), Names::Count(2, ""))
///     .unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// assert_eq!(spec.next(1, 0, 0, 1).unwrap(), 1);
/// assert_eq!(spec.k(), 10.0 * 10.0 * 2.0);
/// ```
#[derive(Clone)]
pub struct Spec {
    horizon: usize,
    states: Names,
    actions: Names,
    feedbacks: Names,
    starts: Vec<usize>,
    transition: Arc<dyn Quantity>,
    allowed: Option<Arc<dyn Quantity>>,
}

impl fmt::Debug for Spec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Spec")
            .field("horizon", &self.horizon)
            .field("states", &self.states.len())
            .field("actions", &self.actions)
            .field("feedbacks", &self.feedbacks)
            .field("starts", &self.starts)
            .finish_non_exhaustive()
    }
}

impl Spec {
    /// The longest horizon supported.
    pub const MAX_HORIZON: usize = 1_000_000;
    /// The most states supported.
    pub const MAX_STATES: usize = 1_000_000_000;
    /// The most continuation actions, and the most feedbacks, supported.
    pub const MAX_BRANCH: usize = 10_000;

    /// A specification without state changes; [`Spec::transition`] sets the transition.
    pub fn new(
        horizon: usize,
        states: Names,
        actions: Names,
        feedbacks: Names,
    ) -> Result<Spec, SpecError> {
        let within = |field, got, most| match (1..=most).contains(&got) {
            true => Ok(()),
            false => Err(SpecError::Size { field, got, most }),
        };
        within("horizon", horizon, Self::MAX_HORIZON)?;
        within("states", states.len(), Self::MAX_STATES)?;
        within("actions", actions.len(), Self::MAX_BRANCH)?;
        within("feedbacks", feedbacks.len(), Self::MAX_BRANCH)?;
        Ok(Spec {
            horizon,
            states,
            actions,
            feedbacks,
            starts: vec![0],
            transition: Arc::new(|_t: usize, x: usize, _a: usize, _f: usize| x as f64),
            allowed: None,
        })
    }

    /// The same with numbers as names; those of actions begin with `a`.
    ///
    /// ```
    /// use emab::{Action, Spec};
    /// let spec = Spec::numbered(3, 4, 2, 1).unwrap();
    /// assert_eq!((spec.states().len(), &*spec.action_name(Action::Continue(1))), (4, "a1"));
    /// ```
    pub fn numbered(
        horizon: usize,
        states: usize,
        actions: usize,
        feedbacks: usize,
    ) -> Result<Spec, SpecError> {
        let count = |n| Names::Count(n, "");
        Spec::new(
            horizon,
            count(states),
            Names::Count(actions, "a"),
            count(feedbacks),
        )
    }

    /// With this transition `phi_t(x, a, f)`.
    #[must_use]
    pub fn transition(mut self, phi: impl Quantity + 'static) -> Spec {
        self.transition = Arc::new(phi);
        self
    }

    /// With this mask: an action may be taken where the quantity is not 0.
    #[must_use]
    pub fn allowed(mut self, mask: impl Quantity + 'static) -> Spec {
        self.allowed = Some(Arc::new(mask));
        self
    }

    /// With this state at step 1.
    pub fn start_at(self, x: usize) -> Result<Spec, SpecError> {
        self.start_in([x])
    }

    /// With these states at step 1: an episode begins in one of them, which is known before its first choice.
    ///
    /// ```
    /// use emab::Spec;
    /// let spec = || Spec::numbered(2, 3, 1, 1).unwrap();
    /// assert_eq!(spec().start_in([2, 0]).unwrap().starts(), [2, 0]);
    /// assert_eq!(spec().start_in([2, 2]).unwrap_err().to_string(), "`start` must list each state once, got 2 twice");
    /// ```
    pub fn start_in(mut self, starts: impl Into<Vec<usize>>) -> Result<Spec, SpecError> {
        let starts = starts.into();
        let last = self.states.len() - 1;
        if starts.is_empty() {
            return Err(SpecError::NoStart);
        }
        let mut seen = HashSet::with_capacity(starts.len());
        for &got in &starts {
            if got > last {
                return Err(SpecError::Start { got, last });
            }
            if !seen.insert(got) {
                return Err(SpecError::RepeatedStart { got });
            }
        }
        self.starts = starts;
        Ok(self)
    }

    /// `l_max`: the step at which every episode has ended.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// The states.
    pub fn states(&self) -> &Names {
        &self.states
    }

    /// The continuation actions; `stop` is not among them.
    pub fn actions(&self) -> &Names {
        &self.actions
    }

    /// The feedbacks.
    pub fn feedbacks(&self) -> &Names {
        &self.feedbacks
    }

    /// The states that an episode can begin in, in the order they were given in; at least one.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// `K = l_max * |X| * |A ∪ {stop}|`, as the paper counts it.
    pub fn k(&self) -> f64 {
        self.horizon as f64 * self.states.len() as f64 * (self.actions.len() + 1) as f64
    }

    /// The name of an action, `stop` included.
    pub fn action_name(&self, action: Action) -> Cow<'_, str> {
        match action {
            Action::Continue(a) => self.actions.name(a),
            Action::Stop => Cow::Borrowed("stop"),
        }
    }

    /// The state after feedback `f` to action `a` in `(t, x)`.
    pub fn next(&self, t: usize, x: usize, a: usize, f: usize) -> Result<usize, PointError> {
        let point = Point::new(t, x, Some(a), Some(f));
        let value = evaluate(&*self.transition, "transition", point)?;
        let last = self.states.len() - 1;
        if value >= 0.0 && value <= last as f64 && value.fract() == 0.0 {
            return Ok(value as usize);
        }
        let remedy = if value.fract() == 0.0 {
            ""
        } else {
            "; floor(...) or round(...) make an integer"
        };
        let what = format!(
            "got {}, expected a state, an integer from 0 to {last}{remedy}",
            format_number(value)
        );
        Err(PointError::new("transition", point, what))
    }

    /// Whether the specification has an action mask.
    pub fn has_mask(&self) -> bool {
        self.allowed.is_some()
    }

    /// Whether continuation action `a` may be taken in `(t, x)`; an error where the mask has no value.
    pub fn check_allowed(&self, t: usize, x: usize, a: usize) -> Result<bool, PointError> {
        if t >= self.horizon || a >= self.actions.len() {
            return Ok(false);
        }
        let Some(mask) = &self.allowed else {
            return Ok(true);
        };
        let point = Point::new(t, x, Some(a), None);
        Ok(evaluate(&**mask, "allowed", point)? != 0.0)
    }

    /// Whether continuation action `a` may be taken in `(t, x)`, false where the mask has no value.
    ///
    /// Environments call [`Spec::check_allowed`] first and report the error.
    pub fn is_allowed(&self, t: usize, x: usize, a: usize) -> bool {
        self.check_allowed(t, x, a).unwrap_or(false)
    }
}
