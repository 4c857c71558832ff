//! Episodes played from outside, one action at a time: for whoever drives a problem with a loop of their own.
//!
//! Nothing is known here but the laws: no benchmark is solved and no regret is measured. The draws are those of
//! [`crate::Environment`]: the same seed, run and actions give the same episodes, to the bit.

use std::sync::Arc;

use crate::environment::PlayError;
use crate::episode::Episode;
use crate::model::{Noise, Problem};
use crate::oracle::{OracleError, Pair, Pairs};
use crate::rng::{Block, Draws};
use crate::rng::{Role, Stream};
use crate::spec::Action;

/// What one action came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
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
/// use emab::{Action, Model, Names, Problem, Spec};
/// use emab::environment::VecEnvironment;
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
pub struct VecEnvironment {
    pairs: Pairs,
    dropout: f64,
    cost_noise: Noise,
    reward_noise: Noise,
    slots: Vec<Slot>,
    /// Apart from the rest, which is small and read in one go.
    sources: Vec<Randomness>,
    /// Where draws are made before they are handed out. Boxed: a block is aligned to lines of the cache, and whoever
    /// holds this may not be (Python's objects are not).
    block: Box<Block>,
}

/// Where one is, and how it came there.
#[derive(Clone, Debug)]
struct Slot {
    pair: Pair,
    over: bool,
    dropped_out: bool,
    /// Steps that took their draws from those at hand.
    used: usize,
    passed: Vec<PassedStep>,
}

/// A step that was passed: one place in memory, and not one in each of an episode's lists.
#[derive(Clone, Copy, Debug)]
struct PassedStep {
    pair: Pair,
    /// NONE at the last step, which has neither action nor feedback nor cost.
    action: u32,
    feedback: u32,
    cost: f64,
    reward: f64,
}

const NONE: u32 = u32::MAX;

/// What chance gives to one step; side by side, since many at once wait for memory more than for anything else.
#[derive(Clone, Copy, Debug, Default)]
struct Draw {
    reward: f64,
    cost: f64,
    feedback: f64,
}

/// The randomness of one.
#[derive(Clone, Debug)]
struct Randomness {
    source: Draws,
    at_hand: Vec<Draw>,
    /// Who leaves.
    people: Stream,
}

impl Slot {
    #[inline]
    fn end(&mut self, pair: Pair, reward: f64) {
        self.over = true;
        self.passed.push(PassedStep {
            pair,
            action: NONE,
            feedback: NONE,
            cost: 0.0,
            reward,
        });
    }
}

impl Randomness {
    /// What the next step meets.
    #[inline]
    fn next(&mut self, used: &mut usize, block: &mut Block) -> Draw {
        if *used == Block::STEPS {
            self.refill(block);
            *used = 0;
        }
        *used += 1;
        self.at_hand[*used - 1]
    }

    /// Apart, so that what is done at every step stays small.
    #[inline(never)]
    fn refill(&mut self, block: &mut Block) {
        self.source.fill(block);
        for (i, draw) in self.at_hand.iter_mut().enumerate() {
            *draw = Draw {
                reward: block.reward[i],
                cost: block.cost[i],
                feedback: block.feedback[i],
            };
        }
    }
}

impl VecEnvironment {
    /// So many episodes side by side, none begun, all with the streams of seed 0 and run 0.
    pub fn new(problem: Arc<Problem>, count: usize) -> Result<VecEnvironment, OracleError> {
        let (cost_noise, reward_noise) = (problem.model().cost_noise, problem.model().reward_noise);
        let dropout = problem.dropout().get();
        let mut pairs = Pairs::new(problem)?;
        let start = pairs.start();
        pairs.expand(start)?;
        let slot = Slot {
            pair: start,
            over: true,
            dropped_out: false,
            used: Block::STEPS,
            passed: Vec::new(),
        };
        let chance = Randomness {
            source: Draws::new(reward_noise, cost_noise),
            at_hand: vec![Draw::default(); Block::STEPS],
            people: Stream::new(0, 0, Role::Conditions),
        };
        Ok(VecEnvironment {
            pairs,
            dropout,
            cost_noise,
            reward_noise,
            slots: vec![slot; count],
            sources: vec![chance; count],
            block: Box::default(),
        })
    }

