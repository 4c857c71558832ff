//! The rules of a study, one function each.
//!
//! [`crate::domain::study_state`] applies them to every event, whether a command has just produced it or a log, an import or an audit
//! supplies it. [`crate::app::execute_command`] calls the same functions first where a command needs their result (the next state, the
//! resolved names) before there is an event.

use emab::Action;
use emab::input::counted;

use crate::domain::{
    Closed, Created, EpisodeRecord, Event, EventKind, FIRST_RULES, Head, NAME_RULE, Outcome,
    OutcomeRequest, PolicyReference, RULES, RULES_3, RULES_4, Rejection, Repeated, Study,
    Thresholds, check_person, is_hex, is_name, json::Name, json::short,
};

/// The longest reason, in characters.
pub const MAX_REASON: usize = 2_000;
/// The largest absolute value of a cost or reward: sums over many episodes must stay finite.
pub const MAX_VALUE: f64 = 1e100;

/// The `created` event is the first one, and creates this study.
pub fn creation(study: &Study, head: &Head, created: &Created) -> Result<(), Rejection> {
    if created.study != study.name {
        let what = format!("it creates study `{}`", created.study);
        return Err(Rejection::conflict(what));
    }
    if head.seq != 0 || created.spec_hash != study.hash {
        return Err(Rejection::conflict("the study was created before"));
    }
    if study.spec.starts().len() > 1 && created.rules < RULES_4 {
        let what = format!(
            "several start states came with rules {RULES_4}, and it has rules {}",
            created.rules
        );
        return Err(Rejection::conflict(what));
    }
    let has_health = study.expected_delay.is_some() || study.thresholds != Thresholds::default();
    if has_health && created.rules < RULES_4 {
        let what = format!(
            "`expected_delay` and `thresholds` came with rules {RULES_4}, and it has rules {}",
            created.rules
        );
        return Err(Rejection::conflict(what));
    }
    if study.protocol.is_some() && created.rules < RULES_3 {
        let what = format!(
            "a `protocol` came with rules {RULES_3}, and it has rules {}",
            created.rules
        );
        return Err(Rejection::conflict(what));
    }
    rules(created.rules)
}

/// This version knows the rules of a study.
pub fn rules(rules: u32) -> Result<(), Rejection> {
    if (FIRST_RULES..=RULES).contains(&rules) {
        return Ok(());
    }
    let what = format!(
        "the study follows rules {rules}, and this version knows {FIRST_RULES} to {RULES}; use the version that wrote it"
    );
    Err(Rejection::not_possible(what))
}

/// An event has a salt; without one it can only be from an earlier version, before the first one with a salt.
pub fn salt(head: &Head, salt: Option<&str>) -> Result<(), Rejection> {
    match salt {
        None if head.salted || head.rules > FIRST_RULES => Err(Rejection::conflict(
            "it has no `salt`, which every event of this study has from here on",
        )),
        Some(salt) if !is_hex(salt, 32) => Err(Rejection::conflict(
            "its `salt` is not 32 hexadecimal digits in lower case",
        )),
        _ => Ok(()),
    }
}

/// The time and the token of an event are as the service writes them.
pub fn provenance(event: &Event) -> Result<(), Rejection> {
    let Event { at, by, .. } = event;
    let time = humantime::parse_rfc3339(at).ok();
    let written = time.map(|time| humantime::format_rfc3339_micros(time).to_string());
    if written.as_ref() != Some(at) {
        let at = short(at);
        let what = format!("its time `{at}` is not written like 2026-01-31T09:30:00.000000Z");
        return Err(Rejection::not_possible(what).at("/at"));
    }
    if !is_hex(by, 8) {
        let by = short(by);
        let what = format!("`{by}` is not the id of a token: 8 hexadecimal digits in lower case");
        return Err(Rejection::not_possible(what).at("/by"));
    }
    Ok(())
}

