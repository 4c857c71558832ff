//! UCB1 and UCB1-V over sequences of actions, the baselines of Section 5 of the paper.
//!
//! UCB1 is that of Auer, Cesa-Bianchi, Fischer, *Finite-time Analysis of the Multiarmed Bandit Problem* (2002). An
//! arm is a sequence of continuation actions followed by `stop`. Each arm is tried once, shortest first; then the
//! arm with the largest `mean + sqrt(2 ln(episodes so far) / N_arm)` is played. The gain is not scaled to [0, 1], as in
//! the paper, and the lowest arm wins ties.
//!
//! - UCB1 updates the arm it played with the gain of the episode.
//! - UCB1-V (virtual updates) updates every prefix of the sequence it played, since the terminal reward of every
//!   step that was passed is revealed.
//!
//! Where the next action of an arm is not allowed, the learner stops.
//!
//! Of `k` arms, a choice and each observation cost about `log k` (see `tournament.rs`), so an episode of `T` steps costs
//! `T + log k` in UCB1 and `T log k` in UCB1-V; while there are untried arms, `T` alone. Building
//! the learner, [`Learner::reset`] and the first choice after all arms were tried take time proportional to `k`.

use super::prelude::*;
use thiserror::Error;

use crate::learners::support::tournament::Tournament;

pub(crate) static UCB1: LearnerEntry = LearnerEntry {
    name: "ucb1",
    title: "UCB1",
    about: "UCB1 with one arm per sequence of actions; updates the played arm",
    reference: "Auer, Cesa-Bianchi, Fischer 2002, over sequences as in Section 5 of the paper",
    choice_basis: ChoiceBasis::Plan,
    build: |with| build(with, false),
    ..LearnerEntry::DEFAULT
};

pub(crate) static UCB1V: LearnerEntry = LearnerEntry {
    name: "ucb1v",
    title: "UCB1-V",
    about: "UCB1 that also updates every prefix of the played sequence",
    reference: "Tekin, van der Schaar, Section 5",
    choice_basis: ChoiceBasis::Plan,
    build: |with| build(with, true),
    ..LearnerEntry::DEFAULT
};

fn build(with: &Build<'_>, virtual_updates: bool) -> Result<BuiltLearner, LearnerError> {
    let learner = Ucb1::new(with.spec.clone(), virtual_updates);
    let learner = learner.map_err(|error| LearnerError::Arms(with.learner, error))?;
    Ok(BuiltLearner::Ucb1(Box::new(learner)))
}

/// The maximum number of arms.
pub const MAX_ARMS: usize = 1_000_000;

/// The maximum number of outcomes that are followed to find the arms that an action mask allows.
const MAX_STATES: usize = 200_000;

/// Too many arms.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "a sequence of up to {longest} of {actions} actions makes {count} arms, and at most {MAX_ARMS} are supported; \
     `feedbal` learns by step and state instead"
)]
pub struct TooManyArms {
    /// The longest sequence of continuation actions.
    pub longest: usize,
    /// The number of continuation actions.
    pub actions: usize,
    /// The number of arms.
    pub count: String,
}

/// UCB1 or UCB1-V.
///
/// ```
/// use std::sync::Arc;
/// use emab::learners::Ucb1;
/// use emab::{Action, Learner, Spec};
/// let spec = Spec::numbered(3, 1, 2, 1).unwrap();
/// let mut learner = Ucb1::new(Arc::new(spec), false).unwrap();
/// assert_eq!(learner.arms(), 1 + 2 + 4);
/// assert_eq!(learner.choose(1, 0), Action::Stop); // the first arm is the empty sequence
/// ```
#[derive(Clone, Debug)]
pub struct Ucb1 {
    spec: Arc<Spec>,
    virtual_updates: bool,
    arms: Arms,
    /// By arm: the count and the sum of its gains.
    sums: Vec<(u64, f64)>,
    /// Means and `1 / sqrt(N)`.
    tournament: Tournament,
    /// All arms below this one were tried.
    untried: usize,
    episodes: u64,
    /// Cache of `sqrt(2 ln n)`.
    radius: Vec<f64>,
    /// Cache of `1 / n` and `1 / sqrt(n)`.
    by_count: Vec<[f64; 2]>,
    chosen: usize,
    /// The actions of the chosen arm.
    plan: Vec<usize>,
    /// The arms of its first 0, 1, 2, … actions.
    prefixes: Vec<usize>,
}

