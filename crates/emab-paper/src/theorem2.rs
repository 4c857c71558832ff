//! Theorem 2, its logarithm, and Corollary 2.

use emab::oracle::{Benchmark, LargestRegret};
use emab::theory::{Bound, Bounds};
use emab_problem::ProblemFile;
use emab_report::{Claim, Picture, PlotOptions, Series, SeriesPoint, Verdict, draw_curves, number};

use crate::figures::Figures;
use crate::fit::slope;
use crate::instances;
use crate::measurement::{Estimate, bound_verdict, claim, exact, regret_at};
use crate::runner::{LedgerError, Runner, builtin, learner, learner_of};

/// FeedBAL's expected regret with `delta = 1/n` beside its bounds.
struct Expected {
    episodes: u64,
    regret: Estimate,
    /// That of choices at random.
    control: Estimate,
    /// The largest that any learner's can be.
    largest: f64,
    bounds: Bounds,
}

impl Expected {
    fn run(
        runner: &mut Runner<'_>,
        what: &str,
        file: &ProblemFile,
        text: &str,
        (runs, episodes): (u64, u64),
    ) -> Result<Expected, LedgerError> {
        let feedbal = learner_of(file, text)?.for_episodes(episodes)?;
        let parameters = feedbal.feedbal_parameters()?;
        let problem = file.problem()?;
        let learners = [feedbal, learner("random")?];
        let [regret, control] = runner.ends(what, problem.clone(), learners, (episodes, runs))?;
        let largest = LargestRegret::of(&mut Benchmark::new(problem.clone())?)?.expected;
        Ok(Expected {
            episodes,
            regret,
            control,
            largest: largest * episodes as f64,
            bounds: Bounds::new(problem, &parameters, episodes)?,
        })
    }

    /// The verdict on a bound as printed and as derived.
    fn verdict(&self, bound: &Bound) -> Verdict {
        Verdict::all(
            [bound.printed, bound.derived]
                .map(|bound| bound_verdict(self.regret, bound, self.control, self.largest)),
        )
    }

    fn text(&self, bound: &Bound) -> String {
        format!(
            "n = {}: {} (bound {} as printed, {} as derived; control {}, no learner above {})",
            number(self.episodes as f64),
            self.regret,
            number(bound.printed),
            number(bound.derived),
            self.control,
            number(self.largest)
        )
    }
}

/// Theorem 2 in Section 5's problem, in every problem, and repaired; and Corollary 2 where Assumption 2 holds.
pub(crate) fn theorem2(runner: &mut Runner<'_>) -> Result<Vec<Claim>, LedgerError> {
    let (few, many) = (
        runner.settings.scaled(200, 50),
        runner.settings.scaled(2000, 200),
    );
    let (resource, gap) = (builtin("resource")?, builtin("feedback-gap")?);
    let mut measure = |file: &ProblemFile, text: &str, runs: u64, sizes: [u64; 2]| {
        let all = sizes.map(|n| Expected::run(runner, "Theorem 2", file, text, (runs, n)));
        all.into_iter().collect::<Result<Vec<_>, _>>()
    };
    let section5 = measure(&resource, "feedbal:delta=1/n", few, [2000, 20_000])?;
    let printed = measure(&gap, "feedbal:delta=1/n", many, [2000, 10_000])?;
    let sound = measure(&gap, "feedbal:delta=1/n,width=sound", many, [2000, 10_000])?;
    let row =
        |place: &str, says: String, how: String, of: fn(&Bounds) -> &Bound, all: &[Expected]| {
            let texts: Vec<String> = all.iter().map(|one| one.text(of(&one.bounds))).collect();
            let verdicts = all.iter().map(|one| one.verdict(of(&one.bounds)));
            claim(place, says, how, texts.join("; "), Verdict::all(verdicts))
        };
    let says = "the expected regret with delta = 1/n is below its bound";
    let on_gap = format!("problem `feedback-gap`, {many} runs each; control: choices at random");
    let theorem: fn(&Bounds) -> &Bound = |bounds| &bounds.theorem2;
    let corollary: fn(&Bounds) -> &Bound = |bounds| &bounds.corollary2;
    let assumed = printed.iter().all(|one| one.bounds.assumption2.holds);
    let under = format!(
        "{on_gap}; Assumption 2 {} there, checked exactly",
        exact(assumed).text()
    );
    let where_assumed =
        "where Assumption 2 holds, the expected regret with delta = 1/n is below its bound";
    Ok(vec![
        row(
            "Theorem 2",
            format!("in Section 5, {says}"),
            format!("Section 5's problem, {few} runs each; control: choices at random"),
            theorem,
            &section5,
        ),
        row(
            "Theorem 2",
            format!("in every problem, {says}"),
            on_gap.clone(),
            theorem,
            &printed,
        ),
        row(
            "Theorem 2, repaired",
            format!("with width=sound, {says}"),
            on_gap,
            theorem,
            &sound,
        ),
        row(
            "Corollary 2",
            format!("in every problem {where_assumed}"),
            under.clone(),
            corollary,
            &printed,
        ),
        row(
            "Corollary 2, repaired",
            format!("with width=sound, {where_assumed}"),
            under,
            corollary,
            &sound,
        ),
    ])
}

