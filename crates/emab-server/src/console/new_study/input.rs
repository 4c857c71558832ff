//! Reads the form of a new study: a problem file or the small form becomes the body that the API takes.

use std::collections::BTreeMap;

use bytes::Bytes;
use emab_problem::document::{Diagnostic, SpannedValue, ValueKind, parse};
use emab_problem::{Format, NAME_RULE, is_name};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::inputs::{
    ACTIONS, DELTA, EXPECTED_DELAY, FEEDBACKS, HORIZON, Input, LEARNER, MISSING_AT_RANDOM, NAME,
    OF_PROBLEM, OF_STUDY, PROBLEM, SIGMA2, SMALLEST_COST, SMALLEST_REWARD, STATES, TRANSITION,
};
use crate::console::form::{Fields, number};
use crate::domain::json::short;
use crate::http::error::ApiError;

/// The learner of a study for which none is named.
pub const DEFAULT_LEARNER: &str = "feedbal-pooled";
/// The name under which a study is checked as long as it has no valid name.
const NO_NAME: &str = "study";

/// How the problem is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    File,
    Form,
}

impl Way {
    pub fn of(fields: &Fields) -> Way {
        match fields.get("way") {
            "form" => Way::Form,
            _ => Way::File,
        }
    }
}

/// What is wrong with the form, and where.
#[derive(Clone, Debug)]
pub struct Problem {
    pub input: Input,
    /// The line of the problem file.
    pub line: Option<usize>,
    pub error: ApiError,
}

impl Problem {
    fn new(input: Input, error: ApiError) -> Problem {
        Problem {
            input,
            line: None,
            error,
        }
    }

    /// The field, and the line in it.
    pub fn place(&self) -> String {
        let label = self.input.label;
        match self.line {
            Some(line) => format!("{label}, line {line}"),
            None => label.into(),
        }
    }

    pub fn of_name(error: ApiError) -> Problem {
        Problem::new(NAME, error)
    }
}

/// The form of a new study, as far as it could be read.
#[derive(Debug, Default)]
pub struct Draft {
    pub name: String,
    /// What the API takes; none if the problem could not be read.
    pub body: Option<Bytes>,
    pub problems: Vec<Problem>,
    /// What was left out of the file.
    pub notices: Vec<String>,
    /// The problem file and its values with their places.
    source: Option<(String, SpannedValue)>,
}

/// The fields of the body, each as JSON.
type Body = BTreeMap<String, Box<RawValue>>;

impl Draft {
    pub fn read(fields: &Fields) -> Draft {
        let mut draft = Draft {
            name: fields.get("name").into(),
            ..Draft::default()
        };
        if !is_name(&draft.name) {
            let what = match draft.name.as_str() {
                "" => format!("a study needs a name: {NAME_RULE}"),
                name => format!(
                    "`{}` cannot be the name of a study: {NAME_RULE}",
                    short(name)
                ),
            };
            draft.reject(NAME, what);
        }
        let body = match Way::of(fields) {
            Way::File => draft.file(fields),
            Way::Form => draft.small_form(fields),
        };
        if let Some(body) = body.and_then(|body| draft.add_study_fields(fields, body)) {
            match serde_json::to_vec(&body) {
                Ok(bytes) => draft.body = Some(bytes.into()),
                Err(error) => draft.reject(PROBLEM, error.to_string()),
            }
        }
        draft
    }

    /// The name, or one that stands for it in a check.
    pub fn name_or_other(&self) -> &str {
        Some(self.name.as_str())
            .filter(|name| is_name(name))
            .unwrap_or(NO_NAME)
    }

    fn reject(&mut self, input: Input, what: impl Into<String>) {
        self.problems
            .push(Problem::new(input, ApiError::not_possible(what)));
    }

