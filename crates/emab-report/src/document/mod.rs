//! Reports of text, tables and figures, as Markdown with image files and as one self-contained HTML page.

mod html;
mod markdown;
#[cfg(test)]
mod tests;

pub use html::{STYLE, figure, html_page, inline};

use crate::claim::Claim;

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The title.
    pub title: String,
    /// Parts, in order.
    pub blocks: Vec<Block>,
}

/// One part of a report. Texts may have code between backticks.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A paragraph that must not be missed, such as a warning.
    Warning(String),
    /// A list of sentences.
    List(Vec<String>),
    /// Names with their values.
    Facts(Vec<(String, String)>),
    /// A table; the first column holds names. Columns of numbers stand to the right.
    Table {
        /// Names of the columns.
        header: Vec<String>,
        /// The rows.
        rows: Vec<Vec<String>>,
    },
    /// Claims with their verdicts.
    Claims(Vec<Claim>),
    /// A picture.
    Picture {
        /// Name of its files, without extension.
        name: String,
        /// Caption.
        caption: String,
        /// The picture as SVG.
        svg: String,
        /// The same for narrow screens, on which the other one scrolls.
        narrow: Option<String>,
    },
    /// Text as it is, such as a command or a file.
    Code(String),
    /// Blocks that are shown on request.
    Details {
        /// What they contain.
        summary: String,
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// Blocks whose headings are one level lower.
    Section(Vec<Block>),
}

impl Block {
    /// A table of texts.
    pub fn table<T: Into<String>>(header: Vec<T>, rows: Vec<Vec<String>>) -> Block {
        let header = header.into_iter().map(Into::into).collect();
        Block::Table { header, rows }
    }
}

/// The header and rows of a table of claims.
pub(crate) fn claim_rows(claims: &[Claim]) -> ([&'static str; 5], Vec<Vec<String>>) {
    let header = [
        "where",
        "what is claimed",
        "how tested",
        "measured",
        "verdict",
    ];
    let row = |claim: &Claim| {
        let verdict = claim.verdict.text().to_owned();
        let texts = [&claim.place, &claim.says, &claim.how, &claim.measured];
        texts.into_iter().cloned().chain([verdict]).collect()
    };
    (header, claims.iter().map(row).collect())
}
