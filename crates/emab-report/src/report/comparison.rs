//! Several results side by side.

use emab::Conditions;
use emab_sim::results::RunResult;

use super::{Content, Entry, curves};
use crate::document::Block;
use crate::run_table::confidence;
use crate::text_table::number;

/// Curves of different runs in one figure.
const MOST_CURVES: usize = 12;

/// What results are compared by.
struct Row<'a> {
    kind: &'static str,
    problem: String,
    hashes: Vec<&'a str>,
    runs: String,
    episodes: u64,
    seed: u64,
    conditions: String,
    version: &'a str,
}

fn row(entry: &Entry) -> Row<'_> {
    match &entry.content {
        Content::Run(run) => {
            let result = &run.result;
            Row {
                kind: "run",
                problem: result.problem.clone(),
                hashes: vec![&result.problem_hash],
                runs: number(result.runs as f64),
                episodes: result.episodes,
                seed: result.seed,
                conditions: result.conditions.to_string(),
                version: &result.version,
            }
        }
        Content::Sweep(record) => {
            let file = &record.sweep.file;
            Row {
                kind: "sweep",
                problem: record.problem.file.name().into(),
                hashes: vec![record.problem.file.hash()],
                runs: number(file.runs as f64),
                episodes: file.episodes,
                seed: file.seed,
                conditions: record.problem.file.conditions().to_string(),
                version: &record.version,
            }
        }
        Content::Arena(arena) => {
            let arena = &arena.result;
            let grounds = || arena.problems.iter().map(|problem| &problem.ground);
            let names: Vec<&str> = grounds().map(|ground| ground.problem.as_str()).collect();
            let conditions: Option<&Conditions> = grounds().map(|ground| &ground.conditions).next();
            Row {
                kind: "arena",
                problem: match names.len() {
                    0..=3 => names.join(", "),
                    n => format!("{n} problems"),
                },
                hashes: grounds()
                    .map(|ground| ground.problem_hash.as_str())
                    .collect(),
                runs: arena.runs_text(),
                episodes: arena.episodes,
                seed: arena.seed,
                conditions: conditions.map_or(String::new(), ToString::to_string),
                version: &arena.version,
            }
        }
    }
}

pub(super) fn blocks(entries: &[Entry]) -> Vec<Block> {
    let all: Vec<Row<'_>> = entries.iter().map(row).collect();
    let same_problem = all.windows(2).all(|pair| pair[0].hashes == pair[1].hashes);
    let mut blocks = vec![Block::Heading("Comparison".into())];
    blocks.push(match same_problem {
        true => Block::Text("All results are of the same problem: the hashes of the problem files are equal.".into()),
        false => Block::Warning(
            "The problems differ: the hashes of the problem files are not equal. Regrets of different problems cannot be compared.".into(),
        ),
    });
    let header = [
        "folder",
        "kind",
        "problem",
        "problem hash",
        "runs",
        "episodes",
        "seed",
        "conditions",
        "version",
    ];
    let cells = |(entry, row): (&Entry, &Row<'_>)| {
        let hashes: Vec<String> = row.hashes.iter().take(3).map(|hash| short(hash)).collect();
        let more = if row.hashes.len() > 3 { ", …" } else { "" };
        vec![
            entry.folder.clone(),
            row.kind.into(),
            row.problem.clone(),
            format!("{}{more}", hashes.join(", ")),
            row.runs.clone(),
            number(row.episodes as f64),
            row.seed.to_string(),
            match row.conditions.is_empty() {
                true => "none".into(),
                false => format!("`{}`", row.conditions),
            },
            row.version.into(),
        ]
    };
    let rows = entries.iter().zip(&all).map(cells).collect();
    blocks.push(Block::table(header.to_vec(), rows));
    blocks.extend(runs(entries, same_problem));
    blocks
}

/// The first characters of a hash, as code.
fn short(hash: &str) -> String {
    format!("`{}`", hash.get(..12).unwrap_or(hash))
}

/// The regrets of all runs in one table and, on the same problem, in one figure.
fn runs(entries: &[Entry], same_problem: bool) -> Vec<Block> {
    let runs = entries.iter().filter_map(|entry| match &entry.content {
        Content::Run(run) => Some((entry.folder.as_str(), &run.result)),
        _ => None,
    });
    let runs: Vec<(&str, &RunResult)> = runs.collect();
    if runs.len() < 2 {
        return Vec::new();
    }
    let mut labels: Vec<&str> = Vec::new();
    for learner in runs.iter().flat_map(|(_, result)| &result.learners) {
        if !labels.contains(&learner.label.as_str()) {
            labels.push(&learner.label);
        }
    }
    let cell = |result: &RunResult, label: &str| {
        let learner = result.learners.iter().find(|one| one.label == label);
        let last = learner.and_then(|learner| learner.curve.last());
        last.map_or(String::new(), |p| {
            confidence(p.regret, p.stderr, result.runs)
        })
    };
    let rows = labels.iter().map(|label| {
        let cells = runs.iter().map(|(_, result)| cell(result, label));
        [(*label).to_owned()].into_iter().chain(cells).collect()
    });
    let header: Vec<&str> = ["learner"]
        .into_iter()
        .chain(runs.iter().map(|(folder, _)| *folder))
        .collect();
    let mut blocks = vec![
        Block::Text(
            "Regret after the last episode of each run, with 95 % intervals. Runs of the same seed share random numbers, which these \
             intervals do not use: `emab arena` compares learners run by run."
                .into(),
        ),
        Block::table(header, rows.collect()),
    ];
    let all = runs.iter().flat_map(|(folder, result)| {
        let learners = result.learners.iter();
        learners.map(move |learner| (format!("{folder}: {}", learner.label), learner, result.runs))
    });
    let all: Vec<_> = all.collect();
    if same_problem && all.len() <= MOST_CURVES {
        blocks.extend(curves::means("All runs", &all, None));
    }
    blocks
}
