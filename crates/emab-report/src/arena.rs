//! Comparison of learners as text and CSV: one table per problem, and one over all problems.

use emab_sim::results::{
    ArenaEntry, ArenaProblem, ArenaResult, ArenaSetting, ArenaSummary, Column, ExcludedLearner,
    Interval, Measured, Ranking, ReferenceValues, Values,
};

use emab::learners::Access;
use emab::stats::half_width;
use emab::theory::Target;

use crate::arena_pairs::{all_pairs_text, pairs_text};
use crate::csv_parquet::table_csv;
use crate::run_table::confidence;
use crate::runs_table::{UNRELIABLE, UNRELIABLE_NOTE};
use crate::text_table::{fixed, number, table, wrap};

/// What the columns of the table of a problem mean.
pub(crate) const COLUMNS: &str = "`growth` is the cost of an episode of the second half, as a multiple of one of the first half. `stuck` is \
                                  the share of runs that return to a pair again and again without the benchmark's action there.";
/// What the column of the lower bound has.
pub(crate) const LIMIT: &str = "`times the limit` is the regret divided by the lower bound at that episode: every learner loses as much, on \
                                the problem or on an alternative of it.";
pub(crate) const NOT_RANKED: &str = "Learners that see more than episodes are not ranked.";
/// What the table of ratios has.
pub(crate) const RATIOS: &str = "Regret against the benchmark divided by feedbal's, and in the last two columns loss against the optimal policy \
                                 divided by feedbal's, where feedbal's exceeds four standard errors. Intervals over the problems are of 95 %.";

/// With more problems there is only the summary.
const SHOWN: usize = 12;

/// All tables: one per problem with the learners left out, and a summary over all problems.
///
/// The tables fit `width`.
///
/// ```
/// # use emab_sim::results::{ArenaSetting, ArenaProblem, ArenaResult, ExcludedLearner};
/// let left = ExcludedLearner { label: "ucb1".into(), why: "too many sequences".into() };
/// let problem = ArenaProblem::judge(ArenaSetting::default(), 10, &[], vec![left]);
/// let result = ArenaResult { version: "".into(), seed: 1, runs: 2, episodes: 10, problems: vec![problem] };
/// assert!(emab_report::arena_text(&result, 100).ends_with("Left out: ucb1: too many sequences\n"));
/// ```
pub fn arena_text(result: &ArenaResult, width: usize) -> String {
    let pairs = result
        .problems
        .iter()
        .find_map(|problem| problem.pairs.as_ref());
    let runs = match pairs {
        None => result.runs.to_string(),
        Some(pairs) => format!("Up to {}", pairs.most_runs),
    };
    let mut text = format!(
        "{runs} runs of {} episodes, seed {}, the same for all learners; ± is a 95 % interval over the runs\n",
        result.episodes, result.seed
    );
    let entries = || result.problems.iter().flat_map(|problem| &problem.learners);
    let mut notes = vec![COLUMNS];
    let bounded = |problem: &ArenaProblem| {
        let bound = problem.ground.lower_bound;
        bound.is_some_and(|bound| bound.at_n > 0.0)
    };
    if result.problems.iter().any(bounded) {
        notes.push(LIMIT);
    }
    if entries().any(|entry| entry.standing == Ranking::Informed) {
        notes.push(NOT_RANKED);
    }
    text += &format!("{}\n", wrap(&notes.join(" "), width));
    let ranked_at = result.problems.iter().find_map(|problem| problem.ranked_at);
    if let Some(at) = ranked_at.filter(|at| *at != result.episodes) {
        text += &format!("Compared after {at} episodes\n");
    }
    if result.problems.len() <= SHOWN {
        for problem in &result.problems {
            let runs = problem.runs.unwrap_or(result.runs);
            text += &format!("\n{}\n", problem_text(problem, runs, width));
        }
    } else {
        text += &format!(
            "{} problems; pass --out or --json for the results of each\n",
            result.problems.len()
        );
    }
    if result.problems.len() > 1 {
        text += &all_pairs_text(result);
        let tallied = result.tallied();
        text += &format!(
            "\n{}\n\n{}\n",
            summary_text(&tallied, pairs.is_some(), width),
            ratios_text(&tallied, width)
        );
        if let Some(model) = drawn_model(result) {
            text += &format!("\n{}\n", models_text(model, &tallied, width));
        }
    }
    text
}

