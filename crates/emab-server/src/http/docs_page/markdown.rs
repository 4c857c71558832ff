//! The little Markdown that descriptions are written in: paragraphs, lists, `code`, fenced blocks, emphasis, links.
//!
//! Everything is escaped before anything is marked up, and a link may only lead to the web or to a place on the page.

use super::html::escape;

/// Blocks of HTML.
pub fn render(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    let mut paragraph: Vec<&str> = Vec::new();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some(fence) = fence(trimmed) {
            flush(&mut paragraph, &mut out);
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|line| line.trim() != fence)
                .collect();
            out += &format!("<pre>{}</pre>\n", escape(&block.join("\n")));
        } else if let Some(kind) = Kind::of(trimmed) {
            flush(&mut paragraph, &mut out);
            let mut items = vec![kind.item(trimmed).to_owned()];
            while let Some(next) = lines.next_if(|next| !next.trim().is_empty()) {
                let next = next.trim();
                match Kind::of(next) {
                    Some(same) if same == kind => items.push(kind.item(next).to_owned()),
                    // A line that goes on.
                    _ => items.iter_mut().last().into_iter().for_each(|last| {
                        last.push(' ');
                        last.push_str(next);
                    }),
                }
            }
            let tag = kind.tag();
            let items: String = items
                .iter()
                .map(|item| format!("<li>{}</li>\n", inline(item)))
                .collect();
            out += &format!("<{tag}>\n{items}</{tag}>\n");
        } else if trimmed.is_empty() {
            flush(&mut paragraph, &mut out);
        } else if let Some(words) = heading(trimmed) {
            flush(&mut paragraph, &mut out);
            out += &format!("<p><b>{}</b></p>\n", inline(words));
        } else {
            paragraph.push(trimmed);
        }
    }
    flush(&mut paragraph, &mut out);
    out
}

fn flush(paragraph: &mut Vec<&str>, out: &mut String) {
    if !paragraph.is_empty() {
        *out += &format!("<p>{}</p>\n", inline(&paragraph.join(" ")));
        paragraph.clear();
    }
}

fn fence(line: &str) -> Option<&'static str> {
    ["```", "~~~"]
        .into_iter()
        .find(|fence| line.starts_with(fence))
}

fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    (words.len() < line.len()).then(|| words.strip_prefix(' '))?
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bullets,
    Numbers,
}

impl Kind {
    fn of(line: &str) -> Option<Kind> {
        if line.starts_with("- ") || line.starts_with("* ") {
            return Some(Kind::Bullets);
        }
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len() && rest.starts_with(". ")).then_some(Kind::Numbers)
    }

    fn item(self, line: &str) -> &str {
        line.split_once(' ').map_or("", |(_, item)| item.trim())
    }

    fn tag(self) -> &'static str {
        match self {
            Kind::Bullets => "ul",
            Kind::Numbers => "ol",
        }
    }
}

/// What stands within a line.
pub fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        out += &escape(&rest[..at]);
        rest = &rest[at..];
        match marked(rest) {
            Some((html, after)) => {
                out += &html;
                rest = after;
            }
            // A sign that begins nothing is a sign; all three are one byte long.
            None => {
                out += &escape(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out + &escape(rest)
}

/// The marked-up part that the text begins with, and what comes after it.
fn marked(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix('`') {
        let (code, after) = rest.split_once('`')?;
        return Some((format!("<code>{}</code>", escape(code)), after));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (words, rest) = rest.split_once("](")?;
        let (target, after) = rest.split_once(')')?;
        let safe = ["https://", "http://", "#", "/"]
            .iter()
            .any(|start| target.starts_with(start));
        if !safe || target.starts_with("//") {
            return None;
        }
        let html = format!(
            "<a href=\"{}\" rel=\"noreferrer\">{}</a>",
            escape(target),
            escape(words)
        );
        return Some((html, after));
    }
    let (mark, tag) = if text.starts_with("**") {
        ("**", "b")
    } else {
        ("*", "em")
    };
    let (words, after) = text.strip_prefix(mark)?.split_once(mark)?;
    let tight = !words.is_empty() && words.trim() == words;
    tight.then(|| (format!("<{tag}>{}</{tag}>", escape(words)), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks() {
        let text = "# Title\nOne\ntwo `a<b`.\n\n- first\n  goes on\n- *second*\n\n1. one\n2. two\nafter\n\n```json\n{\"a\": \"<b>\"}\n```\nend";
        assert_eq!(
            render(text),
            "<p><b>Title</b></p>\n<p>One two <code>a&lt;b</code>.</p>\n\
             <ul>\n<li>first goes on</li>\n<li><em>second</em></li>\n</ul>\n\
             <ol>\n<li>one</li>\n<li>two after</li>\n</ol>\n\
             <pre>{&quot;a&quot;: &quot;&lt;b&gt;&quot;}</pre>\n<p>end</p>\n"
        );
        assert_eq!(render(""), "");
        assert_eq!(render("```\nnever closed"), "<pre>never closed</pre>\n");
    }

    #[test]
    fn lines() {
        for (text, html) in [
            ("a **b** c", "a <b>b</b> c"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("`open", "`open"),
            (
                "[x](https://e.org/?a=1&b=\"2\")",
                "<a href=\"https://e.org/?a=1&amp;b=&quot;2&quot;\" rel=\"noreferrer\">x</a>",
            ),
            ("[x](#tag-a)", "<a href=\"#tag-a\" rel=\"noreferrer\">x</a>"),
            ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
            ("[x](//evil)", "[x](//evil)"),
            ("[é`é`", "[é<code>é</code>"),
            ("<script>", "&lt;script&gt;"),
        ] {
            assert_eq!(inline(text), html);
        }
    }
}
