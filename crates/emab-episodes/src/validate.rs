//! Validation of past episodes against the specification. Learners and the decision service rely on it.

use std::fmt::Display;

use emab::spec::format_number;
use emab::{Episode, Spec};

/// Largest size of a cost or a reward, so that sums over many episodes stay finite.
const LARGEST: f64 = 1e100;

/// Returns the episode with the states that its actions and feedbacks lead to, and NaN for costs and rewards that it
/// does not give. Fails if the specification does not allow it, or if it gives other states. Where the problem lists several
/// start states, the episode must give its states: the first is the one it begins in.
///
/// ```
/// use emab::Episode;
/// let file = emab_problem::ProblemFile::find("resource").unwrap();
/// let given = Episode { actions: vec![0], feedbacks: vec![1], rewards: vec![0.5], ..Episode::default() };
/// let episode = emab_episodes::validate_episode(file.spec(), given).unwrap();
/// assert_eq!(episode.states, [0, 1]);
/// assert_eq!((episode.known_reward(1), episode.known_reward(2)), (Some(0.5), None));
/// ```
pub fn validate_episode(spec: &Spec, episode: Episode) -> Result<Episode, String> {
    validate_from(spec, first_state(spec, &episode), episode)
}

/// The state that an episode gives as its start; none where there is one start, since all states are compared anyway.
pub(crate) fn first_state(spec: &Spec, episode: &Episode) -> Option<usize> {
    let first = episode.states.first().copied();
    first.filter(|_| spec.starts().len() > 1)
}

/// The same for an episode that begins in this state.
pub(crate) fn validate_from(
    spec: &Spec,
    start: Option<usize>,
    mut episode: Episode,
) -> Result<Episode, String> {
    episode.states = states_of(spec, start, &episode)?;
    let steps = episode.states.len();
    episode.rewards.resize(steps, f64::NAN);
    episode.costs.resize(steps - 1, f64::NAN);
    for value in episode.costs.iter_mut().chain(&mut episode.rewards) {
        // Replaces -0 by 0.
        *value += 0.0;
    }
    Ok(episode)
}

/// The state that an episode begins in: the given one, which must be a start state, or the only one.
fn start_of(spec: &Spec, given: Option<usize>) -> Result<usize, String> {
    match (given, spec.starts()) {
        (Some(x), starts) if starts.contains(&x) => Ok(x),
        (Some(x), _) => Err(not_a_start(spec, format!("`{}`", spec.states().name(x)))),
        (None, [one]) => Ok(*one),
        (None, _) => Err(format!(
            "the state that the episode begins in is not given: it must be {}",
            start_names(spec)
        )),
    }
}

pub(crate) fn not_a_start(spec: &Spec, given: impl Display) -> String {
    let starts = start_names(spec);
    format!("the episode begins in state {given}: it must be {starts}")
}

fn start_names(spec: &Spec) -> String {
    const SHOWN: usize = 8;
    let name = |x: &usize| format!("`{}`", spec.states().name(*x));
    let mut names: Vec<String> = spec.starts().iter().take(SHOWN).map(name).collect();
    if spec.starts().len() > SHOWN {
        names.push("…".into());
    }
    match names.len() {
        1 => names.concat(),
        _ => format!("one of {}", names.join(", ")),
    }
}

/// The states that its actions and feedbacks lead to.
pub(crate) fn states_of(
    spec: &Spec,
    start: Option<usize>,
    episode: &Episode,
) -> Result<Vec<usize>, String> {
    let taken = episode.actions.len();
    if episode.feedbacks.len() != taken {
        let shown = episode.feedbacks.len();
        return Err(format!(
            "{taken} actions and {shown} feedbacks: there is one feedback for each action"
        ));
    }
    if taken >= spec.horizon() {
        let most = spec.horizon() - 1;
        return Err(format!(
            "{taken} actions: at most {most} fit before the horizon"
        ));
    }
    for (field, values, most) in [
        ("costs", &episode.costs, taken),
        ("rewards", &episode.rewards, taken + 1),
    ] {
        if values.len() > most {
            let count = values.len();
            return Err(format!(
                "`{field}` has {count} values and the episode {most}"
            ));
        }
        if let Some(value) = values.iter().find(|value| value.abs() > LARGEST) {
            let value = format_number(*value);
            return Err(format!("`{field}` has {value}: at most 1e100 in size"));
        }
    }
    let index = |what: &str, i: usize, count: usize, t: usize| {
        let last = count - 1;
        let error = || format!("{what} {i} at step {t}: they are 0 to {last}");
        (i < count).then_some(()).ok_or_else(error)
    };
    let mut states = Vec::with_capacity(taken + 1);
    let mut x = start_of(spec, start)?;
    states.push(x);
    for (i, (&a, &f)) in episode.actions.iter().zip(&episode.feedbacks).enumerate() {
        let t = i + 1;
        index("action", a, spec.actions().len(), t)?;
        index("feedback", f, spec.feedbacks().len(), t)?;
        let invalid = |error: emab::spec::PointError| error.to_string();
        if !spec.check_allowed(t, x, a).map_err(invalid)? {
            let (a, x) = (spec.actions().name(a), spec.states().name(x));
            return Err(format!("`{a}` may not be taken at step {t} in state `{x}`"));
        }
        x = spec.next(t, x, a, f).map_err(invalid)?;
        states.push(x);
    }
    if episode.states.is_empty() || episode.states == states {
        return Ok(states);
    }
    let mut both = episode.states.iter().zip(&states);
    Err(match both.position(|(one, two)| one != two) {
        Some(i) => format!(
            "state {} at step {}: its actions and feedbacks lead to {}",
            episode.states[i],
            i + 1,
            states[i]
        ),
        None => format!(
            "{} states: an episode of {taken} actions has {}",
            episode.states.len(),
            states.len()
        ),
    })
}
