//! What goes to standard output, what goes to standard error, and how wide it may be.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::error::CommandError;

/// Data, to standard output.
pub fn print(text: &str) -> Result<(), CommandError> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write_out(|out| write!(out, "{text}{end}"))
}

/// One JSON document, to standard output.
pub fn print_json(document: &impl Serialize) -> Result<(), CommandError> {
    write_out(|out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        out.write_all(b"\n")
    })
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

/// A remark, to standard error.
pub fn note(text: &str) {
    // Nobody to tell if standard error is gone.
    let _ = writeln!(io::stderr(), "{text}");
}

/// A failure, to standard error.
pub fn complain(error: &CommandError) {
    match error {
        CommandError::Closed => {}
        CommandError::Problem(error) => note(&error.render(io::stderr().is_terminal())),
        CommandError::Input(message) | CommandError::Work(message) => {
            note(&format!("error: {message}"))
        }
    }
}

/// How wide tables may be: the terminal's width, or 100 when nobody is watching.
pub fn width() -> usize {
    let size = io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten();
    size.map_or(100, |(width, _)| usize::from(width.0))
}

/// A progress bar with the time left, drawn only when a person is watching standard error.
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