/// An event names a person from rules 4 on, and only then.
pub fn person(head: &Head, person: Option<&str>) -> Result<(), Rejection> {
    match person {
        Some(person) if head.rules >= RULES_4 => {
            check_person(person).map_err(|it| it.at("/person"))
        }
        None if head.rules < RULES_4 => Ok(()),
        _ => {
            let what = "an event names a `person` from rules 4 on, and only then";
            Err(Rejection::conflict(what).at("/person"))
        }
    }
}

/// The id of a request is well-formed.
pub fn request_id(id: Option<&str>) -> Result<(), Rejection> {
    match id {
        Some(id) if !is_name(id) => {
            let id = short(id);
            let what = format!("`{id}` is not a valid id of a request: {NAME_RULE}");
            Err(Rejection::not_possible(what).at("/request"))
        }
        _ => Ok(()),
    }
}

pub fn created(head: &Head) -> Result<(), Rejection> {
    match head.seq {
        0 => Err(Rejection::conflict("the study was not created before it")),
        _ => Ok(()),
    }
}

/// A closure has a reason and the id of its request from rules 4 on only.
pub fn closing(head: &Head, kind: &EventKind) -> Result<(), Rejection> {
    match kind {
        EventKind::Closed(Closed {
            reason: None,
            request: None,
        }) => Ok(()),
        _ => has_rules(head, RULES_4, "the reason of a closure"),
    }
}

/// The study accepts new episodes.
pub fn not_closed(head: &Head) -> Result<(), Rejection> {
    if head.closed {
        let study = &head.name;
        let remedy = match head.rules >= RULES_3 {
            true => "; POST …:reopen lets it accept them again",
            false => "",
        };
        let what = format!("study `{study}` is closed; it accepts no new episodes{remedy}");
        return Err(Rejection::conflict(what));
    }
    Ok(())
}

/// The study opens new episodes now.
pub fn not_paused(head: &Head) -> Result<(), Rejection> {
    if head.details.paused {
        let study = &head.name;
        let what = format!("study `{study}` is paused; POST …:resume lets it open new episodes");
        return Err(Rejection::conflict(what));
    }
    Ok(())
}

/// The rules of the study have what a command needs.
pub fn has_rules(head: &Head, least: u32, what: &str) -> Result<(), Rejection> {
    if head.rules >= least {
        return Ok(());
    }
    let (study, rules) = (&head.name, head.rules);
    let detail = format!(
        "{what} needs rules {least}; study `{study}` has rules {rules}, which never change; new studies have the newest"
    );
    Err(Rejection::not_possible(detail))
}

/// The name of a new episode is well-formed.
pub fn episode_name(id: &str) -> Result<(), Rejection> {
    if is_name(id) {
        return Ok(());
    }
    let id = short(id);
    let what = format!("`{id}` is not a valid episode name: {NAME_RULE}");
    Err(Rejection::not_possible(what).at("/id"))
}

/// The rejection of an episode whose name is taken.
pub fn name_taken(id: &str) -> Rejection {
    Rejection::conflict(format!("another episode has the name `{id}`")).at("/id")
}

/// The episode has not ended.
pub fn is_open(episode: &EpisodeRecord) -> Result<(), Rejection> {
    let Some(end) = &episode.end else {
        return Ok(());
    };
    let how = match end.abandoned {
        _ if episode.voided.is_some() => "voided",
        true => "abandoned",
        false => "stopped",
    };
    let (id, step) = (&episode.id, episode.step());
    let what = format!("episode `{id}` has ended: it was {how} at step {step}");
    Err(Rejection::conflict(what).current(step))
}

pub fn current_step(episode: &EpisodeRecord, step: u64) -> Result<(), Rejection> {
    let current = episode.step();
    if step == current as u64 {
        return Ok(());
    }
    let id = &episode.id;
    let what = format!("the request is for step {step}, and episode `{id}` is at step {current}");
    let rejection = Rejection::wrong_step(what).at("/step");
    Err(rejection.current(current))
}

