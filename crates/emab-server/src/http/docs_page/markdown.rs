//! Renders Markdown descriptions. Raw HTML is shown as text, and links lead to the web or to the page only.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Event, Parser, Tag, TagEnd, html};

pub fn render(text: &str) -> Markup {
    let mut unsafe_links = 0;
    let events = Parser::new(text).filter_map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::Start(Tag::Link { dest_url, .. }) if !is_safe(&dest_url) => {
            unsafe_links += 1;
            None
        }
        Event::End(TagEnd::Link) if unsafe_links > 0 => {
            unsafe_links -= 1;
            None
        }
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        event => Some(event),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    PreEscaped(out)
}

fn is_safe(target: &str) -> bool {
    let starts = ["https://", "http://", "#", "/"];
    starts.iter().any(|start| target.starts_with(start)) && !target.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_safe_html() {
        for (text, html) in [
            ("", ""),
            ("One\ntwo `a<b`.", "<p>One\ntwo <code>a&lt;b</code>.</p>\n"),
            (
                "- a\n  b\n- *c*",
                "<ul>\n<li>a\nb</li>\n<li><em>c</em></li>\n</ul>\n",
            ),
            (
                "1. one\n2. two",
                "<ol>\n<li>one</li>\n<li>two</li>\n</ol>\n",
            ),
            (
                "```\nnever closed",
                "<pre><code>never closed</code></pre>\n",
            ),
            ("a **b** 2 * 3", "<p>a <strong>b</strong> 2 * 3</p>\n"),
            (
                "[x](https://e.org/?a=1&b=2)",
                "<p><a href=\"https://e.org/?a=1&amp;b=2\">x</a></p>\n",
            ),
            ("[x](#tag-a)", "<p><a href=\"#tag-a\">x</a></p>\n"),
            ("[x](javascript:alert(1))", "<p>x</p>\n"),
            ("[x](//evil)", "<p>x</p>\n"),
            ("![x](https://e.org)", "<p>x</p>\n"),
            ("a <script> b", "<p>a &lt;script&gt; b</p>\n"),
        ] {
            assert_eq!(render(text).into_string(), html);
        }
        let block = render("<script>alert(1)</script>").into_string();
        assert!(!block.contains("<script"), "{block}");
    }
}