    /// The problem of the file, which was uploaded or pasted.
    fn file(&mut self, fields: &Fields) -> Option<Body> {
        let text = file_text(fields);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            self.reject(
                PROBLEM,
                "there is no problem: paste a problem file, or choose one",
            );
            return None;
        }
        if let Some(at) = text.find('\u{fffd}') {
            let what = "the file is not UTF-8 text: this line has bytes or characters that cannot be read; save it as UTF-8";
            self.reject_at(text, at, what.into());
            return None;
        }
        let format = format_of(text);
        let tree = match parse(format, text) {
            Ok(tree) => tree,
            Err(error) => {
                let at = error.span.as_ref().map_or(0, |span| span.start);
                self.reject_at(text, at, in_words(error));
                return None;
            }
        };
        let ValueKind::Table(entries) = &tree.kind else {
            self.reject_at(
                text,
                0,
                "a problem file in JSON is an object, in braces".into(),
            );
            return None;
        };
        let mut body = Body::new();
        for (key, value) in entries {
            match key.name.as_str() {
                left_out @ ("model" | "conditions") => {
                    let why = match left_out {
                        "model" => "a study learns it from its cases",
                        _ => "conditions apply to simulations",
                    };
                    self.notices
                        .push(format!("`{left_out}` of the file is left out: {why}."));
                }
                name => {
                    body.insert(name.into(), to_raw_value(value).ok()?);
                }
            }
        }
        self.source = Some((text.into(), tree));
        Some(body)
    }

    fn reject_at(&mut self, text: &str, at: usize, what: String) {
        self.problems.push(Problem {
            line: Some(line_of(text, at)),
            ..Problem::new(PROBLEM, ApiError::not_possible(what))
        });
    }

    /// The problem of the small form.
    fn small_form(&mut self, fields: &Fields) -> Option<Body> {
        let before = self.problems.len();
        let mut body = Body::new();
        let mut put = |name: &str, value: Value| {
            if let Ok(raw) = to_raw_value(&value) {
                body.insert(name.into(), raw);
            }
        };
        for input in [STATES, ACTIONS, FEEDBACKS] {
            match names(fields.get_untrimmed(input.id)) {
                Some(value) => put(input.id, value),
                None => self.reject(input, format!("there are no {}: write their names, one per line or with commas between them", input.id)),
            }
        }
        if let Some(start) = names(fields.get_untrimmed("start")) {
            put("start", start);
        }
        match fields.get("horizon").parse::<u32>() {
            Ok(horizon) => put("horizon", horizon.into()),
            Err(_) => {
                let got = short(fields.get("horizon"));
                self.reject(
                    HORIZON,
                    format!("the number of steps is a whole number from 1, got `{got}`"),
                );
            }
        }
        match fields.get("transition") {
            "" => self.reject(
                TRANSITION,
                "the next state is missing: write an expression such as `1 + f`",
            ),
            text => put("transition", text.into()),
        }
        let delta = self.number(DELTA, fields.get("delta"));
        let sigma2 = match fields.get("sigma2") {
            "" => None,
            text => self.number(SIGMA2, text),
        };
        let [reward, cost] = ["reward", "cost"].map(|what| {
            let [low, high] = ends(fields, what);
            [number(or(&low, "0")), number(or(&high, "1"))]
        });
        if let ([Some(low), Some(high)], [Some(least), Some(most)]) = (reward, cost) {
            // Hoeffding's lemma: the variance proxy of a value in a range.
            let proxy = |low: f64, high: f64| (high - low) * (high - low) / 4.0;
            let mut learning = json!({"delta": delta, "reward_range": [low, high]});
            match sigma2 {
                Some(sigma2) => learning["sigma2"] = sigma2.into(),
                None => {
                    learning["sigma2_reward"] = proxy(low, high).into();
                    learning["sigma2_cost"] = proxy(least, most).into();
                }
            }
            put("learning", learning);
        }
        (self.problems.len() == before).then_some(body)
    }

    fn number(&mut self, input: Input, text: &str) -> Option<f64> {
        let found = number(text);
        if found.is_none() {
            self.reject(
                input,
                format!(
                    "`{}` is a number such as 0.05, got `{}`",
                    input.label,
                    short(text)
                ),
            );
        }
        found
    }

    /// Adds the fields of the page that are not of the problem.
    fn add_study_fields(&mut self, fields: &Fields, mut body: Body) -> Option<Body> {
        let before = self.problems.len();
        let way = Way::of(fields);
        let learner = fields
            .given("own_learner")
            .or_else(|| fields.given("learner"));
        let learner = learner.or_else(|| {
            let default = !body.contains_key("learner");
            default.then(|| DEFAULT_LEARNER.into())
        });
        if let Some(learner) = learner {
            self.put(&mut body, LEARNER, "learner", learner.into());
        }
        if let Some(delay) = fields.given("expected_delay") {
            self.put(&mut body, EXPECTED_DELAY, "expected_delay", delay.into());
        }
        let mut range = serde_json::Map::new();
        for (what, input) in [("reward", SMALLEST_REWARD), ("cost", SMALLEST_COST)] {
            let [low, high] = ends(fields, what);
            let is_set = !low.is_empty() || !high.is_empty();
            let default = if way == Way::Form {
                ["0", "1"]
            } else {
                ["", ""]
            };
            let [low, high] = [or(&low, default[0]), or(&high, default[1])];
            match (number(low), number(high)) {
                (Some(low), Some(high)) => {
                    range.insert(what.into(), json!([low, high]));
                }
                _ if is_set => {
                    let what = format!(
                        "the smallest and the largest {what} are two numbers, got `{}` and `{}`; leave both empty if they are not known",
                        short(low),
                        short(high)
                    );
                    self.reject(input, what);
                }
                _ => {}
            }
        }
        if !range.is_empty() {
            self.put(&mut body, SMALLEST_REWARD, "outcome_range", range.into());
        }
        if fields.ticked("missing_at_random") {
            self.put(
                &mut body,
                MISSING_AT_RANDOM,
                "missing_at_random",
                true.into(),
            );
        }
        (self.problems.len() == before).then_some(body)
    }

    /// Sets a field of the body, unless the file has another value of it.
    fn put(&mut self, body: &mut Body, input: Input, name: &str, value: Value) {
        let Ok(value) = to_raw_value(&value) else {
            return;
        };
        match body.get(name) {
            Some(there) if there.get() != value.get() => {
                let (there, here) = (short(there.get()), short(value.get()));
                let what = format!(
                    "`{name}` is {there} in the problem file and {here} in this field; state it once"
                );
                self.reject(input, what);
            }
            _ => {
                body.insert(name.into(), value);
            }
        }
    }

    /// The place of an error of the study: a line of the file, or a field.
    pub fn locate(&self, error: ApiError) -> Problem {
        let pointer = error.pointer.clone().unwrap_or_default();
        let found = self.source.as_ref().and_then(|(text, tree)| {
            let at = place_of(tree, &pointer)?;
            Some(line_of(text, at))
        });
        if found.is_some() {
            return Problem {
                line: found,
                ..Problem::new(PROBLEM, error)
            };
        }
        let inputs = match self.source {
            Some(_) => OF_STUDY.iter().chain(&[]),
            None => OF_STUDY.iter().chain(&OF_PROBLEM[..]),
        };
        let input = inputs
            .copied()
            .find(|input| pointer.starts_with(input.pointer));
        let whole = if self.source.is_some() {
            PROBLEM
        } else {
            STATES
        };
        Problem::new(input.unwrap_or(whole), error)
    }
}