impl Ucb1 {
    /// UCB1, or UCB1-V with virtual updates, on all sequences that this specification allows.
    pub fn new(spec: Arc<Spec>, virtual_updates: bool) -> Result<Ucb1, TooManyArms> {
        let arms = Arms::new(&spec)?;
        let n = arms.len();
        Ok(Ucb1 {
            spec,
            virtual_updates,
            arms,
            sums: vec![(0, 0.0); n],
            tournament: Tournament::new(n),
            untried: 0,
            episodes: 0,
            radius: vec![0.0, 0.0],
            by_count: vec![[0.0, f64::INFINITY]],
            chosen: 0,
            plan: Vec::new(),
            prefixes: vec![0],
        })
    }

    /// The number of arms.
    pub fn arms(&self) -> usize {
        self.arms.len()
    }

    /// Chooses the arm of the next episode.
    pub fn begin(&mut self) {
        let chosen = self.choose_arm();
        if chosen != self.chosen {
            self.chosen = chosen;
            self.arms
                .sequence(chosen, &mut self.plan, &mut self.prefixes);
        }
    }

    /// The action of the chosen arm after this number of steps; none for `stop`.
    #[inline]
    pub fn planned(&self, steps: usize) -> Option<usize> {
        self.plan.get(steps).copied()
    }

    /// Records that the chosen arm continued where stopping would have had this gain.
    #[inline]
    pub fn passed(&mut self, steps: usize, gain: f64) {
        if self.virtual_updates {
            self.observe(self.prefixes[steps], gain);
        }
    }

    /// Records that the chosen arm stopped with this gain.
    #[inline]
    pub fn stopped(&mut self, steps: usize, gain: f64) {
        self.episodes += 1;
        self.observe(self.chosen, gain);
        // An arm that was cut short is credited with its gain; the played prefix is another arm.
        if steps < self.plan.len() && self.virtual_updates {
            self.observe(self.prefixes[steps], gain);
        }
    }

    fn choose_arm(&mut self) -> usize {
        while self.untried < self.arms.len() && self.sums[self.untried].0 > 0 {
            self.untried += 1;
        }
        if self.untried < self.arms.len() {
            return self.untried;
        }
        let radius = self.radius();
        self.tournament.best(radius)
    }

    /// `sqrt(2 ln n)` at the number of episodes so far.
    #[inline]
    fn radius(&mut self) -> f64 {
        const MOST: usize = 1 << 22;
        let n = self.episodes as usize;
        if n >= MOST {
            return Ucb1::radius_after(n as u64);
        }
        if n >= self.radius.len() {
            let more = self.radius.len()..(2 * n).min(MOST);
            self.radius
                .extend(more.map(|n| Ucb1::radius_after(n as u64)));
        }
        self.radius[n]
    }

    #[inline]
    fn observe(&mut self, arm: usize, gain: f64) {
        let (count, sum) = &mut self.sums[arm];
        *count += 1;
        *sum += gain;
        let (count, sum) = (*count, *sum);
        let [reciprocal, spread] = match self.by_count.get(count as usize) {
            Some(known) => *known,
            None => self.grow(count),
        };
        self.tournament.observe(arm, sum * reciprocal, spread);
    }

