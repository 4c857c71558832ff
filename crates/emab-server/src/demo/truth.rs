//! What happens to a case: feedback, costs and rewards, drawn from the model of the problem.

use std::sync::Arc;

use emab::rng::{Block, Draws};
use emab::spec::PointError;
use emab::{Problem, Role, Stream};

/// The model of a study. The draws of a case depend on the seed, the study and the number of the case alone.
pub struct Truth {
    problem: Arc<Problem>,
    seed: u64,
    /// The number of the study, in the upper half of the numbers of runs.
    study: u64,
}

/// The random numbers of a case, by step.
pub struct CaseDraws {
    reward: Vec<f64>,
    cost: Vec<f64>,
    feedback: Vec<f64>,
}

impl Truth {
    pub fn new(problem: Arc<Problem>, seed: u64, study: u64) -> Truth {
        Truth {
            problem,
            seed,
            study,
        }
    }

    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    fn run(&self, number: u64) -> u64 {
        self.study << 32 | number
    }

    /// The draws of a case, and the state in which it begins.
    pub fn case(&self, number: u64) -> Result<(CaseDraws, usize), PointError> {
        let (problem, run) = (&self.problem, self.run(number));
        let mut draws = Draws::new(problem.model().reward_noise, problem.model().cost_noise);
        draws.restart(self.seed, run);
        let mut block = Block::default();
        draws.fill(&mut block);
        let steps = problem.spec().horizon().min(Block::STEPS);
        let draws = CaseDraws {
            reward: block.reward[..steps].to_vec(),
            cost: block.cost[..steps].to_vec(),
            feedback: block.feedback[..steps].to_vec(),
        };
        let uniform = Stream::new(self.seed, run, Role::Start).uniform();
        let start = choose(problem.start_distribution()?, uniform);
        Ok((draws, problem.spec().starts()[start]))
    }

    /// The feedback of an action at a step, from 1.
    pub fn feedback(
        &self,
        draws: &CaseDraws,
        (t, x): (usize, usize),
        a: usize,
    ) -> Result<usize, PointError> {
        let mut probabilities = vec![0.0; self.problem.spec().feedbacks().len()];
        self.problem
            .feedback_distribution(t, x, a, &mut probabilities)?;
        Ok(choose(&probabilities, draws.feedback[t - 1]))
    }

    /// The observed cost of an action at a step.
    pub fn cost(
        &self,
        draws: &CaseDraws,
        (t, x): (usize, usize),
        a: usize,
    ) -> Result<f64, PointError> {
        let noise = self.problem.model().cost_noise;
        let mean = self.problem.cost(t, x, a)?;
        Ok(rounded(noise.observe(mean, draws.cost[t - 1])))
    }

    /// The observed terminal reward of a step.
    pub fn reward(&self, draws: &CaseDraws, (t, x): (usize, usize)) -> Result<f64, PointError> {
        let noise = self.problem.model().reward_noise;
        let mean = self.problem.reward(t, x)?;
        Ok(rounded(noise.observe(mean, draws.reward[t - 1])))
    }
}

/// To two digits, as people report values.
pub fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The index at which the cumulative distribution exceeds a uniform draw.
fn choose(probabilities: &[f64], uniform: f64) -> usize {
    let mut sum = 0.0;
    let found = probabilities.iter().position(|p| {
        sum += p;
        uniform < sum
    });
    found.unwrap_or(probabilities.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::super::studies::{CLINIC, TUTORING};
    use super::*;

    #[test]
    fn frequencies_are_those_of_the_model() {
        let truth = Truth::new(TUTORING.problem().unwrap().problem().unwrap(), 1, 0);
        let (mut basic, mut right) = (0, 0);
        for number in 0..4_000 {
            let (draws, start) = truth.case(number).unwrap();
            basic += start;
            right += truth.feedback(&draws, (1, 0), 0).unwrap();
        }
        assert!((1_480..1_720).contains(&basic), "{basic}");
        assert!((2_680..2_920).contains(&right), "{right}");
    }

    #[test]
    fn a_case_depends_on_its_seed_study_and_number_alone() {
        let problem = CLINIC.problem().unwrap().problem().unwrap();
        let reward = |seed, study, number| {
            let truth = Truth::new(problem.clone(), seed, study);
            let (draws, start) = truth.case(number).unwrap();
            assert!((0.0..=1.0).contains(&truth.reward(&draws, (1, start)).unwrap()));
            draws.reward
        };
        assert_eq!(reward(1, 0, 5), reward(1, 0, 5));
        for other in [reward(2, 0, 5), reward(1, 1, 5), reward(1, 0, 6)] {
            assert_ne!(reward(1, 0, 5), other);
        }
    }
}
