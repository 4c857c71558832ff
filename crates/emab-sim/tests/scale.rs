//! Large problems cost what is visited of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use emab::learners::LearnerConfig;
use emab::{Environment, Learner, Role, Stream};
use emab_problem::{BUILTIN, Format, ProblemFile};

#[test]
fn a_million_states_and_fifty_steps() {
    let text = r#"
        horizon = 50
        states = 1000000
        actions = ["slow", "fast"]
        feedbacks = 2
        transition = "min(x + (1 + 99 * a) * f, 999999)"
        [model]
        feedback = ["0.5", "0.5"]
        cost = "0.01 * (1 + a)"
        reward = "x / (1 + x / 200) / (1 + t)"
        reward_noise = { kind = "normal", variance = 0.1 }
        [learning]
        sigma2 = 0.1
        delta = 0.01
    "#;
    let file = ProblemFile::parse_as(Format::Toml, "large.toml", text).unwrap();
    let problem = file.problem().unwrap();
    let mut environment = Environment::new(problem.clone()).unwrap();
    environment.restart(1, 0);
    let config = LearnerConfig::parse("feedbal", file.learning()).unwrap();
    let mut learner = config.build(problem.spec(), Some(&problem)).unwrap();
    learner.reset(Stream::new(1, 0, Role::Learner));
    for _ in 0..2000 {
        environment.play(&mut learner).unwrap();
    }
    // Of 50 million pairs there are; what the benchmark needs and the learner met.
    let met = environment.oracle().pairs().len();
    assert!(met < 100_000, "{met} pairs");
}

#[test]
fn every_learner_keeps_the_laws_on_every_problem_shipped() {
    for builtin in BUILTIN {
        let file = ProblemFile::builtin(builtin.name).unwrap().unwrap();
        let problem: Arc<_> = file.problem().unwrap();
        for entry in emab::learners::CATALOGUE {
            let config = LearnerConfig::parse(entry.name, file.learning()).unwrap();
            let build = || config.build(problem.spec(), Some(&problem)).unwrap();
            emab::conformance::check_learner(&problem, build, 300, 7).unwrap_or_else(|violation| {
                panic!("{} on {}: {violation}", entry.name, builtin.name)
            });
        }
    }
}
