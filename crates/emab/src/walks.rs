//! Episodes played from outside, one action at a time: for whoever drives a problem with a loop of their own.
//!
//! Nothing is known here but the laws: no benchmark is solved and no regret is measured. The draws are those of
//! [`crate::Environment`]: the same seed, run and actions give the same episodes, to the bit.

use std::sync::Arc;

use crate::draws::{Block, Draws};
use crate::environment::PlayError;
use crate::episode::Episode;
use crate::model::{Noise, Problem};
use crate::oracle::{OracleError, Pair, Pairs};
use crate::random::{Role, Stream};
use crate::spec::Action;

/// What one action came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walked {
    /// What was earned: minus the cost of a continuation action, the terminal reward of `stop`, both where the person
    /// left. Over an episode they sum to its gain.
    pub earned: f64,
    /// Whether the episode is over.
    pub over: bool,
}

/// Episodes of one problem side by side, each with its own randomness, on one table of what was met.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Action, Model, Names, Problem, Spec, Walks};
///
/// let spec = Spec::new(3, Names::Count(3, ""), Names::Count(1, "a"), Names::Count(2, "")).unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let model = Model::new(|_t, _x, _a, f| f as f64, |_t, x, _a, _f| x as f64).cost(|_t, _x, _a, _f| 0.2);
/// let mut walks = Walks::new(Arc::new(Problem::new("sure coins", spec, model)), 1).unwrap();
/// walks.restart(0, 1, 0); // seed 1, run 0
/// walks.begin(0);
/// assert_eq!(walks.step(0, Action::Continue(0)).unwrap().earned, -0.2);
/// let last = walks.step(0, Action::Stop).unwrap();
/// assert!(last.over && last.earned == 1.0);
/// assert_eq!(walks.episode(0).gain(), 0.8);
/// ```
#[derive(Clone, Debug)]
pub struct Walks {
    pairs: Pairs,
    dropout: f64,
    cost_noise: Noise,
    reward_noise: Noise,
    walks: Vec<Walk>,
}

#[derive(Clone, Debug)]
struct Walk {
    source: Draws,
    block: Block,
    /// Steps that took their draws from the block.
    used: usize,
    /// Who leaves.
    people: Stream,
    pair: Pair,
    over: bool,
    left: bool,
    episode: Episode,
}

impl Walk {
    /// The place of the block that the next step takes.
    #[inline]
    fn next_draw(&mut self) -> usize {
        if self.used == Block::STEPS {
            self.source.fill(&mut self.block);
            self.used = 0;
        }
        self.used += 1;
        self.used - 1
    }
}

impl Walks {
    /// So many episodes side by side, none begun, all with the streams of seed 0 and run 0.
    pub fn new(problem: Arc<Problem>, count: usize) -> Result<Walks, OracleError> {
        let (cost_noise, reward_noise) = (problem.model().cost_noise, problem.model().reward_noise);
        let dropout = problem.dropout().get();
        let mut pairs = Pairs::new(problem)?;
        let start = pairs.start();
        pairs.open(start)?;
        let walk = Walk {
            source: Draws::new(reward_noise, cost_noise),
            block: Block::default(),
            used: Block::STEPS,
            people: Stream::new(0, 0, Role::Conditions),
            pair: start,
            over: true,
            left: false,
            episode: Episode::default(),
        };
        Ok(Walks {
            pairs,
            dropout,
            cost_noise,
            reward_noise,
            walks: vec![walk; count],
        })
    }

    /// Number `i` takes up the streams of this seed and run.
    pub fn restart(&mut self, i: usize, seed: u64, run: u64) {
        let walk = &mut self.walks[i];
        walk.source.restart(seed, run);
        walk.used = Block::STEPS;
        walk.people = Stream::new(seed, run, Role::Conditions);
    }

