//! Section 5's expected regret, from 400,000 independent runs of a separate program.

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

/// By learner and episode.
pub const REGRET: [[f64; 5]; 6] = [
    [17.17, 67.10, 174.96, 256.34, 366.51],
    [20.56, 132.09, 506.88, 918.60, 1680.42],
    [13.78, 98.47, 415.73, 775.61, 1455.88],
    [26.04, 120.51, 366.31, 610.50, 1046.30],
    [20.31, 70.40, 151.23, 203.55, 269.98],
    [16.88, 75.21, 218.71, 334.56, 497.93],
];
