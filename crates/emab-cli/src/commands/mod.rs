//! The commands, one file each.

mod arena;
mod audit;
mod backup;
mod bounds;
mod check;
mod checkpoints;
mod demo;
mod evaluate;
mod export;
mod fit;
mod learners;
mod logs;
mod mdp;
mod merge;
mod plan;
mod plot;
mod plot_arena;
mod plot_learners;
mod plot_sweep;
mod policy;
mod problems;
mod replay;
mod report;
mod reproduce;
mod run;
mod serve;
mod simulate;
mod solve;
mod sweep;
mod token;
mod verify;

use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::CommandFactory;
use emab_report::Picture;
use emab_sim::compare::{CellControl, run_cells};
use emab_sim::{Control, Device, DeviceChoice, Finish, Folder, quoted};
use indicatif::ProgressBar;

use crate::args::{Args, Command};
use crate::error::CommandError;
use crate::terminal;

pub fn dispatch(args: Args) -> Result<(), CommandError> {
    let json = args.json;
    match args.command {
        Command::Reproduce(args) => reproduce::reproduce(&args, json),
        Command::Run(args) => run::run(&args, json),
        Command::Arena(args) => arena::arena(&args, json),
        Command::Sweep(args) => sweep::sweep(&args, json),
        Command::Merge(args) => merge::merge(&args, json),
        Command::Solve(args) => solve::solve(&args.problem, json),
        Command::Mdp(args) => mdp::mdp(&args, json),
        Command::Bounds(args) => bounds::bounds(&args, json),
        Command::Check(args) => check::check(&args.problem, json),
        Command::Verify(args) => verify::verify(&args, json),
        Command::Plot(args) => plot::plot(&args, json),
        Command::Report(args) => report::report(&args, json),
        Command::Policy(args) => policy::policy(&args, json),
        Command::Serve(args) => serve::serve(&args, json),
        Command::Demo(args) => demo::demo(&args, json),
        Command::Audit(args) => audit::audit(&args, json),
        Command::Backup(args) => backup::backup(&args, json),
        Command::Export(args) => export::export(&args, json),
        Command::Problems(args) => problems::problems(&args, json),
        Command::Learners { names } => learners::learners(&names, json),
        Command::Simulate(args) => simulate::simulate(&args, json),
        Command::Replay(args) => replay::replay(&args, json),
        Command::Evaluate(args) => evaluate::evaluate(&args, json),
        Command::Fit(args) => fit::fit(&args, json),
        Command::Plan(args) => plan::plan(&args, json),
        Command::Token(args) => token::token(args, json),
        Command::Schema => terminal::print_verbatim(emab_problem::SCHEMA),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "emab", &mut text);
            let text = String::from_utf8_lossy(&text);
            terminal::show(json, &text, || text.to_string())
        }
    }
}

/// A flag that Ctrl-C sets; a second Ctrl-C ends the program at once.
fn stop_on_ctrl_c() -> &'static AtomicBool {
    static STOP: AtomicBool = AtomicBool::new(false);
    static HANDLER: Once = Once::new();
    let handler = || {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        terminal::note("\nstopping; press Ctrl-C again to stop at once");
    };
    HANDLER.call_once(|| {
        if ctrlc::set_handler(handler).is_err() {
            terminal::note(
                "note: Ctrl-C cannot be caught here; it ends the program without saving a checkpoint",
            );
        }
    });
    &STOP
}

/// Checks that neither the folder for results nor one above it is a file.
fn check_folder(path: &Path) -> Result<(), CommandError> {
    match path.ancestors().find(|path| path.is_file()) {
        None => Ok(()),
        Some(file) => Err(CommandError::input(format!(
            "--out: {} is a file, and a folder is needed",
            quoted(file)
        ))),
    }
}

/// Creates a folder for results if necessary and takes its lock.
fn create_folder(path: &Path) -> Result<Folder, CommandError> {
    check_folder(path)?;
    let folder = Folder::create(path)?;
    if !folder.is_locked() {
        terminal::note(&format!(
            "note: the file system of {} has no locks; no other process must write into it meanwhile",
            path.display()
        ));
    }
    Ok(folder)
}

/// Says that a folder contains the result of the same call.
fn note_finished(folder: &Folder, what: &str) {
    terminal::note(&format!(
        "note: {} contains {what} already; nothing is computed",
        folder.path().display()
    ));
}

/// Says what a file has become: written, or equal to what it was.
fn written(path: &Path, changed: bool) -> String {
    match changed {
        true => format!("wrote {}", path.display()),
        false => format!(
            "{} has this content already; nothing is written",
            path.display()
        ),
    }
}

/// The ending of a file's name; empty without one.
fn ending(path: &Path) -> &str {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.unwrap_or_default()
}

/// Writes `NAME.svg` and `NAME.png`.
fn write_picture(folder: &Folder, name: &str, picture: &Picture) -> Result<(), CommandError> {
    let png = picture.png()?;
    folder.write(format!("{name}.svg"), picture.svg.as_bytes())?;
    Ok(folder.write(format!("{name}.png"), &png)?)
}

/// Opens the device of `--device`.
fn open_device(choice: DeviceChoice) -> Result<Device, CommandError> {
    Device::open(choice).map_err(|error| {
        CommandError::Work(format!(
            "--device gpu: {error}; use --device cpu, or auto to use a GPU where there is one"
        ))
    })
}

/// Says what the processor plays instead of a card.
fn note_device(device: &Device, bar: &ProgressBar) {
    for notice in device.take_notices() {
        bar.suspend(|| terminal::note(&format!("note: {notice}")));
    }
}

/// How cells are played, with a progress bar.
struct PlayCells<'a> {
    /// The beginning of the text of the bar.
    title: &'a str,
    threads: Option<u16>,
    device: &'a Device,
    /// Cells that are played at once.
    at_once: usize,
}

impl PlayCells<'_> {
    /// Plays cells; see [`run_cells`]. False if Ctrl-C stopped it.
    fn play<C: Sync, R: Send>(
        &self,
        cells: &[C],
        episodes: impl Fn(&C) -> u64,
        play: impl Fn(&C, &mut Control<'_>) -> Result<Option<R>, CommandError> + Sync,
        keep: impl FnMut(&C, R) -> Result<(), CommandError>,
    ) -> Result<bool, CommandError> {
        let all = cells.iter().map(&episodes).fold(0, u64::saturating_add);
        let bar = terminal::progress(all);
        let mut control = CellControl {
            threads: self.threads.unwrap_or(0).into(),
            device: self.device.clone(),
            at_once: self.at_once,
            stop: stop_on_ctrl_c(),
            watch: &mut |number, played| {
                note_device(self.device, &bar);
                bar.set_message(format!("{}{number} of {}", self.title, cells.len()));
                bar.set_position(played);
            },
        };
        let finish = run_cells(cells, episodes, &mut control, play, keep);
        bar.finish_and_clear();
        note_device(self.device, &bar);
        Ok(finish? == Finish::Complete)
    }
}

/// How to continue a stopped arena or sweep.
fn how_to_continue(saved: bool) -> &'static str {
    match saved {
        true => "run the same command again to continue",
        false => "nothing was saved; --out DIR saves finished cells",
    }
}
