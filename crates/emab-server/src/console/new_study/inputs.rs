//! The fields of the page that creates a study.

/// A field of the page.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Also its name.
    pub id: &'static str,
    pub label: &'static str,
    /// The JSON pointer of the value that it sets.
    pub pointer: &'static str,
}

macro_rules! inputs {
    ($($constant:ident = $id:literal $label:literal $pointer:literal;)*) => {
        $(pub const $constant: Input = Input { id: $id, label: $label, pointer: $pointer };)*
    };
}

inputs! {
    NAME = "name" "Name of the study" "/name";
    PROBLEM = "problem" "Problem file" "";
    STATES = "states" "States" "/states";
    ACTIONS = "actions" "Actions" "/actions";
    FEEDBACKS = "feedbacks" "Feedbacks" "/feedbacks";
    START = "start" "States at intake" "/start";
    HORIZON = "horizon" "Steps at most" "/horizon";
    TRANSITION = "transition" "Next state" "/transition";
    DELTA = "delta" "delta" "/learning/delta";
    SIGMA2 = "sigma2" "sigma2" "/learning/sigma2";
    SMALLEST_REWARD = "reward-least" "Smallest reward" "/outcome_range/reward";
    LARGEST_REWARD = "reward-most" "Largest reward" "/outcome_range/reward";
    SMALLEST_COST = "cost-least" "Smallest cost" "/outcome_range/cost";
    LARGEST_COST = "cost-most" "Largest cost" "/outcome_range/cost";
    LEARNING = "reward-least" "Smallest reward" "/learning";
    LEARNER = "learner" "Learner" "/learner";
    EXPECTED_DELAY = "expected_delay" "Outcomes are expected after" "/expected_delay";
    MISSING_AT_RANDOM = "missing_at_random" "Missing at random" "/missing_at_random";
}

/// Those of the small form, in the order in which the place of an error is looked for.
pub const OF_PROBLEM: [Input; 9] = [
    STATES, ACTIONS, FEEDBACKS, START, HORIZON, TRANSITION, DELTA, SIGMA2, LEARNING,
];

/// Those of the study.
pub const OF_STUDY: [Input; 5] = [
    LEARNER,
    EXPECTED_DELAY,
    SMALLEST_REWARD,
    SMALLEST_COST,
    MISSING_AT_RANDOM,
];
