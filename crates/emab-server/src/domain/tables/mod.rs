//! The tables of a study: one row per episode, decision and estimate.
//!
//! Each column is declared once, in `columns`: its name, its type, a description, whether a `blinded` token sees it, and how a row fills it. CSV,
//! Parquet, JSON rows, their schema in the OpenAPI document, and the codebook follow from the declaration.

mod columns;

use std::str::FromStr;
use std::sync::Arc;

use emab_tables::{Cell, Kind};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use crate::domain::{DecidedBy, Decision, EpisodeRecord, Estimate, Status, Study};
pub use columns::{CODEBOOK, DECISIONS, EPISODES, ESTIMATES};

/// A table of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// One row per episode.
    Episodes,
    /// One row per step that an episode has reached: the decision, and what was done.
    Decisions,
    /// One row per observed step, state and action.
    Estimates,
    /// One row per column of the other tables.
    Codebook,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 4] = [
        Table::Episodes,
        Table::Decisions,
        Table::Estimates,
        Table::Codebook,
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Episodes => "episodes",
            Table::Decisions => "decisions",
            Table::Estimates => "estimates",
            Table::Codebook => "codebook",
        }
    }
}

impl FromStr for Table {
    type Err = String;

    fn from_str(text: &str) -> Result<Table, String> {
        let mut all = Table::ALL.into_iter();
        let found = all.find(|table| table.name() == text);
        found.ok_or_else(|| {
            let names = Table::ALL.map(Table::name).join("`, `");
            format!("there is no table `{text}`; there are `{names}`")
        })
    }
}

/// A column of a table whose rows are `R`.
pub struct Column<R: 'static> {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// A description, one sentence.
    pub about: &'static str,
    /// Whether a `blinded` token sees it.
    shown: bool,
    fill: for<'a> fn(&'a R) -> Cell<'a>,
}

/// The cells of a row; those that a `blinded` token does not see are missing for one.
pub fn cells<'a, R>(
    columns: &'a [Column<R>],
    row: &'a R,
    blinded: bool,
) -> impl Iterator<Item = Cell<'a>> {
    columns
        .iter()
        .map(move |column| match column.shown || !blinded {
            true => (column.fill)(row),
            false => Cell::Missing,
        })
}

/// The names and types of columns.
pub fn header<R>(columns: &[Column<R>]) -> Vec<(&'static str, Kind)> {
    let columns = columns.iter();
    columns.map(|column| (column.name, column.kind)).collect()
}

/// A row as a JSON object, with its columns as fields; a missing value is `null`.
pub struct JsonRow<'a, R: 'static> {
    /// The columns of the row.
    pub columns: &'a [Column<R>],
    /// The row.
    pub row: &'a R,
    /// Whether it is for a `blinded` token.
    pub blinded: bool,
}

impl<R> Serialize for JsonRow<'_, R> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.columns.len()))?;
        let cells = cells(self.columns, self.row, self.blinded);
        for (column, cell) in self.columns.iter().zip(cells) {
            match cell {
                Cell::Missing => map.serialize_entry(column.name, &()),
                Cell::Count(value) => map.serialize_entry(column.name, &value),
                Cell::Number(value) => map.serialize_entry(column.name, &value),
                Cell::Boolean(value) => map.serialize_entry(column.name, &value),
                Cell::Text(value) => map.serialize_entry(column.name, &value),
            }?;
        }
        map.end()
    }
}

/// The schema of [`JsonRow`].
pub fn schema<R>(columns: &[Column<R>], description: &str) -> Value {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let mut properties = serde_json::Map::new();
    for column in columns {
        let kind = match column.kind {
            Kind::Count => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Text => "string",
        };
        let mut schema = json!({"type": [kind, "null"], "description": column.about});
        if column.kind == Kind::Count {
            schema["minimum"] = json!(0);
        }
        properties.insert(column.name.into(), schema);
    }
    json!({"type": "object", "description": description, "required": names, "properties": properties})
}

/// A row of [`EPISODES`].
pub struct EpisodeRow {
    pub study: Arc<Study>,
    pub episode: EpisodeRecord,
    /// The times of the events that opened it, and of the last one about it.
    pub times: [Option<String>; 2],
}

