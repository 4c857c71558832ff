//! Output: data on standard output, messages on standard error, and the width of tables.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::error::CommandError;

/// Prints data to standard output.
pub fn print(text: &str) -> Result<(), CommandError> {
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
        // On a terminal long sentences wrap between words, as tables do.
        false if io::stdout().is_terminal() => print(&emab_report::wrap(&text(), width())),
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

/// Prints a message to standard error.
pub fn note(text: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints an error to standard error.
pub fn complain(error: &CommandError) {
    match error {
        CommandError::Closed => {}
        CommandError::Problem(error) => note(&error.render(io::stderr().is_terminal())),
        CommandError::Input(message) | CommandError::Work(message) => {
            note(&format!("error: {message}"))
        }
    }
}

/// The width of tables: `COLUMNS` if it is set, that of the terminal, or 100 without one.
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.trim().parse().ok());
    if let Some(columns) = columns.filter(|columns| *columns > 0) {
        return columns;
    }
    let size = io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten();
    size.map_or(100, |(width, _)| usize::from(width.0))
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
