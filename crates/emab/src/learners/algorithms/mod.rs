//! One file per learner: reference, formula, parameters, code and tests. [`ALGORITHMS`] registers them.

use prelude::LearnerEntry;

/// What every algorithm imports.
pub(crate) mod prelude {
    pub(crate) use std::sync::Arc;

    pub(crate) use crate::episode::Episode;
    pub(crate) use crate::learner::{Estimate, Learner};
    pub(crate) use crate::learners::LearnerError;
    pub(crate) use crate::learners::registry::entry::{
        Access, Build, BuiltLearner, ChoiceBasis, LearnerEntry, ProvedBounds,
    };
    pub(crate) use crate::learners::registry::parameter::Parameter;
    pub(crate) use crate::parameter::{Delta, FeedbackSpread, ParameterError, Sigma2};
    pub(crate) use crate::rng::{Role, Stream};
    pub(crate) use crate::spec::{Action, Spec};
}

/// Declares the modules and lists their entries in the order in which `emab learners` prints them.
macro_rules! algorithms {
    ($($module:ident: $($entry:ident),+;)+) => {
        $(pub(crate) mod $module;)+
        /// All learners.
        pub(crate) static ALGORITHMS: &[&LearnerEntry] = &[$($(&$module::$entry),+),+];
    };
}

// Adding a learner: its file in this directory, and its line here.
algorithms! {
    feedbal: ENTRY;
    feedbal_pooled: ENTRY;
    feedbal_kl: ENTRY;
    feedbal_model: ENTRY;
    feedbal_lookahead: ENTRY;
    ucb1: UCB1, UCB1V;
    ucbvi: ENTRY;
    ucrl2: ENTRY;
    olp: ENTRY;
    o_reps: ENTRY;
    oasm: ENTRY;
    psrl: ENTRY;
    opsrl: ENTRY;
    q_learning: ENTRY;
    td_lambda: ENTRY;
    thompson: ENTRY;
    epsilon_greedy: ENTRY;
    explore_then_commit: ENTRY;
    policy: BENCHMARK, OPTIMAL, BEST_FIXED;
    random: ENTRY;
}
