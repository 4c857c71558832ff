//! Pairs of learners as text and CSV: the result of `emab arena --until-decided`.

use emab_sim::results::{
    ArenaPairs, ArenaProblem, ArenaResult, Column, LearnerPair, PairVerdict, REFERENCE, Ranking,
    Values, fixed,
};

use crate::csv_parquet::table_csv;
use crate::run_table::decimals;
use crate::text_table::{number, table, wrap};

/// With more pairs only those with the best learner and with FeedBAL are shown.
const SHOWN: usize = 21;

pub(crate) const PAIRS_HEADER: [&str; 4] = ["learner", "is", "than or to", "difference of regret"];

/// The rows of a table of some of the pairs.
pub(crate) fn pairs_rows(pairs: &ArenaPairs, shown: &[&LearnerPair]) -> Vec<Vec<String>> {
    let row = |pair: &&LearnerPair| {
        let shown = match pair.difference.ends {
            Some((low, high)) => {
                let value = pair.difference.value;
                let places = decimals((high - low) / 2.0);
                let text = |value| places.map_or_else(|| number(value), |d| fixed(value, d));
                format!("{} ({} to {})", text(value), text(low), text(high))
            }
            None => number(pair.difference.value),
        };
        let verdict = match pair.verdict {
            PairVerdict::Equivalent => format!("equivalent within {}", number(pairs.margin)),
            verdict => verdict.words().into(),
        };
        vec![pair.first.clone(), verdict, pair.second.clone(), shown]
    };
    shown.iter().map(row).collect()
}

/// The pairs of a problem after this many runs.
pub(crate) fn pairs_text(
    problem: &ArenaProblem,
    pairs: &ArenaPairs,
    runs: u64,
    width: usize,
) -> String {
    let count = |verdict| pairs.count(verdict);
    let open = count(PairVerdict::Undecided);
    let decided = count(PairVerdict::Better) + count(PairVerdict::Worse);
    let end = match open {
        0 => String::new(),
        _ => format!("; no more than {} runs were asked for", pairs.most_runs),
    };
    let mut ranked = problem.learners.iter();
    let best = ranked.find(|entry| entry.standing == Ranking::Best);
    let named = |label: &str| label == REFERENCE || best.is_some_and(|best| best.label == label);
    let all = pairs.pairs.len() <= SHOWN;
    let shown: Vec<&LearnerPair> = pairs
        .pairs
        .iter()
        .filter(|pair| all || named(&pair.first) || named(&pair.second))
        .collect();
    let rows = pairs_rows(pairs, &shown);
    let mut text = format!(
        "{runs} runs: {decided} of {} pairs decided, {} equivalent within {}, {open} undecided{end}\n",
        pairs.pairs.len(),
        count(PairVerdict::Equivalent),
        number(pairs.margin),
    );
    text += &table(&PAIRS_HEADER, &rows, width);
    if shown.len() < pairs.pairs.len() {
        let hidden = pairs.pairs.len() - shown.len();
        text += &format!("\n{hidden} further pairs: pairs.csv with --out, or --json");
    }
    let end = format!(
        "The intervals of all {} pairs hold together after every round, except with probability {} %; ± above is for a fixed number of runs.",
        pairs.of,
        number(100.0 * pairs.error)
    );
    text + "\n" + &wrap(&end, width)
}

/// The verdicts on all problems; empty if the pairs were not compared.
pub(crate) fn all_pairs_text(result: &ArenaResult) -> String {
    let pairs = result
        .problems
        .iter()
        .filter_map(|problem| problem.pairs.as_ref());
    let pairs: Vec<&ArenaPairs> = pairs.collect();
    let count = |verdict| {
        pairs
            .iter()
            .map(|pairs| pairs.count(verdict))
            .sum::<usize>()
    };
    let Some(first) = pairs.first() else {
        return String::new();
    };
    format!(
        "\nPairs on all problems: {} decided, {} equivalent within {}, {} undecided\n",
        count(PairVerdict::Better) + count(PairVerdict::Worse),
        count(PairVerdict::Equivalent),
        number(first.margin),
        count(PairVerdict::Undecided),
    )
}

/// CSV with one row per problem and pair; none if the pairs were not compared.
///
/// ```
/// # use emab_sim::results::{ArenaSetting, ArenaPairs, ArenaProblem, ArenaResult};
/// let problem = ArenaProblem::judge(ArenaSetting::default(), 10, &[], vec![]).with_pairs(ArenaPairs::default());
/// let result = ArenaResult { version: "".into(), seed: 1, runs: 100, episodes: 10, problems: vec![problem] };
/// assert!(emab_report::pairs_csv(&result).unwrap().starts_with("problem,problem_hash,episodes,ranked_at,runs,seed,margin,"));
/// ```
pub fn pairs_csv(result: &ArenaResult) -> Option<String> {
    type Row<'a> = (&'a ArenaProblem, &'a ArenaPairs, &'a LearnerPair);
    let compared = |problem: &ArenaProblem| problem.pairs.is_some();
    if !result.problems.iter().any(compared) {
        return None;
    }
    let rows = result.problems.iter().flat_map(|problem| {
        let pairs = problem.pairs.iter();
        pairs.flat_map(move |pairs| pairs.pairs.iter().map(move |pair| (problem, pairs, pair)))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let count = |name: &str, of: &dyn Fn(Row<'_>) -> u64| Column {
        name: name.into(),
        values: Values::Counts(rows.iter().map(|row| Some(of(*row))).collect()),
    };
    let text = |name: &str, of: &dyn Fn(Row<'_>) -> String| Column {
        name: name.into(),
        values: Values::Texts(rows.iter().map(|row| Some(of(*row))).collect()),
    };
    let number = |name: &str, of: &dyn Fn(Row<'_>) -> Option<f64>| Column {
        name: name.into(),
        values: Values::Numbers(rows.iter().map(|row| of(*row)).collect()),
    };
    Some(table_csv(&[
        text("problem", &|(at, ..)| at.ground.problem.clone()),
        text("problem_hash", &|(at, ..)| at.ground.problem_hash.clone()),
        count("episodes", &|_| result.episodes),
        count("ranked_at", &|(at, ..)| {
            at.ranked_at.unwrap_or(result.episodes)
        }),
        count("runs", &|(at, ..)| at.runs.unwrap_or(result.runs)),
        count("seed", &|_| result.seed),
        number("margin", &|(_, pairs, _)| Some(pairs.margin)),
        text("first", &|(.., pair)| pair.first.clone()),
        text("second", &|(.., pair)| pair.second.clone()),
        number("difference", &|(.., pair)| Some(pair.difference.value)),
        number("lower", &|(.., pair)| Some(pair.difference.ends?.0)),
        number("upper", &|(.., pair)| Some(pair.difference.ends?.1)),
        text("verdict", &|(.., pair)| pair.verdict.words().into()),
    ]))
}
