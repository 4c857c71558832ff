//! A fitted model as a problem file in TOML.

use std::fmt::Write;

use emab::{Noise, Spec};
use emab_problem::document::FIELDS;
use serde_json::{Map, Value, json};

use super::{CONFIDENCE, FittedModel, FittedPair};
use crate::evaluate::LeftOut;

/// The fields of a problem file that are written apart.
const APART: [&str; 5] = ["name", "parameters", "model", "conditions", "learning"];

impl FittedModel {
    /// The problem file, with the number of observations and the error of every estimate in comments. `source` names the log.
    pub fn toml(&self, source: &str) -> String {
        let counts = self.log;
        let mut head = vec![
            match counts.learned < counts.episodes {
                true => format!(
                    "Model fitted to {} episodes of {source}; not used: {}.",
                    counts.learned,
                    LeftOut(counts)
                ),
                false => format!("Model fitted to {} episodes of {source}.", counts.learned),
            },
            "Beside every number: n, how often it was observed, and ±, how far it can be from the truth.".into(),
            format!(
                "With probability {} % all of them hold at once, although the log was collected adaptively,",
                CONFIDENCE * 100.0
            ),
            "if feedback, costs and rewards depend on step, state and action alone.".into(),
            "\"not observed\": feedback is uniform, a cost is the mean of all costs, a reward that of all rewards.".into(),
        ];
        for assumed in &self.assumed {
            head.push(format!("Assumed: {assumed}."));
        }
        self.write(&head, ", fitted", true)
    }

    /// The problem file of a model drawn from the posterior.
    pub fn draw_toml(&self, source: &str, seed: u64, number: u64) -> String {
        let head =
            format!("Plausible model {number} of seed {seed}, from the posterior of {source}.");
        self.write(&[head], &format!(", draw {number}"), false)
    }

    fn write(&self, head: &[String], suffix: &str, with_counts: bool) -> String {
        let fields: Map<String, Value> =
            serde_json::from_str(&self.file.spec_json()).unwrap_or_default();
        let mut text = String::new();
        for line in head {
            // A line break in the name of a log would end the comment.
            let line = line.replace(char::is_control, " ");
            line_of(&mut text, format_args!("# {line}"));
        }
        let name = Value::String(format!("{}{suffix}", self.file.name()));
        line_of(&mut text, format_args!("\nname = {}", toml(&name)));
        for field in FIELDS.iter().filter(|it| !APART.contains(it)) {
            if let Some(value) = fields.get(*field) {
                line_of(&mut text, format_args!("{field} = {}", toml(value)));
            }
        }
        table(&mut text, "parameters", fields.get("parameters"));
        line_of(&mut text, format_args!("\n[model]"));
        self.starts(&mut text, with_counts);
        self.feedback(&mut text, with_counts);
        self.cost(&mut text, with_counts);
        self.reward(&mut text, with_counts);
        line_of(
            &mut text,
            format_args!("cost_noise = {}", noise(self.cost_noise)),
        );
        line_of(
            &mut text,
            format_args!("reward_noise = {}", noise(self.reward_noise)),
        );
        let mut learning = fields
            .get("learning")
            .cloned()
            .unwrap_or_else(|| Value::Object(Map::new()));
        if let Value::Object(fields) = &mut learning {
            self.add_stated(fields);
        }
        table(&mut text, "learning", Some(&learning));
        text
    }

    /// Adds the ranges that the study or the call states to `[learning]`, where the problem does not. A problem file has no range of
    /// expected costs.
    fn add_stated(&self, learning: &mut Map<String, Value>) {
        if let Ok(Value::Object(ranges)) = serde_json::to_value(self.outcome_range)
            && !ranges.is_empty()
        {
            let known = learning.entry("outcome_range").or_insert_with(|| json!({}));
            for (name, range) in ranges {
                if let Some(known) = known.as_object_mut() {
                    known.entry(name).or_insert(range);
                }
            }
        }
        if let Some((least, most)) = self.stated.reward_range {
            let range = json!([least, most]);
            learning.entry("reward_range").or_insert(range);
        }
        if let Some(sigma2) = self.stated.sigma2 {
            learning.entry("sigma2").or_insert(json!(sigma2));
        }
    }

    fn starts(&self, text: &mut String, with_counts: bool) {
        if self.starts.len() == 1 {
            return;
        }
        let shares: Vec<String> = self.starts.iter().map(|(it, _)| it.to_string()).collect();
        let counts: Vec<String> = self.starts.iter().map(|(_, it)| it.to_string()).collect();
        let comment = match with_counts {
            true => format!(
                " # n = {} ± {}",
                counts.join(", "),
                rounded(self.start_error)
            ),
            false => String::new(),
        };
        line_of(
            text,
            format_args!("start = [{}]{comment}", shares.join(", ")),
        );
    }

