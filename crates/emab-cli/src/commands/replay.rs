//! `emab replay`: what learners would have done in a log.

use emab_logs::{LogCounts, Replayed};
use emab_report::replay_text;
use serde::Serialize;

use super::logs;
use crate::args::Replay;
use crate::error::CommandError;
use crate::{load, terminal};

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    problem: &'a str,
    log: LogCounts,
    learners: &'a [Replayed],
}

pub fn replay(args: &Replay, json: bool) -> Result<(), CommandError> {
    let log = logs::open(&args.log)?;
    let counts = log.counts();
    if counts.episodes == 0 {
        return Err(CommandError::input(
            "the log has no episodes: there is nothing to replay",
        ));
    }
    let own = log.learner.clone().unwrap_or_else(|| "feedbal".into());
    let names = match args.learner.is_empty() {
        true => vec![own],
        false => args.learner.clone(),
    };
    let mut replays = Vec::new();
    for name in &names {
        let config = load::learner(&log.file, name, counts.learned.max(1))?;
        let replayed = emab_logs::replay(&log, &config, args.seed);
        replays.push(replayed.map_err(CommandError::of(&log.file))?);
    }
    let document = Document {
        problem: log.file.name(),
        log: counts,
        learners: &replays,
    };
    terminal::show(json, &document, || {
        replay_text(&replays, &counts, terminal::width())
    })
}
