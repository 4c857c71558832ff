//! The report of an arena.

use emab_sim::results::{ArenaEntry, ArenaProblem, ArenaResult};

use super::{ArenaContent, Figure, count, repeat, soundness};
use crate::arena::{left_out, problem_lead, problem_rows, ratios_rows, summary_rows};
use crate::arena_pairs::{PAIRS_HEADER, pairs_rows};
use crate::document::Block;
use crate::plot::{arena_options, draw_arena};
use crate::runs_table::UNRELIABLE_NOTE;
use crate::text_table::number;

const RANKING: &str = "`best` is the least mean regret of the learners that see only episodes; `within noise` marks those whose difference to \
    the best, run by run, has 0 in its 95 % interval. `less feedbal's` is the difference to feedbal run by run. Each interval holds by \
    itself: of twenty comparisons without a difference, one is expected to show one.";

const SUMMARY: &str = "Over all problems, by mean place: 0 is first everywhere, 1 last. `better than feedbal` and `worse` count the problems on \
    which the 95 % interval of the paired difference excludes 0.";

const RATIOS: &str = "Regret against the benchmark divided by feedbal's, and in the last two columns loss against the optimal policy divided by \
    feedbal's, where feedbal's exceeds four standard errors. Intervals over the problems are of 95 %.";

pub(super) fn blocks(content: &ArenaContent, command: &str) -> Vec<Block> {
    let result = &content.result;
    let mut blocks = vec![Block::Text(format!(
        "{} of {} for each learner, seed {}. All learners use the same random numbers, so that they are compared run by run; ± is a 95 % \
         interval over the runs.",
        count(result.runs, "run"),
        count(result.episodes, "episode"),
        result.seed
    ))];
    if result.problems.len() > 1 {
        let tallied = result.tallied();
        blocks.push(Block::Heading("Ranking over all problems".into()));
        let (header, rows) = summary_rows(&tallied);
        blocks.push(Block::table(header, rows));
        blocks.push(Block::Text(SUMMARY.into()));
        let (header, rows) = ratios_rows(&tallied);
        blocks.push(Block::table(header, rows));
        blocks.push(Block::Text(RATIOS.into()));
    }
    blocks.push(Block::Heading("Loss beside feedbal's".into()));
    let figure = Figure {
        picture: arena_options(result).for_page(|options| draw_arena(result, options)),
        caption: "Loss against the optimal policy divided by feedbal's, on a log axis, with 95 % intervals; a panel for each problem.".into(),
        header: vec!["problem", "learner", "loss / feedbal's"],
        rows: ratios(result),
    };
    blocks.extend(figure.blocks());
    blocks.push(Block::Heading("Ranking on each problem".into()));
    blocks.push(Block::Text(RANKING.into()));
    blocks.push(Block::Section(
        result
            .problems
            .iter()
            .flat_map(|problem| of_problem(problem, result.runs))
            .collect(),
    ));
    blocks.extend(soundness(&content.warnings));
    blocks.extend(learners(result));
    let facts = vec![
        ("version", format!("emab {}", result.version)),
        ("seed", result.seed.to_string()),
        ("runs", number(result.runs as f64)),
        ("episodes of a run", number(result.episodes as f64)),
    ];
    let rows = result.problems.iter().map(|problem| {
        let ground = &problem.ground;
        vec![ground.problem.clone(), format!("`{}`", ground.problem_hash)]
    });
    let hashes = Block::table(vec!["problem", "hash of the problem file"], rows.collect());
    blocks.extend(repeat(command, facts, vec![hashes]));
    blocks
}

fn of_problem(problem: &ArenaProblem, runs: u64) -> Vec<Block> {
    let lead = problem_lead(&problem.ground);
    let name = &problem.ground.problem;
    let sentences = lead.strip_prefix(name).unwrap_or(&lead);
    let sentences = sentences.trim_start_matches(": ").trim_end();
    let (header, rows) = problem_rows(problem, runs);
    let mut blocks = vec![
        Block::Heading(name.clone()),
        Block::Text(format!("{}.", capitalised(&sentences.replace('\n', "; ")))),
        Block::table(header, rows),
    ];
    if problem.learners.iter().any(|entry| entry.groups.is_some()) {
        blocks.push(Block::Text(format!("{UNRELIABLE_NOTE}.")));
    }
    if let Some(pairs) = &problem.pairs {
        blocks.push(Block::Text(format!(
            "Pairs of learners, decided after {}. Their intervals hold together after every round, except with probability {} %.",
            count(problem.runs.unwrap_or(runs), "run"),
            number(100.0 * pairs.error)
        )));
        let all: Vec<_> = pairs.pairs.iter().collect();
        blocks.push(Block::table(PAIRS_HEADER.to_vec(), pairs_rows(pairs, &all)));
    }
    let left = left_out(problem);
    if !left.is_empty() {
        blocks.push(Block::List(left));
    }
    blocks
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The numbers of the figure.
fn ratios(result: &ArenaResult) -> Vec<Vec<String>> {
    let rows = result.problems.iter().flat_map(|problem| {
        problem.learners.iter().map(|entry| {
            let ratio = entry.over_feedbal;
            let ratio =
                ratio.map(|it| crate::run_table::confidence(it.mean, it.stderr, result.runs));
            vec![
                problem.ground.problem.clone(),
                entry.label.clone(),
                ratio.unwrap_or_default(),
            ]
        })
    });
    rows.collect()
}

/// All parameters of the learners, by problem where problems state different ones.
fn learners(result: &ArenaResult) -> Vec<Block> {
    let parameters = |entry: &ArenaEntry| {
        let parameters = entry.parameters.iter();
        let parameters: Vec<String> = parameters.map(|(k, v)| format!("`{k}={v}`")).collect();
        parameters.join(" ")
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for problem in &result.problems {
        for entry in &problem.learners {
            let row = vec![entry.label.clone(), entry.sees.clone(), parameters(entry)];
            let name = &problem.ground.problem;
            match rows.iter_mut().find(|known| known[..3] == row[..]) {
                Some(known) => known[3] += &format!(", {name}"),
                None => rows.push([row, vec![name.clone()]].concat()),
            }
        }
    }
    rows.sort();
    let mut header = vec!["learner", "sees", "all parameters", "on"];
    if result.problems.len() == 1 {
        header.pop();
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    vec![
        Block::Heading("Learners".into()),
        Block::Details {
            summary: "All parameters of the learners".into(),
            blocks: vec![Block::table(header, rows)],
        },
    ]
}
