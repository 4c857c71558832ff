//! `emab bounds`: the paper's theorems evaluated on a problem.

use emab::theory::{self, LowerBound};
use emab_report::bounds_text;

use crate::args::Bounds;
use crate::error::CommandError;
use crate::{load, terminal};

pub fn bounds(args: &Bounds, json: bool) -> Result<(), CommandError> {
    let file = load::problem(&args.problem)?;
    let problem = file.problem()?;
    load::note_conditions(&file);
    file.check(emab_sim::CHECKED_PAIRS)?;
    let settings = [
        ("delta", &args.delta),
        ("sigma2", &args.sigma2),
        ("width", &args.width),
        ("feedback_spread", &args.feedback_spread),
        ("stop_bias", &args.stop_bias),
    ];
    let mut given = Vec::new();
    for (name, value) in settings {
        let Some(value) = value else { continue };
        if value.contains([',', '=']) {
            let option = name.replace('_', "-");
            return Err(CommandError::input(format!(
                "--{option} takes one value, got `{value}`"
            )));
        }
        given.push(format!("{name}={value}"));
    }
    let learner = format!("feedbal:{}", given.join(","));
    let parameters = load::learner(&file, &learner, args.episodes)?
        .feedbal_parameters()
        .map_err(CommandError::of(&file))?;
    let mut bounds = theory::Bounds::new(problem.clone(), &parameters, args.episodes)
        .map_err(CommandError::of(&file))?;
    if args.lower {
        let least_cost = args.least_cost.unwrap_or(f64::NEG_INFINITY);
        let lower = LowerBound::new(problem, args.target.into(), least_cost)
            .map_err(CommandError::of(&file))?;
        bounds.lower = Some(lower.evaluate(args.episodes));
    }
    terminal::show(json, &bounds, || bounds_text(&bounds, terminal::width()))
}
