//! Tables with one row per decision, as `emab export --table decisions` writes them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;

use emab::{Action, Episode, Names, Spec};
use emab_episodes::json::{LenientU64, truncate};
use emab_episodes::validate_episode;
use emab_problem::{OutcomeRange, ProblemFile};
use emab_tables::{Cell, read_csv, read_parquet};

use super::LogError;
use crate::log::{DecisionLog, LoggedDecision, LoggedEpisode, PendingChange, Status};

/// The columns that are read; the first six are required, others than these are ignored.
pub const COLUMNS: [&str; 14] = [
    "episode",
    "step",
    "action",
    "feedback",
    "cost",
    "reward",
    "state",
    "recommended",
    "status",
    "learned",
    "event",
    "learned_event",
    "override",
    "decided_by",
];
const REQUIRED: usize = 6;
// Their positions.
const EPISODE: usize = 0;
const STEP: usize = 1;
const ACTION: usize = 2;
const FEEDBACK: usize = 3;
const COST: usize = 4;
const REWARD: usize = 5;
const STATE: usize = 6;
const RECOMMENDED: usize = 7;
const STATUS: usize = 8;
const LEARNED: usize = 9;
const EVENT: usize = 10;
const LEARNED_EVENT: usize = 11;
const OVERRIDE: usize = 12;
const DECIDED_BY: usize = 13;

/// A row.
struct Row {
    number: u64,
    step: u64,
    action: Option<Action>,
    feedback: Option<usize>,
    cost: f64,
    reward: f64,
    state: Option<usize>,
    recommended: Option<Action>,
    status: Option<Status>,
    learned: Option<u64>,
    event: Option<u64>,
    learned_event: Option<u64>,
    overridden: Option<bool>,
    by_learner: bool,
}

/// Collects the rows of a table of decisions, in any order of episodes and steps.
pub struct TableLog {
    file: ProblemFile,
    index: NameIndex,
    order: HashMap<String, usize>,
    episodes: Vec<(String, Vec<Row>)>,
    /// The first row without an episode or a step; an error, unless the table has no such column, which is another one.
    incomplete: Option<(u64, usize)>,
}

/// The indices of names.
struct NameIndex {
    states: NameTable,
    actions: NameTable,
    feedbacks: NameTable,
}

/// The indices of the names of one kind.
struct NameTable {
    index: HashMap<String, usize>,
    /// Whether a name is a number: a number is then never an index.
    numeric: bool,
}

/// States with more names than this are looked up by their number.
const MOST_NAMES: usize = 1_000_000;

impl NameIndex {
    fn new(spec: &Spec) -> NameIndex {
        let index = |names: &Names| {
            let all = (0..names.len().min(MOST_NAMES)).map(|i| (names.name(i).into_owned(), i));
            let is_number = |name: &String| name.trim().parse::<f64>().is_ok();
            NameTable {
                index: all.collect(),
                numeric: matches!(names, Names::List(list) if list.iter().any(is_number)),
            }
        };
        NameIndex {
            states: index(spec.states()),
            actions: index(spec.actions()),
            feedbacks: index(spec.feedbacks()),
        }
    }
}

/// Reads a table in CSV.
pub fn read_csv_log(file: ProblemFile, from: impl Read) -> Result<DecisionLog, LogError> {
    let mut log = TableLog::new(file);
    let has = read_csv(from, &COLUMNS, |number, cells| log.row(number, cells))?;
    log.finish(&has)
}

/// Reads a table in Parquet.
pub fn read_parquet_log(file: ProblemFile, from: File) -> Result<DecisionLog, LogError> {
    let mut log = TableLog::new(file);
    let has = read_parquet(from, &COLUMNS, |number, cells| log.row(number, cells))?;
    log.finish(&has)
}

impl TableLog {
    /// An empty table of decisions on this problem.
    pub fn new(file: ProblemFile) -> TableLog {
        TableLog {
            index: NameIndex::new(file.spec()),
            file,
            order: HashMap::new(),
            episodes: Vec::new(),
            incomplete: None,
        }
    }

