//! `emab reproduce`: a ledger of what the paper says, with its figures; prints a summary, or all of it.

use std::time::Instant;

use emab_paper::{BEYOND, Ledger, LedgerError, Runner, Settings, TALLY};
use emab_report::{Claim, Verdict, claims_table, table, wrap};
use emab_sim::results::LearnerResult;
use emab_sim::{Folder, FolderContent, REPRODUCTION, ResultKind, VERSION};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{create_folder, note_finished, stop_on_ctrl_c, write_picture};
use crate::args::Reproduce;
use crate::error::CommandError;
use crate::terminal;

pub fn reproduce(args: &Reproduce, json: bool) -> Result<(), CommandError> {
    let base = match args.quick {
        true => Settings::QUICK,
        false => Settings::PAPER,
    };
    let settings = Settings {
        runs: args.runs.unwrap_or(base.runs),
        episodes: args.episodes.unwrap_or(base.episodes),
        seed: args.seed,
    };
    let folder = create_folder(&args.out)?;
    let saved = saved(&folder, settings)?.filter(|_| !args.force);
    if saved.is_some() {
        note_finished(&folder, "this reproduction");
    }
    let (ledger, seconds) = match saved {
        Some(saved) => saved,
        None => measure(args, settings, &folder)?,
    };
    if json {
        return terminal::print_json(&document(&ledger, &folder, seconds));
    }
    let width = terminal::width();
    let mut text = match args.full {
        true => {
            let (paper, ours) = ledger.parts();
            let [paper, ours] = [paper, ours].map(|claims| claims_table(&claims, width));
            format!("{paper}\n\n{BEYOND}:\n{ours}\n\n")
        }
        false => String::new(),
    };
    text += &table(&TALLY, &ledger.tally(), width);
    for (title, verdicts) in [
        ("Does not hold", &[Verdict::Fails][..]),
        (
            "Vacuous, consistent or undecided",
            &[Verdict::Vacuous, Verdict::Consistent, Verdict::Undecided],
        ),
    ] {
        let lines = ledger.lines(verdicts);
        if !args.full && !lines.is_empty() {
            let lines: Vec<String> = lines.iter().map(|line| shorten(line, width)).collect();
            text += &format!("\n\n{title}:\n{}", lines.join("\n"));
        }
    }
    text.push('\n');
    if settings.episodes < Settings::PAPER.episodes {
        text += &format!(
            "\nThe paper has {} episodes; what it says of its figures need not hold after {}.",
            Settings::PAPER.episodes,
            settings.episodes
        );
    }
    let full = match args.full {
        true => "",
        false => "; `--full` prints every claim",
    };
    text += &format!(
        "\nMeasured in {seconds:.1} s{full}.\nThe report with its figures is {0}/report.html; {0}/report.md is the same.",
        folder.path().display()
    );
    terminal::print(&text)
}

/// A line of a list that fits the terminal: its first words.
fn shorten(line: &str, width: usize) -> String {
    let wrapped = wrap(line, width.saturating_sub(4));
    match wrapped.split_once('\n') {
        Some((first, _)) => format!("  {first} …"),
        None => format!("  {line}"),
    }
}

/// Runs all experiments and writes the folder; returns the ledger, and the seconds that it took.
fn measure(
    args: &Reproduce,
    settings: Settings,
    folder: &Folder,
) -> Result<(Ledger, f64), CommandError> {
    let (content, kind) = (FolderContent::read(folder)?, ResultKind::Reproduction);
    content.check_room(folder, kind, None, args.force)?;
    let began = Instant::now();
    let bar = terminal::progress(0);
    let ledger = emab_paper::reproduce(&mut Runner {
        settings,
        threads: args.threads.unwrap_or(0).into(),
        stop: stop_on_ctrl_c(),
        watch: &mut |what, progress| {
            bar.set_message(what.to_owned());
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        },
    });
    bar.finish_and_clear();
    let ledger = ledger.map_err(|error| match error {
        LedgerError::Stopped => {
            CommandError::Work("stopped; `emab reproduce` writes nothing before its end".into())
        }
        other => CommandError::Work(other.to_string()),
    })?;
    content.make_room(folder, kind, None, args.force)?;
    for figure in &ledger.figures {
        write_picture(folder, figure.name, &figure.picture)?;
    }
    let report = ledger.document();
    folder.write("report.md", report.markdown().as_bytes())?;
    folder.write("report.html", report.html().as_bytes())?;
    let seconds = began.elapsed().as_secs_f64();
    // The last file: with it the reproduction is finished.
    let text = terminal::to_json(&document(&ledger, folder, seconds))?;
    folder.write(REPRODUCTION, text.as_bytes())?;
    Ok((ledger, seconds))
}

/// The document that `--json` prints, and the folder contains.
fn document(ledger: &Ledger, folder: &Folder, seconds: f64) -> Value {
    let learners: Vec<_> = ledger.learners.iter().map(|(_, result)| result).collect();
    json!({
        "version": VERSION,
        "seed": ledger.settings.seed,
        "runs": ledger.settings.runs,
        "episodes": ledger.settings.episodes,
        "claims": ledger.claims,
        "learners": learners,
        "folder": folder.path().display().to_string(),
        "seconds": seconds,
    })
}

/// The ledger that a folder contains, without its figures, if this version made it with the same settings.
fn saved(folder: &Folder, settings: Settings) -> Result<Option<(Ledger, f64)>, CommandError> {
    #[derive(Deserialize)]
    struct Saved {
        version: String,
        seed: u64,
        runs: u64,
        episodes: u64,
        claims: Vec<Claim>,
        learners: Vec<LearnerResult>,
        seconds: f64,
    }
    if !folder.has(REPRODUCTION) {
        return Ok(None);
    }
    let saved: Saved = folder.read_json(REPRODUCTION)?;
    let made = Settings {
        runs: saved.runs,
        episodes: saved.episodes,
        seed: saved.seed,
    };
    let learners = saved.learners.into_iter();
    let ledger = Ledger {
        settings: made,
        claims: saved.claims,
        figures: Vec::new(),
        learners: learners.map(|one| (one.label.clone(), one)).collect(),
        shown_at: Vec::new(),
    };
    let same = saved.version == VERSION && made == settings;
    Ok(same.then_some((ledger, saved.seconds)))
}
