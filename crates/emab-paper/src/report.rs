//! The ledger as a report.

use emab_report::{Block, Claim, Document, Verdict, regret_cells};

use crate::ledger::Ledger;

/// Heading of the claims that are not in the paper.
pub const BEYOND: &str = "Beyond the paper: repairs and additional checks";

impl Ledger {
    /// The claims of the paper, and the additional ones.
    pub fn parts(&self) -> (Vec<Claim>, Vec<Claim>) {
        self.claims.iter().cloned().partition(|claim| !claim.ours)
    }

    /// Counts of the verdicts on the claims of the paper.
    pub fn tally(&self) -> String {
        let paper = || self.claims.iter().filter(|claim| !claim.ours);
        let count = |verdict| paper().filter(|claim| claim.verdict == verdict).count();
        format!(
            "{} claims of the paper: {} hold and {} in part; {} do not hold; {} undecided.",
            paper().count(),
            count(Verdict::Holds),
            count(Verdict::HoldsInPart),
            count(Verdict::Fails),
            count(Verdict::Undecided)
        )
    }

    /// The report: text, claims, figures and numbers.
    pub fn document(&self) -> Document {
        let (paper, ours) = self.parts();
        let settings = self.settings;
        let mut blocks = vec![
            Block::Text(format!(
                "What the paper by Cem Tekin and Mihaela van der Schaar says, tested by emab {} (seed {}; the figures have {} runs of {} \
             episodes for each learner). {} All verdicts are from this run.",
                env!("CARGO_PKG_VERSION"),
                settings.seed,
                settings.runs,
                settings.episodes,
                self.tally()
            )),
            Block::Text(TERMS.into()),
            Block::Text(RULES.into()),
            Block::Heading("Claims of the paper and measurements".into()),
            Block::Claims(paper),
            Block::Heading(BEYOND.into()),
            Block::Claims(ours),
            Block::Heading("Figures".into()),
        ];
        blocks.extend(self.figures.iter().map(|figure| Block::Picture {
            name: figure.name.into(),
            caption: figure.caption.clone(),
            svg: figure.picture.svg.clone(),
            narrow: None,
        }));
        let (header, rows) = regret_cells(&self.learners, &self.shown_at, settings.runs);
        blocks.push(Block::Heading(
            "Cumulative regret of the figures, with 95 % intervals".into(),
        ));
        blocks.push(Block::Table { header, rows });
        Document {
            title: "Episodic Multi-armed Bandits, claim by claim".into(),
            blocks,
        }
    }
}

const TERMS: &str = "Terms. The benchmark takes, step by step, the action with the largest expected gain one step ahead. V is its value, and Q the \
    value of an action followed by the benchmark; regret is the sum of V - Q along the learner's path, which has the expectation of \
    the paper's Equation 2 and less variance. A triplet is a step, a state and an action. A confidence number is the half-width of a \
    learner's confidence interval. A bound is given as printed in the paper, as derived by its proof, or tight, the smallest \
    value that the argument gives. `width=sound` is a repair: a width that also covers the randomness of the feedback.";

const RULES: &str = "Verdicts. A claim that is computed exactly holds or does not hold. A claim that one number is less than another is decided \
    if they are three standard errors apart. A guarantee with a probability is decided if the 95 % Clopper-Pearson interval of the \
    share of violating runs lies on one side of it. Other thresholds are given with the test. All other claims are undecided. Numbers after ± are half-widths of 95 % intervals.";
