//! Errors of JSON parsers in plain words: what is wrong with which value, and the remedy.

use emab::input::{counted, did_you_mean};
use serde_json::error::Category;

/// Explains why a JSON text cannot be read. `subject` names the value in which the error is, such as "`/step`" or "the body".
///
/// ```
/// use emab_problem::json_error;
/// let error = |text| json_error(&serde_json::from_str::<Vec<u64>>(text).unwrap_err(), "`/steps`");
/// assert_eq!(error("3"), "`/steps` must be a list, got 3; write it in brackets, such as [1, 2]");
/// assert_eq!(error("[\"3\"]"), "`/steps` must be a whole number from 0 on, got the text `3`; write it without quotes");
/// assert_eq!(error("[1, 2"), "this is not JSON (character 5): it ends before a list is closed");
/// ```
pub fn json_error(error: &serde_json::Error, subject: &str) -> String {
    let message = message(error);
    match error.classify() {
        Category::Data | Category::Io => value_error(&message, subject),
        Category::Syntax | Category::Eof => {
            let line = match error.line() {
                0 | 1 => String::new(),
                line => format!("line {line}, "),
            };
            let (character, what) = (error.column(), syntax_words(&message));
            format!("this is not JSON ({line}character {character}): {what}")
        }
    }
}

/// The message of a syntax error alone, where its place is shown otherwise. `before` is the text before the place.
pub(crate) fn syntax_error(error: &serde_json::Error, before: &str) -> String {
    let message = message(error);
    // Which of these the parser finds after a comma depends on what it parses.
    let after_comma = before.trim_end().ends_with(',');
    let message = match message.as_str() {
        "expected value" | "key must be a string" if after_comma => "trailing comma".into(),
        _ => message,
    };
    match error.classify() {
        Category::Data | Category::Io => value_error(&message, "this value"),
        Category::Syntax | Category::Eof => syntax_words(&message),
    }
}

/// The message without the parser's line and column.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// The words for a message of `serde_json` on a text that is not JSON.
fn syntax_words(message: &str) -> String {
    let words = match message {
        "EOF while parsing a list" => "it ends before a list is closed",
        "EOF while parsing an object" => "it ends before an object is closed",
        "EOF while parsing a string" => "it ends before a text is closed",
        "EOF while parsing a value" => "it ends where a value belongs",
        "expected `:`" => "a `:` is missing after the name of a field",
        "expected `,` or `]`" => "a `,` or `]` is missing",
        "expected `,` or `}`" => "a `,` or `}` is missing",
        "expected ident" => "a word without quotes is neither true, false nor null",
        "expected value" => {
            "there is no JSON value here: texts stand in double quotes, numbers are finite"
        }
        "expected `\"`" | "key must be a string" => {
            "the name of a field must stand in double quotes"
        }
        "trailing comma" => "remove the comma before the closing bracket",
        "trailing characters" => "there is more after the end of the value",
        "invalid number" => "a number is not written as JSON writes it, such as 0.5, -3 or 1e-9",
        "number out of range" => "a number is too large for a double",
        "invalid escape" | "unexpected end of hex escape" => {
            "a text has an escape that JSON does not know: write `\\\\` for a backslash"
        }
        "invalid unicode code point" => "a text is not valid UTF-8",
        "recursion limit exceeded" => "lists and objects are nested too deeply",
        other if other.contains("surrogate") => "a text has an escape with half a surrogate pair",
        other if other.starts_with("control character") => {
            "a text has a line break or another control character: write it as an escape, such as `\\n`"
        }
        _ => "the text is malformed here",
    };
    words.into()
}