/// The model that all problems are draws of: `emab fit --draws` names them by it.
fn drawn_model(result: &ArenaResult) -> Option<&str> {
    let stem = |problem: &'_ ArenaProblem| -> Option<usize> {
        let name = &problem.ground.problem;
        let (stem, number) = name.rsplit_once(", draw ")?;
        number.parse::<u64>().is_ok().then_some(stem.len())
    };
    let first = result.problems.first()?;
    let model = &first.ground.problem[..stem(first)?];
    let same = |problem: &ArenaProblem| {
        stem(problem) == Some(model.len()) && problem.ground.problem.starts_with(model)
    };
    result.problems.iter().all(same).then_some(model)
}

/// What each learner is expected to lose, and loses at most, on plausible models.
fn models_text(model: &str, tallied: &[ArenaSummary], width: usize) -> String {
    let row = |one: &ArenaSummary| {
        let regret = one.regret.as_ref()?;
        Some(vec![
            one.label.clone(),
            format!("{} of {}", one.best, one.played),
            confidence(regret.over.mean, regret.over.stderr, one.played),
            number(regret.worst),
            regret.worst_problem.clone(),
        ])
    };
    let rows: Vec<Vec<String>> = tallied.iter().filter_map(row).collect();
    let header = [
        "learner",
        "wins in",
        "expected regret (95 %)",
        "worst",
        "in",
    ];
    format!(
        "Over the plausible models of {model}:\n{}",
        table(&header, &rows, width)
    )
}

