use emab::Action;
use emab::learners::LearnerConfig;
use emab_logs::replay;
use emab_problem::{Family, ProblemFile};

use crate::simulate::log_of;

fn config(file: &ProblemFile, text: &str) -> LearnerConfig {
    LearnerConfig::parse(text, file.learning()).unwrap()
}

#[test]
fn a_learner_agrees_with_its_own_log() {
    for (problem, learner) in [
        ("resource", "feedbal"),
        ("tutoring", "feedbal-model"),
        ("treatment", "feedbal-pooled"),
    ] {
        let file = ProblemFile::find(problem).unwrap();
        let log = log_of(&file, learner, 500, 3);
        let replayed = replay(&log, &config(&file, learner), 3).unwrap();
        assert_eq!(replayed.agreed, replayed.decisions, "{learner}");
        assert_eq!(replayed.earlier_stops.all.count, 0);
        assert!(replayed.earlier_stops.all.total.is_sign_positive());
        let steps: usize = log.episodes.iter().map(|it| it.episode.steps()).sum();
        assert_eq!(replayed.decisions, steps as u64);
    }
}

#[test]
fn earlier_stops_equal_a_recomputation() {
    let file = Family::parse("small").unwrap().problem(1, 3).unwrap();
    let log = log_of(&file, "random", 2000, 5);
    let it = replay(&log, &config(&file, "feedbal"), 1).unwrap();
    // The same with another loop: episode by episode, gains of both ends.
    let mut learner = config(&file, "feedbal").build(file.spec(), None).unwrap();
    let (mut all, mut agreed) = (Vec::new(), Vec::new());
    for logged in &log.episodes {
        let episode = &logged.episode;
        let (mut stop, mut same) = (None, true);
        for t in 1..episode.steps() {
            let choice = learner.choose(t, episode.states[t - 1]);
            if choice == Action::Stop && stop.is_none() {
                stop = Some((t, same));
            }
            same &= choice == Action::Continue(episode.actions[t - 1]);
        }
        let gain = |t: usize| episode.rewards[t - 1] - episode.costs[..t - 1].iter().sum::<f64>();
        if let Some((t, same)) = stop {
            let difference = gain(t) - gain(episode.steps());
            all.push(difference);
            agreed.extend(same.then_some(difference));
        }
        learner.learn(episode);
    }
    assert!(all.len() > 100 && agreed.len() < all.len() && !agreed.is_empty());
    for (found, expected) in [
        (it.earlier_stops.all, &all),
        (it.earlier_stops.after_agreement, &agreed),
    ] {
        let n = expected.len() as f64;
        let mean = expected.iter().sum::<f64>() / n;
        let squares: f64 = expected.iter().map(|it| (it - mean).powi(2)).sum();
        assert_eq!(found.count, expected.len() as u64);
        assert!((found.gain_difference.unwrap() - mean).abs() < 1e-12);
        assert!((found.stderr.unwrap() - (squares / (n - 1.0) / n).sqrt()).abs() < 1e-12);
    }
    let decisions: u64 = it.by_pair.iter().map(|pair| pair.decisions).sum();
    let parts: u64 = it.over_time.iter().map(|part| part.decisions).sum();
    assert_eq!((decisions, parts), (it.decisions, it.decisions));
}

#[test]
fn an_unknown_reward_makes_the_difference_unknown() {
    let file = ProblemFile::find("resource").unwrap();
    let mut log = log_of(&file, "random", 50, 5);
    for it in &mut log.episodes {
        it.episode.rewards.iter_mut().for_each(|it| *it = f64::NAN);
    }
    let it = replay(&log, &config(&file, "feedbal"), 1).unwrap();
    assert_eq!(it.earlier_stops.all.count, 0);
    assert!(it.earlier_stops.unknown > 0);
    assert_eq!(it.earlier_stops.all.gain_difference, None);
}
