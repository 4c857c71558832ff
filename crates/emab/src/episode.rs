//! What happened in one episode, and what the learner is shown of it after `stop` (Section 2 of the paper).

/// One finished episode of `T` steps.
///
/// `states` and `rewards` have `T` entries, `actions`, `feedbacks` and `costs` one less: at step `T` the action was
/// `stop`, which has neither feedback nor cost.
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
    /// `C_1 … C_{T-1}`.
    pub costs: Vec<f64>,
    /// `R_1 … R_T`: the terminal reward of every step that was passed; empty to a learner where the outcome is unknown.
    pub rewards: Vec<f64>,
}

impl Episode {
    /// Empties it and puts it at the start state.
    pub fn begin(&mut self, start: usize) {
        self.clear();
        self.states.push(start);
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.states.clear();
        self.actions.clear();
        self.feedbacks.clear();
        self.costs.clear();
        self.rewards.clear();
    }

    /// Records one step: the action taken, the feedback seen, the state it led to.
    #[inline]
    pub fn advance(&mut self, action: usize, feedback: usize, next: usize) {
        self.actions.push(action);
        self.feedbacks.push(feedback);
        self.states.push(next);
    }

    /// `T`: the number of steps, that of `stop` included.
    pub fn steps(&self) -> usize {
        self.states.len()
    }

    /// What the episode earned: the terminal reward of its last step less its costs.
    pub fn gain(&self) -> f64 {
        self.rewards.last().copied().unwrap_or(0.0) - self.costs.iter().sum::<f64>()
    }
}