    /// Number `i` takes up the streams of this seed and run.
    pub fn restart(&mut self, i: usize, seed: u64, run: u64) {
        let chance = &mut self.sources[i];
        chance.source.restart(seed, run);
        chance.people = Stream::new(seed, run, Role::Conditions);
        self.slots[i].used = Block::STEPS;
    }

    /// Number `i` begins an episode; one that was not over is left as it is, and its draws stay used.
    #[inline]
    pub fn begin(&mut self, i: usize) {
        let slot = &mut self.slots[i];
        slot.pair = self.pairs.start();
        slot.over = false;
        slot.dropped_out = false;
        slot.passed.clear();
    }

    /// Number `i` does this.
    ///
    /// An action that is not allowed is an error and changes nothing; neither does one after the end.
    #[inline]
    pub fn step(&mut self, i: usize, action: Action) -> Result<StepResult, PlayError> {
        let VecEnvironment {
            pairs,
            slots,
            sources,
            block,
            ..
        } = self;
        let (slot, chance) = (&mut slots[i], &mut sources[i]);
        let pair = slot.pair;
        if slot.over {
            return Err(PlayError::NoEpisode);
        }
        if let Action::Continue(a) = action
            && !pairs.allows(pair, a)
        {
            let (t, x) = (pairs.step(pair), pairs.state(pair));
            return Err(PlayError::NotAllowed { t, x, action });
        }
        let draw = chance.next(&mut slot.used, block);
        let reward = self.reward_noise.observe(pairs.reward(pair), draw.reward);
        let drawn = match action {
            Action::Continue(a) => pairs.draw(pair, a, draw.feedback).map(|drawn| (a, drawn)),
            Action::Stop => None,
        };
        let Some((a, (f, next, mean))) = drawn else {
            slot.end(pair, reward);
            return Ok(StepResult {
                earned: reward,
                over: true,
            });
        };
        let cost = self.cost_noise.observe(mean, draw.cost);
        slot.passed.push(PassedStep {
            pair,
            action: a as u32,
            feedback: f as u32,
            cost,
            reward,
        });
        slot.pair = next;
        pairs.expand(next)?;
        if self.dropout > 0.0 && chance.people.uniform() < self.dropout {
            let draw = chance.next(&mut slot.used, block);
            let reward = self.reward_noise.observe(pairs.reward(next), draw.reward);
            slot.end(next, reward);
            slot.dropped_out = true;
            return Ok(StepResult {
                earned: reward - cost,
                over: true,
            });
        }
        Ok(StepResult {
            // No cost is 0, not -0.
            earned: 0.0 - cost,
            over: false,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The pairs that any of them met.
    #[inline]
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// Where number `i` is, or stopped.
    #[inline]
    pub fn pair(&self, i: usize) -> Pair {
        self.slots[i].pair
    }

    /// Whether number `i` has no episode under way.
    #[inline]
    pub fn is_over(&self, i: usize) -> bool {
        self.slots[i].over
    }

    /// Whether the person of number `i` left before anybody stopped: such people do not tell their rewards.
    #[inline]
    pub fn dropped_out(&self, i: usize) -> bool {
        self.slots[i].dropped_out
    }

    /// The terminal rewards of the steps that number `i` passed, that of its last among them once it is over.
    #[inline]
    pub fn rewards(&self, i: usize) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.slots[i].passed.iter().map(|passed| passed.reward)
    }

    /// The costs that number `i` paid.
    #[inline]
    pub fn costs(&self, i: usize) -> impl ExactSizeIterator<Item = f64> + '_ {
        let slot = &self.slots[i];
        // Its last step has none.
        let paid = slot.passed.len() - usize::from(slot.over && !slot.passed.is_empty());
        slot.passed[..paid].iter().map(|passed| passed.cost)
    }

    /// The episode of number `i` as far as it went. Costs and rewards are drawn step by step; learners are shown them
    /// when it is over.
    pub fn episode(&self, i: usize) -> Episode {
        let slot = &self.slots[i];
        let here = (!slot.over).then_some(slot.pair);
        let pairs = slot.passed.iter().map(|passed| passed.pair);
        let went = || slot.passed.iter().filter(|passed| passed.action != NONE);
        Episode {
            states: pairs.chain(here).map(|at| self.pairs.state(at)).collect(),
            actions: went().map(|passed| passed.action as usize).collect(),
            feedbacks: went().map(|passed| passed.feedback as usize).collect(),
            costs: self.costs(i).collect(),
            rewards: self.rewards(i).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Probability;
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
            let problem =
                problem(noise).with_dropout(Probability::new("dropout", dropout).unwrap());
            let problem = Arc::new(problem);
            let mut environment = Environment::new(problem.clone()).unwrap();
            let mut slots = VecEnvironment::new(problem.clone(), 2).unwrap();
            for run in [0, 3] {
                let mut learner = Random {
                    stream: Stream::new(5, run, Role::Learner),
                    spec: problem.spec().clone(),
                    chosen: Vec::new(),
                    told: Vec::new(),
                };
                environment.restart(5, run);
                slots.restart(1, 5, run);
                let (mut steps, mut leavers) = (0, 0);
                for _ in 0..500 {
                    learner.chosen.clear();
                    environment.play(&mut learner).unwrap();
                    slots.begin(1);
                    let mut earned = 0.0;
                    for &action in &learner.chosen {
                        assert!(!slots.is_over(1));
                        earned += slots.step(1, action).unwrap().earned;
                        steps += 1;
                    }
                    assert!(slots.is_over(1));
                    assert_eq!(&slots.episode(1), environment.episode());
                    assert_eq!(slots.dropped_out(1), environment.dropped_out());
                    assert!((slots.episode(1).gain() - earned).abs() < 1e-12);
                    leavers += usize::from(slots.dropped_out(1));
                }
                assert!(steps > 10 * Block::STEPS / 2);
                assert_eq!(leavers > 0, dropout > 0.0);
            }
        }
    }

    #[test]
    fn what_may_not_be_done_changes_nothing() {
        let problem = Arc::new(problem(Noise::None));
        let mut slots = VecEnvironment::new(problem, 1).unwrap();
        assert_eq!(slots.step(0, Action::Stop), Err(PlayError::NoEpisode));
        slots.begin(0);
        let before = slots.clone();
        let action = Action::Continue(2);
        let refused = PlayError::NotAllowed { t: 1, x: 0, action };
        assert_eq!(slots.step(0, action), Err(refused));
        assert_eq!(slots.episode(0), before.episode(0));
        for _ in 0..5 {
            slots.step(0, Action::Continue(0)).unwrap();
        }
        // At the horizon there is `stop` alone.
        assert!(slots.step(0, Action::Continue(0)).is_err());
        assert!(slots.step(0, Action::Stop).unwrap().over);
    }

    #[test]
    fn what_is_met_alone_is_worked_out() {
        let names = |n| Names::Count(n, "");
        let spec = Spec::new(1000, names(1_000_000_000), names(1), names(2))
            .unwrap()
            .transition(|_t, x, _a, f| (2 * x + f) as f64 % 1e9);
        let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, _x, _a, _f| 1.0);
        let mut slots =
            VecEnvironment::new(Arc::new(Problem::new("wide", spec, model)), 1).unwrap();
        slots.begin(0);
        for _ in 1..1000 {
            slots.step(0, Action::Continue(0)).unwrap();
        }
        assert!(slots.pairs().len() <= 2000);
    }
}
