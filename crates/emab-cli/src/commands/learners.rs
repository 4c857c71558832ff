//! `emab learners`: the catalogue of learners with their parameters.

use emab::learners::{CATALOGUE, LearnerEntry, LearnerError, nearest};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::terminal;

pub fn learners(names: &[String], json: bool) -> Result<(), CommandError> {
    let entries = named(names)?;
    if json {
        let list: Vec<Value> = entries.iter().map(|entry| document(entry)).collect();
        return terminal::print_json(&list);
    }
    let width = terminal::width();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![
                entry.name.into(),
                entry.access.description().into(),
                entry.about.into(),
                entry.reference.into(),
            ]
        })
        .collect();
    let header = ["learner", "sees", "what it does", "reference"];
    let mut text = emab_report::table(&header, &rows, width);
    text += "\n\n";
    text += &if names.is_empty() {
        defaults(&entries, width)
    } else {
        explained(&entries, width)
    };
    text += "\n\nA learner with parameters is written name:key=value,key=value. Values in [learning]\n\
             of a problem file override these defaults.";
    if names.is_empty() {
        text += " `emab learners NAME` describes each parameter.";
    }
    text += "\n";
    terminal::print(&text)
}

/// The entries of these names, or all.
fn named(names: &[String]) -> Result<Vec<&'static LearnerEntry>, CommandError> {
    if names.is_empty() {
        return Ok(CATALOGUE.to_vec());
    }
    let find = |name: &String| {
        let entry = CATALOGUE.iter().find(|entry| entry.name == name);
        entry.copied().ok_or_else(|| {
            let near = nearest(name, CATALOGUE.iter().map(|entry| entry.name));
            let name = name.clone();
            CommandError::Input(LearnerError::Unknown { name, near }.to_string())
        })
    };
    names.iter().map(find).collect()
}

fn document(entry: &LearnerEntry) -> Value {
    json!({
        "name": entry.name,
        "about": entry.about,
        "reference": entry.reference,
        "sees": entry.access,
        "chooses": entry.choice_basis,
        "parameters": entry.parameters,
    })
}

/// One line per learner: its parameters as they are written.
fn defaults(entries: &[&LearnerEntry], width: usize) -> String {
    let rows: Vec<Vec<String>> = entries
        .iter()
        .filter(|entry| !entry.parameters.is_empty())
        .map(|entry| {
            let parameters = entry.parameters.iter();
            let each: Vec<String> = parameters
                .map(|parameter| format!("{}={}", parameter.name, parameter.default))
                .collect();
            vec![entry.name.into(), each.join(", ")]
        })
        .collect();
    emab_report::table(&["learner", "parameters and defaults"], &rows, width)
}

/// One line per parameter.
fn explained(entries: &[&LearnerEntry], width: usize) -> String {
    let rows: Vec<Vec<String>> = entries
        .iter()
        .flat_map(|entry| entry.parameters.iter().map(move |p| (entry, p)))
        .map(|(entry, p)| {
            vec![
                entry.name.into(),
                p.name.into(),
                p.default.into(),
                p.about.into(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return "It has no parameters.".into();
    }
    let header = ["learner", "parameter", "default", "what it is"];
    emab_report::table(&header, &rows, width)
}