/// The words for a message of the TOML parser, which may be followed by what it expects.
pub(crate) fn toml_error(message: &str) -> &'static str {
    match message.split(", expected ").next().unwrap_or("") {
        "duplicate key" => "this name is given twice; remove one",
        "key with no value" => "a name without a value; write NAME = VALUE",
        "missing value for key" | "missing value" => "the value after the `=` is missing; add it",
        "string values must be quoted" | "missing opening quote" => {
            "there is no TOML value here: write a number, or a text in quotes"
        }
        "invalid basic string" | "invalid literal string" => {
            "a text is not closed on its line; add the closing quote"
        }
        "invalid multi-line basic string" | "invalid multi-line literal string" => {
            "a text of several lines is not closed; add the three closing quotes"
        }
        "missing escaped value" | "too few unicode value digits" => {
            "a text has an escape that TOML does not know; write `\\\\` for a backslash"
        }
        "unclosed table" | "unclosed array table" => {
            "the bracket after the name of a table is missing; write [NAME]"
        }
        "unclosed array" => "a list is not closed; add the `]`",
        "unclosed inline table" => "a table is not closed; add the `}`",
        "missing comma between array elements" => {
            "a comma is missing between two values of a list; add it"
        }
        "missing comma between key-value pairs" | "extra assignment between key-value pairs" => {
            "a comma is missing between two fields of a table; add it"
        }
        "extra comma in array" | "extra comma in inline table" => {
            "there is one comma too many; remove it"
        }
        "missing assignment between key-value pairs" | "invalid key-value pair" => {
            "a name needs a value; write NAME = VALUE"
        }
        "extra `=`" | "unexpected `=` in array" => "there is one `=` too many; remove it",
        "invalid unquoted key" | "unquoted keys cannot be empty" => {
            "a name has letters, digits, `_` and `-`; write any other in quotes"
        }
        "unexpected leading zero" | "redundant integer number prefix" => {
            "a number must not begin with 0; write 7 and not 07"
        }
        "`_` may only go between digits" => "in a number, `_` stands between digits only",
        "unexpected key or value" => {
            "there is more after the value; write one NAME = VALUE on each line"
        }
        "recursion limit" | "cannot recurse further; max recursion depth met" => {
            "lists and tables are nested too deeply"
        }
        other if other.starts_with("cannot extend") => {
            "this name has a value already, and cannot be a table too; remove one"
        }
        _ => "the text is malformed here",
    }
}

/// Explains a message of `serde` about a value. Other messages are kept; one that begins with "must" gets the subject.
pub fn value_error(message: &str, subject: &str) -> String {
    let quoted = |rest: &str| rest.strip_suffix('`').map(str::to_owned);
    if let Some(name) = message.strip_prefix("missing field `").and_then(quoted) {
        return format!("{subject} has no `{name}`; add it");
    }
    if let Some(name) = message.strip_prefix("duplicate field `").and_then(quoted) {
        return format!("`{name}` is given twice; remove one");
    }
    // A text of the user may contain these words too, the end of the message does not.
    let expected = message.rfind(", expected ").map(|at| {
        let (found, rest) = message.split_at(at);
        (found, &rest[", expected ".len()..])
    });
    let unknown = |kind: &str, found: &str| -> Option<String> {
        let name = found.strip_prefix(kind)?.strip_prefix(" `")?;
        Some(shortened(name.strip_suffix('`')?))
    };
    if let Some((found, known)) = expected {
        let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        if let Some(name) = unknown("unknown field", found) {
            let near = did_you_mean(&name, names.iter().copied());
            let are = if names.len() == 1 {
                "only field is"
            } else {
                "fields are"
            };
            let all = listed(&names, "and");
            return format!("unknown field `{name}`{near}; the {are} {all}");
        }
        if let Some(name) = unknown("unknown variant", found) {
            // A single name is no suggestion beside the rule.
            let near = match names[..] {
                [_] => String::new(),
                _ => did_you_mean(&name, names.iter().copied()),
            };
            return format!(
                "{subject} must be {}{near}, got `{name}`",
                listed(&names, "or")
            );
        }
        if let Some(length) = found.strip_prefix("invalid length ") {
            let (wanted, _) = kind_of(known);
            let length = length
                .parse()
                .map_or(length.into(), |n| counted(n, "value"));
            return format!("{subject} must be {wanted}, got {length}");
        }
        let got = found.strip_prefix("invalid type: ");
        if let Some(got) = got.or_else(|| found.strip_prefix("invalid value: ")) {
            return wrong_type(subject, got, known);
        }
    }
    if let Some(found) = message.strip_suffix(", there are no fields")
        && let Some(name) = unknown("unknown field", found)
    {
        return format!("unknown field `{name}`; remove it, there are no fields");
    }
    if message.starts_with("data did not match any variant") {
        return format!("{subject} has none of the forms that are allowed here");
    }
    if message.starts_with("must ") {
        return format!("{subject} {message}");
    }
    message.into()
}