/// A step that is possible.
pub struct ValidStep {
    pub action: usize,
    pub feedback: usize,
    /// The state that it leads to.
    pub next: usize,
    /// Whether another action was recommended.
    pub overridden: bool,
}

/// The next step of an open episode is possible. A missing reason is left to [`reason_of_override`].
pub fn step(
    study: &Study,
    episode: &EpisodeRecord,
    step: u64,
    action: &Name,
    feedback: &Name,
) -> Result<ValidStep, Rejection> {
    is_open(episode)?;
    current_step(episode, step)?;
    let action = study.action(action)?;
    let feedback = study.feedback(feedback)?;
    Ok(ValidStep {
        action,
        feedback,
        next: next_state(study, episode.step(), episode.state(), action, feedback)?,
        overridden: episode.recommended != Some(action),
    })
}

/// A recorded step after its correction, and the states of the episode.
pub struct CorrectedStep {
    pub action: usize,
    pub feedback: usize,
    /// Whether another action was recommended.
    pub overridden: bool,
    pub states: Vec<usize>,
}

/// A recorded step can be corrected: it is possible, and so are all later ones.
pub fn corrected_step(
    study: &Study,
    episode: &EpisodeRecord,
    step: u64,
    action: Option<&Name>,
    feedback: Option<&Name>,
) -> Result<CorrectedStep, Rejection> {
    not_voided(episode)?;
    if action.is_none() && feedback.is_none() {
        let what =
            "a correction of a step has an `action` or a `feedback`, and this one has neither";
        return Err(Rejection::not_possible(what).at(""));
    }
    let recorded = episode.steps.len();
    let Some(i) = (step as usize).checked_sub(1).filter(|i| *i < recorded) else {
        let id = &episode.id;
        let what = match recorded {
            0 => format!("episode `{id}` has no recorded step"),
            _ => format!(
                "episode `{id}` has the recorded steps 1 to {recorded}, not {step}; an end that was reported wrongly is corrected \
                 by POST …:void, and by entering the case again under another id"
            ),
        };
        return Err(Rejection::not_found(what).current(episode.step()));
    };
    let old = &episode.steps[i];
    let action = action.map_or(Ok(old.action), |name| study.action(name))?;
    let feedback = feedback.map_or(Ok(old.feedback), |name| study.feedback(name))?;
    let mut states = episode.states[..=i].to_vec();
    states.push(next_state(study, i + 1, states[i], action, feedback)?);
    for (later, step) in episode.steps.iter().enumerate().skip(i + 1) {
        let x = states[later];
        let next = next_state(study, later + 1, x, step.action, step.feedback);
        states.push(next.map_err(|rejection| {
            let (spec, step) = (&study.spec, later + 1);
            let what = format!(
                "with this correction step {step} would be in state `{}`, where it is not possible: {}; void the episode with POST \
                 …:void, and enter it again under another id",
                spec.states().name(x),
                rejection.detail
            );
            Rejection::not_possible(what)
        })?);
    }
    let recommended = match old.overridden {
        true => old.recommended,
        false => Some(old.action),
    };
    Ok(CorrectedStep {
        action,
        feedback,
        // Nothing was recommended in an imported episode.
        overridden: !episode.imported && recommended != Some(action),
        states,
    })
}

/// The episode was not entered in error.
pub fn not_voided(episode: &EpisodeRecord) -> Result<(), Rejection> {
    match &episode.voided {
        None => Ok(()),
        Some(_) => {
            let id = &episode.id;
            let what = format!(
                "episode `{id}` was voided: it was entered in error; enter the case again under another id"
            );
            Err(Rejection::conflict(what).current(episode.step()))
        }
    }
}

