//! Estimates the width of texts and fits them into a given space.

use std::collections::BTreeSet;

use super::super::sanitize;

/// Longer texts are shortened before they are broken into lines.
const MAX_LENGTH: usize = 400;
/// The same where the number of lines has no limit.
const MAX_UNCUT: usize = 2000;

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

/// The sanitized text in at most `most` lines, broken between words and after the commas and hyphens of a label. A word that is
/// wider than the room is broken too if the number of lines has no limit, and shortened otherwise.
pub(crate) fn wrap(text: &str, room: f64, size: u32, most: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let max = if most == usize::MAX {
        MAX_UNCUT
    } else {
        MAX_LENGTH
    };
    let text = if chars.len() > max {
        shortened(&chars, max)
    } else {
        text.to_owned()
    };
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces(&text) {
        let full = lines.len() >= most;
        match lines.last_mut() {
            Some(line) if full || fits(line, piece, room, size) => line.push_str(piece),
            _ if most < usize::MAX => lines.push(piece.to_owned()),
            _ => lines.extend(broken(piece, room, size)),
        }
    }
    let lines = lines.iter().map(|line| line.trim());
    lines.map(|line| shorten(line, room, size)).collect()
}

fn fits(line: &str, piece: &str, room: f64, size: u32) -> bool {
    width(line, size) + width(piece.trim_end(), size) <= room
}

/// The text, cut where a line may end: after spaces, after commas and colons before a letter, and after hyphens and dots between
/// letters.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let mut before = ' ';
        let mut pairs = rest.char_indices().zip(rest.chars().skip(1));
        let end = pairs.find(|((_, c), next)| {
            let before = std::mem::replace(&mut before, *c);
            match c {
                ',' | ':' | ';' => next.is_alphabetic(),
                // Not in `--band` and `-0.5`.
                '-' | '.' => before.is_alphanumeric() && next.is_alphabetic(),
                c => c.is_whitespace() && !next.is_whitespace(),
            }
        });
        let end = end.map_or(rest.len(), |((at, c), _)| at + c.len_utf8());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The width of the longest piece that is not broken.
pub(crate) fn longest_piece(text: &str, size: u32) -> f64 {
    let widths = pieces(text)
        .into_iter()
        .map(|piece| width(piece.trim_end(), size));
    widths.fold(0.0, f64::max)
}

/// A piece in as many lines as it needs.
fn broken(piece: &str, room: f64, size: u32) -> Vec<String> {
    let mut lines = vec![String::new()];
    for c in piece.chars() {
        if let Some(line) = lines.last_mut() {
            let wide = width(line, size) + width(c.encode_utf8(&mut [0; 4]), size);
            match line.is_empty() || c.is_whitespace() || wide <= room {
                true => line.push(c),
                false => lines.push(c.to_string()),
            }
        }
    }
    lines
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
