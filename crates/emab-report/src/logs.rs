//! Replays, evaluations and plans from logs, as text.

use emab::stats::half_width;
use emab_logs::evaluate::{Evaluation, LeftOut, Value};
use emab_logs::plan::Plan;
use emab_logs::replay::{Differences, Replayed};
use emab_logs::{LogCounts, Pooling};

use crate::text_table::{number, table, wrap};

/// The most rows of a table.
const MOST_ROWS: usize = 20;

/// What a replay does not say.
const NO_VALUE: &str = "Agreement is not a value. The difference in gain is exact for the logged episodes in which the learner would have stopped \
                        earlier: the rewards of all passed steps are revealed. Where it would go on or take another action, the log does not \
                        have what would have followed, and nothing is claimed; `emab evaluate` bounds it.";

fn share(part: u64, all: u64) -> String {
    match all {
        0 => "-".into(),
        _ => format!("{:.1} %", 100.0 * part as f64 / all as f64),
    }
}

fn plural(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {what}{end}", number(count as f64))
}

/// The episodes of a log, as a sentence.
fn log_text(counts: &LogCounts) -> String {
    let mut text = format!("{} with an outcome", plural(counts.learned, "episode"));
    if counts.incomplete > 0 {
        text += &format!(" ({} with a value that is not known)", counts.incomplete);
    }
    if counts.learned < counts.episodes {
        text += &format!("; not learned from: {}", LeftOut(*counts));
    }
    text
}

fn difference(it: &Differences) -> String {
    match (it.gain_difference, it.stderr) {
        (Some(mean), Some(stderr)) => {
            let half = half_width(stderr, it.count);
            format!("{mean:+.4} ± {}", number(half))
        }
        (Some(mean), None) => format!("{mean:+.4}"),
        (None, _) => "-".into(),
    }
}