/// Theorem 2's O(log n), where gaps are wide enough for it to be seen.
pub(crate) fn logarithm(
    runner: &mut Runner<'_>,
    figures: &Figures,
) -> Result<(Claim, Picture), LedgerError> {
    let runs = runner.settings.scaled(400, 100);
    let (mut points, mut control, mut bound) = (Vec::new(), Vec::new(), Vec::new());
    let sizes: Vec<u64> = (8..=16).map(|i| 1 << i).collect();
    for &episodes in &sizes {
        let problem = instances::gap(0.3)?;
        let config = learner("feedbal:sigma2=0.05,delta=1/n")?.for_episodes(episodes)?;
        bound.push(Bounds::new(problem.clone(), &config.feedbal_parameters()?, episodes)?.theorem2);
        let learners = [config, learner("random")?];
        let [regret, random] = runner.ends("the logarithm", problem, learners, (episodes, runs))?;
        points.push(((episodes as f64).ln(), regret));
        control.push(((episodes as f64).ln(), random));
    }
    // A logarithm has the same slope everywhere; a power of n doubles it with every few doublings of n.
    let judge = |points: &[(f64, Estimate)]| {
        let half = points.len() / 2;
        let slopes = [points, &points[..=half], &points[half..]].map(slope);
        let [all, early, late] = slopes;
        let verdict = match early.less(late) {
            Verdict::Holds => Verdict::Fails,
            _ if all.1.is_finite() && all.0 > 3.0 * all.1 => Verdict::Holds,
            _ => Verdict::Undecided,
        };
        (slopes, verdict)
    };
    let (([all, early, late], verdict), (_, control)) = (judge(&points), judge(&control));
    let verdict = verdict.with_control(control);
    let n = runner.settings.episodes;
    let exponent = figures.results.first().map(|result| {
        let at = |n| regret_at(result, n, runner.settings.runs).0;
        (at(n) / at(n / 2)).log2()
    });
    let section5 = match exponent.filter(|exponent| exponent.is_finite()) {
        Some(exponent) => format!(
            ". In Section 5's problem, whose gaps are small, regret grows like n^{exponent:.2} from n = {} to {}: no logarithm yet",
            number((n / 2) as f64),
            number(n as f64)
        ),
        None => String::new(),
    };
    let claim = claim(
        "Theorem 2",
        "with delta = 1/n the expected regret grows like log n",
        format!(
            "two steps, gap 0.3: n from {} to {} by doubling, {runs} runs each; line through regret over ln n, which must be as steep in the lower half as in the upper; control: choices at random",
            sizes[0],
            sizes[sizes.len() - 1]
        ),
        format!(
            "slope {all} per unit of ln n, {early} in the lower half and {late} in the upper{section5}"
        ),
        verdict,
    );
    let line = |label: &str, bound, value: &dyn Fn(usize) -> Estimate| {
        let points = sizes.iter().enumerate().map(|(i, &n)| {
            let Estimate(mean, stderr) = value(i);
            SeriesPoint::mean(n as f64, mean, stderr, runs)
        });
        Series {
            label: label.into(),
            points: points.collect(),
            bound,
        }
    };
    let known = |value: f64| Estimate(value, 0.0);
    let curves = [
        line("FeedBAL, delta = 1/n", false, &|i| points[i].1),
        line("Theorem 2, printed", true, &|i| known(bound[i].printed)),
        line("Theorem 2, derived", true, &|i| known(bound[i].derived)),
        line("Theorem 2, tight", true, &|i| known(bound[i].tight)),
    ];
    let options = PlotOptions {
        title: format!("Expected regret where gaps are wide ({runs} runs per point)"),
        x_label: "n, the number of episodes".into(),
        y_label: "expected regret at n".into(),
        log_x: true,
        ..PlotOptions::default()
    };
    let picture = options.for_page(|options| draw_curves(&curves, options))?;
    Ok((claim, picture))
}

/// Whether Corollary 2 applies in Section 5.
pub(crate) fn assumption2() -> Result<Claim, LedgerError> {
    let resource = builtin("resource")?;
    let parameters = learner_of(&resource, "feedbal")?.feedbal_parameters()?;
    let section5 = Bounds::new(resource.problem()?, &parameters, 1)?;
    Ok(claim(
        "Assumption 2",
        "Section 5's problem meets it (the paper does not say so; Corollary 2 needs it)",
        "all triplets, exactly",
        format!(
            "{} of {} triplets break it: Corollary 2 does not apply there",
            section5.assumption2.violations.len(),
            section5.triplets.len()
        ),
        exact(section5.assumption2.holds),
    ))
}