/// The state that an allowed action and its feedback lead to, before the horizon.
fn next_state(
    study: &Study,
    t: usize,
    x: usize,
    action: usize,
    feedback: usize,
) -> Result<usize, Rejection> {
    let spec = &study.spec;
    if t >= spec.horizon() {
        let what = "is the last step of this study; the only action there is `stop`";
        return Err(Rejection::not_possible(format!("step {t} {what}")).at("/step"));
    }
    let wrong =
        |error: emab::spec::PointError| Rejection::not_possible(error.to_string()).at("/action");
    if !spec.check_allowed(t, x, action).map_err(wrong)? {
        let (action, state) = (spec.actions().name(action), spec.states().name(x));
        let what = format!("`{action}` is not allowed at step {t} in state `{state}`");
        return Err(Rejection::not_possible(what).at("/action"));
    }
    let next = spec.next(t, x, action, feedback);
    next.map_err(|error| Rejection::not_possible(error.to_string()).at("/feedback"))
}

/// A reason has between 1 and [`MAX_REASON`] characters; from rules 2 on, one of them is a letter or a digit.
pub fn reason(reason: &str, rules: u32) -> Result<(), Rejection> {
    let wrong = |what: String| Err(Rejection::not_possible(what).at("/reason"));
    if reason.trim().is_empty() || reason.chars().count() > MAX_REASON {
        let length = reason.trim().chars().count();
        return wrong(format!(
            "a `reason` has 1 to {MAX_REASON} characters, this one has {length}"
        ));
    }
    // The four fillers of Hangul are letters, and not visible.
    let fillers = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];
    let says = |c: char| c.is_alphanumeric() && !fillers.contains(&c);
    if rules > FIRST_RULES && !reason.chars().any(says) {
        return wrong("a `reason` contains a letter or a digit, this one has none".into());
    }
    Ok(())
}

/// A choice that was made from a table of the policy names the table, and nothing else does.
pub fn fallback(
    head: &Head,
    is_fallback: bool,
    policy: Option<&PolicyReference>,
) -> Result<(), Rejection> {
    match (is_fallback, policy) {
        (false, None) => Ok(()),
        (true, Some(policy)) => {
            has_rules(head, RULES_3, "the fallback")?;
            policy.check(head.seq)
        }
        _ => {
            let what = "`decided_by`: \"fallback\" and the `policy` that was used belong together";
            Err(Rejection::not_possible(what).at("/policy"))
        }
    }
}

/// An action other than the recommended one has a reason.
pub fn reason_of_override(
    study: &Study,
    episode: &EpisodeRecord,
    taken: Action,
    given: Option<&str>,
    rules: u32,
) -> Result<(), Rejection> {
    let recommended = episode.recommended.map_or(Action::Stop, Action::Continue);
    match given {
        Some(given) => reason(given, rules),
        None if taken == recommended => Ok(()),
        None => Err(Rejection::not_possible(format!(
            "`{}` was recommended and `{}` was taken: an override needs a `reason`",
            study.spec.action_name(recommended),
            study.spec.action_name(taken)
        ))
        .at("/reason")),
    }
}

/// An event states correctly whether the recommendation was overridden.
pub fn override_flag(overridden: bool, stated: bool) -> Result<(), Rejection> {
    if overridden == stated {
        return Ok(());
    }
    let not = if overridden { "" } else { "not " };
    let what = format!("it has `override`: {stated}, and the recommendation was {not}overridden");
    Err(Rejection::conflict(what))
}

/// The episode has ended, so that its outcome can be given.
pub fn has_ended(episode: &EpisodeRecord) -> Result<(), Rejection> {
    if episode.end.is_some() {
        return Ok(());
    }
    let step = episode.step();
    let accepted = "its outcome is accepted after POST …:stop";
    let what = format!(
        "episode `{}` has not ended, it is at step {step}: {accepted}",
        episode.id
    );
    Err(Rejection::conflict(what).current(step))
}

/// The costs and rewards of an episode of this many steps, with -0 replaced by 0. A list that is left out has no known value.
pub fn outcome(
    steps: usize,
    costs: Option<&[Option<f64>]>,
    rewards: Option<&[Option<f64>]>,
) -> Result<Outcome, Rejection> {
    let list = |field, given: Option<&[_]>, expected| match given {
        None => Ok(vec![None; expected]),
        Some(given) => values(field, given, expected),
    };
    Ok(Outcome {
        costs: list("costs", costs, steps - 1)?,
        rewards: list("rewards", rewards, steps)?,
        last: false,
    })
}

