//! One episode, and what it reveals to the learner after `stop` (Section 2 of the paper).

/// One finished episode of `T` steps.
///
/// `states` and `rewards` have `T` entries, `actions`, `feedbacks` and `costs` one less: at step `T` the action was
/// `stop`, which has neither feedback nor cost.
///
/// A cost or reward that is NaN, or missing at the end of its list, is unknown to the learner.
/// [`Episode::known_reward`], [`Episode::known_cost`] and [`Episode::known_gain`] return known values only.
///
/// ```
/// use emab::Episode;
/// let mut episode = Episode::default();
/// episode.begin(0);
/// episode.advance(0, 1, 1); // action 0, feedback 1, next state 1
/// episode.costs.push(0.5);
/// episode.rewards.extend([0.0, 2.0]);
/// assert_eq!(episode.steps(), 2);
/// assert_eq!(episode.gain(), 1.5);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Episode {
    /// `x_1 … x_T`.
    pub states: Vec<usize>,
    /// `a_1 … a_{T-1}`, continuation actions.
    pub actions: Vec<usize>,
    /// `f_1 … f_{T-1}`.
    pub feedbacks: Vec<usize>,
    /// `C_1 … C_{T-1}`; NaN where unknown.
    pub costs: Vec<f64>,
    /// `R_1 … R_T`: the terminal reward of every step passed; NaN where unknown, empty where all are unknown.
    pub rewards: Vec<f64>,
}

impl Episode {
    /// Clears the episode and begins at the start state.
    pub fn begin(&mut self, start: usize) {
        self.clear();
        self.states.push(start);
    }

    /// Clears the episode.
    pub fn clear(&mut self) {
        self.states.clear();
        self.actions.clear();
        self.feedbacks.clear();
        self.costs.clear();
        self.rewards.clear();
    }

    /// Records one step: action, feedback and next state.
    #[inline]
    pub fn advance(&mut self, action: usize, feedback: usize, next: usize) {
        self.actions.push(action);
        self.feedbacks.push(feedback);
        self.states.push(next);
    }

    /// `T`: the number of steps, the one with `stop` included.
    pub fn steps(&self) -> usize {
        self.states.len()
    }

    /// `R_t`, if it is known. Steps count from 1.
    ///
    /// ```
    /// use emab::Episode;
    /// let mut episode = Episode { states: vec![0, 1], actions: vec![0], feedbacks: vec![1], ..Episode::default() };
    /// assert_eq!(episode.known_reward(2), None);
    /// episode.rewards.extend([f64::NAN, 2.0]);
    /// assert_eq!((episode.known_reward(1), episode.known_reward(2)), (None, Some(2.0)));
    /// assert_eq!(episode.known_gain(1), None);
    /// episode.costs.push(0.5);
    /// assert_eq!(episode.known_gain(1), Some(1.5));
    /// ```
    #[inline]
    pub fn known_reward(&self, t: usize) -> Option<f64> {
        let reward = *self.rewards.get(t.wrapping_sub(1))?;
        (!reward.is_nan()).then_some(reward)
    }

    /// `C_t`, if it is known.
    #[inline]
    pub fn known_cost(&self, t: usize) -> Option<f64> {
        let cost = *self.costs.get(t.wrapping_sub(1))?;
        (!cost.is_nan()).then_some(cost)
    }

    /// `R_{t+1} - C_t`, an observation of the gain of the action at step `t`, if both are known.
    #[inline]
    pub fn known_gain(&self, t: usize) -> Option<f64> {
        let gain = self.rewards.get(t)? - self.costs.get(t.wrapping_sub(1))?;
        // NaN propagates: one test covers both.
        (!gain.is_nan()).then_some(gain)
    }

    /// Whether all of its costs and rewards are known.
    pub fn is_known(&self) -> bool {
        let all =
            |values: &[f64], n: usize| values.len() >= n && !values.iter().any(|v| v.is_nan());
        all(&self.rewards, self.states.len()) && all(&self.costs, self.actions.len())
    }

    /// The gain of the episode: the terminal reward of its last step less its costs.
    pub fn gain(&self) -> f64 {
        self.rewards.last().copied().unwrap_or(0.0) - self.costs.iter().sum::<f64>()
    }
}
