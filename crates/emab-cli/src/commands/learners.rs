//! `emab learners`: the catalogue of learners with their parameters.

use emab::learners::{CATALOGUE, LearnerEntry, LearnerError};
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
    let row = |e: &&LearnerEntry| owned([e.name, e.access.description(), e.about, e.reference]);
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    let header = ["learner", "sees", "what it does", "reference"];
    let mut text = emab_report::table(&header, &rows, width);
    text += "\n\n";
    text += &match names.is_empty() {
        true => defaults(&entries, width),
        false => explained(&entries, width),
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
            let name = name.clone();
            CommandError::Input(LearnerError::Unknown { name }.to_string())
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
    let with_parameters = entries.iter().filter(|entry| !entry.parameters.is_empty());
    let row = |entry: &&LearnerEntry| {
        let each = entry.parameters.iter();
        let each = each.map(|parameter| format!("{}={}", parameter.name, parameter.default));
        vec![entry.name.into(), each.collect::<Vec<_>>().join(", ")]
    };
    let rows: Vec<Vec<String>> = with_parameters.map(row).collect();
    emab_report::table(&["learner", "parameters and defaults"], &rows, width)
}

fn owned(cells: [&str; 4]) -> Vec<String> {
    cells.map(String::from).into()
}

/// One line per parameter.
fn explained(entries: &[&LearnerEntry], width: usize) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for entry in entries {
        let each = entry.parameters.iter();
        rows.extend(each.map(|p| owned([entry.name, p.name, p.default, p.about])));
    }
    if rows.is_empty() {
        return "It has no parameters.".into();
    }
    let header = ["learner", "parameter", "default", "what it is"];
    emab_report::table(&header, &rows, width)
}
