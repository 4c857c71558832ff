//! Output: data on standard output, messages on standard error, and the width of tables.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::error::CommandError;

/// Prints text for people to standard output. On a terminal, long sentences wrap between words, as tables do.
pub fn print(text: &str) -> Result<(), CommandError> {
    match columns() {
        Some(width) => print_verbatim(&emab_report::wrap(text, width)),
        None => print_verbatim(text),
    }
}

/// Prints the content of a file to standard output.
pub fn print_verbatim(text: &str) -> Result<(), CommandError> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write_out(|out| write!(out, "{text}{end}"))
}

/// Prints a JSON document to standard output.
pub fn print_json(document: &impl Serialize) -> Result<(), CommandError> {
    write_out(|out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        out.write_all(b"\n")
    })
}

/// Prints the JSON document or the text.
pub fn show(
    json: bool,
    document: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    match json {
        true => print_json(document),
        false => print(&text()),
    }
}

fn write_out(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CommandError> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out)
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => CommandError::Closed,
            _ => CommandError::Work(format!("cannot write to standard output: {error}")),
        })
}

/// A JSON document as text, for a file.
pub fn to_json(document: &impl Serialize) -> Result<String, CommandError> {
    let mut text = serde_json::to_string_pretty(document)
        .map_err(|error| CommandError::Work(format!("cannot write JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Prints a message to standard error; on a terminal it wraps between words.
pub fn note(text: &str) {
    let stderr = io::stderr();
    let size = stderr
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(&stderr));
    match size.flatten() {
        Some((width, _)) => note_verbatim(&emab_report::wrap(text, usize::from(width.0))),
        None => note_verbatim(text),
    }
}

fn note_verbatim(text: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints an error to standard error.
pub fn complain(error: &CommandError) {
    match error {
        CommandError::Closed => {}
        CommandError::Problem(error) => {
            note_verbatim(&error.render(io::stderr().is_terminal()));
        }
        CommandError::Input(message) | CommandError::Work(message) => {
            let text = format!("error: {message}");
            // Lines of a file stay whole.
            match text.contains('\n') {
                true => note_verbatim(&text),
                false => note(&text),
            }
        }
    }
}

/// The width of tables: that of `COLUMNS` or of the terminal, and 100 without one.
pub fn width() -> usize {
    columns().unwrap_or(100)
}

/// `COLUMNS` if it is set, otherwise the width of the terminal, if standard output is one.
fn columns() -> Option<usize> {
    let set = std::env::var("COLUMNS").ok();
    let set = set.and_then(|columns| columns.trim().parse().ok());
    set.filter(|columns| *columns > 0).or_else(|| {
        let is_terminal = io::stdout().is_terminal();
        let (width, _) = is_terminal.then(terminal_size::terminal_size).flatten()?;
        Some(usize::from(width.0))
    })
}

/// A counter of what is read, where the end is not known; hidden if standard error is not a terminal.
pub fn counter(what: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(&format!("{{human_pos}} {what}")) {
        bar.set_style(style);
    }
    bar
}

/// A progress bar with the time left; hidden if standard error is not a terminal.
pub fn progress(total: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = "{msg:12} {wide_bar} {percent:>3} %  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