    /// Writes `name = [t][x]…`; `cell` writes the value of a pair, with its comment.
    fn nested(
        &self,
        text: &mut String,
        name: &str,
        steps: usize,
        mut cell: impl FnMut(&mut String, &Spec, Option<&FittedPair>),
    ) {
        let spec = self.spec();
        line_of(text, format_args!("{name} = ["));
        for t in 1..=steps {
            line_of(text, format_args!("  [ # t = {t}"));
            for x in 0..spec.states().len() {
                let pair = self.pairs.get(&(t, x));
                let state = spec.states().name(x);
                let _ = write!(text, "    ");
                cell(text, spec, pair);
                let reached = if pair.is_some() {
                    ""
                } else {
                    ": cannot be reached"
                };
                line_of(text, format_args!(" x = {state}{reached}"));
            }
            line_of(text, format_args!("  ],"));
        }
        line_of(text, format_args!("]"));
    }

    fn feedback(&self, text: &mut String, with_counts: bool) {
        let steps = self.spec().horizon() - 1;
        if steps == 0 {
            return line_of(
                text,
                format_args!("feedback = {}", 1.0 / self.spec().feedbacks().len() as f64),
            );
        }
        line_of(
            text,
            format_args!("# feedback[t][x][a][f]: the probability of each feedback"),
        );
        self.nested(text, "feedback", steps, |text, spec, pair| {
            let uniform = vec![1.0 / spec.feedbacks().len() as f64; spec.feedbacks().len()];
            let (mut rows, mut notes) = (Vec::new(), Vec::new());
            for a in 0..spec.actions().len() {
                let action = pair.and_then(|pair| pair.actions[a].as_ref());
                let shares = action.map_or(&uniform, |action| &action.feedback);
                let shares: Vec<String> = shares.iter().map(f64::to_string).collect();
                rows.push(format!("[{}]", shares.join(", ")));
                if let Some(action) = action {
                    let note = observed(action.count(), action.error);
                    notes.push(format!("{}: {note}", spec.actions().name(a)));
                }
            }
            let _ = write!(text, "[{}], #", rows.join(", "));
            comment(text, with_counts, &notes);
        });
    }

    fn cost(&self, text: &mut String, with_counts: bool) {
        let steps = self.spec().horizon() - 1;
        if steps == 0 {
            return;
        }
        line_of(text, format_args!("# cost[t][x][a]"));
        self.nested(text, "cost", steps, |text, spec, pair| {
            let (mut costs, mut notes) = (Vec::new(), Vec::new());
            for a in 0..spec.actions().len() {
                let action = pair.and_then(|pair| pair.actions[a].as_ref());
                costs.push(action.map_or(0.0, |action| action.cost.value).to_string());
                if let Some(action) = action {
                    let note = observed(action.cost.count, action.cost.error);
                    notes.push(format!("{}: {note}", spec.actions().name(a)));
                }
            }
            let _ = write!(text, "[{}], #", costs.join(", "));
            comment(text, with_counts, &notes);
        });
    }

    fn reward(&self, text: &mut String, with_counts: bool) {
        line_of(text, format_args!("# reward[t][x]"));
        let steps = self.spec().horizon();
        self.nested(text, "reward", steps, |text, _spec, pair| {
            let reward = pair.map(|pair| pair.reward);
            let _ = write!(text, "{}, #", reward.map_or(0.0, |reward| reward.value));
            let notes = reward.map(|reward| observed(reward.count, reward.error));
            comment(text, with_counts, notes.as_slice());
        });
    }
}

fn comment(text: &mut String, with_counts: bool, notes: &[String]) {
    if with_counts && !notes.is_empty() {
        let _ = write!(text, " {};", notes.join("; "));
    }
}

fn observed(count: u64, error: f64) -> String {
    match count {
        0 => "not observed".into(),
        _ => format!("n = {count} ± {}", rounded(error)),
    }
}

/// To three digits, upwards.
fn rounded(error: f64) -> String {
    if error == 0.0 {
        return "0".into();
    }
    let unit = libm::pow(10.0, libm::floor(libm::log10(error)) - 2.0);
    let digits = (2.0 - libm::floor(libm::log10(error))).clamp(0.0, 12.0) as usize;
    format!("{:.digits$}", libm::ceil(error / unit) * unit)
}

/// Appends a line; writing into a string does not fail.
fn line_of(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

fn noise(noise: Noise) -> String {
    match noise {
        Noise::None => "{ kind = \"none\" }".into(),
        Noise::Normal { sd } => format!("{{ kind = \"normal\", variance = {} }}", sd * sd),
        Noise::Uniform { half_width } => {
            format!("{{ kind = \"uniform\", half_width = {half_width} }}")
        }
        Noise::Bernoulli => "{ kind = \"bernoulli\" }".into(),
    }
}

/// A table of a problem file, if it has fields.
fn table(text: &mut String, name: &str, fields: Option<&Value>) {
    let Some(Value::Object(fields)) =
        fields.filter(|it| it.as_object().is_some_and(|it| !it.is_empty()))
    else {
        return;
    };
    line_of(text, format_args!("\n[{name}]"));
    for (key, value) in fields {
        line_of(text, format_args!("{} = {}", key_of(key), toml(value)));
    }
}

fn key_of(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !key.is_empty() && key.chars().all(bare) {
        true => key.into(),
        false => toml(&Value::String(key.into())),
    }
}

/// A JSON value as a value in TOML.
fn toml(value: &Value) -> String {
    match value {
        // The escapes of JSON are also those of TOML.
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(toml).collect();
            format!("[{}]", list.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{} = {}", key_of(key), toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
