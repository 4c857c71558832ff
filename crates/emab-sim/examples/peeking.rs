//! Errors of comparisons that are looked at after every round of runs: the confidence sequences of `emab arena --until-decided` beside
//! repeated t intervals.
//!
//! `cargo run --release -p emab-sim --example peeking [STUDIES]` prints two Markdown tables. The differences of the simulated learners have known
//! means, and distributions as runs give them: normal, skewed, and with a share of stuck runs.

#![allow(clippy::print_stdout)]

use emab::stats::{Moments, clopper_pearson, half_width};
use emab::{Role, Stream};
use emab_sim::compare::PairDecisions;
use emab_sim::results::PairVerdict;

/// Runs of a study, at most.
const MOST: u64 = 2000;
/// How far a stuck run is from the others, in their standard deviations.
const STUCK: f64 = 20.0;

/// A difference of mean 0.
enum Difference {
    Normal,
    Exponential,
    LogNormal,
    /// This share of the runs is stuck.
    Stuck(f64),
}

impl Difference {
    fn name(&self) -> String {
        match self {
            Difference::Normal => "normal".into(),
            Difference::Exponential => "exponential".into(),
            Difference::LogNormal => "lognormal".into(),
            Difference::Stuck(share) => format!("{} % stuck", 100.0 * share),
        }
    }

    fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Difference::Normal => stream.normal(),
            Difference::Exponential => -libm::log(1.0 - stream.uniform()) - 1.0,
            Difference::LogNormal => libm::exp(stream.normal()) - libm::exp(0.5),
            Difference::Stuck(share) => {
                let stuck = f64::from(u8::from(stream.uniform() < *share));
                stream.normal() + STUCK * (stuck - share)
            }
        }
    }

    fn sd(&self) -> f64 {
        match self {
            Difference::Normal | Difference::Exponential => 1.0,
            Difference::LogNormal => (libm::exp(2.0) - libm::exp(1.0)).sqrt(),
            Difference::Stuck(share) => (1.0 + STUCK * STUCK * share * (1.0 - share)).sqrt(),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let studies = std::env::args()
        .nth(1)
        .map_or(Ok(2000), |text| text.parse())?;
    let all = [
        Difference::Normal,
        Difference::Exponential,
        Difference::LogNormal,
        Difference::Stuck(0.2),
        Difference::Stuck(0.05),
        Difference::Stuck(0.02),
        Difference::Stuck(0.01),
    ];
    println!("No difference: studies in which some pair seems better or worse, after any round\n");
    println!("| differences | learners | confidence sequences | repeated t | t, last round only |");
    println!("|---|--:|--:|--:|--:|");
    for (i, distribution) in all.iter().enumerate() {
        errors(i as u64, distribution, 2, studies);
    }
    errors(100, &Difference::Normal, 5, studies);
    println!(
        "\nStudies that end when the pair is decided, with a margin of 0.2 standard deviations\n"
    );
    println!("| differences | their mean | right | wrong | undecided | runs, mean |");
    println!("|---|--:|--:|--:|--:|--:|");
    let some = [0, 1, 4].map(|i| (i, &all[i]));
    for (i, distribution) in some {
        for (j, mean) in [0.0, 0.3].into_iter().enumerate() {
            let seed = 1000 + 10 * i as u64 + j as u64;
            verdicts(seed, distribution, mean, studies);
        }
    }
    Ok(())
}

/// A share of studies with its 95 % interval, in per cent.
fn share(hits: u64, studies: u64) -> String {
    let (low, high) = clopper_pearson(hits, studies, 0.95);
    let percent = 100.0 * hits as f64 / studies as f64;
    format!("{percent:.1} % ({:.1} to {:.1})", 100.0 * low, 100.0 * high)
}

/// Whether the 95 % interval of Student's t excludes 0.
fn excludes_zero(moments: &Moments) -> bool {
    moments.mean().abs() > half_width(moments.stderr(), moments.count())
}

/// Learners that do not differ.
fn errors(seed: u64, distribution: &Difference, learners: usize, studies: u64) {
    let (mut sequences, mut repeated, mut once) = (0, 0, 0);
    let labels: Vec<String> = (0..learners).map(|i| i.to_string()).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let pairs = learners * (learners - 1) / 2;
    for study in 0..studies {
        let mut stream = Stream::new(seed, study, Role::Learner);
        let mut decisions = PairDecisions::new(learners, 0.0, pairs as u64, MOST);
        let mut moments = vec![Moments::default(); pairs];
        let (mut sequence, mut t, mut last) = (false, false, false);
        for round in 1..=MOST / PairDecisions::ROUND {
            // The last learner's regret is 0: with two learners, the first one's is the difference.
            let regret: Vec<Vec<f64>> = (0..learners)
                .map(|i| {
                    let draw = |_| match i + 1 == learners && learners == 2 {
                        true => 0.0,
                        false => distribution.draw(&mut stream),
                    };
                    (0..PairDecisions::ROUND).map(draw).collect()
                })
                .collect();
            decisions.add(
                PairDecisions::ROUND,
                &regret.iter().map(Vec::as_slice).collect::<Vec<_>>(),
            );
            let both = (0..learners).flat_map(|i| (i + 1..learners).map(move |j| (i, j)));
            for ((i, j), moments) in both.zip(&mut moments) {
                let runs = regret[i].iter().zip(&regret[j]);
                runs.for_each(|(one, other)| moments.add(one - other));
            }
            if round * PairDecisions::ROUND < PairDecisions::BURN_IN {
                continue;
            }
            if !sequence {
                let wrong = |verdict| matches!(verdict, PairVerdict::Better | PairVerdict::Worse);
                let results = decisions.results(&labels).pairs;
                sequence = results.iter().any(|pair| wrong(pair.verdict));
            }
            last = moments.iter().any(excludes_zero);
            t |= last;
        }
        sequences += u64::from(sequence);
        repeated += u64::from(t);
        once += u64::from(last);
    }
    println!(
        "| {} | {learners} | {} | {} | {} |",
        distribution.name(),
        share(sequences, studies),
        share(repeated, studies),
        share(once, studies)
    );
}

/// Two learners whose differences have this mean, in standard deviations, compared until they are decided.
fn verdicts(seed: u64, distribution: &Difference, mean: f64, studies: u64) {
    let margin = 0.2;
    let sd = distribution.sd();
    let (mut right, mut undecided) = (0, 0);
    let mut runs = Moments::default();
    let zeros = vec![0.0; PairDecisions::ROUND as usize];
    for study in 0..studies {
        let mut stream = Stream::new(seed, study, Role::Learner);
        let mut decisions = PairDecisions::new(2, margin, 1, MOST);
        while !decisions.is_finished() {
            let draw = |_| distribution.draw(&mut stream) / sd + mean;
            let regret: Vec<f64> = (0..PairDecisions::ROUND).map(draw).collect();
            decisions.add(PairDecisions::ROUND, &[&regret, &zeros]);
        }
        runs.add(decisions.runs() as f64);
        let is_right = match decisions.results(&["one", "other"]).pairs[0].verdict {
            PairVerdict::Better => mean < 0.0,
            PairVerdict::Worse => mean > 0.0,
            PairVerdict::Equivalent => mean.abs() <= margin,
            PairVerdict::Undecided => {
                undecided += 1;
                continue;
            }
        };
        right += u64::from(is_right);
    }
    println!(
        "| {} | {mean} | {} | {} | {} | {:.0} ± {:.0} |",
        distribution.name(),
        share(right, studies),
        share(studies - right - undecided, studies),
        share(undecided, studies),
        runs.mean(),
        half_width(runs.stderr(), studies)
    );
}
