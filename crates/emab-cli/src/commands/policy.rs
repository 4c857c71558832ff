//! `emab policy`: the choices and estimates of a saved learner.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;

use emab::learners::{ChoiceBasis, LearnerConfig, nearest};
use emab::reach::Reachable;
use emab::{Action, Estimate, Learner, Names, Spec};
use emab_episodes::{SavedLearner, SavedLearnerError};
use emab_problem::ReadError;
use emab_report::{number, table};
use emab_sim::soundness::assumed_words;
use serde::Serialize;

use crate::args;
use crate::error::CommandError;
use crate::terminal;

/// The most pairs that are listed.
const LIMIT: usize = 100_000;
/// The most lines of a table.
const LONGEST: usize = 60;

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    learner: &'a str,
    problem: &'a str,
    episodes: u64,
    /// The basis of its choices.
    chooses: ChoiceBasis,
    /// Whether these are all reachable pairs, or the requested one.
    complete: bool,
    policy: &'a [Row],
}

/// The learner's choice at a pair.
#[derive(Serialize)]
struct Row {
    step: usize,
    state: String,
    /// Episodes learned from that visited the pair.
    seen: u64,
    action: String,
    /// The estimate of each allowed action; empty for learners without estimates.
    estimates: Vec<Known>,
}

#[derive(Serialize)]
struct Known {
    action: String,
    count: u64,
    mean: f64,
    /// None where it is infinite.
    width: Option<f64>,
    index: Option<f64>,
}

pub fn policy(args: &args::Policy, json: bool) -> Result<(), CommandError> {
    let trained = read(&args.file)?;
    let (config, mut learner) = trained
        .rebuild()
        .map_err(|error| wrong(&args.file, error))?;
    let spec = &**trained.file.spec();
    let pair = match (args.step, &args.state) {
        (Some(step), Some(state)) => Some(pair(spec, step, state)?),
        _ => None,
    };
    let located = |error| in_file(&args.file, trained.file.locate(&error));
    let reachable = spec.reachable(LIMIT).map_err(located)?;
    let chooses = chooses(&config);
    for words in assumed_words(&config) {
        terminal::note(&words);
    }
    note(chooses, &reachable, pair);

    let mut rows = Vec::new();
    let mut seen: HashMap<(usize, usize), u64> = HashMap::new();
    for episode in trained.learned() {
        for (i, &x) in episode.states.iter().enumerate() {
            *seen.entry((i + 1, x)).or_default() += 1;
        }
    }
    for at in asked(chooses, &reachable, pair) {
        // All pairs are asked even if one is shown, because some choices depend on earlier ones.
        let row = ask(spec, &mut *learner, at, seen.get(&at).copied());
        if pair.is_none_or(|pair| pair == at) {
            rows.push(row);
        }
    }
    let document = Document {
        learner: config.label(),
        problem: trained.file.name(),
        episodes: trained.episodes(),
        chooses,
        complete: pair.is_some() || reachable.complete,
        policy: &rows,
    };
    match (json, pair, rows.first()) {
        (true, ..) => terminal::print_json(&document),
        (false, Some(_), Some(row)) => terminal::print(&one(&document, row)),
        _ => terminal::print(&all(&document)),
    }
}

/// The file, or standard input.
fn read(name: &str) -> Result<SavedLearner, CommandError> {
    let trained = if name == "-" {
        SavedLearner::read(std::io::stdin().lock())
    } else {
        let unreadable = |error| CommandError::input(format!("cannot read {name}: {error}"));
        SavedLearner::read(BufReader::new(File::open(name).map_err(unreadable)?))
    };
    trained.map_err(|error| wrong(name, error))
}

fn wrong(name: &str, error: SavedLearnerError) -> CommandError {
    match error {
        SavedLearnerError::System(error) => {
            CommandError::input(format!("cannot read {name}: {error}"))
        }
        SavedLearnerError::Problem(error) => in_file(name, *error),
        other => CommandError::input(format!("{name}: {other}")),
    }
}

/// An error in the problem at the head of a learner's file.
fn in_file(name: &str, mut error: ReadError) -> CommandError {
    error.file = format!("{name}, `problem`").into();
    CommandError::Problem(Box::new(error))
}