/// A row of [`DECISIONS`]: a step of an episode.
pub struct DecisionRow {
    pub study: Arc<Study>,
    pub episode: Arc<EpisodeRecord>,
    /// The step, from 1.
    pub step: usize,
    /// None in an imported episode.
    pub decision: Option<Decision>,
    /// The time of the event that recorded the decision.
    pub at: Option<String>,
}

impl DecisionRow {
    /// The sequence number of the event that recorded the decision.
    pub fn event(&self) -> Option<u64> {
        Some(self.decision.as_ref()?.advice.as_of + 1)
    }

    fn reported(&self) -> Option<&crate::domain::Step> {
        self.episode.steps.get(self.step - 1)
    }

    /// The end of the episode, if it ended at this step.
    fn end(&self) -> Option<&crate::domain::End> {
        let last = self.step == self.episode.step();
        self.episode.end.as_ref().filter(|_| last)
    }

    /// When and by whom the action was reported.
    fn stamp(&self) -> Option<&crate::domain::Stamp> {
        match self.reported() {
            Some(step) => step.stamp.as_ref(),
            None => self.end()?.stamp.as_ref(),
        }
    }

    fn decided_by(&self) -> Option<DecidedBy> {
        let fallback = self.reported().is_some_and(|step| step.fallback)
            || self.end().is_some_and(|end| end.fallback);
        if fallback {
            return Some(DecidedBy::Fallback);
        }
        let decision = self.decision.as_ref()?;
        // Before rules 3 it was always the learner.
        Some(decision.decided_by.unwrap_or(DecidedBy::Learner))
    }

    fn estimate(&self) -> Option<&Estimate> {
        self.decision.as_ref()?.estimate.as_ref()
    }

    fn runner_up(&self) -> Option<&Estimate> {
        self.decision.as_ref()?.runner_up.as_ref()
    }
}

/// A row of [`CODEBOOK`]: a column of a table.
pub struct CodebookRow {
    table: Table,
    column: &'static str,
    kind: Kind,
    about: &'static str,
}

/// The rows of the codebook.
pub fn codebook() -> Vec<CodebookRow> {
    fn rows<R>(table: Table, columns: &[Column<R>]) -> impl Iterator<Item = CodebookRow> {
        columns.iter().map(move |column| CodebookRow {
            table,
            column: column.name,
            kind: column.kind,
            about: column.about,
        })
    }
    rows(Table::Episodes, EPISODES)
        .chain(rows(Table::Decisions, DECISIONS))
        .chain(rows(Table::Estimates, ESTIMATES))
        .chain(rows(Table::Codebook, CODEBOOK))
        .collect()
}

/// The name of a status, as in JSON.
fn status(status: Status) -> &'static str {
    match status {
        Status::Open => "open",
        Status::Stopped => "stopped",
        Status::Abandoned => "abandoned",
        Status::Learned => "learned",
        Status::Voided => "voided",
    }
}

/// The name of what makes a decision, as in JSON.
fn decided_by(by: DecidedBy) -> &'static str {
    match by {
        DecidedBy::Learner => "learner",
        DecidedBy::Protocol => "protocol",
        DecidedBy::Fallback => "fallback",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_codebook_describes_every_column_once() {
        let rows = codebook();
        let mut names: Vec<_> = rows
            .iter()
            .map(|row| (row.table.name(), row.column))
            .collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows.len());
        for row in rows {
            let name = row
                .column
                .chars()
                .all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(name, "{}", row.column);
            assert!(row.about.ends_with('.'), "{}: {}", row.column, row.about);
        }
        for table in Table::ALL {
            assert_eq!(table.name().parse(), Ok(table));
        }
        assert!("cases".parse::<Table>().unwrap_err().contains("`cases`"));
    }

    #[test]
    fn names_are_those_of_json() {
        for value in [
            Status::Open,
            Status::Stopped,
            Status::Abandoned,
            Status::Learned,
            Status::Voided,
        ] {
            assert_eq!(serde_json::to_value(value).unwrap(), status(value));
        }
        for value in [DecidedBy::Learner, DecidedBy::Protocol, DecidedBy::Fallback] {
            assert_eq!(serde_json::to_value(value).unwrap(), decided_by(value));
        }
    }
}
