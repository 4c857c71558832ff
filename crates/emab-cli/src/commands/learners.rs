//! `emab learners`: who can be run, with which parameters.

use emab::learners::CATALOGUE;
use serde_json::json;

use crate::failure::Failure;
use crate::terminal;

pub fn learners(json: bool) -> Result<(), Failure> {
    if json {
        let list: Vec<_> = CATALOGUE
            .iter()
            .map(|entry| {
                json!({
                    "name": entry.name,
                    "about": entry.about,
                    "reference": entry.reference,
                    "sees": entry.sees,
                    "parameters": entry.parameters,
                })
            })
            .collect();
        return terminal::print_json(&list);
    }
    let rows: Vec<Vec<String>> = CATALOGUE
        .iter()
        .map(|entry| {
            vec![
                entry.name.into(),
                entry.sees.words().into(),
                entry.about.into(),
                entry.reference.into(),
            ]
        })
        .collect();
    let width = terminal::width();
    let mut text = emab_report::table(
        &["learner", "sees", "what it does", "reference"],
        &rows,
        width,
    );
    let rows: Vec<Vec<String>> = CATALOGUE
        .iter()
        .flat_map(|entry| {
            entry
                .parameters
                .iter()
                .map(move |parameter| (entry, parameter))
        })
        .map(|(entry, p)| {
            vec![
                entry.name.into(),
                p.name.into(),
                p.default.into(),
                p.about.into(),
            ]
        })
        .collect();
    text += "\n\n";
    text += &emab_report::table(
        &["learner", "parameter", "default", "what it is"],
        &rows,
        width,
    );
    text += "\n\nA learner with parameters is written name:key=value,key=value. What a problem file states in\n\
             [learning] goes before these defaults.\n";
    terminal::print(&text)
}
