//! `emab simulate`: simulated episodes as a log.

use std::io::Write;
use std::sync::atomic::Ordering;

use emab::oracle::OracleError;
use emab::{Environment, Role, Stream};
use emab_episodes::write_past_episode;
use emab_problem::ProblemFile;
use emab_sim::{NewFile, SimError, quoted};
use serde_json::{Value, json};

use super::{logs, stop_on_ctrl_c};
use crate::args::Simulate;
use crate::error::CommandError;
use crate::{load, terminal};

pub fn simulate(args: &Simulate, as_json: bool) -> Result<(), CommandError> {
    let file = load::problem(&args.problem)?;
    let Some(out) = &args.out else {
        let mut lines = Vec::new();
        write(args, &file, &mut lines)?;
        let text = String::from_utf8_lossy(&lines);
        if !as_json {
            return terminal::print_verbatim(&text);
        }
        let episodes = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_default());
        return terminal::print_json(&episodes.collect::<Vec<Value>>());
    };
    logs::not_an_input(out, [args.problem.as_str()])?;
    NewFile::reserve(out, args.force)?.write(|mut to| {
        write(args, &file, &mut to)?;
        Ok::<_, CommandError>((to, ()))
    })?;
    let document = json!({ "file": out, "episodes": args.episodes, "seed": args.seed });
    terminal::show(as_json, &document, || {
        format!("wrote {} episodes into {}", args.episodes, quoted(out))
    })
}

/// Plays the episodes and writes them as past episodes.
fn write(args: &Simulate, file: &ProblemFile, out: &mut dyn Write) -> Result<(), CommandError> {
    let problem = file.problem()?;
    load::note_conditions(file);
    let config = load::learner(file, &args.learner, args.episodes)?;
    let failed = CommandError::of::<SimError>(file);
    let learner = config.build(file.spec(), Some(&problem));
    let mut learner = learner.map_err(CommandError::of(file))?;
    learner.reset(Stream::new(args.seed, 0, Role::Learner));
    let environment = Environment::new(problem);
    let mut environment =
        environment.map_err(|error: OracleError| failed(SimError::Oracle(error)))?;
    environment.restart(args.seed, 0);
    let stop = stop_on_ctrl_c();
    for id in 1..=args.episodes {
        if stop.load(Ordering::SeqCst) {
            return Err(CommandError::Work("stopped; nothing was saved".into()));
        }
        let played = environment.play(&mut *learner);
        played.map_err(|error| CommandError::Work(error.to_string()))?;
        write_past_episode(out, file.spec(), ("simulated", id), environment.episode())
            .map_err(|error| CommandError::Work(format!("cannot write: {error}")))?;
    }
    Ok(())
}
