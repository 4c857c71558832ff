//! The columns.

use emab_tables::{Cell, Kind};

use super::{CodebookRow, Column, DecisionRow, EpisodeRow, decided_by, status};
use crate::domain::Stamp;
use crate::domain::estimates::EstimateRow;

/// Declares the columns of a table. `shown` columns are seen by a `blinded` token, `hidden` ones are not.
macro_rules! columns {
    ($(#[$doc:meta])* $table:ident: $row:ty; $($seen:ident $kind:ident $name:literal $about:literal, $fill:expr;)*) => {
        $(#[$doc])*
        pub const $table: &[Column<$row>] = &[$(Column {
            name: $name,
            kind: Kind::$kind,
            about: $about,
            shown: columns!(@ $seen),
            fill: $fill,
        },)*];
    };
    (@ shown) => { true };
    (@ hidden) => { false };
}

fn text(value: Option<&str>) -> Cell<'_> {
    Cell::of(value, Cell::text)
}

fn at(stamp: Option<&Stamp>) -> Cell<'_> {
    text(stamp.map(|stamp| &*stamp.at))
}

fn by(stamp: Option<&Stamp>) -> Cell<'_> {
    text(stamp.map(|stamp| &*stamp.by))
}

/// The sum of values that are all known.
fn sum(values: &[Option<f64>]) -> Option<f64> {
    // `sum` of no values would be -0.
    values
        .iter()
        .try_fold(0.0, |sum, value| Some(sum + (*value)?))
}

columns! {
    /// One row per episode, in the order of names.
    EPISODES: EpisodeRow;
    shown Text "episode" "The name of the episode.",
        |row| Cell::text(&*row.episode.id);
    shown Text "status" "`open`, `stopped`, `abandoned`, `learned` or `voided`.",
        |row| Cell::text(status(row.episode.status()));
    shown Count "step" "The current step, from 1; the last one if the episode has ended.",
        |row| Cell::Count(row.episode.step() as u64);
    shown Text "state" "The state at that step.",
        |row| Cell::text(row.study.spec.states().name(row.episode.state()));
    shown Text "end" "How it ended: `stop` or `abandon`; missing while it is open.",
        |row| Cell::of(row.episode.end.as_ref(), |end| Cell::text(if end.abandoned { "abandon" } else { "stop" }));
    shown Text "reason" "The reason that was given at its end.",
        |row| text(row.episode.end.as_ref().and_then(|end| end.reason.as_deref()));
    shown Count "overrides" "The number of steps at which something else was done than recommended.",
        |row| {
            let steps = row.episode.steps.iter().filter(|step| step.overridden).count();
            let end = row.episode.end.as_ref().is_some_and(|end| end.overridden);
            Cell::Count(steps as u64 + u64::from(end))
        };
    hidden Number "cost" "The sum of the costs; missing until the episode has ended and all are known.",
        |row| Cell::of(row.episode.end.as_ref().and_then(|_| sum(&row.episode.outcome.costs)), Cell::Number);
    hidden Number "reward" "The terminal reward of the last step; missing while it is not known.",
        |row| Cell::of(row.episode.outcome.rewards.last().copied().flatten(), Cell::Number);
    hidden Boolean "complete" "Whether every cost and every terminal reward is known.",
        |row| Cell::Boolean(row.episode.end.is_some() && row.episode.outcome.is_complete());
    hidden Boolean "final" "Whether the outcome was declared final: no further values will come.",
        |row| Cell::Boolean(row.episode.outcome.last);
    hidden Boolean "missing" "Whether values of the outcome are missing for good.",
        |row| Cell::Boolean(row.episode.is_missing());
    hidden Count "learned" "The position in the order of learning, from 0; missing if it is not learned.",
        |row| Cell::of(row.episode.position.filter(|_| row.episode.voided.is_none()), Cell::Count);
    hidden Text "voided" "Why it was voided.",
        |row| text(row.episode.voided.as_deref());
    shown Boolean "imported" "Whether it is a past episode that was imported.",
        |row| Cell::Boolean(row.episode.imported);
    shown Count "opened" "The sequence number of the event that opened or imported it.",
        |row| Cell::Count(row.episode.opened);
    shown Text "opened_at" "The time of that event (RFC 3339, UTC).",
        |row| text(row.times[0].as_deref());
    shown Count "touched" "The sequence number of the last event about it.",
        |row| Cell::Count(row.episode.touched);
    hidden Text "touched_at" "The time of that event (RFC 3339, UTC).",
        |row| text(row.times[1].as_deref());
    shown Text "start" "The state in which it began.",
        |row| Cell::of(row.episode.states.first(), |x| Cell::text(row.study.spec.states().name(*x)));
    shown Text "opened_by" "The person who opened or imported it; missing, as the other persons, in a study of rules before 4.",
        |row| by(row.episode.opened_stamp.as_ref());
    shown Text "ended_at" "The time of its end (RFC 3339, UTC).",
        |row| at(row.episode.end.as_ref().and_then(|end| end.stamp.as_ref()));
    shown Text "ended_by" "The person who ended it.",
        |row| by(row.episode.end.as_ref().and_then(|end| end.stamp.as_ref()));
    hidden Text "touched_by" "The person of the last event about it.",
        |row| by(row.episode.touched_stamp.as_ref());
    hidden Text "outcome_at" "The time at which its outcome was last given or corrected (RFC 3339, UTC).",
        |row| at(row.episode.outcome_stamp.as_ref());
    hidden Text "outcome_by" "The person who gave or corrected it.",
        |row| by(row.episode.outcome_stamp.as_ref());
    hidden Text "voided_at" "The time at which it was voided (RFC 3339, UTC).",
        |row| at(row.episode.voided_stamp.as_ref());
    hidden Text "voided_by" "The person who voided it.",
        |row| by(row.episode.voided_stamp.as_ref());
}

