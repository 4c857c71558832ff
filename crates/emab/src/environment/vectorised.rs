//! Vectorised environment: many episodes of one problem, played one action at a time by the caller.
//!
//! No benchmark is solved and no regret is measured. The draws are those of [`crate::Environment`]: the same seed, run and
//! actions give bit-identical episodes.

use std::sync::Arc;

use super::PlayError;
use super::process::{Process, RunStreams, StepDraw};
use crate::episode::Episode;
use crate::model::Problem;
use crate::oracle::{OracleError, Pair, Pairs};
use crate::rng::Block;
use crate::spec::Action;

/// The result of one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepResult {
    /// Minus the cost of a continuation action, the terminal reward of `stop`, both after a dropout. The sum over an
    /// episode is its gain.
    pub earned: f64,
    /// Whether the episode is over.
    pub over: bool,
}

impl StepResult {
    #[inline]
    fn new(earned: f64, over: bool) -> StepResult {
        StepResult { earned, over }
    }
}

/// Several slots, each with an episode and random streams; all share one table of visited pairs.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Action, Model, Problem, Spec};
/// use emab::environment::VecEnvironment;
///
/// let spec = Spec::numbered(3, 3, 1, 2).unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let model = Model::new(|_t, _x, _a, f| f as f64, |_t, x, _a, _f| x as f64).cost(|_t, _x, _a, _f| 0.2);
/// let mut environment = VecEnvironment::new(Arc::new(Problem::new("sure coins", spec, model)), 1).unwrap();
/// environment.restart(0, 1, 0); // seed 1, run 0
/// environment.begin(0);
/// assert_eq!(environment.step(0, Action::Continue(0)).unwrap().earned, -0.2);
/// let last = environment.step(0, Action::Stop).unwrap();
/// assert!(last.over && last.earned == 1.0);
/// assert_eq!(environment.episode(0).gain(), 0.8);
/// ```
#[derive(Clone, Debug)]
pub struct VecEnvironment {
    pairs: Pairs,
    process: Process,
    slots: Vec<Slot>,
    /// Apart from the slots, which are small and read together.
    sources: Vec<DrawSource>,
    /// Scratch space for refills. Boxed: a block is aligned to cache lines, and Python's objects are not.
    block: Box<Block>,
}

/// The state of one episode.
#[derive(Clone, Debug)]
struct Slot {
    pair: Pair,
    over: bool,
    dropped_out: bool,
    /// Buffered draws that are used.
    used: usize,
    steps: Vec<RecordedStep>,
}

/// One step of an episode: one record instead of an entry in each of the lists of an [`Episode`].
#[derive(Clone, Copy, Debug)]
struct RecordedStep {
    pair: Pair,
    /// NONE at the last step, which has no action, feedback or cost.
    action: u32,
    feedback: u32,
    cost: f64,
    reward: f64,
}

const NONE: u32 = u32::MAX;

/// The random numbers of one slot.
#[derive(Clone, Debug)]
struct DrawSource {
    streams: RunStreams,
    /// Step by step, because memory access dominates with many slots.
    buffer: Vec<StepDraw>,
}

impl Slot {
    #[inline]
    fn end(&mut self, pair: Pair, reward: f64) {
        self.over = true;
        self.steps.push(RecordedStep {
            pair,
            action: NONE,
            feedback: NONE,
            cost: 0.0,
            reward,
        });
    }
}

impl DrawSource {
    /// The draws of the next step.
    #[inline]
    fn next(&mut self, used: &mut usize, block: &mut Block) -> StepDraw {
        if *used == Block::STEPS {
            self.refill(block);
            *used = 0;
        }
        *used += 1;
        self.buffer[*used - 1]
    }

    /// Not inlined, to keep the code of a step small.
    #[inline(never)]
    fn refill(&mut self, block: &mut Block) {
        self.streams.steps.fill(block);
        for (i, draw) in self.buffer.iter_mut().enumerate() {
            *draw = StepDraw::at(block, i);
        }
    }
}

impl VecEnvironment {
    /// An environment with this number of slots, without open episodes, on the streams of seed 0 and run 0.
    pub fn new(problem: Arc<Problem>, count: usize) -> Result<VecEnvironment, OracleError> {
        let process = Process::new(&problem);
        let mut pairs = Pairs::new(problem)?;
        let starts = pairs.starts().len();
        for i in 0..starts {
            pairs.expand(Pair(i as u32))?;
        }
        let slot = Slot {
            pair: Pair::default(),
            over: true,
            dropped_out: false,
            used: Block::STEPS,
            steps: Vec::new(),
        };
        let source = DrawSource {
            streams: RunStreams::new(&process),
            buffer: vec![StepDraw::default(); Block::STEPS],
        };
        Ok(VecEnvironment {
            pairs,
            process,
            slots: vec![slot; count],
            sources: vec![source; count],
            block: Box::default(),
        })
    }