    /// Adds a row, with the number that errors name it by; its cells are in the order of [`COLUMNS`].
    pub fn row(&mut self, number: u64, cells: &[Cell<'_>]) -> Result<(), LogError> {
        let reader = RowReader { number, cells };
        let Some(episode) = reader.text(EPISODE) else {
            // A spreadsheet may write empty rows.
            if !cells.iter().all(is_missing) {
                self.incomplete.get_or_insert((number, EPISODE));
            }
            return Ok(());
        };
        let spec = self.file.spec();
        let status = reader.text(STATUS).map(|name| {
            let status = Status::named(&name);
            status.ok_or_else(|| {
                let what = format!("`{name}` is not open, stopped, abandoned, learned or voided");
                reader.wrong(STATUS, what)
            })
        });
        let row = Row {
            number,
            step: reader.step()?.unwrap_or(0),
            action: reader.action(ACTION, spec, &self.index)?,
            feedback: reader.named(FEEDBACK, spec.feedbacks(), &self.index.feedbacks)?,
            cost: reader.number(COST)?.unwrap_or(f64::NAN),
            reward: reader.number(REWARD)?.unwrap_or(f64::NAN),
            state: reader.named(STATE, spec.states(), &self.index.states)?,
            recommended: reader.action(RECOMMENDED, spec, &self.index)?,
            status: status.transpose()?,
            learned: reader.count(LEARNED)?,
            event: reader.count(EVENT)?,
            learned_event: reader.count(LEARNED_EVENT)?,
            overridden: reader.boolean(OVERRIDE)?,
            by_learner: reader.text(DECIDED_BY).is_none_or(|by| by == "learner"),
        };
        if row.step == 0 {
            self.incomplete.get_or_insert((number, STEP));
        }
        let next = self.episodes.len();
        match self.order.get(&episode) {
            Some(&i) => self.episodes[i].1.push(row),
            None => {
                self.order.insert(episode.clone(), next);
                self.episodes.push((episode, vec![row]));
            }
        }
        Ok(())
    }

    /// The log; `has` says which of [`COLUMNS`] the table has.
    pub fn finish(self, has: &[bool]) -> Result<DecisionLog, LogError> {
        if let Some(i) = (0..REQUIRED).find(|&i| !has.get(i).copied().unwrap_or(false)) {
            return Err(LogError::Column { column: COLUMNS[i] });
        }
        if let Some((row, column)) = self.incomplete {
            let what = match column {
                EPISODE => "it is empty: every row names its episode",
                _ => "it is empty: steps are 1, 2, …",
            };
            return Err(LogError::Cell {
                row,
                column: COLUMNS[column],
                what: what.into(),
            });
        }
        let spec = self.file.spec().clone();
        let mut episodes = Vec::with_capacity(self.episodes.len());
        for (id, rows) in self.episodes {
            episodes.push(logged(&spec, id, rows)?);
        }
        set_times(&mut episodes);
        let episodes = episodes.into_iter().map(|(it, _)| it).collect();
        Ok(DecisionLog::new(
            self.file,
            OutcomeRange::default(),
            episodes,
        ))
    }
}

/// When an episode was decided and learned, as far as the table says.
struct Times {
    /// The events of its decisions.
    decided: Vec<Option<u64>>,
    /// The event by which it was learned.
    learned: Option<u64>,
    /// Its position in the order of learning.
    position: Option<u64>,
}

impl Times {
    /// Whether the event of every decision is known.
    fn is_decided(&self) -> bool {
        self.decided.iter().all(Option::is_some)
    }
}

/// Sets the times of all decisions: those of events if the table has them. Otherwise episodes follow one another in the order of
/// learning, or in that of the table, and those that are not learned come last.
fn set_times(episodes: &mut [(LoggedEpisode, Times)]) {
    let learned = || episodes.iter().filter(|(it, _)| it.is_learned());
    let is_timed = learned().all(|(_, times)| times.learned.is_some());
    let has_positions = learned().all(|(_, times)| times.position.is_some());
    let most = learned().filter_map(|(_, times)| times.position).max();
    let last = most.unwrap_or(0).max(episodes.len() as u64);
    let is_numbered = is_timed && are_event_numbers(episodes);
    for (place, (it, times)) in (0_u64..).zip(episodes) {
        let after = match (it.is_learned(), is_timed) {
            (true, true) => times.learned.unwrap_or(place),
            (true, false) => times.position.filter(|_| has_positions).unwrap_or(place),
            (false, _) => last + 1 + place,
        };
        for (decision, event) in it.decisions.iter_mut().zip(&times.decided) {
            // An imported episode has no decisions; it is asked for when it is learned.
            decision.at = event.filter(|_| is_timed).unwrap_or(after);
        }
        it.learned = it.is_learned().then_some(after);
        if is_numbered && times.is_decided() {
            it.pending = pending_changes(it, times.learned);
        }
    }
}

/// Whether events are numbered as in the decision service: all decisions differently, those of an episode in order, and learning after
/// them. Otherwise it is not known which cases were under way together.
fn are_event_numbers(episodes: &[(LoggedEpisode, Times)]) -> bool {
    let mut seen = HashSet::new();
    let mut decided = episodes.iter().filter(|(_, times)| times.is_decided());
    decided.all(|(_, times)| {
        let mut events = times.decided.iter().copied().flatten();
        let in_order = events.clone().chain(times.learned).is_sorted();
        in_order && events.all(|event| seen.insert(event))
    })
}

/// The pending choices of an episode: at each decision what was done before it and what it recommends, until the episode is learned
/// or abandoned. A table says neither when an episode ended nor what was corrected, and that it was voided, but not when.
fn pending_changes(it: &LoggedEpisode, learned: Option<u64>) -> Vec<PendingChange> {
    let last = it.decisions.last().map(|decision| decision.at);
    let end = match it.status {
        Status::Voided if learned.is_none() => return Vec::new(),
        Status::Abandoned => learned.or(last),
        _ => learned,
    };
    let mut changes = Vec::new();
    for (i, decision) in it.decisions.iter().enumerate() {
        let keep = i.saturating_sub(1);
        let taken = it.episode.actions[keep..i].iter();
        let actions = taken
            .map(|&a| Action::Continue(a))
            .chain(decision.recommended);
        let states = it.episode.states[keep..].iter().copied();
        changes.push(PendingChange {
            at: decision.at,
            keep,
            choices: states.zip(actions).collect(),
        });
    }
    changes.extend(end.map(|at| PendingChange {
        at,
        keep: 0,
        choices: Vec::new(),
    }));
    changes
}

/// The episode of these rows.
fn logged(spec: &Spec, id: String, mut rows: Vec<Row>) -> Result<(LoggedEpisode, Times), LogError> {
    let first = rows.iter().map(|row| row.number).min().unwrap_or(0);
    let wrong = |what: String| LogError::Episode {
        episode: id.clone(),
        row: first,
        what,
    };
    rows.sort_by_key(|row| row.step);
    for (i, (expected, row)) in (1..).zip(&rows).enumerate() {
        if row.step == expected - 1 {
            return Err(wrong(format!(
                "rows {} and {} are both its step {}",
                rows[i - 1].number,
                row.number,
                row.step
            )));
        }
        if row.step != expected {
            return Err(wrong(format!(
                "row {} has step {}, expected {expected}: an episode has one row for each step from 1 on",
                row.number, row.step
            )));
        }
    }
    let Some((end, steps)) = rows.split_last() else {
        return Err(wrong("it has no rows".into()));
    };
    let mut episode = Episode::default();
    for row in steps {
        let (Some(Action::Continue(a)), Some(f)) = (row.action, row.feedback) else {
            return Err(wrong(format!(
                "step {} has no action with a feedback, and a later step follows",
                row.step
            )));
        };
        episode.actions.push(a);
        episode.feedbacks.push(f);
    }
    if let Some(Action::Continue(a)) = end.action {
        return Err(wrong(format!(
            "its last row takes `{}`: the row of the step after it is missing, with `stop` or without an action",
            spec.actions().name(a)
        )));
    }
    if end.action == Some(Action::Stop) && (end.feedback.is_some() || !end.cost.is_nan()) {
        return Err(wrong(format!(
            "row {} is `stop` and has a feedback or a cost: `stop` has neither",
            end.number
        )));
    }
    // An episode beyond the horizon is an error of its own.
    if let Some(start) = rows[0].state.filter(|_| rows.len() <= spec.horizon()) {
        // The other states follow from actions and feedbacks.
        episode.states = states_from(spec, start, &episode).map_err(wrong)?;
        for (row, &expected) in rows.iter().zip(&episode.states) {
            if let Some(x) = row.state.filter(|&x| x != expected) {
                let [found, expected] = [x, expected].map(|x| spec.states().name(x));
                return Err(wrong(format!(
                    "row {} has the state `{found}`, and the actions and feedbacks before lead to `{expected}`",
                    row.number
                )));
            }
        }
    }
    episode.costs = steps.iter().map(|row| row.cost).collect();
    episode.rewards = rows.iter().map(|row| row.reward).collect();
    let episode = validate_episode(spec, episode).map_err(wrong)?;
    let stopped = end.action == Some(Action::Stop);
    let given = rows.iter().find_map(|row| row.status);
    // Without a status, what is known is final, as in past episodes.
    let has_outcome = rows
        .iter()
        .any(|row| !row.cost.is_nan() || !row.reward.is_nan());
    let status = given.unwrap_or(match (stopped, has_outcome) {
        (_, true) => Status::Learned,
        (true, false) => Status::Stopped,
        (false, false) => Status::Open,
    });
    let decision = |(row, &state): (&Row, &usize)| LoggedDecision {
        at: 0,
        state,
        recommended: row.recommended,
        by_learner: row.by_learner && row.recommended.is_some(),
        overridden: row.overridden.unwrap_or_else(|| {
            let differs = |done| row.recommended.is_some_and(|it| it != done);
            row.action.is_some_and(differs)
        }),
    };
    let times = Times {
        decided: rows.iter().map(|row| row.event).collect(),
        learned: rows.iter().find_map(|row| row.learned_event),
        position: rows.iter().find_map(|row| row.learned),
    };
    let decisions = rows.iter().zip(&episode.states).map(decision).collect();
    let logged = LoggedEpisode {
        id,
        status,
        episode,
        stopped,
        decisions,
        learned: None,
        earlier: Vec::new(),
        pending: Vec::new(),
    };
    Ok((logged, times))
}

/// The states of an episode that begins in this one.
fn states_from(spec: &Spec, start: usize, episode: &Episode) -> Result<Vec<usize>, String> {
    let mut states = vec![start];
    for (i, (&a, &f)) in episode.actions.iter().zip(&episode.feedbacks).enumerate() {
        let next = spec.next(i + 1, states[i], a, f);
        states.push(next.map_err(|error| error.to_string())?);
    }
    Ok(states)
}

/// Whether a cell has no value; data frames may have an empty text instead.
fn is_missing(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Text(text) => text.is_empty(),
        _ => false,
    }
}