/// Finite values, one for each action or step.
fn values(
    field: &str,
    given: &[Option<f64>],
    expected: usize,
) -> Result<Vec<Option<f64>>, Rejection> {
    if given.len() != expected {
        let rule = match field {
            "costs" => "one for each action taken",
            _ => "one for each step, including the last",
        };
        let length = counted(given.len(), "value");
        let what = format!("`{field}` has {length}, expected {expected}: {rule}");
        return Err(Rejection::not_possible(what).at(format!("/{field}")));
    }
    let value = |(i, value): (usize, &Option<f64>)| match value {
        Some(value) if value.is_nan() || value.abs() > MAX_VALUE => {
            let value = emab::spec::format_number(*value);
            let what = format!("{value} is too large: the absolute value must be at most 1e100");
            Err(Rejection::not_possible(what).at(format!("/{field}/{i}")))
        }
        Some(value) => Ok(Some(value + 0.0)),
        None => Ok(None),
    };
    given.iter().enumerate().map(value).collect()
}

/// The outcome in an event is as [`outcome`] returns it: without -0.
pub fn recorded_outcome(
    steps: usize,
    costs: &[Option<f64>],
    rewards: &[Option<f64>],
) -> Result<Outcome, Rejection> {
    let outcome = outcome(steps, Some(costs), Some(rewards))?;
    let bits = |value: &Option<f64>| value.map(f64::to_bits);
    let written = outcome.costs.iter().chain(&outcome.rewards).map(bits);
    if written.eq(costs.iter().chain(rewards).map(bits)) {
        return Ok(outcome);
    }
    Err(Rejection::conflict("-0 is among its values"))
}

/// An outcome adds to the known one: it changes no value, and adds none after the final ones.
pub fn adds_to(known: &Outcome, given: &Outcome) -> Result<(), Rejection> {
    for (field, known_values, given) in [
        ("costs", &known.costs, &given.costs),
        ("rewards", &known.rewards, &given.rewards),
    ] {
        for (i, (known_value, given)) in known_values.iter().zip(given).enumerate() {
            let Some(given) = given else { continue };
            let detail = match known_value {
                Some(known_value) if known_value == given => continue,
                None if !known.last => continue,
                // Without the known value: a blinded caller must not learn it.
                Some(_) => format!(
                    "{given} differs from the value that was given before; send a correction to POST …/outcome:amend, \
                     with its reason"
                ),
                None => "the outcome is final; send later values to POST …/outcome:amend, with the reason".into(),
            };
            return Err(Rejection::conflict(detail).at(format!("/{field}/{i}")));
        }
    }
    Ok(())
}

/// An outcome changes something: it gives a value that is not known, another value, or makes an incomplete outcome final.
pub fn changes(known: &Outcome, given: &Outcome, last: bool) -> bool {
    let ends = last && !known.last && !known.is_complete();
    let values = known.costs.iter().chain(&known.rewards);
    let mut pairs = values.zip(given.costs.iter().chain(&given.rewards));
    ends || pairs.any(|(known, given)| given.is_some() && known != given)
}

/// The data of a repetition are as the service writes them.
pub fn repetition(episode: &EpisodeRecord, repeated: &Repeated) -> Result<(), Rejection> {
    let of_step = repeated.of == "step_amended";
    let known = of_step || ["outcome", "amended"].contains(&&*repeated.of);
    let values = &repeated.values;
    // Only known values are repeated.
    let positions = episode.outcome.positions();
    let fitting = values.is_sorted_by(|a, b| a < b) && values.iter().all(|i| positions.contains(i));
    let fitting = fitting && (!of_step || values.is_empty());
    if known && fitting && is_hex(&repeated.fingerprint, 32) {
        return Ok(());
    }
    let what = "its `of`, `fingerprint` or `values` is not as the service writes it";
    Err(Rejection::conflict(what))
}