/// A header and rows.
pub(crate) type Rows = (Vec<&'static str>, Vec<Vec<String>>);

fn ratios_text(tallied: &[ArenaSummary], width: usize) -> String {
    let (header, rows) = ratios_rows(tallied);
    let head = wrap(RATIOS, width);
    format!("{head}\n{}", table(&header, &rows, width))
}

/// The ratios of each learner to FeedBAL over all problems.
pub(crate) fn ratios_rows(tallied: &[ArenaSummary]) -> Rows {
    let interval = |it: Interval, factor: f64, unit: &str| {
        let decimals = if unit.is_empty() { 2 } else { 0 };
        let shown = |value: f64| match factor * value {
            large if large >= 1e6 => format!("{large:.1e}"),
            value => format!("{value:.decimals$}"),
        };
        match it.ends {
            Some((low, high)) => format!(
                "{}{unit} ({} to {})",
                shown(it.value),
                shown(low),
                shown(high)
            ),
            None => format!("{}{unit}", shown(it.value)),
        }
    };
    let row = |one: &ArenaSummary| {
        let mut row = vec![one.label.clone()];
        row.extend(match &one.regret_ratio {
            Some(ratio) => [
                ratio.problems.to_string(),
                interval(ratio.median, 1.0, ""),
                format!("{:.2}", ratio.quantile_95),
                format!("{:.2}", ratio.most),
                interval(ratio.at_most_one, 100.0, " %"),
            ],
            None => Default::default(),
        });
        row.extend(match &one.loss_ratio {
            Some(ratio) => [
                ratio.problems.to_string(),
                interval(ratio.geometric_mean, 1.0, ""),
            ],
            None => Default::default(),
        });
        row
    };
    let mut best: Vec<&ArenaSummary> = tallied.iter().collect();
    let loss = |one: &ArenaSummary| {
        let ratio = one.loss_ratio.map(|ratio| ratio.geometric_mean.value);
        ratio.unwrap_or(f64::INFINITY)
    };
    best.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
    let rows: Vec<Vec<String>> = best.into_iter().map(row).collect();
    let header = [
        "learner",
        "problems",
        "median",
        "95 % quantile",
        "most",
        "at most 1",
        "problems",
        "vs optimum, geometric mean",
    ];
    (header.to_vec(), rows)
}

/// The value of the optimal policy, if it exceeds the benchmark's.
fn better(values: &ReferenceValues) -> Option<f64> {
    let optimal = values.optimal_value;
    optimal.filter(|optimum| *optimum > values.benchmark_value + 1e-9 * optimum.abs())
}

/// The learners on one problem, the least regret first.
pub(crate) fn problem_rows(problem: &ArenaProblem, runs: u64) -> Rows {
    let optimum = better(&problem.ground.values).is_some();
    let mut header = vec!["learner", "standing", "at half", "regret"];
    if optimum {
        header.push("vs optimum");
    }
    header.extend(["less feedbal's", "growth", "median", "stuck"]);
    let bounded = (problem.learners.iter()).any(|entry| problem.times_the_bound(entry).is_some());
    if bounded {
        header.push("times the limit");
    }
    header.extend(["ns/step", "KiB"]);
    let entries = problem.learners.iter();
    let row = |entry: &ArenaEntry| {
        let times = bounded.then(|| problem.times_the_bound(entry));
        row(entry, optimum, times, runs)
    };
    let rows = entries.map(row).collect();
    (header, rows)
}

/// The values and conditions of a problem, as sentences.
pub(crate) fn problem_lead(ground: &ArenaSetting) -> String {
    let values = &ground.values;
    let earns = match (better(values), values.optimal_value) {
        (Some(optimum), _) => format!(", the optimal policy {}", number(optimum)),
        (None, Some(_)) => ", as the optimal policy does".into(),
        (None, None) => "; the optimal policy is not known".into(),
    };
    let value = match values.benchmark_stderr {
        0.0 => number(values.benchmark_value),
        stderr => confidence(values.benchmark_value, stderr, u64::MAX),
    };
    let name = &ground.problem;
    let mut text = format!("{name}: the benchmark earns {value} an episode{earns}\n");
    if !ground.conditions.is_none() {
        text += &format!("under {}\n", ground.conditions);
    }
    if let Some(bound) = ground.lower_bound.filter(|bound| bound.at_n > 0.0) {
        let against = match bound.target {
            Target::Benchmark => "",
            Target::Optimal => " against the optimal policy",
        };
        text += &format!(
            "the lower bound on the regret{against} is {} here, and {} log n in the limit\n",
            number(bound.at_n),
            number(bound.constant)
        );
    }
    if values.estimator == "paired" {
        text += "regret is estimated: the benchmark is played beside, on the same draws\n";
    }
    text
}

/// One problem: values, learners, and learners left out.
fn problem_text(problem: &ArenaProblem, runs: u64, width: usize) -> String {
    let (header, rows) = problem_rows(problem, runs);
    let mut text = problem_lead(&problem.ground) + &table(&header, &rows, width);
    if problem.learners.iter().any(|entry| entry.groups.is_some()) {
        text += &format!("\n{UNRELIABLE_NOTE}");
    }
    if let Some(pairs) = &problem.pairs {
        text += &format!("\n\n{}", pairs_text(problem, pairs, runs, width));
    }
    for sentence in left_out(problem) {
        text += &format!("\n{sentence}");
    }
    text
}

/// The learners that do not apply to a problem, one sentence for each reason.
pub(crate) fn left_out(problem: &ArenaProblem) -> Vec<String> {
    // One line per reason: several settings of a learner share it.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for left in &problem.left_out {
        match reasons.iter_mut().find(|(why, _)| *why == left.why) {
            Some((_, labels)) => labels.push(&left.label),
            None => reasons.push((&left.why, vec![&left.label])),
        }
    }
    let sentence =
        |(why, labels): (&str, Vec<&str>)| format!("Left out: {}: {why}", labels.join(", "));
    reasons.into_iter().map(sentence).collect()
}

fn row(
    entry: &ArenaEntry,
    optimum: bool,
    times: Option<Option<Measured>>,
    runs: u64,
) -> Vec<String> {
    let measured = |value: Measured| confidence(value.mean, value.stderr, runs);
    let regret = match entry.groups {
        Some(_) => format!("{} {UNRELIABLE}", measured(entry.regret)),
        None => measured(entry.regret),
    };
    let half = entry.half.map(|half| number(half.mean));
    let mut row = vec![
        entry.label.clone(),
        standing(entry),
        half.unwrap_or_else(|| "-".into()),
        regret,
    ];
    if optimum {
        // The two regrets differ by a constant and have the same error.
        let stderr = entry.regret.stderr;
        let regret = entry
            .regret_optimal
            .map(|mean| confidence(mean, stderr, runs));
        row.push(regret.unwrap_or_default());
    }
    let memory = entry.memory.map(|bytes| digits(bytes as f64 / 1024.0));
    let growth = entry.growth.map(|growth| {
        let half = half_width(growth.stderr, runs);
        format!("{} ± {}", fixed(growth.mean, 2), fixed(half, 2))
    });
    let stuck = entry.stuck.map(|share| format!("{:.0} %", 100.0 * share));
    row.push(entry.minus_feedbal.map(measured).unwrap_or_default());
    row.push(growth.unwrap_or_else(|| "-".into()));
    row.push(entry.quantiles.map(|at| number(at.q50)).unwrap_or_default());
    row.push(stuck.unwrap_or_default());
    if let Some(times) = times {
        row.push(times.map(measured).unwrap_or_default());
    }
    row.extend([digits(entry.nanoseconds), memory.unwrap_or_default()]);
    row
}