/// The text of the problem file: an uploaded one replaces the text on the page.
pub fn file_text(fields: &Fields) -> &str {
    match fields.get_untrimmed("file") {
        "" => fields.get_untrimmed("problem"),
        file => file,
    }
}

/// JSON is recognised by its brace, with which no TOML begins.
fn format_of(text: &str) -> Format {
    match text.trim_start().starts_with('{') {
        true => Format::Json,
        false => Format::Toml,
    }
}

fn in_words(error: Diagnostic) -> String {
    let label = Some(error.label).filter(|_| error.explains);
    let parts = [Some(error.message), label, error.help];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The number of the line with this byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Where the value at a JSON pointer begins; that of the nearest one around it if it has no place.
fn place_of(tree: &SpannedValue, pointer: &str) -> Option<usize> {
    let mut found = None;
    let mut value = tree;
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        match &value.kind {
            ValueKind::Table(entries) => {
                let Some((key, inner)) = entries.iter().find(|(key, _)| key.name == name) else {
                    break;
                };
                found = Some(key.span.start);
                value = inner;
            }
            ValueKind::Array(items) => {
                let Some(inner) = name.parse::<usize>().ok().and_then(|i| items.get(i)) else {
                    break;
                };
                found = Some(inner.span.start);
                value = inner;
            }
            _ => break,
        }
    }
    found
}

/// Names with line breaks or commas between them; a single number is a count. None if there are none.
fn names(text: &str) -> Option<Value> {
    let list = text
        .split(['\n', ','])
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let list: Vec<&str> = list.collect();
    match list[..] {
        [] => None,
        [only] if only.parse::<u32>().is_ok() => only.parse::<u32>().ok().map(Value::from),
        _ => Some(list.into()),
    }
}

/// The ends of a range as they were typed.
fn ends(fields: &Fields, what: &str) -> [String; 2] {
    ["least", "most"].map(|end| fields.get(&format!("{what}-{end}")).to_owned())
}

fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Study;

    fn draft(pairs: &[(&str, &str)]) -> Draft {
        let mut fields = Fields::default();
        pairs
            .iter()
            .for_each(|(name, value)| fields.push(*name, *value));
        Draft::read(&fields)
    }

    const SMALL_FORM: [(&str, &str); 8] = [
        ("name", "clinic"),
        ("way", "form"),
        ("states", "unknown, clear\nsuspect"),
        ("actions", "blood\nscan"),
        ("feedbacks", "negative, positive"),
        ("horizon", "3"),
        ("transition", "1 + f"),
        ("delta", "0,05"),
    ];

    #[test]
    fn the_small_form_leads_to_certificates() {
        for learner in ["", "feedbal:width=sound", "feedbal-pooled:target=benchmark"] {
            let mut pairs = SMALL_FORM.to_vec();
            pairs.push(("own_learner", learner));
            let draft = draft(&pairs);
            assert!(draft.problems.is_empty(), "{:?}", draft.problems);
            let study = Study::read("clinic", &draft.body.unwrap()).unwrap();
            assert_eq!(study.unsound, None, "{learner}");
            assert_eq!(study.outcome_range.reward, Some([0.0, 1.0]));
            assert!(
                study.canonical.contains("\"sigma2_reward\":0.25"),
                "{}",
                study.canonical
            );
        }
    }

    #[test]
    fn toml_and_json_are_the_same_study() {
        let toml = "horizon = 2\nstates = 3\nactions = 1\nfeedbacks = 2\ntransition = \"1 + f\"\n\
            [learning]\ndelta = 0.1\nsigma2 = 0.25\nreward_range = [0, 1]\n[model]\nreward = 1\n";
        let json = "{\"horizon\": 2, \"states\": 3, \"actions\": 1, \"feedbacks\": 2, \"transition\": \"1 + f\", \
            \"learning\": {\"delta\": 0.1, \"sigma2\": 0.25, \"reward_range\": [0, 1]}}";
        let [one, other] = [toml, json].map(|text| draft(&[("name", "a"), ("problem", text)]));
        assert!(one.problems.is_empty() && other.problems.is_empty());
        assert_eq!((one.notices.len(), other.notices.len()), (1, 0));
        let canonical = |draft: Draft| Study::read("a", &draft.body.unwrap()).unwrap().canonical;
        assert_eq!(canonical(one), canonical(other));
    }

    #[test]
    fn errors_have_a_line_or_a_field() {
        let line = |text: &str| {
            let draft = draft(&[("name", "a"), ("problem", text)]);
            match &draft.body {
                None => draft.problems[0].line,
                Some(body) => {
                    let error = Study::read("a", body).unwrap_err();
                    draft.locate(error.into()).line
                }
            }
        };
        assert_eq!(line("horizon = 2\nstates ="), Some(2));
        assert_eq!(line("{\"horizon\": 2,\n\n\"states\": }"), Some(3));
        assert_eq!(line("horizon = 2\n# caf\u{fffd}\n"), Some(2));
        let good = "horizon = 2\nstates = 3\nactions = 1\nfeedbacks = 2\n";
        assert_eq!(line(&format!("{good}transition = \"1 + g\"")), Some(5));
        assert_eq!(line(&format!("{good}transition = 1\nhorizn = 1")), Some(6));
        assert_eq!(
            line(&format!("\n\n{good}transition = 1\n[learning]\ndelta = 2")),
            Some(9)
        );
        let mut pairs = SMALL_FORM.to_vec();
        pairs[6].1 = "1 + g";
        let draft = draft(&pairs);
        let error = Study::read("clinic", draft.body.as_ref().unwrap()).unwrap_err();
        assert_eq!(draft.locate(error.into()).input.id, "transition");
    }

    #[test]
    fn every_problem_of_the_small_form_is_found() {
        let empty = draft(&[("way", "form")]);
        let ids: Vec<&str> = empty.problems.iter().map(|it| it.input.id).collect();
        let expected = [
            "name",
            "states",
            "actions",
            "feedbacks",
            "horizon",
            "transition",
            "delta",
        ];
        assert_eq!(ids, expected);
        assert!(empty.body.is_none());
    }

    #[test]
    fn a_value_is_stated_once() {
        let problem = "learner = \"feedbal\"\n";
        let twice = |learner| {
            draft(&[("name", "a"), ("problem", problem), ("learner", learner)])
                .problems
                .len()
        };
        assert_eq!(
            (twice(""), twice("feedbal"), twice("feedbal-pooled")),
            (0, 0, 1)
        );
    }
}
