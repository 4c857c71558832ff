//! Section 5's expected regret, from independent runs of `benches/reference`, a loop that shares no code with emab.

/// Learners of the paper's figures.
pub const LEARNERS: [&str; 6] = [
    "feedbal",
    "ucb1",
    "ucb1v",
    "feedbal:sigma2=0.02",
    "feedbal:sigma2=0.05",
    "feedbal:sigma2=0.4",
];

/// Episodes with a reference value.
pub const AT: [u64; 5] = [100, 1000, 5000, 10_000, 20_000];

/// By learner and episode: mean and standard error.
pub const REGRET: [[(f64, f64); 5]; 6] = include!("reference_table.in");