columns! {
    /// One row per step that an episode has reached, in the order of names and steps.
    DECISIONS: DecisionRow;
    shown Text "episode" "The name of the episode.",
        |row| Cell::text(&*row.episode.id);
    shown Count "step" "The step, from 1.",
        |row| Cell::Count(row.step as u64);
    shown Text "state" "The state.",
        |row| Cell::of(row.episode.states.get(row.step - 1), |x| Cell::text(row.study.spec.states().name(*x)));
    shown Text "recommended" "The recommended action, or `stop`; missing in an imported episode.",
        |row| text(row.decision.as_ref().map(|decision| &*decision.advice.action));
    hidden Text "decided_by" "What decided: `learner`, `protocol`, or `fallback` (a table of the policy, while the service could not be reached).",
        |row| Cell::of(row.decided_by(), |by| Cell::text(decided_by(by)));
    shown Text "action" "The action that was taken, or `stop`; missing if none is reported or the episode was abandoned here.",
        |row| match (row.reported(), row.end()) {
            (Some(step), _) => Cell::text(row.study.spec.actions().name(step.action)),
            (None, Some(end)) if !end.abandoned => Cell::text("stop"),
            _ => Cell::Missing,
        };
    shown Text "feedback" "The feedback that was observed.",
        |row| Cell::of(row.reported(), |step| Cell::text(row.study.spec.feedbacks().name(step.feedback)));
    shown Boolean "override" "Whether something else was done than recommended.",
        |row| Cell::Boolean(
            row.reported().is_some_and(|step| step.overridden) || row.end().is_some_and(|end| end.overridden));
    shown Text "reason" "The reason that was given for it, or for the end of the episode.",
        |row| text(row.reported().and_then(|step| step.reason.as_deref())
            .or_else(|| row.end().and_then(|end| end.reason.as_deref())));
    hidden Text "corrected" "The reason of the last correction of the step.",
        |row| text(row.reported().and_then(|step| step.corrected.as_deref()));
    hidden Number "cost" "The cost of the action; missing while it is not known, and at the last step.",
        |row| Cell::of(row.episode.outcome.costs.get(row.step - 1).copied().flatten(), Cell::Number);
    hidden Number "reward" "The terminal reward of the step; missing while it is not known.",
        |row| Cell::of(row.episode.outcome.rewards.get(row.step - 1).copied().flatten(), Cell::Number);
    shown Text "status" "The status of the episode: `open`, `stopped`, `abandoned`, `learned` or `voided`.",
        |row| Cell::text(status(row.episode.status()));
    hidden Boolean "final" "Whether the outcome of the episode was declared final: no further values will come.",
        |row| Cell::Boolean(row.episode.outcome.last);
    hidden Boolean "missing" "Whether values of the outcome of the episode are missing for good.",
        |row| Cell::Boolean(row.episode.is_missing());
    hidden Count "learned" "The position of the episode in the order of learning, from 0; missing if it is not learned.",
        |row| Cell::of(row.episode.position.filter(|_| row.episode.voided.is_none()), Cell::Count);
    shown Boolean "imported" "Whether the episode was imported.",
        |row| Cell::Boolean(row.episode.imported);
    shown Count "event" "The sequence number of the event that recorded the decision; the decision is based on the events before it.",
        |row| Cell::of(row.event(), Cell::Count);
    shown Text "at" "The time of that event (RFC 3339, UTC), which also reports the step before.",
        |row| text(row.at.as_deref());
    hidden Boolean "explored" "Whether the action was recommended in order to learn.",
        |row| Cell::of(row.decision.as_ref().and_then(|decision| decision.explored), Cell::Boolean);
    hidden Number "certificate" "With probability at least 1 - delta the recommended action is within this value of the best.",
        |row| Cell::of(row.decision.as_ref().and_then(|decision| decision.certificate), Cell::Number);
    hidden Text "withheld" "Why there is no certificate.",
        |row| text(row.decision.as_ref().and_then(|decision| decision.withheld.as_deref()));
    hidden Count "count" "The number of observations of the recommended action in this step and state at that time.",
        |row| Cell::of(row.estimate(), |it| Cell::Count(it.count));
    hidden Number "mean" "The sample mean of its gain.",
        |row| Cell::of(row.estimate().and_then(|it| it.mean), Cell::Number);
    hidden Number "lower" "The lower confidence limit of its gain.",
        |row| Cell::of(row.estimate().and_then(|it| it.lower), Cell::Number);
    hidden Number "upper" "The upper confidence limit of its gain.",
        |row| Cell::of(row.estimate().and_then(|it| it.upper), Cell::Number);
    hidden Text "runner_up" "The action with the next largest index, or `stop`.",
        |row| text(row.runner_up().map(|it| &*it.action));
    hidden Count "runner_up_count" "The number of its observations.",
        |row| Cell::of(row.runner_up(), |it| Cell::Count(it.count));
    hidden Number "runner_up_mean" "The sample mean of its gain.",
        |row| Cell::of(row.runner_up().and_then(|it| it.mean), Cell::Number);
    hidden Number "runner_up_lower" "The lower confidence limit of its gain.",
        |row| Cell::of(row.runner_up().and_then(|it| it.lower), Cell::Number);
    hidden Number "runner_up_upper" "The upper confidence limit of its gain.",
        |row| Cell::of(row.runner_up().and_then(|it| it.upper), Cell::Number);
    shown Text "reported_at" "The time at which the action was reported (RFC 3339, UTC); missing in a study of rules before 4.",
        |row| at(row.stamp());
    shown Text "reported_by" "The person who reported it.",
        |row| by(row.stamp());
    hidden Text "corrected_at" "The time of the last correction of the step (RFC 3339, UTC).",
        |row| at(row.reported().and_then(|step| step.corrected_stamp.as_ref()));
    hidden Text "corrected_by" "The person who corrected it.",
        |row| by(row.reported().and_then(|step| step.corrected_stamp.as_ref()));
    hidden Count "learned_event" "The sequence number of the event by which the episode was first learned; missing in a study of rules before 4.",
        |row| Cell::of(Some(row.episode.settled).filter(|seq| *seq > 0), Cell::Count);
}

