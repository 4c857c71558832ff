use emab::{Action, Episode};
use emab_logs::assumptions::Stated;
use emab_logs::evaluate::{EvaluateError, Settings, evaluate_logged};
use emab_logs::{DecisionLog, FittedModel, LoggedEpisode, Policy, Pooling, Status, evaluate};
use emab_problem::{Family, OutcomeRange, ProblemFile};

use crate::simulate::{first, log_of, true_value};

/// The learners that make the logs, in turn; all of them adapt their choices to what they have seen.
const LEARNERS: [&str; 4] = ["feedbal", "ucb1v", "feedbal-pooled", "psrl"];

/// The policies that are evaluated: those of the truth are fixed, those of the fitted model are chosen from the log.
fn policies(file: &ProblemFile, log: &DecisionLog) -> Vec<Policy> {
    let problem = file.problem().unwrap();
    let fitted = FittedModel::of(log, &Stated::default()).unwrap().problem();
    let fixed = |name: &str, problem| {
        let mut policy = Policy::of_model(name, problem).unwrap();
        policy.from_log = false;
        policy
    };
    vec![
        fixed("benchmark", problem.clone()),
        fixed("optimal", problem),
        Policy::of_model("optimal", fitted.clone()).unwrap(),
        Policy::of_model("benchmark", fitted).unwrap(),
    ]
}

#[test]
fn intervals_cover_the_value_and_shrink() {
    // 200 random problems; each has one log and four policies, and only the first of each counts as independent.
    let family = Family::parse("mixed:steps=2..5").unwrap();
    let settings = Settings::default();
    let (mut covered, mut widths) = ([0; 4], [[0.0; 2]; 4]);
    for number in 0..200 {
        let file = family.problem(7, number).unwrap();
        let problem = file.problem().unwrap();
        let learner = LEARNERS[number as usize % LEARNERS.len()];
        let log = log_of(&file, learner, 2000, number);
        for (i, size) in [200, 2000].into_iter().enumerate() {
            let log = first(&log, size);
            for (k, mut policy) in policies(&file, &log).into_iter().enumerate() {
                let truth = true_value(&problem, &mut policy);
                let it = evaluate(&log, &mut policy, &settings).unwrap();
                let value = it.value;
                let inside = (value.lower..=value.upper).contains(&truth);
                covered[k] += usize::from(inside && i == 1);
                widths[k][i] += value.upper - value.lower;
            }
        }
    }
    for (covered, [short, long]) in covered.into_iter().zip(widths) {
        assert!(covered >= 190, "{covered} of 200");
        assert!(long < 0.75 * short, "{long} and {short}");
    }
}

#[test]
fn a_narrow_interval_misses_the_value() {
    // The check above can fail: with a confidence and a noise of almost 0 the interval is narrow, and misses.
    let family = Family::parse("small:steps=2").unwrap();
    let settings = Settings {
        confidence: 1e-6,
        stated: Stated {
            sigma2: Some(1e-6),
            ..Stated::default()
        },
        ..Settings::default()
    };
    let mut missed = 0;
    for number in 0..40 {
        let file = family.problem(7, number).unwrap();
        let log = log_of(&file, "random", 200, number);
        let mut policy = Policy::new("go", false, |_, _| Some(Action::Continue(0)));
        let truth = true_value(&file.problem().unwrap(), &mut policy);
        let value = evaluate(&log, &mut policy, &settings).unwrap().value;
        missed += usize::from(!(value.lower..=value.upper).contains(&truth));
    }
    assert!(missed > 0);
}

