//! Reports of text, tables and figures, as Markdown with image files and as one self-contained HTML page.

use crate::claim::{Claim, Verdict};

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The title.
    pub title: String,
    /// Parts, in order.
    pub blocks: Vec<Block>,
}

/// One part of a report.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A list of sentences.
    List(Vec<String>),
    /// A table; the first column holds names, the others numbers.
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
    },
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

impl Document {
    /// As Markdown; figures are files NAME.png in the same folder.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let table = |header: &[String], rows: &[Vec<String>]| {
            let rows: String = rows.iter().map(|cells| row(cells)).collect();
            format!("{}|{}\n{rows}", row(header), "---|".repeat(header.len()))
        };
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) => out += &format!("## {text}\n"),
                Block::Text(text) => out += &format!("{text}\n"),
                Block::List(items) => {
                    out.extend(items.iter().map(|item| format!("- {item}\n")));
                }
                Block::Table { header, rows } => out += &table(header, rows),
                Block::Claims(claims) => {
                    let (header, mut rows) = claim_rows(claims);
                    for cells in &mut rows {
                        cells[4] = format!("**{}**", cells[4]);
                    }
                    out += &table(&header.map(str::to_owned), &rows);
                }
                Block::Picture { name, caption, .. } => {
                    out += &format!("![{caption}]({name}.png)\n\n*{caption}*\n");
                }
            }
        }
        out
    }

    /// As one HTML page with embedded figures.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        for block in &self.blocks {
            match block {
                Block::Heading(text) => out += &format!("<h2>{}</h2>\n", escape(text)),
                Block::Text(text) => out += &format!("<p>{}</p>\n", inline(text)),
                Block::List(items) => {
                    let items = items
                        .iter()
                        .map(|item| format!("<li>{}</li>\n", inline(item)));
                    out += &format!("<ul>\n{}</ul>\n", items.collect::<String>());
                }
                Block::Table { header, rows } => {
                    let rows: String = rows.iter().map(|cells| row("td", cells, "")).collect();
                    out += &table("numbers", header, &rows);
                }
                Block::Claims(claims) => {
                    let (header, cells) = claim_rows(claims);
                    let classes = claims.iter().map(|claim| class(claim.verdict));
                    let rows = cells.iter().zip(classes);
                    let rows: String = rows.map(|(cells, class)| row("td", cells, class)).collect();
                    out += &table("claims", &header.map(str::to_owned), &rows);
                }
                Block::Picture { caption, svg, .. } => {
                    let caption = escape(caption);
                    out += &format!(
                        "<figure><img alt=\"{caption}\" src=\"data:image/svg+xml,{}\">\n<figcaption>{caption}</figcaption></figure>\n",
                        percent_encode(svg)
                    );
                }
            }
        }
        out += "</main>\n</body>\n</html>\n";
        out
    }
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff;margin:0}\
main{max-width:72rem;margin:0 auto;padding:1.5rem}h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2.5rem}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem;line-height:1.4}\
th,td{text-align:left;vertical-align:top;padding:.45rem .6rem;border-bottom:1px solid #ddd}th{border-bottom:2px solid #888}\
.numbers td:not(:first-child),.numbers th:not(:first-child){text-align:right;white-space:nowrap}\
.claims td:last-child{font-weight:600;white-space:nowrap}.holds td:last-child{color:#00603f}\
.part td:last-child{color:#7a5200}.fails td:last-child{color:#a33a00}.open td:last-child{color:#555}\
figure{margin:1.5rem 0}img{max-width:100%;height:auto}figcaption{color:#444;font-size:.9rem}\
code{font:.95em ui-monospace,monospace}\
@media screen and (max-width:48rem){main{padding:1rem}.claims thead{display:none}.claims,.claims tbody{display:block}\
.claims tr{display:flex;flex-wrap:wrap;justify-content:space-between;border-bottom:1px solid #888;padding:.6rem 0}\
.claims td{border:0;padding:.1rem 0;flex:0 0 100%}.claims td:first-child{flex:0 1 auto;font-weight:600;order:-2}\
.claims td:last-child{flex:0 0 auto;order:-1}.claims td:nth-child(2)::before{content:'claim: ';color:#555}\
.claims td:nth-child(3)::before{content:'tested: ';color:#555}.claims td:nth-child(4)::before{content:'measured: ';color:#555}\
.numbers td:first-child,.numbers th:first-child{position:sticky;left:0;background:#fff}}\
@media print{main{max-width:none;padding:0}table{font-size:8.5pt}tr,figure{break-inside:avoid}h2{break-after:avoid}\
.wide{overflow:visible}}";

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "part",
        Verdict::Fails => "fails",
        Verdict::Consistent | Verdict::Vacuous | Verdict::Undecided => "open",
    }
}

fn table(class: &str, header: &[String], rows: &str) -> String {
    format!(
        "<div class=\"wide\"><table class=\"{class}\">\n<thead>\n{}</thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
        row("th", header, "")
    )
}

fn row(tag: &str, cells: &[String], class: &str) -> String {
    let class = match class {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    let cell = |cell: &String| format!("<{tag}>{}</{tag}>", inline(cell));
    format!(
        "<tr{class}>{}</tr>\n",
        cells.iter().map(cell).collect::<String>()
    )
}

/// Text of a paragraph or a cell: code between backticks, and non-breaking spaces before `%` and around `±`.
fn inline(text: &str) -> String {
    let text = escape(text)
        .replace(" %", "\u{a0}%")
        .replace(" ± ", "\u{a0}±\u{a0}");
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text; // an unpaired backtick stays
    }
    let parts = parts.iter().enumerate().map(|(i, part)| match i % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    });
    parts.collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Percent-encodes a text for a `data:` URL in double quotes.
fn percent_encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_.!~*(),;:/=@+$".contains(&byte);
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for byte in text.bytes() {
        match plain(byte) {
            true => out.push(byte.into()),
            false => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let claim = Claim {
            ours: false,
            place: "Lemma <1>".into(),
            says: "a | b".into(),
            how: "\"exactly\" on `a<b`".into(),
            measured: "1 & 2".into(),
            verdict: Verdict::HoldsInPart,
        };
        Document {
            title: "A & B".into(),
            blocks: vec![
                Block::Claims(vec![claim]),
                Block::Picture {
                    name: "one".into(),
                    caption: "a < b".into(),
                    svg: "<svg id=\"a#b\">100 %</svg>".into(),
                },
            ],
        }
    }

    #[test]
    fn html_escapes_texts_and_embeds_figures() {
        let html = document().html();
        assert!(
            html.contains("<td>Lemma &lt;1&gt;</td><td>a | b</td><td>&quot;exactly&quot; on <code>a&lt;b</code></td>")
        );
        assert!(html.contains("<tr class=\"part\">"));
        assert!(
            html.contains("src=\"data:image/svg+xml,%3Csvg id=%22a%23b%22%3E100 %25%3C/svg%3E\"")
        );
        // Self-contained: no external resources.
        assert!(
            !html.contains("http") && !html.contains("src=\"one"),
            "{html}"
        );
    }

    #[test]
    fn markdown_escapes_tables_and_links_figures() {
        let markdown = document().markdown();
        assert!(markdown.contains(
            "| Lemma <1> | a \\| b | \"exactly\" on `a<b` | 1 & 2 | **holds in part** |"
        ));
        assert!(markdown.contains("![a < b](one.png)"));
    }
}