columns! {
    /// One row per observed step, state and action, in the order of the study.
    ESTIMATES: EstimateRow;
    hidden Count "step" "The step, from 1.",
        |row| Cell::Count(row.step.into());
    hidden Text "state" "The state.",
        |row| Cell::text(&*row.state);
    hidden Text "action" "The action, or `stop`.",
        |row| Cell::text(&*row.action);
    hidden Count "count" "The number of observations.",
        |row| Cell::Count(row.count);
    hidden Number "mean" "The sample mean of its gain.",
        |row| Cell::Number(row.mean);
    hidden Number "width" "The confidence width; missing if it is infinite or the learner has none.",
        |row| Cell::of(row.width, Cell::Number);
    hidden Number "index" "The index that actions are compared by; missing if it is infinite or the learner has none.",
        |row| Cell::of(row.index, Cell::Number);
}

columns! {
    /// One row per column.
    CODEBOOK: CodebookRow;
    shown Text "table" "The table.",
        |row| Cell::text(row.table.name());
    shown Text "column" "The column.",
        |row| Cell::text(row.column);
    shown Text "type" "`text`, `count` (a whole number from 0 on), `number` (double precision) or `boolean` (`true` or `false`).",
        |row| Cell::text(row.kind.name());
    shown Text "description" "The meaning of the column.",
        |row| Cell::text(row.about);
}