/// The pair of --step and --state.
fn pair(spec: &Spec, step: u64, state: &str) -> Result<(usize, usize), CommandError> {
    let t = usize::try_from(step).ok().filter(|t| *t <= spec.horizon());
    let t = t.ok_or_else(|| {
        CommandError::input(format!(
            "--step: there are {} steps, got {step}",
            spec.horizon()
        ))
    })?;
    let names: &[String] = match spec.states() {
        Names::List(names) => names,
        Names::Count(..) => &[],
    };
    let named = names.iter().position(|name| name == state);
    let count = spec.states().len();
    let x = named.or_else(|| state.parse().ok().filter(|x| *x < count));
    let x = x.ok_or_else(|| {
        let near = nearest(state, names.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        CommandError::input(format!(
            "--state: there is no state `{state}`{near}; give its name, or its number from 0 to {}",
            count - 1
        ))
    })?;
    Ok((t, x))
}

/// The basis of its choices with these parameters.
fn chooses(config: &LearnerConfig) -> ChoiceBasis {
    match (config.chooses_from_tables(), config.entry().choice_basis) {
        (Ok(()), _) => ChoiceBasis::Tables,
        // A parameter makes its choices random.
        (Err(_), ChoiceBasis::Tables) => ChoiceBasis::Draws,
        (Err(_), other) => other,
    }
}

/// Notes that explain the output.
fn note(chooses: ChoiceBasis, reachable: &Reachable, pair: Option<(usize, usize)>) {
    let what = match chooses {
        ChoiceBasis::Tables => None,
        ChoiceBasis::Draws => Some("each choice shown is one random draw"),
        ChoiceBasis::Plan => Some("this is the plan for its next episode"),
        ChoiceBasis::Asked => Some("these are the choices when asked now, pair by pair"),
    };
    if let Some(what) = what {
        terminal::note(&format!("note: {}: {what}", chooses.description()));
    }
    match pair {
        Some(pair) if reachable.complete && !reachable.pairs.contains(&pair) => {
            terminal::note("note: no episode can reach this step in this state");
        }
        None if !reachable.complete => terminal::note(&format!(
            "note: only the first {} reachable step-state pairs are listed; --step and --state show any pair",
            number(reachable.pairs.len() as f64)
        )),
        _ => {}
    }
}

/// The pairs to ask, in order. A choice that depends on tables alone needs no other pairs before it.
fn asked(
    chooses: ChoiceBasis,
    reachable: &Reachable,
    pair: Option<(usize, usize)>,
) -> Vec<(usize, usize)> {
    match pair {
        None => reachable.pairs.clone(),
        Some(pair) if chooses == ChoiceBasis::Tables => vec![pair],
        Some(pair) => {
            let before = reachable.pairs.iter().copied();
            let before = before.take_while(|at| *at < pair);
            before.chain([pair]).collect()
        }
    }
}

fn ask(spec: &Spec, learner: &mut dyn Learner, (t, x): (usize, usize), seen: Option<u64>) -> Row {
    let action = learner.choose(t, x);
    let allowed = (0..spec.actions().len()).filter(|&a| spec.is_allowed(t, x, a));
    let actions = allowed.map(Action::Continue).chain([Action::Stop]);
    let known = |action| {
        let Estimate {
            count,
            mean,
            width,
            index,
        } = learner.estimate(t, x, action)?;
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Some(Known {
            action: spec.action_name(action).into_owned(),
            count,
            mean,
            width: finite(width),
            index: finite(index),
        })
    };
    Row {
        step: t,
        state: spec.states().name(x).into_owned(),
        seen: seen.unwrap_or(0),
        action: spec.action_name(action).into_owned(),
        estimates: actions.filter_map(known).collect(),
    }
}

fn whose(document: &Document<'_>) -> String {
    format!(
        "{} on {}, after {} {}",
        document.learner,
        document.problem,
        number(document.episodes as f64),
        if document.episodes == 1 {
            "episode"
        } else {
            "episodes"
        }
    )
}

/// All pairs, one row each, with the estimate of the chosen action.
fn all(document: &Document<'_>) -> String {
    let shown = &document.policy[..document.policy.len().min(LONGEST)];
    let estimates = shown.iter().any(|row| !row.estimates.is_empty());
    let cells = |row: &Row| {
        let mut cells = vec![
            row.step.to_string(),
            row.state.clone(),
            number(row.seen as f64),
            row.action.clone(),
        ];
        let chosen = row
            .estimates
            .iter()
            .find(|known| known.action == row.action);
        if estimates {
            cells.push(chosen.map_or(String::new(), estimate));
        }
        cells
    };
    let rows: Vec<Vec<String>> = shown.iter().map(cells).collect();
    let header = ["step", "state", "seen", "choice", "its estimate"];
    let header = &header[..if estimates { 5 } else { 4 }];
    let mut text = format!("{}:\n", whose(document));
    text += &table(header, &rows, terminal::width());
    if document.policy.len() > shown.len() {
        text += &format!(
            "\nThese are {} of {} pairs; --json prints all of them.",
            shown.len(),
            number(document.policy.len() as f64)
        );
    }
    text
}

/// One pair, with the estimates of all actions.
fn one(document: &Document<'_>, row: &Row) -> String {
    let mut text = format!(
        "{}, at step {} in state {}, seen {} {}: {}",
        whose(document),
        row.step,
        row.state,
        number(row.seen as f64),
        if row.seen == 1 { "time" } else { "times" },
        row.action
    );
    if !row.estimates.is_empty() {
        let cells = |known: &Known| {
            let index = known.index.map_or("∞".into(), number);
            let observed = number(known.count as f64);
            vec![known.action.clone(), observed, estimate(known), index]
        };
        let rows: Vec<Vec<String>> = row.estimates.iter().map(cells).collect();
        let header = ["action", "observed", "estimate", "index"];
        text += &format!("\n{}", table(&header, &rows, terminal::width()));
    }
    text
}

fn estimate(known: &Known) -> String {
    if known.count == 0 {
        return "not observed".into();
    }
    let width = known.width.map_or("∞".into(), number);
    format!("{} ± {width}", number(known.mean))
}