/// The type of a value, for the remedy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    List,
    Object,
    Other,
}

fn wrong_type(subject: &str, got: &str, expected: &str) -> String {
    let (wanted, wanted_kind) = kind_of(expected);
    let (got, got_kind) = found_words(got);
    let remedy = match (wanted_kind, got_kind) {
        (Kind::Number, Kind::Text) => "; write it without quotes",
        (Kind::Text, Kind::Number) => "; write it in double quotes",
        (Kind::List, kind) if kind != Kind::List => "; write it in brackets, such as [1, 2]",
        (Kind::Object, kind) if kind != Kind::Object => {
            "; write it in braces, such as {\"field\": 1}"
        }
        _ if got == "null" => "; give a value",
        _ => "",
    };
    format!("{subject} must be {wanted}, got {got}{remedy}")
}

/// The words for what `serde` says a value must be.
fn kind_of(expected: &str) -> (String, Kind) {
    let (words, kind) = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => ("a whole number from 0 on", Kind::Number),
        "i8" | "i16" | "i32" | "i64" | "isize" => ("a whole number", Kind::Number),
        "f32" | "f64" => ("a number", Kind::Number),
        "a boolean" => ("true or false", Kind::Other),
        "a string" | "a borrowed string" | "string" | "a character" => ("a text", Kind::Text),
        "a sequence" => ("a list", Kind::List),
        "a map" => ("an object", Kind::Object),
        "unit" | "unit struct" => ("null", Kind::Other),
        "string or map" | "variant identifier" => ("a text", Kind::Text),
        other => match other.split_once(' ') {
            Some(("struct" | "internally", _)) => ("an object", Kind::Object),
            Some(("enum", _)) => ("a text", Kind::Text),
            Some(("tuple", _)) => ("a list", Kind::List),
            _ => {
                let lengths = ["an array of length ", "a tuple of size "];
                let mut lengths = lengths.iter().filter_map(|kind| other.strip_prefix(kind));
                if let Some(length) = lengths.next() {
                    let length = length
                        .parse()
                        .map_or(length.into(), |n| counted(n, "value"));
                    return (format!("a list of {length}"), Kind::List);
                }
                // Words of our own.
                let kind = match other.contains("number") && !other.contains("name") {
                    true => Kind::Number,
                    false => Kind::Other,
                };
                (other, kind)
            }
        },
    };
    (words.into(), kind)
}

/// The words for what `serde` says was found.
fn found_words(found: &str) -> (String, Kind) {
    if let Some(text) = found.strip_prefix("string ") {
        let text: String = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        return (format!("the text `{}`", shortened(&text)), Kind::Text);
    }
    for kind in ["integer", "floating point", "boolean", "character"] {
        if let Some(value) = found.strip_prefix(kind) {
            let value = value.trim().trim_matches('`');
            let kind = match kind {
                "boolean" => Kind::Other,
                _ => Kind::Number,
            };
            return (value.into(), kind);
        }
    }
    match found {
        "sequence" => ("a list".into(), Kind::List),
        "map" => ("an object".into(), Kind::Object),
        "null" | "unit value" => ("null".into(), Kind::Other),
        other => (shortened(other), Kind::Other),
    }
}

/// Names in backquotes, the last after `word`.
fn listed(names: &[&str], word: &str) -> String {
    match names {
        [] => "none".into(),
        [one] => format!("`{one}`"),
        [first @ .., last] => format!("`{}` {word} `{last}`", first.join("`, `")),
    }
}

