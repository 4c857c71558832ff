//! Reports as Markdown.

use super::{Block, Document, claim_rows};

impl Document {
    /// As Markdown; figures are files NAME.png in the same folder.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        write(&mut out, &self.blocks, 2);
        out
    }
}

fn write(out: &mut String, blocks: &[Block], level: usize) {
    for block in blocks {
        out.push('\n');
        match block {
            Block::Heading(text) => *out += &format!("{} {text}\n", "#".repeat(level)),
            Block::Text(text) => *out += &format!("{text}\n"),
            Block::Warning(text) => *out += &format!("> {text}\n"),
            Block::List(texts) => {
                let texts: String = texts.iter().map(|text| format!("- {text}\n")).collect();
                *out += &texts;
            }
            Block::Facts(facts) => {
                let line = |(name, value): &(String, String)| format!("- {name}: {value}\n");
                *out += &facts.iter().map(line).collect::<String>();
            }
            Block::Table { header, rows } => *out += &table(header, rows),
            Block::Claims(claims) => {
                let (header, mut rows) = claim_rows(claims);
                for cells in &mut rows {
                    cells[4] = format!("**{}**", cells[4]);
                }
                *out += &table(&header.map(str::to_owned), &rows);
            }
            Block::Picture { name, caption, .. } => {
                *out += &format!("![{caption}]({name}.png)\n\n*{caption}*\n");
            }
            Block::Code(text) => *out += &format!("```text\n{}\n```\n", text.trim_end()),
            Block::Details { summary, blocks } => {
                *out += &format!("{summary}:\n");
                write(out, blocks, level);
            }
            Block::Section(blocks) => write(out, blocks, level + 1),
        }
    }
}

fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let rows: String = rows.iter().map(|cells| row(cells)).collect();
    format!("{}|{}\n{rows}", row(header), "---|".repeat(header.len()))
}
