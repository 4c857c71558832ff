//! `emab problems`: the built-in problems, and random ones.

use emab_problem::{Builtin, Family};
use emab_sim::write_file;
use serde_json::json;

use super::create_folder;
use crate::args::Problems;
use crate::error::CommandError;
use crate::{load, terminal};

pub fn problems(args: &Problems, json: bool) -> Result<(), CommandError> {
    if let Some(family) = &args.random {
        return random(family, args, json);
    }
    if let Some(name) = args.name.as_deref() {
        return match Builtin::all().find(|builtin| builtin.name == name) {
            // The problem as JSON is a problem file too.
            Some(_) if json => terminal::print_verbatim(load::problem(name)?.canonical()),
            Some(builtin) => terminal::print_verbatim(builtin.text),
            None => load::problem(name).and(Err(CommandError::input(format!(
                "`{name}` is not a built-in problem; `emab problems` lists them"
            )))),
        };
    }
    let (mut list, mut rows) = (Vec::new(), Vec::new());
    for builtin in Builtin::all() {
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

/// Prints a random problem, or writes several into a folder.
fn random(family: &str, args: &Problems, json: bool) -> Result<(), CommandError> {
    let wrong = |error: String| CommandError::input(format!("--random: {error}"));
    let family = Family::parse(family).map_err(|error| wrong(error.to_string()))?;
    let Some(out) = &args.out else {
        if args.count > 1 {
            let message = "--count: more than one problem needs --out DIR to be written to";
            return Err(CommandError::input(message));
        }
        return match json {
            true => {
                let problem = family.problem(args.seed, 1);
                terminal::print(
                    problem
                        .map_err(|error| wrong(error.to_string()))?
                        .canonical(),
                )
            }
            false => terminal::print_verbatim(&family.text(args.seed, 1)),
        };
    };
    let folder = create_folder(out)?;
    let (mut files, mut changed) = (Vec::new(), 0);
    for number in 1..=args.count {
        let file = format!("{}-{}-{number:04}.toml", family.name(), args.seed);
        let text = family.text(args.seed, number);
        if write_file(&folder.file(&file), text.as_bytes(), args.force)? {
            changed += 1;
        }
        files.push(file);
    }
    if changed < files.len() {
        terminal::note(&format!(
            "note: {} of them are in {} already",
            files.len() - changed,
            out.display()
        ));
    }
    terminal::show(json, &files, || {
        format!(
            "wrote {changed} problems of the family {family} into {}\n",
            out.display()
        )
    })
}
