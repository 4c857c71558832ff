//! Verification: guarantees that hold and guarantees that are violated.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emab::learners::{LearnerConfig, LearnerDefaults};
use emab::{
    Action, Conditions, Environment, Learner, Model, Names, Noise, Problem, Role, Spec, Stream,
};
use emab_problem::ProblemFile;
use emab_sim::results::GuaranteeVerdict;
use emab_sim::{Control, Device, Verification, VerificationResult};

/// Problem and learner, runs and episodes, threads.
fn verify_on(
    (problem, learner): (Arc<Problem>, LearnerConfig),
    (runs, episodes): (u64, u64),
    threads: usize,
) -> VerificationResult {
    verify_under(
        Conditions::default(),
        (problem, learner),
        (runs, episodes),
        threads,
    )
}

/// The same under conditions.
fn verify_under(
    conditions: Conditions,
    (problem, learner): (Arc<Problem>, LearnerConfig),
    (runs, episodes): (u64, u64),
    threads: usize,
) -> VerificationResult {
    let verification = Verification {
        problem,
        learner: learner.for_episodes(episodes).unwrap(),
        episodes,
        runs,
        seed: 1,
        conditions,
    };
    let mut control = Control {
        threads,
        device: Device::processor(),
        stop: &AtomicBool::new(false),
        watch: &mut |_, _| {},
    };
    verification.run(&mut control).unwrap().unwrap()
}

/// A learner on a built-in problem.
fn verify(problem: &str, learner: &str, size: (u64, u64), threads: usize) -> VerificationResult {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    let learner = LearnerConfig::parse(learner, file.learning()).unwrap();
    verify_on((file.problem().unwrap(), learner), size, threads)
}

fn verdicts(verified: &VerificationResult) -> Vec<(String, GuaranteeVerdict)> {
    let guarantees = verified.guarantees().into_iter();
    guarantees.map(|g| (g.statement, g.verdict)).collect()
}

/// The verdict on one statement.
fn verdict(verified: &VerificationResult, statement: &str) -> GuaranteeVerdict {
    let verdicts = verdicts(verified);
    verdicts.iter().find(|(s, _)| s == statement).unwrap().1
}

/// Half widths fail in Section 5 and choices at random are chosen too often, but Theorem 1 is above what can be lost.
#[test]
fn guarantees_of_section_5_hold_or_are_vacuous() {
    let verified = verify("resource", "feedbal", (400, 2000), 0);
    for (statement, verdict) in verdicts(&verified) {
        let expected = match statement.starts_with("Theorem 1") {
            true => GuaranteeVerdict::Vacuous,
            false => GuaranteeVerdict::Holds,
        };
        assert_eq!(verdict, expected, "{statement}");
    }
    assert_eq!(verified.worst, None);
    assert!(verified.theorem1.unwrap().tight > verified.largest_regret);
    assert_eq!(verified.control_runs, (400, 100));
}

/// In 3 episodes no action can be chosen too often and no gap exceeds two widths, and few means have left half their width.
#[test]
fn few_episodes_and_few_runs_show_little() {
    let verified = verify("resource", "feedbal", (400, 3), 0);
    for (statement, verdict) in verdicts(&verified) {
        let expected = match statement.as_str() {
            "Lemma 1" => GuaranteeVerdict::Consistent,
            _ => GuaranteeVerdict::Vacuous,
        };
        assert_eq!(verdict, expected, "{statement}");
    }
    // As many episodes as before, but no violation in 50 runs does not show a probability of 0.01.
    let verified = verify("resource", "feedbal", (50, 2000), 0);
    assert_eq!(verdict(&verified, "Lemma 1"), GuaranteeVerdict::Consistent);
    assert_eq!(verified.violations.lemma1, 0);
    // One failure in few runs decides nothing: 2 in 1000 with the sound width.
    let one = (1..=20).find_map(|runs| {
        let verified = verify("feedback-gap", "feedbal:width=sound", (100 * runs, 500), 0);
        (verified.violations.lemma1 > 0).then_some(verified)
    });
    assert_eq!(
        verdict(&one.unwrap(), "Lemma 1"),
        GuaranteeVerdict::NotDecidable
    );
}