    /// `1 / n` and `1 / sqrt(n)`.
    #[cold]
    fn grow(&mut self, n: u64) -> [f64; 2] {
        const MOST: usize = 1 << 20;
        let more = self.by_count.len()..(2 * n as usize).min(MOST);
        self.by_count
            .extend(more.map(|n| Ucb1::reciprocals(n as u64)));
        Ucb1::reciprocals(n)
    }
}

impl Ucb1 {
    /// The factor of the spread in the index of an arm after so many episodes.
    pub fn radius_after(episodes: u64) -> f64 {
        match episodes {
            0 => 0.0,
            n => (2.0 * libm::log(n as f64)).sqrt(),
        }
    }

    /// The reciprocals of a count and of its root; of count 0, a mean of 0 and an infinite spread.
    pub fn reciprocals(count: u64) -> [f64; 2] {
        match count {
            0 => [0.0, f64::INFINITY],
            n => [1.0 / n as f64, 1.0 / (n as f64).sqrt()],
        }
    }

    /// Whether all prefixes of the played sequence are observed (UCB1-V).
    pub fn has_virtual_updates(&self) -> bool {
        self.virtual_updates
    }

    /// The sequence of an arm: the arms of its prefixes, itself included, and its actions.
    pub fn sequence(&self, arm: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut actions, mut prefixes) = (Vec::new(), Vec::new());
        self.arms.sequence(arm, &mut actions, &mut prefixes);
        (prefixes, actions)
    }
}

impl Learner for Ucb1 {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if t == 1 {
            self.begin();
        }
        match self.planned(t - 1) {
            Some(a) if self.spec.is_allowed(t, x, a) => Action::Continue(a),
            _ => Action::Stop,
        }
    }

    fn learn(&mut self, episode: &Episode) {
        if !episode.is_known() {
            return; // the gain is unknown
        }
        let steps = episode.actions.len();
        let mut paid = 0.0;
        if !self.plan.starts_with(&episode.actions) || self.was_cut_short(episode) {
            return self.learn_from_another(episode);
        }
        for (i, (reward, cost)) in episode.rewards.iter().zip(&episode.costs).enumerate() {
            self.passed(i, reward - paid);
            paid += cost;
        }
        self.stopped(steps, episode.rewards.last().copied().unwrap_or(0.0) - paid);
    }

    fn reset(&mut self, _stream: Stream) {
        self.sums.fill((0, 0.0));
        self.tournament.clear();
        self.untried = 0;
        self.episodes = 0;
        self.chosen = 0;
        self.plan.clear();
        self.prefixes.truncate(1);
    }
}

impl Ucb1 {
    /// Whether the episode ended where the chosen arm would have continued: by an override or another arm.
    fn was_cut_short(&self, episode: &Episode) -> bool {
        let steps = episode.actions.len();
        match (self.planned(steps), episode.states.get(steps)) {
            (Some(a), Some(&x)) => self.spec.is_allowed(steps + 1, x, a),
            _ => false,
        }
    }

    /// Learns from an episode with other actions than the chosen arm: it counts for the arms that were played.
    fn learn_from_another(&mut self, episode: &Episode) {
        self.episodes += 1;
        let mut arm = Some(0);
        let mut paid = 0.0;
        for (i, &a) in episode.actions.iter().enumerate() {
            if let (true, Some(prefix), Some(reward)) =
                (self.virtual_updates, arm, episode.rewards.get(i))
            {
                self.observe(prefix, reward - paid);
            }
            paid += episode.costs.get(i).copied().unwrap_or(0.0);
            arm = arm.and_then(|arm| self.arms.child(arm, a));
        }
        if let Some(arm) = arm {
            self.observe(arm, episode.gain());
        }
    }
}

/// All sequences, shortest first and then in lexicographic order, as a tree.
#[derive(Clone, Debug)]
struct Arms {
    /// By arm: the arm without its last action, and that action.
    parent: Vec<(u32, u32)>,
    /// By arm: its first child, and how many there are; children stand side by side, by action.
    children: Vec<(u32, u32)>,
}