    /// About how many bytes this many slots take.
    pub fn size_of(count: usize) -> usize {
        let each = size_of::<Slot>()
            + size_of::<DrawSource>()
            + Block::STEPS * size_of::<StepDraw>()
            + size_of::<RunStreams>();
        count.saturating_mul(each)
    }

    /// Switches slot `i` to the streams of this seed and run.
    pub fn restart(&mut self, i: usize, seed: u64, run: u64) {
        self.sources[i].streams.restart(seed, run);
        self.slots[i].used = Block::STEPS;
    }

    /// Begins an episode in slot `i`. An open episode is abandoned; its draws stay used.
    #[inline]
    pub fn begin(&mut self, i: usize) {
        self.begin_in(i, None);
    }

    /// Begins an episode in slot `i` in this start; in a drawn one where none is given or the pair is no start. The starts of
    /// later episodes are the same either way.
    #[inline]
    pub fn begin_in(&mut self, i: usize, start: Option<Pair>) {
        let drawn = self.sources[i].streams.start(&self.pairs);
        let slot = &mut self.slots[i];
        slot.pair = start
            .filter(|start| start.index() < self.pairs.starts().len())
            .unwrap_or(drawn);
        slot.over = false;
        slot.dropped_out = false;
        slot.steps.clear();
    }

    /// Takes an action in slot `i`.
    ///
    /// Fails without effect where the action is not allowed or no episode is open.
    #[inline]
    pub fn step(&mut self, i: usize, action: Action) -> Result<StepResult, PlayError> {
        let VecEnvironment {
            pairs,
            process,
            slots,
            sources,
            block,
        } = self;
        let (slot, source) = (&mut slots[i], &mut sources[i]);
        let pair = slot.pair;
        if slot.over {
            return Err(PlayError::NoEpisode);
        }
        if let Action::Continue(a) = action
            && !pairs.allows(pair, a)
        {
            return Err(PlayError::not_allowed(pairs, pair, action));
        }
        let draw = source.next(&mut slot.used, block);
        let reward = process.reward(pairs, pair, draw.reward);
        let conditions = &mut source.streams.conditions;
        let step = match action {
            Action::Continue(a) => process
                .advance(pairs, pair, a, draw, conditions)
                .map(|step| (a, step)),
            Action::Stop => None,
        };
        let Some((a, step)) = step else {
            slot.end(pair, reward);
            return Ok(StepResult::new(reward, true));
        };
        slot.steps.push(RecordedStep {
            pair,
            action: a as u32,
            feedback: step.feedback as u32,
            cost: step.cost,
            reward,
        });
        slot.pair = step.next;
        pairs.expand(step.next)?;
        if step.dropped_out {
            let draw = source.next(&mut slot.used, block);
            let reward = process.reward(pairs, step.next, draw.reward);
            slot.end(step.next, reward);
            slot.dropped_out = true;
            return Ok(StepResult::new(reward - step.cost, true));
        }
        // No cost is 0, not -0.
        Ok(StepResult::new(0.0 - step.cost, false))
    }

    /// The number of slots.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The visited pairs.
    #[inline]
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// The current or last pair of slot `i`.
    #[inline]
    pub fn pair(&self, i: usize) -> Pair {
        self.slots[i].pair
    }

    /// Whether slot `i` has no open episode.
    #[inline]
    pub fn is_over(&self, i: usize) -> bool {
        self.slots[i].over
    }

    /// Whether the episode of slot `i` ended by dropout; its rewards are then unknown to a learner.
    #[inline]
    pub fn dropped_out(&self, i: usize) -> bool {
        self.slots[i].dropped_out
    }

