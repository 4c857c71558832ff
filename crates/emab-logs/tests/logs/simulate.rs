//! Logs of a learner that is simulated on a problem with a model, and the true value of a policy there.

use std::collections::HashMap;

use emab::learners::LearnerConfig;
use emab::{Action, Environment, Problem, Role, Stream};
use emab_logs::{DecisionLog, LoggedEpisode, Policy};
use emab_problem::{OutcomeRange, ProblemFile};

/// The episodes of a learner on a problem.
pub fn log_of(file: &ProblemFile, learner: &str, episodes: u64, seed: u64) -> DecisionLog {
    let problem = file.problem().unwrap();
    let config = LearnerConfig::parse(learner, file.learning()).unwrap();
    let mut learner = config.build(file.spec(), Some(&problem)).unwrap();
    learner.reset(Stream::new(seed, 0, Role::Learner));
    let mut environment = Environment::new(problem).unwrap();
    environment.restart(seed, 0);
    let mut past = Vec::new();
    for i in 0..episodes {
        environment.play(&mut *learner).unwrap();
        let episode = environment.episode().clone();
        past.push(LoggedEpisode::past(format!("e{i}"), episode, i));
    }
    let file = file.without_model().unwrap();
    DecisionLog::new(file, OutcomeRange::default(), past)
}

/// The first episodes of a log.
pub fn first(log: &DecisionLog, episodes: usize) -> DecisionLog {
    let mut log = log.clone();
    log.episodes.truncate(episodes);
    log
}

/// The true value of a policy.
pub fn true_value(problem: &Problem, policy: &mut Policy) -> f64 {
    let starts = problem.start_distribution().unwrap().to_vec();
    let mut known = HashMap::new();
    let states = problem.spec().starts().iter().zip(starts);
    states
        .map(|(&x, p)| p * value_at(problem, policy, (1, x), &mut known))
        .sum()
}

fn value_at(
    problem: &Problem,
    policy: &mut Policy,
    (t, x): (usize, usize),
    known: &mut HashMap<(usize, usize), f64>,
) -> f64 {
    if let Some(&value) = known.get(&(t, x)) {
        return value;
    }
    let spec = problem.spec();
    let value = match policy.choose(spec, t, x).unwrap() {
        Action::Stop => problem.reward(t, x).unwrap(),
        Action::Continue(a) => {
            let mut shares = vec![0.0; spec.feedbacks().len()];
            problem.feedback_distribution(t, x, a, &mut shares).unwrap();
            let next = shares.iter().enumerate().map(|(f, p)| {
                let x = spec.next(t, x, a, f).unwrap();
                p * value_at(problem, policy, (t + 1, x), known)
            });
            next.sum::<f64>() - problem.cost(t, x, a).unwrap()
        }
    };
    known.insert((t, x), value);
    value
}