/// The cells of a row.
struct RowReader<'a> {
    number: u64,
    cells: &'a [Cell<'a>],
}

impl RowReader<'_> {
    fn wrong(&self, column: usize, what: impl Into<String>) -> LogError {
        LogError::Cell {
            row: self.number,
            column: COLUMNS[column],
            what: what.into(),
        }
    }

    fn cell(&self, column: usize) -> Option<&Cell<'_>> {
        self.cells.get(column).filter(|cell| !is_missing(cell))
    }

    fn text(&self, column: usize) -> Option<String> {
        match self.cell(column)? {
            Cell::Missing => None,
            Cell::Text(text) => Some(text.to_string()),
            Cell::Count(value) => Some(value.to_string()),
            Cell::Number(value) => Some(value.to_string()),
            Cell::Boolean(value) => Some(value.to_string()),
        }
    }

    fn number(&self, column: usize) -> Result<Option<f64>, LogError> {
        let value = match self.cell(column) {
            None | Some(Cell::Missing) => return Ok(None),
            Some(Cell::Count(value)) => Some(*value as f64),
            Some(Cell::Number(value)) => Some(*value),
            Some(Cell::Text(text)) => text.trim().parse().ok(),
            Some(Cell::Boolean(_)) => None,
        };
        match value {
            // Data frames have NaN for a missing number.
            Some(value) if value.is_nan() => Ok(None),
            Some(value) if value.is_finite() => Ok(Some(value)),
            _ => {
                let got = truncate(&self.text(column).unwrap_or_default());
                let remedy = match got.contains(',') {
                    true => ": decimals have a point, and thousands no comma",
                    false => "",
                };
                Err(self.wrong(column, format!("`{got}` is not a finite number{remedy}")))
            }
        }
    }

    fn count(&self, column: usize) -> Result<Option<u64>, LogError> {
        let Some(value) = self.number(column)? else {
            return Ok(None);
        };
        match LenientU64::from_f64(value) {
            Some(LenientU64(value)) => Ok(Some(value)),
            None => Err(self.wrong(column, format!("{value} is not a whole number from 0 on"))),
        }
    }

    fn boolean(&self, column: usize) -> Result<Option<bool>, LogError> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            _ => Err(self.wrong(
                column,
                format!("`{}` is neither true nor false", truncate(&text)),
            )),
        }
    }

    fn step(&self) -> Result<Option<u64>, LogError> {
        match self.count(STEP)? {
            Some(0) => Err(self.wrong(STEP, "steps are 1, 2, …, got 0")),
            step => Ok(step),
        }
    }

    /// The index of a name, or a number that is an index.
    fn named(
        &self,
        column: usize,
        names: &Names,
        table: &NameTable,
    ) -> Result<Option<usize>, LogError> {
        let Some(name) = self.text(column) else {
            return Ok(None);
        };
        if let Some(&i) = table.index.get(&name) {
            return Ok(Some(i));
        }
        let number = self.count(column).ok().flatten().filter(|_| !table.numeric);
        let number = number.and_then(|i| usize::try_from(i).ok());
        match number.filter(|&i| i < names.len()) {
            Some(i) => Ok(Some(i)),
            None => {
                let instead = names.instead_of(&name);
                let stop = match column {
                    ACTION | RECOMMENDED => ", and `stop`",
                    _ => "",
                };
                let what = format!(
                    "there is no {} `{}`{instead}{stop}",
                    COLUMNS[column],
                    truncate(&name)
                );
                Err(self.wrong(column, what))
            }
        }
    }

    fn action(
        &self,
        column: usize,
        spec: &Spec,
        index: &NameIndex,
    ) -> Result<Option<Action>, LogError> {
        if self.text(column).as_deref() == Some("stop") {
            return Ok(Some(Action::Stop));
        }
        let action = self.named(column, spec.actions(), &index.actions)?;
        Ok(action.map(Action::Continue))
    }
}