/// The token has not sent the request before: no other one of its requests has the id, or the content if there is no id. A blinded
/// token may repeat what another one sent, since it does not learn of it.
pub fn is_new_request(episode: &EpisodeRecord, request: &OutcomeRequest) -> Result<(), Rejection> {
    let mut own = episode.requests.iter().filter(|it| it.by == request.by);
    let repeated = match &request.id {
        Some(_) => own.any(|it| it.id == request.id),
        None => own.any(|it| it.fingerprint == request.fingerprint),
    };
    match repeated {
        true => Err(Rejection::conflict("the request was recorded before")),
        false => Ok(()),
    }
}

/// A blinded token gives no value that another token gave, equal or not: the answer would show which.
pub fn no_values_of_others(
    episode: &EpisodeRecord,
    given: &Outcome,
    by: &str,
) -> Result<(), Rejection> {
    if episode.has_only_values_of(by, given) {
        return Ok(());
    }
    let what = "another token gave values among these before; send `null` in their place";
    Err(Rejection::conflict(what))
}

/// Values outside the range that the study states are marked as outliers, with a reason; others are not.
pub fn outliers(
    study: &Study,
    given: &Outcome,
    outlier: bool,
    given_reason: Option<&str>,
    rules: u32,
) -> Result<(), Rejection> {
    if let Some(text) = given_reason {
        reason(text, rules)?;
    }
    let Some((pointer, what)) = study.outlier(given) else {
        return Ok(());
    };
    let remedy = "check it, or send it with `outlier`: true and a `reason`";
    match (outlier, given_reason) {
        (false, _) => Err(Rejection::not_possible(format!("{what}; {remedy}")).at(pointer)),
        (true, None) => Err(Rejection::not_possible(format!(
            "{what}: an outlier needs a `reason`"
        ))
        .at("/reason")),
        (true, Some(_)) => Ok(()),
    }
}

/// An event states correctly whether a value is an outlier.
pub fn outlier_flag(study: &Study, given: &Outcome, stated: bool) -> Result<(), Rejection> {
    if study.outlier(given).is_some() == stated {
        return Ok(());
    }
    let what = format!("it has `outlier`: {stated}, which the range of the study contradicts");
    Err(Rejection::conflict(what))
}

/// The states of a past episode, and the action and feedback of each step.
type PastSteps = (Vec<usize>, Vec<(usize, usize)>);

/// The steps of a past episode are possible.
pub fn past_steps(
    study: &Study,
    start: usize,
    actions: &[Name],
    feedbacks: &[Name],
) -> Result<PastSteps, Rejection> {
    if actions.len() != feedbacks.len() {
        let (a, f) = (actions.len(), feedbacks.len());
        let what = format!("{a} actions and {f} feedbacks: each action has one feedback");
        return Err(Rejection::not_possible(what).at("/feedbacks"));
    }
    let horizon = study.spec.horizon();
    let (mut states, mut steps) = (vec![start], Vec::new());
    for (i, (action, feedback)) in actions.iter().zip(feedbacks).enumerate() {
        let inside = |rejection: Rejection| {
            let list = match rejection.pointer.as_deref() {
                Some("/feedback") => "feedbacks",
                _ => "actions",
            };
            rejection.at(format!("/{list}/{i}"))
        };
        let action = study.action(action).map_err(inside)?;
        let feedback = study.feedback(feedback).map_err(inside)?;
        if i + 1 >= horizon {
            let (count, most) = (actions.len(), horizon - 1);
            let what = format!("{count} actions: at most {most} are possible before the horizon");
            return Err(Rejection::not_possible(what).at("/actions"));
        }
        let next = next_state(study, i + 1, states[i], action, feedback).map_err(inside)?;
        states.push(next);
        steps.push((action, feedback));
    }
    Ok((states, steps))
}
