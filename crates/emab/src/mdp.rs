//! Any problem as a finite-horizon Markov decision process with an explicit end.
//!
//! The translation to reinforcement learning of Section 6 of the paper. An MDP state is a step-state pair, because
//! distributions, costs and rewards can change with the step; one more state, `end`, is that of ended episodes. Minus the
//! expected cost is the reward of continuing, and the expected terminal reward that of `stop`. The value of a policy is the
//! same in both (Puterman, *Markov Decision Processes*, 1994, chapter 4, on finite horizons).

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::Problem;
use crate::oracle::{Optimal, OracleError, Pair, Pairs, best_action};
use crate::spec::Action;

/// A problem as a Markov decision process.
///
/// - **States** are the reachable step-state pairs, by step and then state, and `end` as the last one.
/// - **Actions** are the continuation actions by their index, and `stop` as the last one.
/// - Continuing earns minus the expected cost and leads to the pairs of the next step; feedbacks that lead to the same pair
///   are one transition. `stop` earns the expected terminal reward and leads to `end`. In `end` every action is allowed,
///   earns nothing and stays.
///
/// Transitions lead to states of a higher number only, except those of `end`.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Mdp, Model, Names, Problem, Spec, oracle::Pairs};
/// // Tossing costs 0.2 and shows one of three faces, two of which lead to the same state.
/// let spec = Spec::new(2, Names::Count(2, ""), Names::List(vec!["toss".into()]), Names::Count(3, "")).unwrap()
///     .transition(|_t, _x, _a, f| f64::from(f > 0));
/// let model = Model::new(|_t, _x, _a, f| [0.5, 0.25, 0.25][f], |t, x, _a, _f| (t * x) as f64)
///     .cost(|_t, _x, _a, _f| 0.2);
/// let problem = Arc::new(Problem::new("faces", spec, model));
/// let mdp = Mdp::new(&mut Pairs::new(problem).unwrap()).unwrap();
///
/// assert_eq!(mdp.len(), 4); // step 1 in state 0, step 2 in states 0 and 1, and the end
/// let (toss, stop) = (0, mdp.stop());
/// assert_eq!(mdp.starts(), [(0, 1.0)]);
/// assert_eq!(mdp.transitions(0, toss).collect::<Vec<_>>(), [(1, 0.5), (2, 0.5)]);
/// assert_eq!(mdp.reward(0, toss), Some(-0.2));
/// assert_eq!(mdp.reward(2, stop), Some(2.0));
/// assert_eq!(mdp.transitions(2, stop).collect::<Vec<_>>(), [(mdp.end(), 1.0)]);
/// assert_eq!(mdp.reward(2, toss), None); // the horizon is reached: only `stop` is left
/// ```
#[derive(Clone, Debug)]
pub struct Mdp {
    problem: Arc<Problem>,
    starts: Vec<(usize, f64)>,
    /// By state but the end: its step and state, rising.
    pair: Vec<(u32, u32)>,
    /// By state, and one more: the first of its choices.
    first_choice: Vec<usize>,
    /// The allowed actions of one state after another, rising, `stop` last.
    choices: Vec<Choice>,
    /// By choice, one after another: where it may lead, rising, and how likely.
    next: Vec<(u32, f64)>,
}

/// An action that is allowed in a state.
#[derive(Clone, Copy, Debug)]
struct Choice {
    action: u32,
    reward: f64,
    /// Its first transition; those of the choice after it follow.
    first_next: usize,
}