/// What a learner sees, in words.
pub(crate) fn access(entry: &ArenaEntry) -> &str {
    match Access::of_recorded_name(&entry.sees) {
        Some(access) => access.description(),
        None => &entry.sees,
    }
}

/// The rank of a learner in words, and whether it has begun to learn.
fn standing(entry: &ArenaEntry) -> String {
    let rank = match entry.standing {
        Ranking::Informed => format!("sees the {}", access(entry)),
        standing => standing.words().to_owned(),
    };
    let flag = if entry.not_learning {
        "not learning yet"
    } else {
        ""
    };
    let notes = [rank.as_str(), flag].into_iter();
    let notes: Vec<&str> = notes.filter(|note| !note.is_empty()).collect();
    notes.join(", ")
}

/// A number with two significant digits.
fn digits(value: f64) -> String {
    if value >= 10.0 {
        number(value.round())
    } else {
        format!("{value:.1}")
    }
}

fn summary_text(tallied: &[ArenaSummary], decided: bool, width: usize) -> String {
    let (header, rows) = summary_rows(tallied);
    let intervals = match decided {
        false => {
            "95 % intervals of the paired difference, each by itself: of twenty that make no difference one seems to."
        }
        true => "the pairs above, which hold together except with probability 5 %.",
    };
    let head = format!(
        "Over all problems, by mean place: 0 is first everywhere, 1 last. Against feedbal by {intervals}"
    );
    format!("{}\n{}", wrap(&head, width), table(&header, &rows, width))
}

/// Summary of each learner over all problems.
pub(crate) fn summary_rows(tallied: &[ArenaSummary]) -> Rows {
    let row = |one: &ArenaSummary| {
        let place = format!("{:.2}", one.place);
        let counts = [one.best, one.within_noise, one.better, one.worse];
        let mut row = vec![one.label.clone(), one.played.to_string(), place];
        row.extend(counts.map(|count| count.to_string()));
        row.push(one.not_learning.to_string());
        row.push(if one.informed { "informed" } else { "" }.into());
        row
    };
    let rows: Vec<Vec<String>> = tallied.iter().map(row).collect();
    let header = [
        "learner",
        "problems",
        "place",
        "best",
        "within noise",
        "better than feedbal",
        "worse",
        "not learning yet",
        "",
    ];
    (header.to_vec(), rows)
}