    /// Number `i` begins an episode; one that was not over is left as it is, and its draws stay used.
    #[inline]
    pub fn begin(&mut self, i: usize) {
        let walk = &mut self.walks[i];
        walk.pair = self.pairs.start();
        walk.over = false;
        walk.left = false;
        walk.episode.begin(self.pairs.state(walk.pair));
    }

    /// Number `i` does this.
    ///
    /// An action that is not allowed is an error and changes nothing; neither does one after the end.
    #[inline]
    pub fn step(&mut self, i: usize, action: Action) -> Result<Walked, PlayError> {
        let Walks { pairs, walks, .. } = self;
        let walk = &mut walks[i];
        let pair = walk.pair;
        if walk.over {
            return Err(PlayError::Over);
        }
        if let Action::Continue(a) = action
            && !pairs.allows(pair, a)
        {
            let (t, x) = (pairs.step(pair), pairs.state(pair));
            return Err(PlayError::NotAllowed { t, x, action });
        }
        let at = walk.next_draw();
        let reward = self
            .reward_noise
            .observe(pairs.reward(pair), walk.block.reward[at]);
        walk.episode.rewards.push(reward);
        let drawn = match action {
            Action::Continue(a) => pairs
                .draw(pair, a, walk.block.feedback[at])
                .map(|drawn| (a, drawn)),
            Action::Stop => None,
        };
        let Some((a, (f, next, mean))) = drawn else {
            walk.over = true;
            return Ok(Walked {
                earned: reward,
                over: true,
            });
        };
        let cost = self.cost_noise.observe(mean, walk.block.cost[at]);
        walk.episode.costs.push(cost);
        walk.episode.advance(a, f, pairs.state(next));
        walk.pair = next;
        pairs.open(next)?;
        if self.dropout > 0.0 && walk.people.uniform() < self.dropout {
            let at = walk.next_draw();
            let reward = self
                .reward_noise
                .observe(pairs.reward(next), walk.block.reward[at]);
            walk.episode.rewards.push(reward);
            (walk.over, walk.left) = (true, true);
            return Ok(Walked {
                earned: reward - cost,
                over: true,
            });
        }
        Ok(Walked {
            // No cost is 0, not -0.
            earned: 0.0 - cost,
            over: false,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.walks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.walks.is_empty()
    }

    /// The pairs that any of them met.
    #[inline]
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// Where number `i` is, or stopped.
    #[inline]
    pub fn pair(&self, i: usize) -> Pair {
        self.walks[i].pair
    }

    /// Whether number `i` has no episode under way.
    #[inline]
    pub fn is_over(&self, i: usize) -> bool {
        self.walks[i].over
    }

    /// Whether the person of number `i` left before anybody stopped: such people do not tell their rewards.
    #[inline]
    pub fn left(&self, i: usize) -> bool {
        self.walks[i].left
    }

    /// The episode of number `i` as far as it went. Costs and rewards are drawn step by step; learners are shown them
    /// when it is over.
    #[inline]
    pub fn episode(&self, i: usize) -> &Episode {
        &self.walks[i].episode
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Chance;
    use crate::environment::Environment;
    use crate::learner::Learner;
    use crate::model::Model;
    use crate::spec::{Names, Spec};

    fn problem(reward: Noise) -> Problem {
        let spec = Spec::new(
            6,
            Names::Count(6, ""),
            Names::Count(2, "a"),
            Names::Count(2, ""),
        )
        .unwrap()
        .transition(|_t, x, _a, f| (x + f) as f64)
        .allowed(|_t, x, a, _f| f64::from(u8::from(a == 0 || x < 2)));
        let model = Model::new(
            |t, _x, a, f| {
                let p = (0.3 + 0.4 * a as f64) / t as f64;
                if f == 1 { p } else { 1.0 - p }
            },
            |t, x, _a, _f| x as f64 / (5 * t) as f64,
        )
        .cost(|_t, x, a, _f| 0.1 * (x + a) as f64)
        .noise(Noise::normal(0.3).unwrap(), reward);
        Problem::new("steps", spec, model)
    }

    /// Chooses by chance and keeps what it chose and was told.
    struct Random {
        stream: Stream,
        spec: Arc<Spec>,
        chosen: Vec<Action>,
        told: Vec<Episode>,
    }

    impl Learner for Random {
        fn choose(&mut self, t: usize, x: usize) -> Action {
            let a = self.stream.below(3);
            let action = match a < 2 && self.spec.is_allowed(t, x, a) {
                true => Action::Continue(a),
                false => Action::Stop,
            };
            self.chosen.push(action);
            action
        }

        fn learn(&mut self, episode: &Episode) {
            self.told.push(episode.clone());
        }

        fn reset(&mut self, stream: Stream) {
            self.stream = stream;
        }
    }

    #[test]
    fn the_same_actions_meet_the_same_as_in_an_environment() {
        for (noise, dropout) in [
            (Noise::normal(0.2).unwrap(), 0.0),
            (Noise::Bernoulli, 0.0),
            (Noise::uniform(0.5).unwrap(), 0.2),
        ] {
            let problem = problem(noise).leaving(Chance::new("dropout", dropout).unwrap());
            let problem = Arc::new(problem);
            let mut environment = Environment::new(problem.clone()).unwrap();
            let mut walks = Walks::new(problem.clone(), 2).unwrap();
            for run in [0, 3] {
                let mut learner = Random {
                    stream: Stream::new(5, run, Role::Learner),
                    spec: problem.spec().clone(),
                    chosen: Vec::new(),
                    told: Vec::new(),
                };
                environment.restart(5, run);
                walks.restart(1, 5, run);
                let (mut steps, mut leavers) = (0, 0);
                for _ in 0..500 {
                    learner.chosen.clear();
                    environment.play(&mut learner).unwrap();
                    walks.begin(1);
                    let mut earned = 0.0;
                    for &action in &learner.chosen {
                        assert!(!walks.is_over(1));
                        earned += walks.step(1, action).unwrap().earned;
                        steps += 1;
                    }
                    assert!(walks.is_over(1));
                    assert_eq!(walks.episode(1), environment.episode());
                    assert_eq!(walks.left(1), environment.left());
                    assert!((walks.episode(1).gain() - earned).abs() < 1e-12);
                    leavers += usize::from(walks.left(1));
                }
                assert!(steps > 10 * Block::STEPS / 2);
                assert_eq!(leavers > 0, dropout > 0.0);
            }
        }
    }

    #[test]
    fn what_may_not_be_done_changes_nothing() {
        let problem = Arc::new(problem(Noise::None));
        let mut walks = Walks::new(problem, 1).unwrap();
        assert_eq!(walks.step(0, Action::Stop), Err(PlayError::Over));
        walks.begin(0);
        let before = walks.clone();
        let action = Action::Continue(2);
        let refused = PlayError::NotAllowed { t: 1, x: 0, action };
        assert_eq!(walks.step(0, action), Err(refused));
        assert_eq!(walks.episode(0), before.episode(0));
        for _ in 0..5 {
            walks.step(0, Action::Continue(0)).unwrap();
        }
        // At the horizon there is `stop` alone.
        assert!(walks.step(0, Action::Continue(0)).is_err());
        assert!(walks.step(0, Action::Stop).unwrap().over);
    }

    #[test]
    fn what_is_met_alone_is_worked_out() {
        let names = |n| Names::Count(n, "");
        let spec = Spec::new(1000, names(1_000_000_000), names(1), names(2))
            .unwrap()
            .transition(|_t, x, _a, f| (2 * x + f) as f64 % 1e9);
        let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, _x, _a, _f| 1.0);
        let mut walks = Walks::new(Arc::new(Problem::new("wide", spec, model)), 1).unwrap();
        walks.begin(0);
        for _ in 1..1000 {
            walks.step(0, Action::Continue(0)).unwrap();
        }
        assert!(walks.pairs().len() <= 2000);
    }
}
