//! Late, lost and missing outcomes.

use super::*;

#[test]
fn a_fixed_delay_keeps_d_plus_1_episodes_pending() {
    let problem = wait(4, 2);
    let (played, learner) = run(&["delay=3"], &problem, 20);
    // The outcome of episode n is there when n + 4 begins, with n + 3 begun before it.
    assert_eq!(deliveries(&played, &learner), (4..20).collect::<Vec<_>>());
    // FeedBAL has seen nothing while the first four begin: it stops at once in each, and goes on in the fifth.
    let mut conditioned = begun(&problem, &["delay=3"], 20, (1, 0));
    let played = play(&mut conditioned, &mut feedbal(&problem), 5);
    let steps: Vec<usize> = played.iter().map(|(episode, _)| episode.steps()).collect();
    assert_eq!(steps, [1, 1, 1, 1, 2]);
}

#[test]
fn batches_come_together_and_in_order() {
    let (played, learner) = run(&["delay=batches:5"], &wait(4, 2), 23);
    let expected = [5, 10, 15, 20].map(|begun| [begun; 5]);
    assert_eq!(deliveries(&played, &learner), expected.concat());
}

#[test]
fn a_geometric_delay_has_its_mean() {
    let n = 20_000;
    let (played, learner) = run(&["delay=geometric:4"], &wait(2, 1), n);
    // Which episode an outcome is of, by its noise.
    let number = |of: &Episode| played.iter().position(|episode| episode == of).unwrap();
    let mut late = Moments::default();
    for (begun, episode) in learner.received.iter().take(2000) {
        late.add((begun - number(episode) - 1) as f64);
    }
    let mean = late.mean();
    assert!((mean - 4.0).abs() < 4.5 * late.stderr(), "{mean}");
    assert!(learner.received.len() as u64 > n - 200);
}

#[test]
fn lost_outcomes_never_arrive() {
    let n = 10_000;
    let (played, learner) = run(&["lost=0.3"], &wait(3, 2), n);
    let received = learner.received.len() as f64;
    let sd = (n as f64 * 0.3 * 0.7).sqrt();
    assert!((received - 0.7 * n as f64).abs() < 4.5 * sd, "{received}");
    // The others come at once, and as they were.
    for (begun, episode) in &learner.received {
        assert_eq!(episode, &played[begun - 1]);
    }
}

#[test]
fn values_go_missing_by_the_feedback_of_their_step() {
    let n = 4000;
    let problem = wait(3, 2);
    for texts in [
        &["missing_costs=0.75:0", "missing_rewards=0:0.25"][..],
        &["missing_costs=0.75:0", "missing_rewards=0:0.25", "delay=1"],
    ] {
        let (played, learner) = run(texts, &problem, n);
        let (mut steps, mut costs, mut rewards) = ([0.0_f64; 2], [0.0_f64; 2], [0.0_f64; 2]);
        for (whole, (_, seen)) in played.iter().zip(&learner.received) {
            assert_eq!(
                (&whole.states, &whole.actions),
                (&seen.states, &seen.actions)
            );
            assert!(whole.is_known() && seen.known_reward(1).is_some());
            for (i, &f) in seen.feedbacks.iter().enumerate() {
                let unknown = |known: Option<f64>, value: f64| match known {
                    Some(known) => {
                        assert_eq!(known, value);
                        0.0
                    }
                    None => 1.0,
                };
                steps[f] += 1.0;
                costs[f] += unknown(seen.known_cost(i + 1), whole.costs[i]);
                rewards[f] += unknown(seen.known_reward(i + 2), whole.rewards[i + 1]);
            }
        }
        // Some 2,000 steps of each feedback: a standard error is below 0.01.
        assert!(steps[0] > 1500.0 && steps[1] > 1500.0, "{steps:?}");
        assert!((costs[0] / steps[0] - 0.75).abs() < 0.04 && costs[1] == 0.0);
        assert!((rewards[1] / steps[1] - 0.25).abs() < 0.04 && rewards[0] == 0.0);
    }
    // What is played does not depend on it for a learner that does not learn.
    let (plain, _) = run(&[], &problem, n);
    assert_eq!(run(&["missing_costs=0.5"], &problem, n).0, plain);
    let error = under(&problem, &[], &conditions(&["missing_costs=0:0.1:0.2"]), n);
    assert_eq!(
        error.unwrap_err().to_string(),
        "`missing_costs` must have one probability, or one for each of the 2 feedbacks, got 3"
    );
}

#[test]
fn ucb1_credits_the_arm_that_was_played_however_late() {
    // Two steps, one action: the arms are `stop` and `a, stop`. With a delay, both episodes of the first arm come back
    // when the other arm is planned already, and count for the first.
    let spec = Arc::new(Spec::numbered(2, 1, 1, 1).unwrap());
    let mut learner = Ucb1::new(spec, false).unwrap();
    let stopped = |reward| Episode {
        states: vec![0],
        rewards: vec![reward],
        ..Episode::default()
    };
    let went = |reward| Episode {
        states: vec![0, 0],
        actions: vec![0],
        feedbacks: vec![0],
        costs: vec![0.0],
        rewards: vec![0.0, reward],
    };
    assert_eq!(learner.choose(1, 0), Action::Stop);
    learner.learn(&stopped(1.0));
    assert_eq!(learner.choose(1, 0), Action::Continue(0)); // untried
    learner.learn(&stopped(1.0));
    assert_eq!(learner.choose(1, 0), Action::Continue(0)); // still untried
    // An arm with an unknown outcome stays untried.
    learner.learn(&Episode {
        rewards: Vec::new(),
        ..went(0.0)
    });
    assert_eq!(learner.choose(1, 0), Action::Continue(0));
    learner.learn(&went(-10.0));
    assert_eq!(learner.choose(1, 0), Action::Stop);
}