impl Arms {
    fn new(spec: &Spec) -> Result<Arms, TooManyArms> {
        let (longest, actions) = (spec.horizon() - 1, spec.actions().len());
        let too_many = |count| TooManyArms {
            longest,
            actions,
            count,
        };
        if !spec.has_mask() {
            let count = count_sequences(actions, longest);
            if count > MAX_ARMS as f64 {
                return Err(too_many(match count {
                    n if n < 1e15 => format!("{n}"),
                    n if n.is_finite() => format!("about {n:.1e}"),
                    _ => "more than 1e308".into(),
                }));
            }
        }
        let mut arms = Arms {
            parent: vec![(0, 0)],
            children: Vec::new(),
        };
        // The states a sequence may lead to: an arm whose last action is allowed in none of them is no arm. Without a
        // mask, and where there are too many states to follow, every arm is kept.
        let feedbacks = spec.feedbacks().len();
        let start = spec.has_mask().then(|| spec.starts().to_vec());
        let mut level = vec![start];
        for t in 1..=longest {
            let first = arms.children.len();
            let mut next_level = Vec::new();
            let mut followed = 0;
            for (i, states) in level.iter().enumerate() {
                let from = arms.parent.len();
                for a in 0..actions {
                    let next = match states {
                        Some(states) if followed + states.len() * feedbacks <= MAX_STATES => {
                            match after(spec, t, states, a) {
                                Some(next) => Some(next),
                                None => continue,
                            }
                        }
                        _ => None,
                    };
                    followed += next.as_ref().map_or(0, |next| next.len() * feedbacks);
                    arms.parent.push(((first + i) as u32, a as u32));
                    next_level.push(next);
                }
                if arms.parent.len() > MAX_ARMS {
                    return Err(too_many(format!("more than {MAX_ARMS}")));
                }
                arms.children
                    .push((from as u32, (arms.parent.len() - from) as u32));
            }
            level = next_level;
        }
        arms.children.resize(arms.parent.len(), (0, 0));
        Ok(arms)
    }

    fn len(&self) -> usize {
        self.parent.len()
    }

    /// The actions of an arm, and the arms of its prefixes, from the empty one to itself.
    fn sequence(&self, mut arm: usize, actions: &mut Vec<usize>, prefixes: &mut Vec<usize>) {
        actions.clear();
        prefixes.clear();
        prefixes.push(arm);
        while arm != 0 {
            let (parent, a) = self.parent[arm];
            actions.push(a as usize);
            arm = parent as usize;
            prefixes.push(arm);
        }
        actions.reverse();
        prefixes.reverse();
    }

    fn child(&self, arm: usize, a: usize) -> Option<usize> {
        let (first, n) = self.children[arm];
        let (first, n) = (first as usize, n as usize);
        // Without a mask every action has its place; with one, look for it.
        match self.parent[first..first + n].get(a) {
            Some(&(_, action)) if action as usize == a => Some(first + a),
            _ => (first..first + n).find(|&child| self.parent[child].1 as usize == a),
        }
    }
}

/// `1 + A + A^2 + … + A^longest`, as a float: it may be beyond any integer.
fn count_sequences(actions: usize, longest: usize) -> f64 {
    if actions == 1 {
        return longest as f64 + 1.0;
    }
    let a = actions as f64;
    (libm::pow(a, longest as f64 + 1.0) - 1.0) / (a - 1.0)
}

/// The states after action `a`, whatever the feedback; none if it is allowed in no state.
fn after(spec: &Spec, t: usize, states: &[usize], a: usize) -> Option<Vec<usize>> {
    let mut next: Vec<usize> = states
        .iter()
        .filter(|&&x| spec.is_allowed(t, x, a))
        .flat_map(|&x| (0..spec.feedbacks().len()).filter_map(move |f| spec.next(t, x, a, f).ok()))
        .collect();
    next.sort_unstable();
    next.dedup();
    (!next.is_empty()).then_some(next)
}