/// What learners would have done: agreement, earlier stops, and where they differ from the log.
pub fn replay_text(replays: &[Replayed], counts: &LogCounts, width: usize) -> String {
    let decisions = replays.first().map_or(0, |it| it.decisions);
    let mut text = format!(
        "{} logged; {}\n",
        plural(decisions, "decision"),
        log_text(counts)
    );
    let rows: Vec<Vec<String>> = replays
        .iter()
        .map(|it| {
            let stops = &it.earlier_stops;
            vec![
                it.learner.clone(),
                share(it.agreed, it.decisions),
                share(it.choices_agreed, it.choices),
                stops.all.count.to_string(),
                difference(&stops.all),
                stops.after_agreement.count.to_string(),
                difference(&stops.after_agreement),
            ]
        })
        .collect();
    let header = [
        "learner",
        "agrees",
        "with a choice",
        "earlier stops",
        "gain (95 %)",
        "agreed before",
        "gain (95 %)",
    ];
    text += &table(&header, &rows, width);
    text += "\n\nAgreement over the log, in ten parts:\n";
    let parts: Vec<Vec<String>> = replays
        .iter()
        .map(|it| {
            let percent =
                |part: u64, all: u64| format!("{:.0} %", 100.0 * part as f64 / all as f64);
            let parts = it
                .over_time
                .iter()
                .map(|it| percent(it.agreed, it.decisions));
            [it.learner.clone()].into_iter().chain(parts).collect()
        })
        .collect();
    let most = parts.iter().map(Vec::len).max().unwrap_or(1);
    let names: Vec<String> = (1..most).map(|i| i.to_string()).collect();
    let header: Vec<&str> = ["learner"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    text += &table(&header, &parts, width);
    for it in replays {
        let mut rows: Vec<(u64, Vec<String>)> = Vec::new();
        for pair in &it.by_pair {
            for instead in &pair.instead {
                rows.push((
                    instead.count,
                    vec![
                        pair.t.to_string(),
                        pair.state.clone(),
                        instead.logged.clone(),
                        instead.learner.clone(),
                        number(instead.count as f64),
                        number(pair.decisions as f64),
                    ],
                ));
            }
        }
        if rows.is_empty() {
            continue;
        }
        rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let all = rows.len();
        let rows: Vec<Vec<String>> = rows.into_iter().take(MOST_ROWS).map(|it| it.1).collect();
        let header = ["step", "state", "was done", "instead", "times", "of"];
        text += &format!("\n\nWhere {} differs from the log:\n", it.learner);
        text += &table(&header, &rows, width);
        if all > MOST_ROWS {
            text += &format!("\nThese are {MOST_ROWS} of {all}; --json has all.");
        }
    }
    let unknown: u64 = replays.iter().map(|it| it.earlier_stops.unknown).sum();
    if unknown > 0 {
        text += &format!(
            "\n\n{} not counted: a cost or reward is not known, or the episode has no outcome yet.",
            plural(unknown, "earlier stop")
        );
    }
    text + &format!("\n\n{}\n", wrap(NO_VALUE, width))
}

fn interval(value: &Value, confidence: f64) -> String {
    format!(
        "{} ({} %: {} to {})",
        number(value.value),
        percent_of(confidence),
        number(value.lower),
        number(value.upper)
    )
}

fn percent_of(confidence: f64) -> String {
    let percent = format!("{:.4}", 100.0 * confidence);
    percent
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// The value of a policy, what it rests on, and what the log lacks.
pub fn evaluation_text(it: &Evaluation, width: usize) -> String {
    let mut notes = vec![format!(
        "{}: {} an episode; {}",
        it.policy,
        interval(&it.value, it.confidence),
        log_text(&it.log)
    )];
    if let (Some(gain), true) = (it.logged_value, it.policy != "logged") {
        let error = it.logged_stderr.map_or(String::new(), |stderr| {
            format!(
                " ± {} (95 %)",
                number(half_width(stderr, it.logged_episodes))
            )
        });
        let known = match it.logged_episodes < it.log.learned {
            true => format!(
                ", of the {} whose gain is known",
                plural(it.logged_episodes, "episode")
            ),
            false => String::new(),
        };
        notes.push(format!(
            "The logged episodes earned {}{error} on average{known}.",
            number(gain)
        ));
    }
    if let Some(stderr) = it.value.stderr
        && it.supported
    {
        notes.push(format!(
            "The standard error is {} if the counts had been fixed beforehand; the interval also holds for a log that was collected adaptively.",
            number(stderr)
        ));
    }
    if it.from_log {
        notes.push("The policy was chosen from this log, and the interval allows for that.".into());
    }
    let mut text = notes.join("\n");
    if !it.pairs.is_empty() {
        let rows: Vec<Vec<String>> = it
            .pairs
            .iter()
            .take(MOST_ROWS)
            .map(|pair| {
                vec![
                    pair.place.t.to_string(),
                    pair.place.state.clone(),
                    pair.place.a.clone(),
                    number(pair.count as f64),
                    format!("{:.3}", pair.weight),
                    number(pair.value),
                    format!("{} to {}", number(pair.lower), number(pair.upper)),
                ]
            })
            .collect();
        let header = [
            "step",
            "state",
            "action",
            "observed",
            "reached",
            "value",
            "at least, at most",
        ];
        text += &format!("\n\n{}", table(&header, &rows, width));
        if it.pairs.len() > MOST_ROWS {
            text += &format!(
                "\nThese are {MOST_ROWS} of {}; --json has all.",
                it.pairs.len()
            );
        }
    }
    let mut notes = Vec::new();
    if !it.unsupported.is_empty() {
        let places: Vec<String> = it
            .unsupported
            .iter()
            .take(8)
            .map(|place| {
                let at = format!("`{}` at step {} in `{}`", place.a, place.t, place.state);
                let seen = it.pairs.iter().find(|pair| pair.place == *place);
                match seen.is_some_and(|pair| pair.count > 0) {
                    true => format!("a cost of {at}"),
                    false => at,
                }
            })
            .collect();
        let more = if it.unsupported.len() > 8 {
            ", …"
        } else {
            ""
        };
        notes.push(format!(
            "The log never has {}{more}: what follows is anywhere in the stated ranges, and the estimate is their middle.",
            places.join(", ")
        ));
    }
    if let Some(without) = &it.without_overrides {
        notes.push(format!(
            "In {} something else was done than recommended. Without those steps and what followed them: {}. Both are right if people \
             overrode by what the state shows, or by chance. If they knew more of the case, both may be wrong; intervals that do not overlap \
             show it, or show that the states omit what matters. Intervals that overlap are no evidence.",
            plural(it.log.overridden, "episode"),
            interval(without, it.confidence)
        ));
    }
    if it.log.without_outcome() > 0 {
        notes.push(format!(
            "Episodes without an outcome are left out ({}). The interval holds if outcomes are missing for reasons that do not depend on what \
             happened in the episode; of episodes under way, those that end early have their outcome first.",
            number(it.log.without_outcome() as f64)
        ));
    }
    for assumed in &it.assumed {
        notes.push(format!("Assumed: {assumed}."));
    }
    for found in &it.violations {
        notes.push(format!(
            "The log contradicts what is stated: {found}. The interval is wrong then."
        ));
    }
    for found in &it.contradictions {
        notes.push(format!(
            "The log contradicts the model: {found}. Values by step and state are biased then; --by path needs no such assumption, and \
             states that carry more of the past remove it."
        ));
    }
    if it.pooling == Pooling::Path {
        notes.push("Observations are pooled by path: the actions and feedbacks before.".into());
    }
    for note in notes {
        text += &format!("\n\n{}", wrap(&note, width));
    }
    text + "\n"
}

/// How long a study has to go on.
pub fn plan_text(it: &Plan, width: usize) -> String {
    let last = it.curve.last().map_or(0, |point| point.cases);
    let more = || format!("more than {}", number(last as f64));
    let cases = |cases: Option<u64>| cases.map_or_else(more, |it| number(it as f64));
    let after = plural(it.episodes, "episode");
    let mut text = match it.now {
        Some(now) => format!(
            "{}: the certificate at step 1 is {} after {after}\n",
            it.learner,
            number(now)
        ),
        None => format!(
            "{}: there is no certificate at step 1 after {after}, because some action was not observed\n",
            it.learner
        ),
    };
    let wanted = it.below.map_or(String::new(), number);
    text += &match it.reached {
        _ if it.below.is_none() => format!("In {}:", plural(it.draws, "plausible model")),
        _ if it.cases.lower == Some(0) => format!("It is below {wanted} already."),
        0 => format!(
            "It falls below {} in none of {} plausible models within {} further cases.",
            wanted,
            it.draws,
            number(last as f64)
        ),
        reached => format!(
            "It first falls below {} after {} further cases (90 % of plausible models: {} to {}); {reached} of {} models reach it within {} \
             cases. It can rise again, when another action is recommended.",
            wanted,
            cases(it.cases.median),
            cases(it.cases.lower),
            cases(it.cases.upper),
            it.draws,
            number(last as f64)
        ),
    };
    let finite = |value: f64| match value.is_finite() {
        true => number(value),
        false => "∞".into(),
    };
    let rows: Vec<Vec<String>> = it
        .curve
        .iter()
        .step_by((it.curve.len() / 10).max(1))
        .map(|point| {
            let band = &point.certificate;
            vec![
                number(point.cases as f64),
                finite(band.median),
                format!("{} to {}", finite(band.lower), finite(band.upper)),
            ]
        })
        .collect();
    let header = ["further cases", "certificate", "90 % of models"];
    text + &format!("\n\n{}\n", table(&header, &rows, width))
}
