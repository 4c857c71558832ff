//! `emab policy`: the choices and estimates of a saved learner.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;

use emab::input::did_you_mean;
use emab::learners::{ChoiceBasis, LearnerConfig};
use emab::reach::Reachable;
use emab::{Action, Learner, Names, Spec};
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

/// A step and a state.
type Pair = (usize, usize);

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
    /// May be infinite, which is null in JSON, as is the index.
    width: f64,
    index: f64,
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
    assumed_words(&config)
        .iter()
        .for_each(|words| terminal::note(words));
    note(chooses, &reachable, pair);

    let mut seen: HashMap<Pair, u64> = HashMap::new();
    for episode in trained.learned() {
        for (i, &x) in episode.states.iter().enumerate() {
            *seen.entry((i + 1, x)).or_default() += 1;
        }
    }
    let mut rows = Vec::new();
    for at in asked(chooses, reachable.pairs, pair) {
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
    terminal::show(json, &document, || match (pair, rows.first()) {
        (Some(_), Some(row)) => one(&document, row),
        _ => all(&document),
    })
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
fn pair(spec: &Spec, step: u64, state: &str) -> Result<Pair, CommandError> {
    let horizon = spec.horizon();
    let t = usize::try_from(step).ok().filter(|t| *t <= horizon);
    let t = t.ok_or_else(|| {
        CommandError::input(format!("--step: there are {horizon} steps, got {step}"))
    })?;
    let names: &[String] = match spec.states() {
        Names::List(names) => names,
        Names::Count(..) => &[],
    };
    let named = names.iter().position(|name| name == state);
    let count = spec.states().len();
    let x = named.or_else(|| state.parse().ok().filter(|x| *x < count));
    let x = x.ok_or_else(|| {
        let near = did_you_mean(state, names.iter().map(String::as_str));
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
fn note(chooses: ChoiceBasis, reachable: &Reachable, pair: Option<Pair>) {
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
fn asked(chooses: ChoiceBasis, mut pairs: Vec<Pair>, pair: Option<Pair>) -> Vec<Pair> {
    if let Some(pair) = pair {
        let before = pairs.iter().take_while(|at| **at < pair).count();
        let needed = if chooses == ChoiceBasis::Tables {
            0
        } else {
            before
        };
        pairs.truncate(needed);
        pairs.push(pair);
    }
    pairs
}

fn ask(spec: &Spec, learner: &mut dyn Learner, (t, x): Pair, seen: Option<u64>) -> Row {
    let action = learner.choose(t, x);
    let allowed = (0..spec.actions().len()).filter(|&a| spec.is_allowed(t, x, a));
    let actions = allowed.map(Action::Continue).chain([Action::Stop]);
    let known = |action| {
        let estimate = learner.estimate(t, x, action)?;
        Some(Known {
            action: spec.action_name(action).into_owned(),
            count: estimate.count,
            mean: estimate.mean,
            width: estimate.width,
            index: estimate.index,
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
    let (learner, problem) = (document.learner, document.problem);
    let plural = if document.episodes == 1 { "" } else { "s" };
    let episodes = number(document.episodes as f64);
    format!("{learner} on {problem}, after {episodes} episode{plural}")
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
        if estimates {
            let mut all = row.estimates.iter();
            let chosen = all.find(|known| known.action == row.action);
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
    let (step, state, action) = (row.step, &row.state, &row.action);
    let (whose, seen) = (whose(document), number(row.seen as f64));
    let plural = if row.seen == 1 { "" } else { "s" };
    let mut text =
        format!("{whose}, at step {step} in state {state}, seen {seen} time{plural}: {action}");
    if !row.estimates.is_empty() {
        let cells = |known: &Known| {
            let (observed, index) = (number(known.count as f64), finite(known.index));
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
    format!("{} ± {}", number(known.mean), finite(known.width))
}

fn finite(value: f64) -> String {
    match value.is_finite() {
        true => number(value),
        false => "∞".into(),
    }
}