impl Mdp {
    /// Expands and translates all reachable pairs, with the limit of [`Optimal`].
    pub fn new(pairs: &mut Pairs) -> Result<Mdp, OracleError> {
        pairs.expand_all(Optimal::LIMIT, "a Markov decision process")?;
        let mut order: Vec<Pair> = pairs.iter().collect();
        order.sort_by_key(|&pair| (pairs.step(pair), pairs.state(pair)));
        let mut number = vec![0_u32; order.len()];
        for (i, pair) in order.iter().enumerate() {
            number[pair.index()] = i as u32;
        }
        let actions = pairs.problem().spec().actions().len();
        let (stop, end) = (actions as u32, order.len() as u32);
        let starts = pairs.starts();
        let starts = starts.map(|(pair, p)| (number[pair.index()] as usize, p));
        let mut mdp = Mdp {
            problem: pairs.problem().clone(),
            starts: starts.collect(),
            pair: Vec::with_capacity(order.len()),
            first_choice: Vec::with_capacity(order.len() + 2),
            choices: Vec::new(),
            next: Vec::new(),
        };
        let mut follow: Vec<(u32, f64)> = Vec::new();
        let dropout = pairs.problem().dropout().constant();
        for &pair in &order {
            mdp.pair
                .push((pairs.step(pair) as u32, pairs.state(pair) as u32));
            mdp.first_choice.push(mdp.choices.len());
            for a in pairs.allowed(pair) {
                follow.clear();
                // Not `-cost`, which would make a cost of 0 a reward of -0.
                let mut reward = 0.0 - pairs.cost(pair, a);
                let mut leave = 0.0;
                for (to, p, varying) in pairs.follow_or_drop_out(pair, a) {
                    // A constant dropout is applied to the sums below.
                    let varying = if dropout.is_some() { 0.0 } else { varying };
                    reward += p * varying * pairs.reward(to);
                    leave += p * varying;
                    follow.push((number[to.index()], p * (1.0 - varying)));
                }
                // Stable: probabilities of the same pair are summed in the order of the feedbacks, the same on every machine.
                follow.sort_by_key(|&(to, _)| to);
                follow.dedup_by(|again, kept| {
                    let same = again.0 == kept.0;
                    if same {
                        kept.1 += again.1;
                    }
                    same
                });
                if let Some(dropout) = dropout.filter(|dropout| *dropout > 0.0) {
                    // A dropout earns the terminal reward and leads to the end.
                    reward += dropout * pairs.ex_ante(pair, a);
                    follow.iter_mut().for_each(|(_, p)| *p *= 1.0 - dropout);
                    follow.push((end, dropout));
                }
                if leave > 0.0 {
                    // A certain dropout leaves no other way.
                    follow.retain(|&(_, p)| p > 0.0);
                    follow.push((end, leave));
                }
                mdp.add(a as u32, reward, &follow);
            }
            mdp.add(stop, pairs.reward(pair), &[(end, 1.0)]);
        }
        mdp.first_choice.push(mdp.choices.len());
        for action in 0..=stop {
            mdp.add(action, 0.0, &[(end, 1.0)]);
        }
        mdp.first_choice.push(mdp.choices.len());
        Ok(mdp)
    }

    fn add(&mut self, action: u32, reward: f64, next: &[(u32, f64)]) {
        self.choices.push(Choice {
            action,
            reward,
            first_next: self.next.len(),
        });
        self.next.extend_from_slice(next);
    }

    /// The problem it is a translation of.
    pub fn problem(&self) -> &Arc<Problem> {
        &self.problem
    }

    /// The number of states, `end` included.
    #[allow(clippy::len_without_is_empty)] // a start and the end are always there
    pub fn len(&self) -> usize {
        self.pair.len() + 1
    }

    /// The number of actions, `stop` included.
    pub fn actions(&self) -> usize {
        self.stop() + 1
    }

    /// The action that ends the episode: the last one.
    pub fn stop(&self) -> usize {
        self.problem.spec().actions().len()
    }

    /// The states in which episodes begin, with their probabilities, in the order of [`Spec::starts`](crate::Spec::starts).
    pub fn starts(&self) -> &[(usize, f64)] {
        &self.starts
    }

    /// The expected value of an episode, given the value of each state.
    pub fn start_value(&self, values: &[f64]) -> f64 {
        let values = self.starts.iter().map(|&(start, p)| p * values[start]);
        // One start has its value to the bit, the sign of 0 included.
        values.reduce(|sum, value| sum + value).unwrap_or(0.0)
    }

    /// The state of an episode that is over: the last one.
    pub fn end(&self) -> usize {
        self.pair.len()
    }

    /// The step and state of an MDP state; none for `end`.
    pub fn pair(&self, state: usize) -> Option<(usize, usize)> {
        let &(t, x) = self.pair.get(state)?;
        Some((t as usize, x as usize))
    }

    /// The MDP state of `(t, x)`, if it is reachable.
    pub fn find(&self, t: usize, x: usize) -> Option<usize> {
        let key = (u32::try_from(t).ok()?, u32::try_from(x).ok()?);
        self.pair.binary_search(&key).ok()
    }

