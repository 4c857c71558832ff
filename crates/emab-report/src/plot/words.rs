//! How wide a text is and how it is cut to the room it has.

use std::collections::BTreeSet;

use super::tidy;

/// Longer texts are cut before they are broken into lines.
const LONGEST: usize = 400;

/// About how wide a character is in DejaVu Sans, in units of the font size: never too little
/// for the characters of a keyboard. kuva keeps its own table to itself.
fn character(c: char) -> f64 {
    match c {
        '\'' | 'i' | 'j' | 'l' | 'I' | 'J' | ' ' | ',' | '.' | '/' | ':' | ';' | '\\' | '|'
        | 'f' | '-' => 0.37,
        '(' | ')' | '[' | ']' | 't' | '!' | 'r' => 0.42,
        '"' | '*' | '_' | '`' | 's' | 'z' | '?' | 'c' | '⁰'..='⁻' | '¹' | '²' | '³' => 0.56,
        'a'..='l'
        | 'n'..='v'
        | 'x'
        | 'y'
        | '0'..='9'
        | 'L'
        | 'F'
        | 'P'
        | 'T'
        | 'Y'
        | 'E'
        | 'S'
        | '{'
        | '}'
        | '$' => 0.64,
        'A'..='L' | 'N'..='V' | 'X' | 'Z' | '&' => 0.79,
        'w' | 'M' | '#' | '+' | '<' | '=' | '>' | '^' | '~' | '×' | '−' => 0.87,
        c if c.is_ascii() || c == '…' => 1.0,
        _ => 1.1,
    }
}

/// About how wide a text is.
pub(super) fn width(text: &str, size: u32) -> f64 {
    text.chars().map(character).sum::<f64>() * f64::from(size)
}

/// So many characters of a text and an ellipsis in its middle: names often differ only at
/// their ends.
fn shortened(chars: &[char], kept: usize) -> String {
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let (head, tail) = (&chars[..head], &chars[chars.len() - tail..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// The text, made safe, and cut in its middle where it is wider than its room.
pub(super) fn cut(text: &str, room: f64, size: u32) -> String {
    if width(text, size) <= room {
        return tidy(text, usize::MAX);
    }
    let chars: Vec<char> = text.chars().collect();
    let fits = |kept: &usize| width(&shortened(&chars, *kept), size) <= room;
    let kept = (1..chars.len()).take_while(fits).last().unwrap_or(0);
    tidy(&shortened(&chars, kept), usize::MAX)
}

/// The text, made safe, in at most so many lines, broken between words.
pub(super) fn wrap(text: &str, room: f64, size: u32, most: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let text = if chars.len() > LONGEST {
        shortened(&chars, LONGEST)
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
    lines.iter().map(|line| cut(line, room, size)).collect()
}

/// The names as they fit; where two would look the same, all begin with their numbers.
pub(super) fn distinct<T: Ord>(names: &[(usize, &str)], fit: impl Fn(&str) -> T) -> Vec<T> {
    let plain: Vec<T> = names.iter().map(|(_, name)| fit(name)).collect();
    let different: BTreeSet<&T> = plain.iter().collect();
    if different.len() == plain.len() {
        return plain;
    }
    let numbered = names.iter().map(|(i, name)| fit(&format!("{i}: {name}")));
    numbered.collect()
}