/// CSV with one row per problem and learner; learners left out have the reason as a note.
pub fn arena_csv(result: &ArenaResult) -> String {
    type Row<'a> = (
        &'a ArenaProblem,
        Result<&'a ArenaEntry, &'a ExcludedLearner>,
    );
    let rows = result.problems.iter().flat_map(|problem| {
        let played = problem.learners.iter().map(Ok);
        let all = played.chain(problem.left_out.iter().map(Err));
        all.map(move |learner| (problem, learner))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let count = |name: &str, of: &dyn Fn(Row<'_>) -> Option<u64>| Column {
        name: name.into(),
        values: Values::Counts(rows.iter().map(|row| of(*row)).collect()),
    };
    let text = |name: &str, of: &dyn Fn(Row<'_>) -> Option<String>| Column {
        name: name.into(),
        values: Values::Texts(rows.iter().map(|row| of(*row)).collect()),
    };
    let mut columns = vec![
        text("problem", &|(at, _)| Some(at.ground.problem.clone())),
        text("problem_hash", &|(at, _)| {
            Some(at.ground.problem_hash.clone())
        }),
        count("episodes", &|_| Some(result.episodes)),
        count("runs", &|(at, _)| Some(at.runs.unwrap_or(result.runs))),
        count("seed", &|_| Some(result.seed)),
        text("learner", &|(_, learner)| {
            Some(learner.map_or_else(|left| left.label.clone(), |entry| entry.label.clone()))
        }),
        text("sees", &|(_, learner)| Some(learner.ok()?.sees.clone())),
    ];
    let mut grounds = result.problems.iter().map(|problem| &problem.ground);
    if grounds.any(|ground| !ground.conditions.is_none()) {
        columns.push(text("conditions", &|(at, _)| {
            let conditions = &at.ground.conditions;
            (!conditions.is_none()).then(|| conditions.to_string())
        }));
    }
    let mut number = |name: &str, of: &dyn Fn(&ArenaEntry) -> Option<f64>| {
        let values = rows.iter().map(|(_, learner)| of(learner.ok()?)).collect();
        columns.push(Column {
            name: name.into(),
            values: Values::Numbers(values),
        });
    };
    number("regret", &|entry| Some(entry.regret.mean));
    number("regret_stderr", &|entry| Some(entry.regret.stderr));
    number("regret_optimal", &|entry| entry.regret_optimal);
    type Of = fn(&ArenaEntry) -> Option<Measured>;
    let pairs: [(&str, Of); 4] = [
        ("minus_feedbal", |entry| entry.minus_feedbal),
        ("minus_best", |entry| entry.minus_best),
        ("over_feedbal", |entry| entry.over_feedbal),
        ("gain", |entry| Some(entry.gain)),
    ];
    for (name, of) in pairs {
        number(name, &|entry| of(entry).map(|value| value.mean));
        number(&format!("{name}_stderr"), &|entry| {
            of(entry).map(|value| value.stderr)
        });
    }
    number("nanoseconds", &|entry| Some(entry.nanoseconds));
    columns.push(count("memory", &|(_, learner)| learner.ok()?.memory));
    columns.push(count("steps", &|(_, learner)| Some(learner.ok()?.steps)));
    columns.push(text("standing", &|(_, learner)| {
        Some(match learner.map(|entry| entry.standing) {
            Ok(Ranking::Worse) => "worse".into(),
            Ok(standing) => standing.words().into(),
            Err(_) => "left out".into(),
        })
    }));
    columns.push(text("note", &|(_, learner)| {
        Some(learner.err()?.why.clone())
    }));
    columns.push(count("ranked_at", &|(at, _)| at.ranked_at));
    let mut number = |name: &str, of: &dyn Fn(&ArenaEntry) -> Option<f64>| {
        let values = rows.iter().map(|(_, learner)| of(learner.ok()?)).collect();
        columns.push(Column {
            name: name.into(),
            values: Values::Numbers(values),
        });
    };
    number("half", &|entry| Some(entry.half?.mean));
    number("half_stderr", &|entry| Some(entry.half?.stderr));
    number("growth", &|entry| Some(entry.growth?.mean));
    number("growth_stderr", &|entry| Some(entry.growth?.stderr));
    number("q05", &|entry| Some(entry.quantiles?.q05));
    number("q25", &|entry| Some(entry.quantiles?.q25));
    number("median", &|entry| Some(entry.quantiles?.q50));
    number("q75", &|entry| Some(entry.quantiles?.q75));
    number("q95", &|entry| Some(entry.quantiles?.q95));
    number("stuck", &|entry| entry.stuck);
    columns.push(text("not_learning", &|(_, learner)| {
        Some(learner.ok()?.not_learning.to_string())
    }));
    let times = |(problem, learner): &Row<'_>| problem.times_the_bound(learner.ok()?);
    let mut number = |name: &str, of: &dyn Fn(&Row<'_>) -> Option<f64>| {
        columns.push(Column {
            name: name.into(),
            values: Values::Numbers(rows.iter().map(of).collect()),
        });
    };
    number("lower_bound", &|(problem, _)| {
        Some(problem.ground.lower_bound?.at_n)
    });
    number("times_the_limit", &|row| Some(times(row)?.mean));
    number("times_the_limit_stderr", &|row| Some(times(row)?.stderr));
    table_csv(&columns)
}
