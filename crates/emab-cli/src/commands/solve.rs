//! `emab solve`: what could be earned if the truth were known.

use emab::oracle::{Benchmark, FixedSequence, Optimal, Pair, Pairs, best_fixed, best_repeated};
use emab::{Action, Spec};
use emab_report::number;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::{load, terminal};

/// The most prefixes looked at for the best fixed sequence.
const SEQUENCES: usize = 2_000_000;

pub fn solve(name: &str, json: bool) -> Result<(), Failure> {
    let file = load::problem(name)?;
    let problem = file.problem()?;
    let spec = problem.spec().clone();
    let wrong = |error| Failure::oracle(&file, error);
    let mut benchmark = Benchmark::new(problem).map_err(wrong)?;
    let optimal = Optimal::new(benchmark.pairs_mut()).map_err(wrong)?;
    let start = benchmark.pairs().start();
    let value = benchmark.value(start).map_err(wrong)?;
    let fixed = best_fixed(benchmark.pairs(), &optimal, SEQUENCES);
    let repeated = best_repeated(benchmark.pairs_mut()).map_err(wrong)?;
    let all: Vec<Pair> = benchmark.pairs().iter().collect();
    let mut choices = Vec::with_capacity(all.len());
    for pair in all {
        choices.push(benchmark.choice(pair).map_err(wrong)?);
    }
    let pairs = benchmark.pairs();
    let benchmark_choice = Choices::new(pairs, &choices);
    let optimal_choices: Vec<Action> = pairs.iter().map(|pair| optimal.choice(pair)).collect();
    let optimal_choice = Choices::new(pairs, &optimal_choices);
    let sequence = |fixed: &FixedSequence| {
        let mut names: Vec<String> = fixed
            .actions
            .iter()
            .map(|&a| spec.actions().name(a).into_owned())
            .collect();
        names.push("stop".into());
        names
    };
    if json {
        let fixed_json = fixed.as_ref().map_or(
            Value::Null,
            |fixed| json!({"value": fixed.value, "sequence": sequence(fixed)}),
        );
        return terminal::print_json(&json!({
            "problem": file.name(),
            "problem_hash": file.hash(),
            "reachable_pairs": pairs.len(),
            "benchmark": {"value": value, "policy": benchmark_choice.policy(&spec)},
            "optimal": {"value": optimal.value(start), "policy": optimal_choice.policy(&spec)},
            "best_fixed": fixed_json,
            "best_repeated": {"value": repeated.value, "sequence": sequence(&repeated)},
        }));
    }
    let mut rows = vec![
        vec![
            "benchmark".into(),
            number(value),
            "best next step, by state".into(),
        ],
        vec![
            "optimal".into(),
            number(optimal.value(start)),
            "best of all policies".into(),
        ],
    ];
    match &fixed {
        Some(fixed) => rows.push(vec![
            "best fixed".into(),
            number(fixed.value),
            shorten(&sequence(fixed)),
        ]),
        None => rows.push(vec![
            "best fixed".into(),
            "?".into(),
            format!("more than {SEQUENCES} sequences to look at"),
        ]),
    }
    rows.push(vec![
        "best repeated".into(),
        number(repeated.value),
        shorten(&sequence(&repeated)),
    ]);
    let width = terminal::width();
    let mut text = emab_report::table(&[file.name(), "value", ""], &rows, width);
    text += "\n\n";
    text += &policy_table(&spec, &benchmark_choice, &optimal_choice, width).unwrap_or_else(|| {
        format!(
            "The policies cover {} pairs, too many to show here; --json prints them.",
            pairs.len()
        )
    });
    terminal::print(&text)
}

/// A long run of one action as a count.
fn shorten(names: &[String]) -> String {
    let runs = names.chunk_by(|a, b| a == b);
    let runs: Vec<String> = runs
        .map(|run| {
            if run.len() > 2 {
                format!("{} × {}", run.len(), run[0])
            } else {
                run.join(", ")
            }
        })
        .collect();
    runs.join(", ")
}

/// A policy by step and state.
struct Choices {
    /// (step, state, action), by step and then state.
    sorted: Vec<(usize, usize, Action)>,
}

impl Choices {
    fn new(pairs: &Pairs, choices: &[Action]) -> Choices {
        let mut sorted: Vec<_> = pairs
            .iter()
            .zip(choices)
            .map(|(pair, &action)| (pairs.step(pair), pairs.state(pair), action))
            .collect();
        sorted.sort_unstable();
        Choices { sorted }
    }

    fn get(&self, t: usize, x: usize) -> Option<Action> {
        let found = self
            .sorted
            .binary_search_by_key(&(t, x), |&(t, x, _)| (t, x));
        found.ok().map(|i| self.sorted[i].2)
    }

    /// `policy[t-1][x]`: a name, or null where the pair cannot be reached.
    fn policy(&self, spec: &Spec) -> Vec<Vec<Value>> {
        let mut policy = vec![vec![Value::Null; spec.states().len()]; spec.horizon()];
        for &(t, x, action) in &self.sorted {
            policy[t - 1][x] = Value::from(spec.action_name(action));
        }
        policy
    }
}

/// Both policies, side by side where they differ: steps down and states across, or the other way round if that is
/// narrower. None if it does not fit.
fn policy_table(
    spec: &Spec,
    benchmark: &Choices,
    optimal: &Choices,
    width: usize,
) -> Option<String> {
    let mut states: Vec<usize> = benchmark.sorted.iter().map(|&(_, x, _)| x).collect();
    states.sort_unstable();
    states.dedup();
    let mut steps: Vec<usize> = benchmark.sorted.iter().map(|&(t, _, _)| t).collect();
    steps.dedup();
    if states.len() * steps.len() > 2000 {
        return None;
    }
    let differ = benchmark.sorted != optimal.sorted;
    let cell = |t, x| {
        let Some(action) = benchmark.get(t, x) else {
            return "·".to_owned();
        };
        let best = optimal.get(t, x).unwrap_or(action);
        let name = spec.action_name(action);
        if best == action {
            name.into_owned()
        } else {
            format!("{name} | {}", spec.action_name(best))
        }
    };
    let step_names: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let state_names: Vec<String> = states
        .iter()
        .map(|&x| spec.states().name(x).into_owned())
        .collect();
    let layout = |corner: &str,
                  down: &[String],
                  across: &[String],
                  cell: &dyn Fn(usize, usize) -> String| {
        let rows: Vec<Vec<String>> = down
            .iter()
            .enumerate()
            .map(|(i, name)| {
                std::iter::once(name.clone())
                    .chain((0..across.len()).map(|j| cell(i, j)))
                    .collect()
            })
            .collect();
        let mut header = vec![corner];
        header.extend(across.iter().map(String::as_str));
        let widest = |j: usize| {
            rows.iter()
                .map(|row| row[j].as_str())
                .chain([header[j]])
                .map(|c| c.chars().count())
                .max()
        };
        let needed: usize = (0..header.len())
            .filter_map(|j| widest(j).map(|w| w + 3))
            .sum();
        (needed <= width && rows.len() <= 60).then(|| emab_report::table(&header, &rows, width))
    };
    let table = layout("step", &step_names, &state_names, &|i, j| {
        cell(steps[i], states[j])
    })
    .or_else(|| {
        layout("state \\ step", &state_names, &step_names, &|i, j| {
            cell(steps[j], states[i])
        })
    })?;
    let title = if differ {
        "The benchmark's choice by step and state; after a bar the optimal policy's where it differs:"
    } else {
        "The benchmark's choice by step and state, which is optimal everywhere:"
    };
    Some(format!("{title}\n{table}"))
}