/// Text of a user, cut to 60 characters for a message.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Step {
        step: u64,
        #[serde(default)]
        costs: Vec<Option<f64>>,
        #[serde(default)]
        range: Option<[f64; 2]>,
        #[serde(default)]
        scale: Scale,
        #[serde(default)]
        name: String,
        #[serde(default)]
        last: bool,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Scale {
        #[default]
        Linear,
        Log,
    }

    #[test]
    fn explains_errors_without_the_words_of_the_parser() {
        const CASES: &str = r#"
{} | the body has no `step`; add it
{"step": "1"} | the body must be a whole number from 0 on, got the text `1`; write it without quotes
{"step": -1} | must be a whole number from 0 on, got -1
{"step": 1.5} | must be a whole number from 0 on, got 1.5
{"step": null} | must be a whole number from 0 on, got null; give a value
{"step": [1]} | must be a whole number from 0 on, got a list
{"step": {"x, expected u64": 1}} | must be a whole number from 0 on, got an object
{"step": "x, expected u64"} | got the text `x, expected u64`; write it without quotes
{"step": 1, "step": 2} | `step` is given twice; remove one
{"stpe": 1} | unknown field `stpe` (did you mean `step`?); the fields are `step`, `costs`, `range`, `scale`, `name` and `last`
{"step": 1, "costs": 3} | must be a list, got 3; write it in brackets, such as [1, 2]
{"step": 1, "costs": ["a"]} | must be a number, got the text `a`; write it without quotes
{"step": 1, "range": [1]} | must be a list of 2 values, got 1 value
{"step": 1, "range": 1} | must be a list of 2 values, got 1; write it in brackets
{"step": 1, "scale": "lin"} | must be `linear` or `log`
{"step": 1, "scale": "lgo"} | must be `linear` or `log` (did you mean `log`?), got `lgo`
{"step": 1, "scale": 3} | this is not JSON (character 22): there is no JSON value here
{"step": 1, "name": 3} | must be a text, got 3; write it in double quotes
{"step": 1, "last": "yes"} | must be true or false, got the text `yes`
{"step": 1 | this is not JSON (character 10): it ends before an object is closed
{"step": 1,} | remove the comma before the closing bracket
{"step" 1} | a `:` is missing
{step: 1} | the name of a field must stand in double quotes
{"step": 1} 2 | there is more after the end of the value
{"step": NaN} | there is no JSON value here
{"step": nul} | a word without quotes
{"step": 01} | not written as JSON writes it
{"step": 1, "costs": [1e999]} | too large for a double
{"step": 1, "name": "\x"} | an escape that JSON does not know
{"step": 1, "name": "\ud800"} | an escape
7 | the body must be an object, got 7; write it in braces
"#;
        for case in CASES.trim().lines() {
            let (text, words) = case.split_once(" | ").unwrap();
            let error = serde_json::from_str::<Step>(text).unwrap_err();
            let said = json_error(&error, "the body");
            assert!(said.contains(words), "{text}: {said} ({error})");
            for phrase in ["invalid type", "missing field", " at line ", "column"] {
                assert!(!said.contains(phrase), "{text}: {said}");
            }
        }
    }

    #[test]
    fn explains_toml_without_the_words_of_the_parser() {
        const CASES: &str = r#"
a = 1⏎a = 2 | this name is given twice; remove one
a | a name without a value; write NAME = VALUE
a = | write a number, or a text in quotes
a = b | write a number, or a text in quotes
a = "b | a text is not closed on its line; add the closing quote
a = 'b | a text is not closed on its line; add the closing quote
a = "\x" | an escape
[a | the bracket after the name of a table is missing; write [NAME]
a = [1 | a list is not closed; add the `]`
a = [1 2] | a number, or a text in quotes
a = ["b" "c"] | a comma is missing between two values
a = [1,,2] | one comma too many
a = { b = 1 | a table is not closed; add the `}`
a = { b = 1 c = 2 } | a comma is missing
a b = 1 | NAME = VALUE
a == 1 | one `=` too many
a$ = 1 | a name has letters
a = 07 | must not begin with 0
a = 1 2 | a number, or a text in quotes
a = "b" c = 2 | one NAME = VALUE on each line
a = 1⏎a.b = 2 | remove one
= 1 | a name has letters
a = 1__0 | between digits only
"#;
        for case in CASES.trim().lines() {
            let (text, words) = case.split_once(" | ").unwrap();
            let text = text.replace('⏎', "\n");
            let error = toml::de::DeTable::parse(&text).unwrap_err();
            let said = toml_error(error.message());
            assert!(said.contains(words), "{text}: {said} ({})", error.message());
        }
    }
}
