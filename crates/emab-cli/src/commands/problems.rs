//! `emab problems`: the built-in problems.

use emab_problem::BUILTIN;
use serde_json::json;

use crate::error::CommandError;
use crate::{load, terminal};

pub fn problems(name: Option<&str>, json: bool) -> Result<(), CommandError> {
    if let Some(name) = name {
        return match BUILTIN.iter().find(|builtin| builtin.name == name) {
            // The problem as JSON is a problem file too.
            Some(_) if json => terminal::print(load::problem(name)?.canonical()),
            Some(builtin) => terminal::print(builtin.text),
            None => load::problem(name).and(Err(CommandError::input(format!(
                "`{name}` is not a built-in problem; `emab problems` lists them"
            )))),
        };
    }
    let (mut list, mut rows) = (Vec::new(), Vec::new());
    for builtin in BUILTIN {
        let file = load::problem(builtin.name)?;
        let (name, description, spec) = (builtin.name, file.description(), file.spec());
        let (steps, states) = (spec.horizon(), spec.states().len());
        let (actions, feedbacks) = (spec.actions().len(), spec.feedbacks().len());
        list.push(json!({
            "name": name,
            "description": description,
            "horizon": steps,
            "states": states,
            "actions": actions,
            "feedbacks": feedbacks,
            "hash": file.hash(),
        }));
        let [steps, states, actions] = [steps, states, actions].map(|count| count.to_string());
        rows.push(vec![
            name.into(),
            steps,
            states,
            actions,
            description.into(),
        ]);
    }
    let header = ["problem", "steps", "states", "actions", "what it is"];
    terminal::show(json, &list, || {
        emab_report::table(&header, &rows, terminal::width())
    })
}
