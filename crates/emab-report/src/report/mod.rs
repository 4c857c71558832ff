//! The report of result folders: what `emab report` writes as one HTML page.

mod arena;
mod comparison;
mod curves;
mod distribution;
mod limit;
mod problem;
mod regret_places;
mod run;
mod soundness;
mod sweep;
#[cfg(test)]
mod tests;

use emab_sim::background::{ArenaBackground, ProblemSummary, RunBackground};
use emab_sim::compare::sweep::{Sweep, SweepCellResult};
use emab_sim::results::{ArenaResult, RunResult, StateRegret};

use crate::document::{Block, Document};
use crate::plot::{Picture, PlotError};

/// A result folder with its content.
#[derive(Debug)]
pub struct Entry {
    /// The folder, as it is named in the report.
    pub folder: String,
    /// Its content.
    pub content: Content,
    /// The command that repeats the result.
    pub command: String,
}

/// The content of a result folder.
#[derive(Debug)]
pub enum Content {
    /// Of `emab run`.
    Run(Box<RunContent>),
    /// Of `emab sweep`.
    Sweep(Box<SweepContent>),
    /// Of `emab arena`.
    Arena(Box<ArenaContent>),
}

/// The result of an arena, and what belongs to it.
#[derive(Debug)]
pub struct ArenaContent {
    /// The result.
    pub result: ArenaResult,
    /// The problem files and what follows from them.
    pub background: ArenaBackground,
}

/// The result of a run, and what belongs to it.
#[derive(Debug)]
pub struct RunContent {
    /// The result.
    pub result: RunResult,
    /// The problem and what follows from it; none if the folder has no problem file.
    pub background: Option<RunBackground>,
    /// The regret by step and state of each learner, by label; empty where it is not recorded.
    pub places: Vec<(String, Vec<StateRegret>)>,
}

/// The result of a sweep, and what belongs to it.
pub struct SweepContent {
    /// The version of emab.
    pub version: String,
    /// The text of the sweep file.
    pub text: String,
    /// The sweep.
    pub sweep: Sweep,
    /// The finished cells.
    pub cells: Vec<SweepCellResult>,
    /// The problem, before any parameter is varied.
    pub problem: ProblemSummary,
    /// Warnings on confidence widths that are not sound.
    pub warnings: Vec<String>,
    /// The plot, or why there is none.
    pub plot: Result<Picture, String>,
}

impl std::fmt::Debug for SweepContent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SweepContent")
            .field("version", &self.version)
            .field("cells", &self.cells.len())
            .finish_non_exhaustive()
    }
}

impl Entry {
    /// The title of its part of the report.
    fn title(&self) -> String {
        match &self.content {
            Content::Run(run) => format!("Learners on {}", run.result.problem),
            Content::Sweep(sweep) => format!("Sweep of {}", sweep.problem.file.name()),
            Content::Arena(arena) => match arena.result.problems.as_slice() {
                [one] => format!("Arena on {}", one.ground.problem),
                several => format!("Arena on {} problems", several.len()),
            },
        }
    }

    fn blocks(&self) -> Vec<Block> {
        match &self.content {
            Content::Run(run) => run::blocks(run, &self.command),
            Content::Sweep(sweep) => sweep::blocks(sweep, &self.command),
            Content::Arena(arena) => arena::blocks(arena, &self.command),
        }
    }
}

/// The report of one result folder, or of several with a comparison before them.
pub fn report(entries: &[Entry]) -> Document {
    if let [one] = entries {
        return Document {
            title: one.title(),
            blocks: one.blocks(),
        };
    }
    let mut blocks = comparison::blocks(entries);
    for entry in entries {
        blocks.push(Block::Heading(format!(
            "{}: {}",
            entry.folder,
            entry.title()
        )));
        blocks.push(Block::Section(entry.blocks()));
    }
    Document {
        title: format!("Comparison of {} results", entries.len()),
        blocks,
    }
}

/// A figure with its caption, and its numbers behind it; the reason where it cannot be drawn.
struct Figure {
    picture: Result<Picture, PlotError>,
    caption: String,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Figure {
    fn blocks(self) -> Vec<Block> {
        let shown = match self.picture {
            Ok(picture) => Block::Picture {
                name: String::new(),
                caption: self.caption,
                svg: picture.svg,
                narrow: picture.narrow,
            },
            Err(error) => Block::Text(format!("There is no figure: {error}.")),
        };
        let numbers = Block::Details {
            summary: "Numbers of this figure".into(),
            blocks: vec![Block::table(self.header, self.rows)],
        };
        vec![shown, numbers]
    }
}

/// How to repeat a result: its command, and what it depends on.
fn repeat(command: &str, facts: Vec<(&str, String)>, files: Vec<Block>) -> Vec<Block> {
    let facts = facts.into_iter().map(|(name, value)| (name.into(), value));
    let mut blocks = vec![
        Block::Heading("How to repeat it".into()),
        Block::Code(command.replace(" --", " \\\n    --")),
        Block::Text(
            "The same version, problem, learners and seed give the same bytes, except for times, for any number of threads."
                .into(),
        ),
        Block::Facts(facts.collect()),
    ];
    blocks.extend(files);
    blocks
}

/// A share in percent.
fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p == 0.0 || p >= 9.95 => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

/// Number and noun.
fn count(n: u64, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {noun}{s}", crate::text_table::number(n as f64))
}

/// The warnings on confidence widths of a sweep or an arena.
fn soundness(warnings: Vec<String>) -> Vec<Block> {
    let heading = Block::Heading("Soundness".into());
    match warnings.is_empty() {
        true => vec![
            heading,
            Block::Text("No confidence width is known to be unsound on these problems.".into()),
        ],
        false => vec![heading, Block::List(warnings)],
    }
}
