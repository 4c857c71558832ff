//! Text that cannot be taken for markup.

/// As text, between tags or between double quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// As an anchor: letters, digits and a few signs that need no quoting anywhere.
pub fn slug(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.chars()
        .map(|c| if plain(c) { c } else { '-' })
        .collect()
}

/// As text in a `<code>`.
pub fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}