    /// The name of the problem's state, or `end`.
    pub fn state_name(&self, state: usize) -> Cow<'_, str> {
        match self.pair(state) {
            Some((_, x)) => self.problem.spec().states().name(x),
            None => Cow::Borrowed("end"),
        }
    }

    /// The name of an action.
    pub fn action_name(&self, action: usize) -> Cow<'_, str> {
        self.problem.spec().action_name(self.action(action))
    }

    /// The problem's action of an MDP action.
    pub fn action(&self, action: usize) -> Action {
        if action < self.stop() {
            Action::Continue(action)
        } else {
            Action::Stop
        }
    }

    /// The number of transitions, those of `end` included.
    pub fn transition_count(&self) -> usize {
        self.next.len()
    }

    fn choices(&self, state: usize) -> std::ops::Range<usize> {
        match self.first_choice.get(state..state.saturating_add(2)) {
            Some(&[first, after]) => first..after,
            _ => 0..0,
        }
    }

    fn choice(&self, state: usize, action: usize) -> Option<usize> {
        let range = self.choices(state);
        let among = &self.choices[range.clone()];
        let found = among.binary_search_by_key(&action, |choice| choice.action as usize);
        found.ok().map(|i| range.start + i)
    }

    fn next(&self, choice: usize) -> &[(u32, f64)] {
        let after = self.choices.get(choice + 1);
        let after = after.map_or(self.next.len(), |choice| choice.first_next);
        &self.next[self.choices[choice].first_next..after]
    }

    /// The actions that are allowed in a state, rising; `stop` always is.
    pub fn allowed(&self, state: usize) -> impl Iterator<Item = usize> + '_ {
        let choices = &self.choices[self.choices(state)];
        choices.iter().map(|choice| choice.action as usize)
    }

    /// The expected reward of an action; none where it is not allowed.
    pub fn reward(&self, state: usize, action: usize) -> Option<f64> {
        self.choice(state, action)
            .map(|choice| self.choices[choice].reward)
    }

    /// The states an action may lead to, rising, with their probabilities; none where it is not allowed.
    pub fn transitions(
        &self,
        state: usize,
        action: usize,
    ) -> impl Iterator<Item = (usize, f64)> + '_ {
        let next = self.choice(state, action).map(|choice| self.next(choice));
        let next = next.unwrap_or_default().iter();
        next.map(|&(to, p)| (to as usize, p))
    }

    /// What a choice earns when what follows is worth `values`, and how large the terms of that sum are.
    fn ahead(&self, choice: usize, values: &[f64]) -> (f64, f64) {
        let (mut sum, mut size) = (0.0, 0.0);
        for &(to, p) in self.next(choice) {
            let term = p * values[to as usize];
            sum += term;
            size += term.abs();
        }
        let reward = self.choices[choice].reward;
        (sum + reward, size + reward.abs())
    }

    /// The best action of a state when what follows is worth `values`, and what it earns then: the right side of
    /// Bellman's equation. Ties are the oracle's: `stop` wins them, then the lowest index does.
    pub(crate) fn best(&self, state: usize, values: &[f64]) -> (usize, f64) {
        let mut range = self.choices(state);
        let stop = range.next_back();
        let stop = stop.map_or(0.0, |stop| self.ahead(stop, values).0);
        let go = range.map(|choice| {
            let (value, size) = self.ahead(choice, values);
            (self.choices[choice].action as usize, value, size)
        });
        match best_action(stop, go) {
            (Action::Continue(a), value) => (a, value),
            (Action::Stop, value) => (self.stop(), value),
        }
    }

    /// What a policy earns from each state on; none if it is not one action that is allowed for each state.
    ///
    /// One pass from the end: no state can come back, so that nothing has to be solved for or iterated.
    pub fn evaluate(&self, policy: &[usize]) -> Option<Vec<f64>> {
        if policy.len() != self.len() {
            return None;
        }
        let mut values = vec![0.0; self.len()];
        self.choice(self.end(), policy[self.end()])?;
        for state in (0..self.end()).rev() {
            let choice = self.choice(state, policy[state])?;
            values[state] = self.ahead(choice, &values).0;
        }
        Some(values)
    }

    /// The best action in each state when what follows is worth `values`; none if there is not one value a state.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use emab::{Mdp, Model, Names, Problem, Spec, oracle::Pairs};
    /// // 0.5 now, nothing at step 2, 1 at step 3.
    /// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
    /// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| [0.5, 0.0, 1.0][t - 1]);
    /// let problem = Arc::new(Problem::new("patience", spec, model));
    /// let mdp = Mdp::new(&mut Pairs::new(problem).unwrap()).unwrap();
    /// // Always stopping earns the terminal rewards; one improvement of it is the benchmark, Algorithm 1.
    /// let always_stop = vec![mdp.stop(); mdp.len()];
    /// let values = mdp.evaluate(&always_stop).unwrap();
    /// assert_eq!(values, [0.5, 0.0, 1.0, 0.0]);
    /// assert_eq!(mdp.improve(&values).unwrap(), [1, 0, 1, 1]);
    /// ```
    pub fn improve(&self, values: &[f64]) -> Option<Vec<usize>> {
        let states = (values.len() == self.len()).then_some(0..self.len())?;
        Some(states.map(|state| self.best(state, values).0).collect())
    }
}
