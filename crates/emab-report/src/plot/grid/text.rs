//! Estimates the width of texts and fits them into a given space.

use std::collections::BTreeSet;

use super::super::sanitize;

/// Longer texts are shortened before they are broken into lines.
const MAX_LENGTH: usize = 400;

/// Upper estimates of the widths of characters in DejaVu Sans, in units of the font size. kuva does not export its
/// table.
const WIDTHS: [(f64, &str); 6] = [
    (0.37, "'ijlIJ ,./:;\\|f-"),
    (0.42, "()[]t!r"),
    (0.56, "\"*_`sz?c⁰ⁱ⁴⁵⁶⁷⁸⁹⁺⁻¹²³"),
    (0.64, "abdeghknopquvxy0123456789LFPTYES{}$"),
    (0.79, "ABCDGHKNOQRUVXZ&"),
    (0.87, "wM#+<=>^~×−"),
];

fn character(c: char) -> f64 {
    let known = WIDTHS.iter().find(|(_, characters)| characters.contains(c));
    known.map_or(if c.is_ascii() || c == '…' { 1.0 } else { 1.1 }, |known| {
        known.0
    })
}

/// Estimated width of a text.
pub(crate) fn width(text: &str, size: u32) -> f64 {
    text.chars().map(character).sum::<f64>() * f64::from(size)
}

/// The text with `kept` characters and an ellipsis in the middle: names often differ only at their ends.
fn shortened(chars: &[char], kept: usize) -> String {
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let (head, tail) = (&chars[..head], &chars[chars.len() - tail..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// The sanitized text, shortened in the middle if it is wider than the room.
pub(crate) fn shorten(text: &str, room: f64, size: u32) -> String {
    if width(text, size) <= room {
        return sanitize(text, usize::MAX);
    }
    let chars: Vec<char> = text.chars().collect();
    let fits = |kept: &usize| width(&shortened(&chars, *kept), size) <= room;
    let kept = (1..chars.len()).take_while(fits).last().unwrap_or(0);
    sanitize(&shortened(&chars, kept), usize::MAX)
}

/// The sanitized text in at most `most` lines, broken between words.
pub(crate) fn wrap(text: &str, room: f64, size: u32, most: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let text = if chars.len() > MAX_LENGTH {
        shortened(&chars, MAX_LENGTH)
    } else {
        text.to_owned()
    };
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let full = lines.len() >= most;
        let fits = |line: &str| width(line, size) + width(word, size) + width(" ", size) <= room;
        match lines.last_mut() {
            Some(line) if full || fits(line) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| shorten(line, room, size)).collect()
}

/// The fitted names; if two would look the same, all begin with their numbers.
pub(crate) fn distinct<T: Ord>(names: &[(usize, &str)], fit: impl Fn(&str) -> T) -> Vec<T> {
    let plain: Vec<T> = names.iter().map(|(_, name)| fit(name)).collect();
    let different: BTreeSet<&T> = plain.iter().collect();
    if different.len() == plain.len() {
        return plain;
    }
    let numbered = names.iter().map(|(i, name)| fit(&format!("{i}: {name}")));
    numbered.collect()
}