    /// The terminal rewards of the steps of slot `i`, the last one included once the episode is over.
    #[inline]
    pub fn rewards(&self, i: usize) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.slots[i].steps.iter().map(|step| step.reward)
    }

    /// The costs of the episode in slot `i`.
    #[inline]
    pub fn costs(&self, i: usize) -> impl ExactSizeIterator<Item = f64> + '_ {
        let slot = &self.slots[i];
        // The last step has no cost.
        let with_cost = slot.steps.len() - usize::from(slot.over && !slot.steps.is_empty());
        slot.steps[..with_cost].iter().map(|step| step.cost)
    }

    /// The episode of slot `i` so far, with the costs and rewards that a learner receives at its end.
    pub fn episode(&self, i: usize) -> Episode {
        let slot = &self.slots[i];
        let current = (!slot.over).then_some(slot.pair);
        let pairs = slot.steps.iter().map(|step| step.pair);
        let states = pairs.chain(current).map(|at| self.pairs.state(at));
        let continued = || slot.steps.iter().filter(|step| step.action != NONE);
        Episode {
            states: states.collect(),
            actions: continued().map(|step| step.action as usize).collect(),
            feedbacks: continued().map(|step| step.feedback as usize).collect(),
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
    use crate::model::{Model, Noise};
    use crate::rng::{Role, Stream};
    use crate::spec::Spec;

    fn problem(reward: Noise) -> Problem {
        problem_from(&[0], &[], reward)
    }

    fn problem_from(starts: &[usize], probabilities: &[f64], reward: Noise) -> Problem {
        let spec = Spec::numbered(6, 9, 2, 2)
            .unwrap()
            .transition(|_t, x, _a, f| (x + f) as f64)
            .allowed(|_t, x, a, _f| f64::from(u8::from(a == 0 || x < 2)))
            .start_in(starts)
            .unwrap();
        let model = Model::new(
            |t, _x, a, f| {
                let p = (0.3 + 0.4 * a as f64) / t as f64;
                if f == 1 { p } else { 1.0 - p }
            },
            |t, x, _a, _f| x as f64 / (10 * t) as f64,
        )
        .start(probabilities)
        .cost(|_t, x, a, _f| 0.1 * (x + a) as f64)
        .noise(Noise::normal(0.3).unwrap(), reward);
        Problem::new("steps", spec, model)
    }

    /// Chooses at random and records its choices.
    struct Random {
        stream: Stream,
        spec: Arc<Spec>,
        chosen: Vec<Action>,
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

        fn learn(&mut self, _episode: &Episode) {}

        fn reset(&mut self, stream: Stream) {
            self.stream = stream;
        }
    }

    #[test]
    fn the_same_actions_give_the_same_episodes_as_in_environment() {
        let several = (&[3, 0, 2][..], &[0.2, 0.7, 0.1][..]);
        for (noise, dropout, (starts, probabilities)) in [
            (Noise::normal(0.2).unwrap(), 0.0, (&[0][..], &[][..])),
            (Noise::Bernoulli, 0.0, (&[0], &[])),
            (Noise::uniform(0.5).unwrap(), 0.2, (&[0], &[])),
            (Noise::normal(0.2).unwrap(), 0.0, several),
            (Noise::Bernoulli, 0.2, several),
        ] {
            let dropout_probability = Probability::new("dropout", dropout).unwrap();
            let problem = problem_from(starts, probabilities, noise);
            let problem = problem.with_dropout(dropout_probability);
            let problem = Arc::new(problem);
            let mut environment = Environment::new(problem.clone()).unwrap();
            let mut vectorised = VecEnvironment::new(problem.clone(), 2).unwrap();
            for run in [0, 3] {
                let mut learner = Random {
                    stream: Stream::new(5, run, Role::Learner),
                    spec: problem.spec().clone(),
                    chosen: Vec::new(),
                };
                environment.restart(5, run);
                vectorised.restart(1, 5, run);
                let (mut steps, mut dropouts) = (0, 0);
                for _ in 0..500 {
                    learner.chosen.clear();
                    environment.play(&mut learner).unwrap();
                    vectorised.begin(1);
                    let mut earned = 0.0;
                    for &action in &learner.chosen {
                        assert!(!vectorised.is_over(1));
                        earned += vectorised.step(1, action).unwrap().earned;
                        steps += 1;
                    }
                    assert!(vectorised.is_over(1));
                    assert_eq!(&vectorised.episode(1), environment.episode());
                    assert_eq!(vectorised.dropped_out(1), environment.dropped_out());
                    assert!((vectorised.episode(1).gain() - earned).abs() < 1e-12);
                    dropouts += usize::from(vectorised.dropped_out(1));
                }
                assert!(steps > 10 * Block::STEPS / 2);
                assert_eq!(dropouts > 0, dropout > 0.0);
            }
        }
    }

    #[test]
    fn a_rejected_action_changes_nothing() {
        let problem = Arc::new(problem(Noise::None));
        let mut vectorised = VecEnvironment::new(problem, 1).unwrap();
        assert_eq!(vectorised.step(0, Action::Stop), Err(PlayError::NoEpisode));
        vectorised.begin(0);
        let before = vectorised.clone();
        let action = Action::Continue(2);
        let rejected = PlayError::NotAllowed { t: 1, x: 0, action };
        assert_eq!(vectorised.step(0, action), Err(rejected));
        assert_eq!(vectorised.episode(0), before.episode(0));
        for _ in 0..5 {
            vectorised.step(0, Action::Continue(0)).unwrap();
        }
        // At the horizon only `stop` is allowed.
        assert!(vectorised.step(0, Action::Continue(0)).is_err());
        assert!(vectorised.step(0, Action::Stop).unwrap().over);
    }

    #[test]
    fn memory_grows_with_visited_pairs_only() {
        let spec = Spec::numbered(1000, 1_000_000_000, 1, 2)
            .unwrap()
            .transition(|_t, x, _a, f| (2 * x + f) as f64 % 1e9);
        let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, _x, _a, _f| 1.0);
        let mut vectorised =
            VecEnvironment::new(Arc::new(Problem::new("wide", spec, model)), 1).unwrap();
        vectorised.begin(0);
        for _ in 1..1000 {
            vectorised.step(0, Action::Continue(0)).unwrap();
        }
        assert!(vectorised.pairs().len() <= 2000);
    }
}
