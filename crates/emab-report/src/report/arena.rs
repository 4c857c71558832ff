//! The report of an arena.

use std::collections::BTreeMap;

use emab_sim::background::{ArenaBackground, ArenaWarning};
use emab_sim::results::{ArenaEntry, ArenaProblem, ArenaResult};

use super::{ArenaContent, Figure, count, repeat, soundness};
use crate::arena::{
    COLUMNS, LIMIT, NOT_RANKED, RATIOS, access, left_out, problem_lead, problem_rows, ratios_rows,
    summary_rows,
};
use crate::arena_pairs::{PAIRS_HEADER, pairs_rows};
use crate::document::Block;
use crate::plot::{arena_options, draw_arena};
use crate::run_table::confidence;
use crate::runs_table::UNRELIABLE_NOTE;
use crate::text_table::number;

const RANKING: &str = "`best` is the least mean regret of the learners that see only episodes; `within noise` marks those whose difference to \
    the best, run by run, has 0 in its 95 % interval. `less feedbal's` is the difference to feedbal run by run. Each interval holds by \
    itself: of twenty comparisons without a difference, one is expected to show one.";

const PAIRED_RANKING: &str = "`best` is the least mean regret of the learners that see only episodes; `within noise` marks those that the \
    pairs below do not show to be worse. `less feedbal's` is the difference to feedbal run by run, with an interval for a fixed number of \
    runs.";

const SUMMARY: &str = "Over all problems, by mean place: 0 is first everywhere, 1 last. `better than feedbal` and `worse` count the problems on \
    which the 95 % interval of the paired difference excludes 0.";

/// Rows that are shown at once; more of them are behind a summary.
const SHOWN: usize = 40;

pub(super) fn blocks(content: &ArenaContent, command: &str) -> Vec<Block> {
    let result = &content.result;
    let is_paired = result
        .problems
        .iter()
        .any(|problem| problem.pairs.is_some());
    let mut blocks = vec![Block::Text(format!(
        "{} runs of {} for each learner, seed {}. All learners use the same random numbers, so that they are compared run by run; ± is a 95 % \
         interval over the runs.",
        result.runs_text(),
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
    let ranking = if is_paired { PAIRED_RANKING } else { RANKING };
    blocks.push(Block::Text(format!(
        "{ranking} {COLUMNS} {LIMIT} {NOT_RANKED}"
    )));
    blocks.push(Block::Section(
        result
            .problems
            .iter()
            .flat_map(|problem| of_problem(problem, result.runs))
            .collect(),
    ));
    blocks.extend(warnings(&content.background.warnings));
    blocks.extend(problems(content));
    blocks.extend(learners(result));
    let facts = vec![
        ("version", format!("emab {}", result.version)),
        ("seed", result.seed.to_string()),
        ("runs", result.runs_text()),
        ("episodes of a run", number(result.episodes as f64)),
    ];
    blocks.extend(repeat(command, facts, files(&content.background)));
    blocks
}

/// The warnings on confidence widths; the count for each learner and all behind it if there are many.
fn warnings(all: &[ArenaWarning]) -> Vec<Block> {
    let mut grouped: Vec<(&ArenaWarning, Vec<&str>)> = Vec::new();
    for one in all {
        let same = |(other, _): &&mut (&ArenaWarning, _)| {
            (&one.problem, &one.words) == (&other.problem, &other.words)
        };
        match grouped.iter_mut().rev().find(same) {
            Some((_, learners)) => learners.extend(one.learner.as_deref()),
            None => grouped.push((one, one.learner.as_deref().into_iter().collect())),
        }
    }
    let words = grouped.iter().map(|(one, learners)| {
        let learners = match learners.is_empty() {
            true => String::new(),
            false => format!("{}: ", learners.join(", ")),
        };
        format!("{}: {learners}{}", one.problem, one.words)
    });
    let mut blocks = soundness(words.collect());
    if grouped.len() <= SHOWN {
        return blocks;
    }
    let list = blocks.split_off(1);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for one in all {
        let learner = one.learner.as_deref().unwrap_or("(not checked)");
        *counts.entry(learner).or_default() += 1;
    }
    let rows = counts.into_iter();
    let rows = rows.map(|(learner, n)| vec![learner.to_owned(), number(n as f64)]);
    blocks.push(Block::Text(
        "The number of problems on which the confidence width of a learner is not sound.".into(),
    ));
    blocks.push(Block::table(vec!["learner", "problems"], rows.collect()));
    blocks.push(Block::Details {
        summary: format!("All {} warnings", grouped.len()),
        blocks: list,
    });
    blocks
}

/// The sizes and the hash of each problem.
fn problems(content: &ArenaContent) -> Vec<Block> {
    let all = content.result.problems.iter();
    let rows = all
        .zip(&content.background.problems)
        .map(|(problem, file)| {
            let sizes = file.as_ref().map(|file| {
                let spec = file.spec();
                let sizes = [
                    spec.horizon(),
                    spec.states().len(),
                    spec.actions().len(),
                    spec.feedbacks().len(),
                ];
                sizes.map(|size| number(size as f64))
            });
            let mut row = vec![problem.ground.problem.clone()];
            row.extend(sizes.unwrap_or_default());
            row.push(format!("`{}`", problem.ground.problem_hash));
            row
        });
    let header = vec![
        "problem",
        "steps",
        "states",
        "actions",
        "feedbacks",
        "hash of the problem file",
    ];
    let table = Block::table(header, rows.collect());
    let count = content.result.problems.len();
    let shown = match count > SHOWN {
        true => Block::Details {
            summary: format!("All {count} problems"),
            blocks: vec![table],
        },
        false => table,
    };
    vec![Block::Heading("Problems".into()), shown]
}

/// Where the problem files of the command are.
fn files(background: &ArenaBackground) -> Vec<Block> {
    let mut words = Vec::new();
    if background.stored > 0 {
        words.push(
            "The result folder has the problem files that are not built in. A relative path in the command begins at the directory in which \
             `emab report` was called.",
        );
    }
    if background.problems.iter().any(Option::is_none) {
        words.push(
            "`FILE-` in the command stands for the problem file with this hash: it is not built in, and the result folder does not have it.",
        );
    }
    words
        .into_iter()
        .map(|one| Block::Text(one.into()))
        .collect()
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
            "Pairs of learners after {}. Their intervals hold together after every round, except with probability {} %.",
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
        let runs = problem.runs.unwrap_or(result.runs);
        problem.learners.iter().map(move |entry| {
            let ratio = entry.over_feedbal;
            let ratio = ratio.map(|it| confidence(it.mean, it.stderr, runs));
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
            let row = vec![entry.label.clone(), access(entry).into(), parameters(entry)];
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
