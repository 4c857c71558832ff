//! Plots of an arena: the regret of each learner relative to FeedBAL's, by problem.

use emab_report::{Picture, arena_options, draw_arena};
use emab_sim::results::ArenaResult;
use emab_sim::{ARENA, Folder};

use super::plot_learners::Learners;
use crate::args::Plot;
use crate::error::CommandError;

/// The result of an arena in a folder.
pub fn read_arena(folder: &Folder) -> Result<ArenaResult, CommandError> {
    let path = folder.file(ARENA);
    if !path.exists() {
        return Err(CommandError::input(format!(
            "{} contains an unfinished arena; run the same `emab arena` command again to finish it",
            folder.path().display()
        )));
    }
    let text = folder
        .read(ARENA)
        .map_err(|error| CommandError::input(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| {
        CommandError::input(format!(
            "{}, line {}: this is not the result of an arena of this version; run the same `emab arena --out` command again, \
             which writes it anew from its cells",
            path.display(),
            error.line()
        ))
    })
}

pub fn plot_arena(folder: &Folder, args: &Plot) -> Result<Picture, CommandError> {
    let mut result = read_arena(folder)?;
    let known = result.problems.iter().flat_map(|problem| {
        let played = problem.learners.iter();
        let played = played.map(|one| (one.label.as_str(), one.learner.as_str()));
        let excluded = problem.left_out.iter();
        played.chain(excluded.map(|one| (one.label.as_str(), one.label.as_str())))
    });
    let learners = Learners::choose(args, known)?;
    for problem in &mut result.problems {
        problem
            .learners
            .retain(|one| learners.position(&one.label).is_some());
        problem
            .left_out
            .retain(|one| learners.position(&one.label).is_some());
        let played = problem.learners.iter_mut().map(|one| &mut one.label);
        let excluded = problem.left_out.iter_mut().map(|one| &mut one.label);
        played
            .chain(excluded)
            .for_each(|label| *label = learners.name(label).to_owned());
    }
    Ok(draw_arena(&result, &args.options(arena_options(&result)))?)
}