/// Without noise and with certain feedback every mean is its gain.
#[test]
fn widths_around_observations_that_do_not_vary_are_vacuous() {
    let verified = verify("parity", "feedbal", (400, 300), 0);
    assert_eq!(verdict(&verified, "Lemma 1"), GuaranteeVerdict::Vacuous);
    let pooled = verify("parity", "feedbal-pooled:target=benchmark", (400, 50), 0);
    let coverage = VerificationResult::COVERAGE;
    assert_eq!(verdict(&pooled, coverage), GuaranteeVerdict::Vacuous);
    assert_eq!(pooled.control_runs.1, 0);
}

/// A random learner exceeds no bound that is called vacuous, and not what no learner can lose.
#[test]
fn the_control_stays_below_the_largest_regret() {
    for problem in ["resource", "feedback-gap", "coverage", "tutoring"] {
        let verified = verify(problem, "feedbal", (50, 100), 0);
        for guarantee in verified.guarantees() {
            if guarantee.verdict == GuaranteeVerdict::Vacuous {
                assert_eq!(guarantee.control.violated, 0, "{}", guarantee.statement);
            }
        }
        assert!(verified.max_regret <= verified.largest_regret, "{problem}");
    }
}

#[test]
fn a_width_ten_times_too_small_is_reported() {
    // The width is proportional to the root of sigma2.
    let verified = verify("resource", "feedbal:sigma2=0.002", (60, 300), 0);
    for statement in ["Lemma 1", "Corollary 1", "Lemma 2, derived"] {
        let violated = GuaranteeVerdict::Violated;
        assert_eq!(verdict(&verified, statement), violated, "{statement}");
    }
    let theorem1 = verdict(&verified, "Theorem 1, derived");
    assert_eq!(theorem1, GuaranteeVerdict::Vacuous);
    assert!(verified.worst.is_some());
}

#[test]
fn random_feedback_violates_the_paper_s_width_but_not_the_sound_one() {
    let paper = verify("feedback-gap", "feedbal", (400, 2000), 0);
    for (statement, verdict) in verdicts(&paper) {
        assert_eq!(verdict, GuaranteeVerdict::Violated, "{statement}");
    }
    // The three readings are three numbers: the derived count allows the most.
    let lemma2 = paper.violations.lemma2;
    assert!(
        lemma2.derived < lemma2.printed && lemma2.printed <= lemma2.tight,
        "{lemma2:?}"
    );
    // Most violations are at the action whose feedback is random.
    let (t, x, action, _) = paper.worst.unwrap();
    assert_eq!((t, x, action), (1, 0, Action::Continue(0)));
    let sound = verify("feedback-gap", "feedbal:width=sound", (1500, 2000), 0);
    for (statement, verdict) in verdicts(&sound) {
        assert_eq!(verdict, GuaranteeVerdict::Holds, "{statement}");
    }
}

/// Costs go missing after feedback 0 alone: the shares of the feedback whose cost is known are a selection.
#[test]
fn costs_that_go_missing_by_the_feedback_violate_only_the_earlier_rule() {
    let file = ProblemFile::builtin("feedback-gap").unwrap().unwrap();
    let verdict = |learner: &str, missing: &str, runs| {
        let conditions = Conditions::default().with([missing]).unwrap();
        let learner = LearnerConfig::parse(learner, file.learning()).unwrap();
        let problem = file.problem().unwrap();
        let verified = verify_under(conditions, (problem, learner), (runs, 500), 0);
        verdicts(&verified)[0].1
    };
    let missing = "missing_costs=0.8:0";
    for learner in [
        "feedbal-model",
        "feedbal-model:width=bernstein",
        "feedbal-pooled:target=benchmark",
        "feedbal-pooled",
    ] {
        let holds = verdict(learner, missing, 1500);
        assert_eq!(holds, GuaranteeVerdict::Holds, "{learner}");
        let more = if learner.contains(':') { ',' } else { ':' };
        let earlier = format!("{learner}{more}unknown_costs=drop");
        let violated = verdict(&earlier, missing, 40);
        assert_eq!(violated, GuaranteeVerdict::Violated, "{earlier}");
    }
    // Rewards are learned by pair, whatever led there.
    let rewards = verdict("feedbal-model", "missing_rewards=0.8:0", 1500);
    assert_eq!(rewards, GuaranteeVerdict::Holds);
    // A mean of known gains is biased by both.
    for missing in [missing, "missing_rewards=0.8:0"] {
        let violated = verdict("feedbal:width=sound", missing, 40);
        assert_eq!(violated, GuaranteeVerdict::Violated, "{missing}");
    }
}

