//! A problem and the learners that meet on it.

use std::sync::Arc;

use crate::results::{ArenaSetting, ExcludedLearner, REFERENCE};
use emab::learners::{LearnerConfig, LearnerDefaults, LearnerError};
use emab::{Problem, Scenario};

use crate::compare::default_learners::default_learners;
use crate::compare::matchup::Matchup;
use crate::experiment::SimError;

/// How long everybody plays, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Episodes a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
}

/// One problem and who plays on it.
///
/// ```
/// use emab_sim::{Field, Rounds, enter};
/// let file = emab_problem::ProblemFile::builtin("resource").unwrap().unwrap();
/// let rounds = Rounds { episodes: 20, runs: 4, seed: 1 };
/// let mut fields = [ProblemEntrants::new(file.problem().unwrap(), file.scenario(), *file.learning(), rounds)];
/// enter(&mut fields, &["oasm".into()]).unwrap();
/// // FeedBAL is always there; `oasm` is made for another form of problem.
/// assert_eq!(fields[0].contests[0].learner.label(), "feedbal");
/// assert_eq!(fields[0].left_out[0].label, "oasm");
/// ```
pub struct ProblemEntrants {
    problem: Arc<Problem>,
    circumstances: Scenario,
    learning: LearnerDefaults,
    rounds: Budget,
    /// Those that play.
    pub contests: Vec<Matchup>,
    /// Those that do not, and why.
    pub left_out: Vec<ExcludedLearner>,
}

impl ProblemEntrants {
    /// A problem on which nobody plays yet.
    pub fn new(
        problem: Arc<Problem>,
        circumstances: Scenario,
        learning: LearnerDefaults,
        rounds: Budget,
    ) -> ProblemEntrants {
        ProblemEntrants {
            problem,
            circumstances,
            learning,
            rounds,
            contests: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn contest(&self, learner: &str) -> Result<Matchup, LearnerError> {
        let Budget {
            episodes,
            runs,
            seed,
        } = self.rounds;
        let learner = LearnerConfig::parse(learner, &self.learning)?.for_episodes(episodes)?;
        learner.build(self.problem.spec(), Some(&self.problem))?;
        Ok(Matchup {
            problem: self.problem.clone(),
            circumstances: self.circumstances.clone(),
            learner,
            episodes,
            runs,
            seed,
        })
    }

    fn plays(&self, learner: &str) -> bool {
        let mut labels = self.contests.iter().map(|contest| contest.learner.label());
        labels.any(|label| label == learner)
    }

    /// What is known of the problem without any learner; it is called what its file calls it. None if nobody plays.
    pub fn ground(&self, name: &str, hash: &str) -> Result<Option<ArenaSetting>, SimError> {
        // Who plays makes no difference to it.
        let Some(anybody) = self.contests.first() else {
            return Ok(None);
        };
        let worth = anybody.experiment().worth()?;
        Ok(Some(ArenaSetting {
            problem: name.into(),
            problem_hash: hash.into(),
            benchmark_value: worth.benchmark_value,
            benchmark_stderr: worth.benchmark_stderr,
            optimal_value: worth.optimal_value,
            estimator: worth.estimator.into(),
            conditions: self.circumstances.conditions.clone(),
        }))
    }
}

/// Enters learners on every field, each once: those asked for, or everybody if nobody is, and FeedBAL always. Who does
/// not apply to a problem is left out of it. An error is of one that was asked for and can play nowhere, for another
/// reason than what the problems are.
pub fn enter(fields: &mut [ProblemEntrants], asked: &[String]) -> Result<(), LearnerError> {
    let mut learners: Vec<String> = vec![REFERENCE.into()];
    let more = match asked.is_empty() {
        true => default_learners(),
        false => asked.iter().map(|text| text.trim().to_owned()).collect(),
    };
    for learner in more {
        if !learners.contains(&learner) {
            learners.push(learner);
        }
    }
    for learner in &learners {
        let mut wrong = None;
        for field in &mut *fields {
            match field.contest(learner) {
                Ok(contest) => field.contests.push(contest),
                Err(error) => {
                    field.left_out.push(ExcludedLearner {
                        label: learner.clone(),
                        why: error.reason(),
                    });
                    if !error.does_not_apply() {
                        wrong.get_or_insert(error);
                    }
                }
            }
        }
        // Nobody asked for those of the roster: a problem that does not tell what one of them needs goes without it.
        let asked = asked.iter().any(|text| text.trim() == learner);
        if let Some(error) = wrong
            && asked
            && !fields.iter().any(|field| field.plays(learner))
        {
            return Err(error);
        }
    }
    Ok(())
}
