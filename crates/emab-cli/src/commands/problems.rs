//! `emab problems`: the built-in problems.

use emab_problem::{BUILTIN, ProblemFile};
use serde_json::json;

use crate::error::CommandError;
use crate::{load, terminal};

pub fn problems(name: Option<&str>, json: bool) -> Result<(), CommandError> {
    if let Some(name) = name {
        return match BUILTIN.iter().find(|builtin| builtin.name == name) {
            // The problem as JSON is a problem file too.
            Some(_) if json => terminal::print(load::problem(name)?.canonical()),
            Some(builtin) => terminal::print(builtin.text),
            None => load::problem(name)
                .map(|_| ())
                .and(Err(CommandError::input(format!(
                    "`{name}` is not a built-in problem; `emab problems` lists them"
                )))),
        };
    }
    let files: Vec<(&str, ProblemFile)> = BUILTIN
        .iter()
        .map(|builtin| Ok((builtin.name, load::problem(builtin.name)?)))
        .collect::<Result<_, CommandError>>()?;
    if json {
        let list: Vec<_> = files
            .iter()
            .map(|(name, file)| {
                json!({
                    "name": name,
                    "description": file.description(),
                    "horizon": file.spec().horizon(),
                    "states": file.spec().states().len(),
                    "actions": file.spec().actions().len(),
                    "feedbacks": file.spec().feedbacks().len(),
                    "hash": file.hash(),
                })
            })
            .collect();
        return terminal::print_json(&list);
    }
    let rows: Vec<Vec<String>> = files
        .iter()
        .map(|(name, file)| {
            let spec = file.spec();
            vec![
                (*name).into(),
                spec.horizon().to_string(),
                spec.states().len().to_string(),
                spec.actions().len().to_string(),
                file.description().into(),
            ]
        })
        .collect();
    let header = ["problem", "steps", "states", "actions", "what it is"];
    terminal::print(&emab_report::table(&header, &rows, terminal::width()))
}