#[test]
fn verification_does_not_depend_on_threads() {
    let seen = |threads| {
        let v = verify("feedback-gap", "feedbal", (50, 300), threads);
        let counts = (&v.violations, &v.control, v.control_runs);
        format!("{:?}", (counts, v.worst, v.regret, v.max_regret))
    };
    assert_eq!(seen(1), seen(2));
    assert_eq!(seen(1), seen(5));
}

#[test]
fn theorem_2_needs_its_delta() {
    let verified = verify("parity", "feedbal:delta=1/n", (20, 200), 0);
    let bound = verified.theorem2.unwrap();
    assert!(verified.regret.0 <= bound.derived);
    assert!(verify("parity", "feedbal", (20, 200), 0).theorem2.is_none());
}

/// Stopping is the only choice, and its reward has a hundred times the variance of the learner's sigma2.
#[test]
fn the_reward_of_stop_is_verified() {
    let names = |n| Names::Count(n, "");
    let spec = Spec::new(1, names(1), names(1), names(1)).unwrap();
    let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, _x, _a, _f| 0.0);
    let model = model.noise(Noise::None, Noise::normal(1.0).unwrap());
    let problem = Arc::new(Problem::new("stop", spec, model));
    let learner = LearnerConfig::parse("feedbal:sigma2=0.01", &LearnerDefaults::default()).unwrap();
    let verified = verify_on((problem, learner), (20, 50), 1);
    assert_eq!(
        verdicts(&verified)[0],
        ("Lemma 1".into(), GuaranteeVerdict::Violated)
    );
    let (t, x, action, _) = verified.worst.unwrap();
    assert_eq!((t, x, action), (1, 0, Action::Stop));
    // There is only one choice, so nothing else is violated.
    assert_eq!(
        (verified.violations.corollary1, verified.regret.0),
        (0, 0.0)
    );
}

/// Continuing twice earns more than the benchmark, which stops at a tie, so regret falls in the long run. Before that, a
/// learner with a fiftieth of the noise as sigma2 may exceed Theorem 1. The test plays the same runs itself.
#[test]
fn a_bound_exceeded_once_counts_even_if_regret_falls_again() {
    let names = |n| Names::Count(n, "");
    let actions = Names::List(vec!["on".into(), "bad".into()]);
    // State 1 records that `bad` was taken; it has no reward after it.
    let spec = Spec::new(3, names(2), actions, names(1))
        .unwrap()
        .transition(|t, x, a, _f| if t == 1 { a as f64 } else { x as f64 });
    let model = Model::new(
        |_t, _x, _a, _f| 1.0,
        |t, x, _a, _f| match (t, x) {
            (1, _) | (2, 0) => 0.5,
            (3, 0) => 1.5,
            (2, _) => 0.4,
            _ => 0.39,
        },
    );
    let model = model.noise(Noise::normal(0.1).unwrap(), Noise::normal(0.1).unwrap());
    let problem = Arc::new(Problem::new("comes back", spec, model));
    let text = "feedbal:sigma2=0.002,delta=0.01,stop_bias=-0.2";
    let learner = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    let (episodes, runs, seed) = (2000, 100, 1);
    let verified = verify_on((problem.clone(), learner.clone()), (runs, episodes), 0);
    let bound = verified.theorem1.unwrap().tight;
    let mut environment = Environment::new(problem.clone()).unwrap();
    let mut feedbal = learner.build(problem.spec(), None).unwrap();
    let (mut ever, mut in_the_end) = (0, 0);
    for run in 0..runs {
        environment.restart(seed, run);
        feedbal.reset(Stream::new(seed, run, Role::Learner));
        let (mut regret, mut most) = (0.0, 0.0_f64);
        for _ in 0..episodes {
            regret += environment.play(&mut *feedbal).unwrap().total();
            most = most.max(regret);
        }
        ever += u64::from(most > bound);
        in_the_end += u64::from(regret > bound);
    }
    assert_eq!(verified.violations.theorem1.tight, ever);
    assert!(
        in_the_end < ever,
        "{in_the_end} of {ever}: regret never fell"
    );
}
