//! Runs all sections and collects claims and figures.

use emab::theory::Bounds;
use emab_report::{
    Claim, Picture, PlotOptions, bound_note, bound_series, draw_curves, draw_regret_map,
    regret_series,
};
use emab_sim::results::LearnerResult;

use crate::figures::{Figures, TITLES};
use crate::reference::AT;
use crate::runner::{LedgerError, Runner, Settings, builtin, learner_of};
use crate::{section2, section4, section5, section6, theorems, ties};

/// A figure with its name and caption.
pub struct Figure {
    /// Name of its files, without extension.
    pub name: &'static str,
    /// Caption.
    pub caption: String,
    /// The picture.
    pub picture: Picture,
}

/// Claims of the paper with their measurements, and figures.
pub struct Ledger {
    /// How much was measured.
    pub settings: Settings,
    /// In the order of the paper.
    pub claims: Vec<Claim>,
    /// The paper's two figures first.
    pub figures: Vec<Figure>,
    /// Results of the learners of the figures, by their titles.
    pub learners: Vec<(String, LearnerResult)>,
    /// Episodes whose regret the report shows.
    pub shown_at: Vec<u64>,
}

/// Runs all experiments. Fails with [`LedgerError::Stopped`] if it is stopped.
///
/// ```no_run
/// use std::sync::atomic::AtomicBool;
/// use emab_paper::{Runner, Settings, reproduce};
/// let ledger = reproduce(&mut Runner {
///     settings: Settings::QUICK,
///     threads: 0,
///     stop: &AtomicBool::new(false),
///     watch: &mut |_what, _progress| {},
/// })?;
/// for claim in &ledger.claims {
///     println!("{}: {} - {}", claim.place, claim.says, claim.verdict.text());
/// }
/// # Ok::<(), emab_paper::LedgerError>(())
/// ```
pub fn reproduce(runner: &mut Runner<'_>) -> Result<Ledger, LedgerError> {
    let figures = Figures::run(runner)?;
    let mut claims = section2::claims(runner)?;
    claims.extend(section5::definitions(runner, &figures)?);
    claims.extend(section4::polynomial(runner)?);
    let theorems = theorems::claims(runner, &figures)?;
    claims.extend(theorems.claims);
    claims.extend(ties::claims(runner)?);
    claims.extend(section4::claims(runner)?);
    claims.extend(section5::claims(runner, &figures)?);
    claims.extend(section6::claims(runner)?);

    let (runs, episodes) = (runner.settings.runs, runner.settings.episodes);
    let places = PlotOptions {
        title: format!("FeedBAL on Section 5's problem ({runs} runs of {episodes} episodes)"),
        ..PlotOptions::default()
    };
    let figure = |name, caption: &str, picture| Figure {
        name,
        caption: caption.into(),
        picture,
    };
    let (bound, sentence) = bound_picture(&figures, runs, episodes)?;
    let pictures = vec![
        figure(
            "figure1",
            "The figure of Section 5: cumulative regret of FeedBAL, UCB1 and UCB1-V.",
            figures.first(runs)?,
        ),
        figure(
            "figure2",
            "The figure of the additional results: FeedBAL for several values of σ².",
            figures.second(runs)?,
        ),
        figure(
            "places",
            "FeedBAL's regret in Section 5's problem by step and state (the resources collected): visits, regret, and \
             whether the learned choice is the benchmark's.",
            places.for_page(|options| draw_regret_map(&figures.places, options))?,
        ),
        figure(
            "bound",
            &format!("Theorem 1 beside FeedBAL's regret in Section 5's problem. {sentence}."),
            bound,
        ),
        figure(
            "feedback-gap",
            "The counter-example: with the paper's width the regret grows without bound; with a width that covers the feedback it \
             stays close to zero.",
            theorems.counterexample,
        ),
        figure(
            "logarithm",
            "Expected regret with delta = 1/n on a two-step problem with a gap of 0.3: a straight line over log n, well below \
             Theorem 2 (as printed, as its proof gives it, and at its tightest).",
            theorems.logarithm,
        ),
    ];
    let mut shown_at: Vec<u64> = AT.iter().copied().filter(|n| *n < episodes).collect();
    shown_at.push(episodes);
    let learners = TITLES.iter().map(|title| (*title).to_owned());
    Ok(Ledger {
        settings: runner.settings,
        claims,
        figures: pictures,
        learners: learners.zip(figures.results).collect(),
        shown_at,
    })
}

/// FeedBAL's curve with the bounds of Theorem 1.
fn bound_picture(
    figures: &Figures,
    runs: u64,
    episodes: u64,
) -> Result<(Picture, String), LedgerError> {
    let file = builtin("resource")?;
    let parameters = learner_of(&file, "feedbal")?.feedbal_parameters()?;
    let bounds = Bounds::new(figures.problem.clone(), &parameters, episodes)?;
    let mut curves = Vec::new();
    let mut sentence = String::new();
    if let Some(feedbal) = figures.results.first() {
        curves.push(regret_series("FeedBAL", feedbal, runs));
        curves.extend(bound_series(&bounds, feedbal, false));
        sentence = bound_note(&[("FeedBAL", &bounds)]);
    }
    let options = PlotOptions {
        title: format!("Theorem 1 and FeedBAL's regret ({runs} runs)"),
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        log_x: true,
        log_y: true,
        ..PlotOptions::default()
    };
    let picture = options.for_page(|options| draw_curves(&curves, options))?;
    Ok((picture, sentence))
}
