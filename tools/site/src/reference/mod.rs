//! The reference pages of the documentation, derived from the source.

mod commands;
mod errors;
mod events;
mod http_api;
mod learners;
mod metrics;
mod schema;

/// A page: its name in `docs/reference/` and its text.
pub struct Page {
    /// The file's name.
    pub name: &'static str,
    /// The Markdown.
    pub text: String,
}

/// All pages.
pub fn pages() -> Vec<Page> {
    let page = |name, (title, about, body): (&str, &str, String)| Page {
        name,
        text: format!("# {title}\n\n<!-- written by tools/regenerate -->\n\n{about}\n\n{body}"),
    };
    vec![
        page("commands.md", commands::page()),
        page("learners.md", learners::page()),
        page("problem-schema.md", schema::page()),
        page("http-api.md", http_api::page()),
        page("events.md", events::page()),
        page("errors.md", errors::page()),
        page("metrics.md", metrics::page()),
    ]
}

/// A table in Markdown.
fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(header.iter().map(|it| (*it).into()).collect());
    out += &line(vec!["---".into(); header.len()]);
    for row in rows {
        out += &line(row.iter().map(|it| cell(it)).collect());
    }
    out
}

/// A text as a cell: in one line, with no separator of cells.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// The first letter in upper case and a full stop at the end.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let stop = if text.ends_with('.') { "" } else { "." };
    format!("{}{rest}{stop}", first.to_uppercase())
}
