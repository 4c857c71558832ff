//! Reports as one HTML page: no script, no resource from elsewhere.

use emab_sim::GENERATOR;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Block, Document, claim_rows};
use crate::claim::{Claim, Verdict};
use crate::text_table::is_number;

/// The style of all pages. Colours, spaces and sizes are custom properties of `:root`.
pub const STYLE: &str = include_str!("../style.css");

/// The browser loads nothing: the page has its style and its pictures.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";

/// With more headings the page begins with a list of them.
const FEW_HEADINGS: usize = 3;

/// A page of its title, the elements of its head besides those of all pages, and the element `body`.
pub fn html_page(title: &str, head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                (head)
            }
            (body)
        }
    };
    page.into_string()
}

impl Document {
    /// As one HTML page with embedded figures.
    pub fn html(&self) -> String {
        let mut page = Page::default();
        let content = page.blocks(&self.blocks, 2);
        let head = html! {
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            (PreEscaped(GENERATOR))
            style { (PreEscaped(STYLE)) }
        };
        let body = html! {
            body {
                main {
                    h1 { (inline(&self.title)) }
                    @if page.headings.len() > FEW_HEADINGS {
                        nav aria-label="Contents" {
                            ul {
                                @for (id, text) in &page.headings {
                                    li { a href={ "#" (id) } { (inline(text)) } }
                                }
                            }
                        }
                    }
                    (content)
                }
            }
        };
        html_page(&self.title, &head, &body) + "\n"
    }
}

/// What the blocks so far have used.
#[derive(Default)]
struct Page {
    /// Identifiers and texts of the headings of the first level.
    headings: Vec<(String, String)>,
    /// The number of all headings.
    count: usize,
    /// The latest heading or summary, which names the tables below it.
    subject: String,
}

impl Page {
    fn blocks(&mut self, blocks: &[Block], level: usize) -> Markup {
        html! { @for block in blocks { (self.block(block, level)) "\n" } }
    }

    fn block(&mut self, block: &Block, level: usize) -> Markup {
        match block {
            Block::Heading(text) => self.heading(text, level),
            Block::Text(text) => html! { p { (inline(text)) } },
            Block::Warning(text) => html! { p.warning { (inline(text)) } },
            Block::List(texts) => html! { ul { @for text in texts { li { (inline(text)) } } } },
            Block::Facts(facts) => html! {
                dl {
                    @for (name, value) in facts {
                        div { dt { (inline(name)) } dd { (inline(value)) } }
                    }
                }
            },
            Block::Table { header, rows } => self.table("data", header, rows, &[]),
            Block::Claims(claims) => {
                let (header, rows) = claim_rows(claims);
                let classes: Vec<&str> = claims.iter().map(class).collect();
                self.table("claims", &header.map(str::to_owned), &rows, &classes)
            }
            Block::Picture {
                caption,
                svg,
                narrow: Some(narrow),
                ..
            } => figure(caption, svg, narrow),
            Block::Picture { caption, svg, .. } => html! {
                figure {
                    div.wide tabindex="0" role="group" aria-label={ "Figure: " (caption) } {
                        img alt=(caption) src=(data_url(svg));
                    }
                    figcaption { (inline(caption)) }
                }
            },
            Block::Code(text) => html! {
                pre.wide tabindex="0" role="group" aria-label={ "Text: " (self.subject) } { code { (text) } }
            },
            Block::Details { summary, blocks } => {
                let subject = std::mem::replace(&mut self.subject, summary.clone());
                let content = self.blocks(blocks, level);
                self.subject = subject;
                html! { details { summary { (inline(summary)) } (content) } }
            }
            Block::Section(blocks) => html! { section { (self.blocks(blocks, level + 1)) } },
        }
    }

    fn heading(&mut self, text: &str, level: usize) -> Markup {
        self.count += 1;
        self.subject = text.to_owned();
        let id = format!("part-{}", self.count);
        if level == 2 {
            self.headings.push((id.clone(), text.to_owned()));
        }
        match level {
            2 => html! { h2 id=(id) { (inline(text)) } },
            3 => html! { h3 id=(id) { (inline(text)) } },
            _ => html! { h4 id=(id) { (inline(text)) } },
        }
    }

    /// A table that scrolls within the page; `classes` are those of the rows.
    fn table(
        &self,
        kind: &str,
        header: &[String],
        rows: &[Vec<String>],
        classes: &[&str],
    ) -> Markup {
        let is_numeric = |i: usize| {
            let cells = rows.iter().filter_map(|row| row.get(i));
            let mut cells = cells.filter(|cell| !cell.is_empty()).peekable();
            cells.peek().is_some() && cells.all(|cell| is_number(cell))
        };
        let numeric: Vec<bool> = (0..header.len()).map(is_numeric).collect();
        let side = |i: usize| numeric.get(i).is_some_and(|n| *n).then_some("n");
        html! {
            div.wide tabindex="0" role="group" aria-label={ "Table: " (self.subject) } {
                table class=(kind) {
                    thead { tr {
                        @for (i, name) in header.iter().enumerate() {
                            @if name.is_empty() { td {} } @else {
                                th scope="col" class=[side(i)] { (inline(name)) }
                            }
                        }
                    } }
                    tbody {
                        @for (row, cells) in rows.iter().enumerate() {
                            tr class=[classes.get(row)] {
                                @for (i, cell) in cells.iter().enumerate() {
                                    @if i == 0 && !cell.is_empty() {
                                        th scope="row" class=[side(i)] { (inline(cell)) }
                                    } @else {
                                        td class=[side(i)] { (inline(cell)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn class(claim: &Claim) -> &'static str {
    match claim.verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "part",
        Verdict::Fails => "fails",
        Verdict::Consistent | Verdict::Vacuous | Verdict::Undecided => "open",
    }
}

/// A picture with a version for narrow screens. The caption describes it for those who do not see it.
pub fn figure(caption: &str, svg: &str, narrow: &str) -> Markup {
    html! {
        figure {
            picture {
                source media="(max-width: 34rem)" srcset=(data_url(narrow));
                img alt=(caption) src=(data_url(svg));
            }
            figcaption { (inline(caption)) }
        }
    }
}

/// Text of a paragraph or a cell: code between backticks, and non-breaking spaces before `%` and around `±`.
pub fn inline(text: &str) -> Markup {
    let text = text
        .replace(" %", "\u{a0}%")
        .replace(" ± ", "\u{a0}±\u{a0}");
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (text) }; // an unpaired backtick stays
    }
    html! {
        @for (i, part) in parts.iter().enumerate() {
            @if i % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

/// A picture as a URL, percent-encoded for an attribute in double quotes, also where spaces separate URLs.
fn data_url(svg: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*(),;:/=@+$".contains(&byte);
    let mut out = String::with_capacity(svg.len() * 3 / 2);
    out += "data:image/svg+xml,";
    for byte in svg.bytes() {
        match plain(byte) {
            true => out.push(byte.into()),
            false => out += &format!("%{byte:02X}"),
        }
    }
    out
}