#[test]
fn invalid_statements_are_named() {
    let log = log_of(&problem(2), "random", 20, 1);
    for (stated, expected) in [
        (
            Stated {
                reward_range: Some((2.0, 1.0)),
                ..Stated::default()
            },
            "`reward_range` must be two numbers, the first at most the second, got (2, 1)",
        ),
        (
            Stated {
                cost_range: Some((0.0, f64::NAN)),
                ..Stated::default()
            },
            "`cost_range` must be two numbers, the first at most the second, got (0, NaN)",
        ),
        (
            Stated {
                sigma2: Some(-1.0),
                ..Stated::default()
            },
            "`sigma2` must be a number from 0 on, got -1",
        ),
    ] {
        let settings = Settings {
            stated,
            ..Settings::default()
        };
        let error = evaluate_logged(&log, &settings).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_log_without_actions_says_nothing_of_costs() {
    let text = "horizon = 2\nstates = 2\nactions = [\"go\"]\nfeedbacks = 2\ntransition = \"f\"\n[learning]\nreward_range = [0, 1]\n";
    let file = ProblemFile::parse("no-costs.toml", text).unwrap();
    let stopped = Episode {
        states: vec![0],
        rewards: vec![0.5],
        ..Episode::default()
    };
    let episodes = vec![LoggedEpisode::past("p1".into(), stopped, 1)];
    let log = DecisionLog::new(file, OutcomeRange::default(), episodes);
    let mut policy = Policy::new("go", false, |_, _| Some(Action::Continue(0)));
    let evaluated = evaluate(&log, &mut policy, &Settings::default());
    let logged = evaluate_logged(&log, &Settings::default());
    for error in [evaluated.unwrap_err(), logged.unwrap_err()] {
        assert!(error.to_string().contains("no cost is known"), "{error}");
    }
}

#[test]
fn a_policy_file_has_one_action_for_each_pair() {
    let entry = r#"{"step": 1, "state": "low", "action": "go"}"#;
    let read = |entries: &str| {
        let text = format!("{{\"policy\": [{entries}]}}");
        Policy::read("mine", &text, None, problem(2).spec())
    };
    read(entry).unwrap();
    let error = read(&format!("{entry}, {entry}")).err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("entry 2 of the policy repeats step 1"),
        "{error}"
    );
}

/// Actions cost 1 and lead to the state of their feedback; the rewards of the states are 0 and 4.
fn problem(horizon: usize) -> ProblemFile {
    let text = r#"
        states = ["low", "high"]
        actions = ["go", "wait"]
        feedbacks = ["bad", "good"]
        transition = "f"
        [model]
        feedback = ["0.5", "0.5"]
        cost = 1
        reward = "4 * x"
        [learning]
        sigma2 = 0
        reward_range = [0, 4]
        outcome_range = { cost = [0, 1] }
    "#;
    ProblemFile::parse("two.toml", &format!("horizon = {horizon}\n{text}")).unwrap()
}

fn episode(actions: &[usize], feedbacks: &[usize]) -> Episode {
    let mut states = vec![0];
    states.extend(feedbacks);
    Episode {
        rewards: states.iter().map(|&x| 4.0 * x as f64).collect(),
        states,
        actions: actions.into(),
        feedbacks: feedbacks.into(),
        costs: vec![1.0; actions.len()],
    }
}

/// `go` taken 4 times, with 3 good feedbacks.
fn four_episodes() -> DecisionLog {
    four_episodes_of(2)
}

fn four_episodes_of(horizon: usize) -> DecisionLog {
    let past = (0..4).map(|i: u64| {
        let episode = episode(&[0], &[usize::from(i > 0)]);
        LoggedEpisode::past(format!("e{i}"), episode, i)
    });
    DecisionLog::new(problem(horizon), OutcomeRange::default(), past.collect())
}

fn always(name: &str, a: usize) -> Policy {
    Policy::new(name, false, move |t, _| {
        Some(if t == 1 {
            Action::Continue(a)
        } else {
            Action::Stop
        })
    })
}

#[test]
fn the_estimate_and_its_width_by_hand() {
    let it = evaluate(&four_episodes(), &mut always("go", 0), &Settings::default()).unwrap();
    // 3 of 4 lead to a reward of 4, less a cost of 1; nothing but the feedback is random.
    assert_eq!(it.value.value, 2.0);
    assert!(it.supported && it.assumed.is_empty() && !it.from_log);
    assert_eq!(it.logged_value, Some(2.0));
    // Values of 0 and 4, with shares 1/4 and 3/4, in 4 observations.
    assert!((it.value.stderr.unwrap() - (3.0_f64 / 4.0).sqrt()).abs() < 1e-12);
    let [first, low, high] = &it.pairs[..] else {
        panic!("{:?}", it.pairs)
    };
    assert_eq!((first.count, low.count, high.count), (4, 1, 3));
    assert_eq!((low.weight, high.weight), (0.25, 0.75));
    // One sum of 4 terms in an interval of length 4, at half of the error, by the joint bound and rho = 1 or 10; and what is
    // possible: from -1 to 3.
    let joint = |rho: f64| {
        let logs = 2.0 * (2.0 * 7.0 / 0.05_f64).ln() + (1.0 + 4.0 / rho).ln();
        (4.0 * (4.0 + rho) / 16.0 * logs).sqrt()
    };
    let lower = 2.0 - joint(1.0).min(joint(10.0));
    assert!((it.value.lower - lower.max(-1.0)).abs() < 1e-12);
    assert_eq!(it.value.upper, 3.0);
}

#[test]
fn without_support_the_interval_is_what_is_possible() {
    let it = evaluate(
        &four_episodes(),
        &mut always("wait", 1),
        &Settings::default(),
    )
    .unwrap();
    assert!(!it.supported);
    let place = &it.unsupported[0];
    assert_eq!((place.t, &*place.state, &*place.a), (1, "low", "wait"));
    // The rewards that follow are known exactly; the cost is between 0 and 1.
    assert_eq!((it.value.lower, it.value.upper), (-1.0, 4.0));
    let it = evaluate(
        &four_episodes(),
        &mut Policy::new("stop", false, |_, _| Some(Action::Stop)),
        &Settings::default(),
    )
    .unwrap();
    assert_eq!((it.value.lower, it.value.upper), (0.0, 0.0));
}

#[test]
fn a_policy_that_was_chosen_from_the_log_has_a_wider_interval() {
    let file = ProblemFile::find("tutoring").unwrap();
    let log = log_of(&file, "random", 3000, 1);
    let fitted = FittedModel::of(&log, &Stated::default()).unwrap().problem();
    let mut policy = Policy::of_model("optimal", fitted).unwrap();
    let chosen = evaluate(&log, &mut policy, &Settings::default()).unwrap();
    policy.from_log = false;
    let fixed = evaluate(&log, &mut policy, &Settings::default()).unwrap();
    assert_eq!(chosen.value.value, fixed.value.value);
    assert!(chosen.value.upper - chosen.value.lower > fixed.value.upper - fixed.value.lower);
}

#[test]
fn overrides_are_counted_and_dropped() {
    let mut log = four_episodes();
    // In the last two episodes `stop` was recommended.
    for it in &mut log.episodes[2..] {
        it.decisions[0].overridden = true;
    }
    let it = evaluate(&log, &mut always("go", 0), &Settings::default()).unwrap();
    assert_eq!(it.log.overridden, 2);
    let without = it.without_overrides.unwrap();
    assert_eq!((it.value.value, without.value), (2.0, 1.0));
}

#[test]
fn episodes_without_an_outcome_are_left_out_and_named() {
    let mut log = four_episodes();
    for (it, status) in log.episodes.iter_mut().zip([
        Status::Open,
        Status::Stopped,
        Status::Abandoned,
        Status::Voided,
    ]) {
        it.status = status;
    }
    let error = evaluate(&log, &mut always("go", 0), &Settings::default()).unwrap_err();
    assert!(matches!(error, EvaluateError::Empty(_)));
    let words = "1 open, 1 without a complete outcome, 1 abandoned, 1 voided";
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn logged_decisions_have_a_value_too() {
    let it = evaluate_logged(&four_episodes(), &Settings::default()).unwrap();
    assert_eq!((it.value.value, it.value.episodes), (2.0, 4));
    assert!(it.value.lower >= -1.0 && it.value.upper <= 4.0);
}

/// A hidden illness: the second test depends on the first one beyond the state, which is the last result.
fn hidden_illness(episodes: u64) -> (DecisionLog, f64) {
    let text = r#"
        horizon = 3
        states = ["unknown", "clear", "suspect"]
        actions = ["blood", "scan"]
        feedbacks = ["negative", "positive"]
        transition = "1 + f"
        [learning]
        sigma2_reward = 0.25
        sigma2_cost = 0
        reward_range = [0, 1]
        outcome_range = { cost = [0, 1] }
    "#;
    let file = ProblemFile::parse("clinic.toml", text).unwrap();
    let mut stream = emab::Stream::new(3, 0, emab::Role::Steps);
    let mut past = Vec::new();
    for i in 0..episodes {
        let ill = usize::from(stream.uniform() < 0.3);
        let a = stream.below(2);
        let right = stream.uniform() < [0.6, 0.95][a];
        let f = if right { ill } else { 1 - ill };
        let episode = Episode {
            states: vec![0, 1 + f],
            actions: vec![a],
            feedbacks: vec![f],
            costs: vec![0.0],
            rewards: vec![(1 - ill) as f64, f64::from(u8::from(f == ill))],
        };
        past.push(LoggedEpisode::past(format!("p{i}"), episode, i));
    }
    // A scan and the decision after it are right with probability 0.95.
    (DecisionLog::new(file, OutcomeRange::default(), past), 0.95)
}

#[test]
fn incomplete_states_are_found_and_paths_are_right() {
    let (log, truth) = hidden_illness(6000);
    let pooled = evaluate(&log, &mut always("scan", 1), &Settings::default()).unwrap();
    // Results of blood tests are pooled with those of scans.
    assert!(pooled.value.upper < truth, "{:?}", pooled.value);
    let found = &pooled.contradictions[0];
    assert_eq!((found.t, &*found.what), (2, "the reward"));
    assert_eq!(
        (&*found.less.action, &*found.more.action),
        ("blood", "scan")
    );
    let settings = Settings {
        pooling: Pooling::Path,
        ..Settings::default()
    };
    let it = evaluate(&log, &mut always("scan", 1), &settings).unwrap();
    assert!((it.value.value - truth).abs() < 0.02);
    assert!((it.value.lower..=it.value.upper).contains(&truth));
    assert!(it.contradictions.is_empty());
}

#[test]
fn a_log_of_the_model_is_not_contradicted() {
    for number in 0..20 {
        let file = Family::parse("small").unwrap().problem(3, number).unwrap();
        let log = log_of(&file, "random", 3000, number);
        let mut policy = Policy::new("stop", false, |_, _| Some(Action::Stop));
        let it = evaluate(&log, &mut policy, &Settings::default()).unwrap();
        assert!(it.contradictions.is_empty(), "{:?}", it.contradictions);
    }
}

#[test]
fn start_states_are_part_of_the_value() {
    let file = ProblemFile::find("screening-risk").unwrap();
    assert!(file.spec().starts().len() > 1);
    let log = log_of(&file, "random", 20_000, 1);
    let mut policy = Policy::of_model("optimal", file.problem().unwrap()).unwrap();
    policy.from_log = false;
    let truth = true_value(&file.problem().unwrap(), &mut policy);
    for pooling in [Pooling::State, Pooling::Path] {
        let settings = Settings {
            pooling,
            ..Settings::default()
        };
        let value = evaluate(&log, &mut policy, &settings).unwrap().value;
        assert!((value.lower..=value.upper).contains(&truth), "{value:?}");
        assert!(
            (value.value - truth).abs() < 5.0 * value.stderr.unwrap(),
            "{value:?}, {truth}"
        );
    }
}

#[test]
fn paths_cover_the_value_too() {
    let settings = Settings {
        pooling: Pooling::Path,
        ..Settings::default()
    };
    let family = Family::parse("small:steps=3").unwrap();
    let mut covered = 0;
    for number in 0..40 {
        let file = family.problem(5, number).unwrap();
        let log = log_of(&file, "feedbal", 1000, number);
        let mut policy = Policy::of_model("optimal", file.problem().unwrap()).unwrap();
        policy.from_log = false;
        let truth = true_value(&file.problem().unwrap(), &mut policy);
        let value = evaluate(&log, &mut policy, &settings).unwrap().value;
        covered += usize::from((value.lower..=value.upper).contains(&truth));
    }
    assert!(covered >= 38, "{covered} of 40");
}

#[test]
fn a_policy_needs_no_action_where_the_log_never_led() {
    // `null` in a policy file: the model that was solved cannot reach the pair, and the log did not.
    let mut log = four_episodes_of(3);
    log.episodes.remove(0);
    let choose = |t, x| match (t, x) {
        (1, _) => Some(Action::Continue(0)),
        (2, 1) => Some(Action::Stop),
        _ => None,
    };
    let mut policy = Policy::new("null", false, choose);
    let it = evaluate(&log, &mut policy, &Settings::default()).unwrap();
    assert_eq!((it.value.value, it.supported), (3.0, true));
    let error = evaluate(&four_episodes_of(3), &mut policy, &Settings::default()).unwrap_err();
    let expected = "the policy has no action at step 2 in state `low`, which it leads to";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn wrong_policies_are_named() {
    let log = four_episodes();
    let mut policy = Policy::new("none", false, |_, _| None);
    let error = evaluate(&log, &mut policy, &Settings::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy has no action at step 1 in state `low`, which it leads to: name one, or `stop`"
    );
    let settings = Settings {
        confidence: 1.0,
        ..Settings::default()
    };
    let error = evaluate(&log, &mut always("go", 0), &settings).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the confidence must be more than 0 and less than 1, got 1"
    );
}

#[test]
fn unknown_values_count_where_they_are_known() {
    let mut log = four_episodes();
    log.episodes[0].episode.rewards[1] = f64::NAN;
    log.episodes[1].episode.costs[0] = f64::NAN;
    let it = evaluate(&log, &mut always("go", 0), &Settings::default()).unwrap();
    assert_eq!(it.log.incomplete, 2);
    // The bad feedback of the first episode counts; its reward does not, and no other is known there: between 0 and 4.
    assert!(!it.supported);
    assert_eq!(it.unsupported[0].state, "low");
    assert_eq!(it.value.value, 0.75 * 4.0 + 0.25 * 2.0 - 1.0);
}

#[test]
fn an_unstated_noise_is_not_taken_for_none() {
    // One episode says nothing of the noise; fifty rewards of 0 do not say that there is none.
    let text = "horizon = 2\nstates = 1\nactions = 1\nfeedbacks = 1\ntransition = 0\n[learning]\nreward_range = [0, 1]";
    let file = ProblemFile::parse("one.toml", text).unwrap();
    for (count, reward) in [(1, 1.0), (50, 0.0)] {
        let episode = Episode {
            states: vec![0],
            rewards: vec![reward],
            ..Episode::default()
        };
        let past = (0..count).map(|i| LoggedEpisode::past(format!("e{i}"), episode.clone(), i));
        let log = DecisionLog::new(file.clone(), OutcomeRange::default(), past.collect());
        let mut stop = Policy::new("stop", false, |_, _| Some(Action::Stop));
        let it = evaluate(&log, &mut stop, &Settings::default()).unwrap();
        assert!(it.value.upper - it.value.lower > 0.1, "{:?}", it.value);
        assert!(
            it.assumed
                .iter()
                .any(|it| it.what.contains("variance proxy of rewards"))
        );
    }
}

#[test]
fn equal_rewards_do_not_contradict_the_model_by_rounding() {
    let file = problem(3);
    let past = (0..60).map(|i: u64| {
        let episode = Episode {
            rewards: vec![0.7; 2],
            ..episode(&[usize::from(i.is_multiple_of(3))], &[1])
        };
        LoggedEpisode::past(format!("e{i}"), episode, i)
    });
    let log = DecisionLog::new(file, OutcomeRange::default(), past.collect());
    let it = evaluate(&log, &mut always("go", 0), &Settings::default()).unwrap();
    assert!(it.contradictions.is_empty(), "{:?}", it.contradictions);
}

#[test]
fn a_policy_that_draws_keeps_its_choices() {
    let mut next = 0;
    let mut policy = Policy::new("draws", false, move |_, _| {
        next += 1;
        Some(Action::Continue(next % 2))
    });
    let file = problem(3);
    let first = policy.choose(file.spec(), 1, 0).unwrap();
    assert_eq!(policy.choose(file.spec(), 1, 0).unwrap(), first);
    let text = r#"{"learner": "feedbal", "policy": [{"step": 1, "state": "low", "action": "go"}]}"#;
    assert!(Policy::read("p", text, None, file.spec()).unwrap().from_log);
}

#[test]
fn a_cost_that_is_never_known_is_named() {
    let mut log = four_episodes();
    for it in &mut log.episodes {
        it.episode.costs[0] = f64::NAN;
    }
    let it = evaluate(&log, &mut always("go", 0), &Settings::default()).unwrap();
    assert!(!it.supported);
    assert_eq!((it.pairs[0].count, it.pairs[0].costs), (4, Some(0)));
    // The cost is between 0 and 1.
    assert_eq!(it.value.value, 3.0 - 0.5);
    assert_eq!(it.logged_value, None);
    let error = evaluate_logged(&log, &Settings::default()).unwrap_err();
    assert!(
        error.to_string().contains("mean gain is not known"),
        "{error}"
    );
}

#[test]
fn values_that_contradict_what_is_stated_are_named() {
    let mut log = four_episodes();
    for it in &mut log.episodes {
        it.episode.rewards[1] = 70.0;
        it.episode.costs[0] = if it.id == "e0" { 9.0 } else { 0.0 };
    }
    let it = evaluate(&log, &mut always("go", 0), &Settings::default()).unwrap();
    let words = it.violations.join("; ");
    assert!(words.contains("step 2, state `high`: the reward is 70 on average of 3 observed, outside its range of 0 to 4"), "{words}");
    assert!(
        words.contains(
            "costs vary by 20.25 around their means, and their variance proxy is stated as 0"
        ),
        "{words}"
    );
    // The variance of four costs is more than twice their proxy by chance.
    let mut few = four_episodes();
    few.episodes[0].episode.costs[0] = 0.9;
    for it in &mut few.episodes[1..] {
        it.episode.costs[0] = 0.0;
    }
    for (proxy, alarm) in [(0.1, false), (0.01, true)] {
        let mut settings = Settings::default();
        settings.stated.sigma2 = Some(proxy);
        let it = evaluate(&few, &mut always("go", 0), &settings).unwrap();
        let words = it.violations.join("; ");
        assert_eq!(words.contains("costs vary by 0.2025"), alarm, "{words}");
    }
    let clean = evaluate(&four_episodes(), &mut always("go", 0), &Settings::default()).unwrap();
    assert!(clean.violations.is_empty(), "{:?}", clean.violations);
}

#[test]
fn a_range_with_outliers_counts_as_not_stated() {
    let text = "horizon = 2\nstates = 2\nactions = [\"go\"]\nfeedbacks = 2\ntransition = \"f\"\n\
                [learning]\noutcome_range = { reward = [0, 4], cost = [0, 1] }\n";
    let file = ProblemFile::parse("outliers.toml", text).unwrap();
    let assumed = |outlier: Option<f64>| {
        let mut log = DecisionLog {
            file: file.clone(),
            ..four_episodes()
        };
        if let Some(outlier) = outlier {
            log.episodes[3].episode.rewards[1] = outlier;
        }
        let it = evaluate(&log, &mut always("go", 0), &Settings::default()).unwrap();
        it.assumed
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(assumed(None), "");
    assert_eq!(assumed(Some(4.0)), "");
    let with_outlier = assumed(Some(30.0));
    assert!(
        with_outlier.contains("rewards outside their `outcome_range` are right, which is not used (30 at step 2 of episode `e3`); correct")
            && with_outlier.contains("expected rewards lie within the observed ones (0 to 30)")
            && with_outlier.contains("the variance proxy of rewards")
            && !with_outlier.contains("costs"),
        "{with_outlier}"
    );
}

#[test]
fn values_by_path_vary_around_the_mean_of_their_path() {
    // The last reward is the product of both feedbacks, and the state has only the second one.
    let text = "horizon = 3\nstates = 2\nactions = [\"go\"]\nfeedbacks = 2\ntransition = \"f\"\n\
                [learning]\nsigma2 = 0.01\nreward_range = [0, 1]\noutcome_range = { cost = [0, 1] }\n";
    let file = ProblemFile::parse("product.toml", text).unwrap();
    let past = (0..400).map(|i: u64| {
        let (one, two) = (i as usize % 2, i as usize / 2 % 2);
        let mut episode = episode(&[0, 0], &[one, two]);
        episode.rewards = vec![0.0, 0.0, (one * two) as f64];
        LoggedEpisode::past(format!("e{i}"), episode, i)
    });
    let log = DecisionLog::new(file, OutcomeRange::default(), past.collect());
    for (pooling, contradicted) in [(Pooling::State, true), (Pooling::Path, false)] {
        let settings = Settings {
            pooling,
            ..Settings::default()
        };
        let mut policy = Policy::new("go", false, |t, _| {
            Some(match t {
                3 => Action::Stop,
                _ => Action::Continue(0),
            })
        });
        let it = evaluate(&log, &mut policy, &settings).unwrap();
        let words = it.violations.join("; ");
        assert_eq!(words.contains("rewards vary by"), contradicted, "{words}");
    }
}
