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

    /// Counts of the verdicts: on the claims of the paper, and on the additional ones.
    pub fn tally(&self) -> Vec<Vec<String>> {
        let row = |verdict: Verdict| {
            let count = |ours: bool| {
                let mut all = self.claims.iter();
                let counted = all
                    .by_ref()
                    .filter(|c| c.ours == ours && c.verdict == verdict);
                counted.count().to_string()
            };
            vec![verdict.text().into(), count(false), count(true)]
        };
        VERDICTS.map(row).into()
    }

    /// The claims with one of these verdicts, one line each, those of the paper first. A line begins with the verdict if there are
    /// several.
    pub fn lines(&self, verdicts: &[Verdict]) -> Vec<String> {
        let (paper, ours) = self.parts();
        paper
            .into_iter()
            .chain(ours)
            .filter(|claim| verdicts.contains(&claim.verdict))
            .map(|claim| {
                let verdict = match verdicts {
                    [_] => String::new(),
                    _ => format!("{}: ", claim.verdict.text()),
                };
                let whose = if claim.ours { "beyond the paper: " } else { "" };
                format!("{verdict}{whose}{}: {}", claim.place, claim.says)
            })
            .collect()
    }

    /// The report: a summary, figures, and tables of numbers and claims.
    pub fn document(&self) -> Document {
        let (paper, ours) = self.parts();
        let settings = self.settings;
        let mut blocks = vec![
            Block::Text(format!(
                "What the paper by Cem Tekin and Mihaela van der Schaar says, tested by emab {} (seed {}; the figures have {} runs of {} \
                 episodes for each learner). All verdicts are from this run.",
                env!("CARGO_PKG_VERSION"),
                settings.seed,
                settings.runs,
                settings.episodes
            )),
            Block::Table {
                header: TALLY.map(str::to_owned).into(),
                rows: self.tally(),
            },
        ];
        for (title, verdicts) in [
            ("What does not hold", &[Verdict::Fails][..]),
            ("What holds in part", &[Verdict::HoldsInPart]),
            (
                "What this test could not decide",
                &[Verdict::Vacuous, Verdict::Consistent, Verdict::Undecided],
            ),
        ] {
            let lines = self.lines(verdicts);
            if !lines.is_empty() {
                blocks.push(Block::Heading(title.into()));
                blocks.push(Block::List(lines));
            }
        }
        blocks.push(Block::Heading("Figures".into()));
        blocks.extend(self.figures.iter().map(|figure| Block::Picture {
            name: figure.name.into(),
            caption: figure.caption.clone(),
            svg: figure.picture.svg.clone(),
            narrow: figure.picture.narrow.clone(),
        }));
        let (header, rows) = regret_cells(&self.learners, &self.shown_at, settings.runs);
        blocks.extend([
            Block::Heading("Cumulative regret of the figures, with 95 % intervals".into()),
            Block::Table { header, rows },
            Block::Heading("Terms and verdicts".into()),
            Block::Text(TERMS.into()),
            Block::Text(RULES.into()),
            Block::Text(POWER.into()),
            Block::Heading("Claims of the paper and measurements".into()),
            Block::Claims(paper),
            Block::Heading(BEYOND.into()),
            Block::Claims(ours),
        ]);
        Document {
            title: "Episodic Multi-armed Bandits, claim by claim".into(),
            blocks,
        }
    }
}

/// Header of the counts of verdicts.
pub const TALLY: [&str; 3] = ["verdict", "of the paper", "beyond it"];

/// In the order of the summary.
const VERDICTS: [Verdict; 6] = [
    Verdict::Holds,
    Verdict::HoldsInPart,
    Verdict::Fails,
    Verdict::Consistent,
    Verdict::Vacuous,
    Verdict::Undecided,
];

const TERMS: &str = "Terms. The benchmark takes, step by step, the action with the largest expected gain one step ahead. V is its value, and Q the \
    value of an action followed by the benchmark; regret is the sum of V - Q along the learner's path, which has the expectation of \
    the paper's Equation 2 and less variance. A triplet is a step, a state and an action. A confidence number is the half-width of a \
    learner's confidence interval. A bound is given as printed in the paper, as derived by its proof, or tight, the smallest \
    value that the argument gives. `width=sound` is a repair: a width that also covers the randomness of the feedback.";

const RULES: &str = "Verdicts. A claim that is computed exactly holds or does not hold. A claim that one number is less than another is decided \
    if they are three standard errors apart. A guarantee with a probability does not hold if the 95 % Clopper-Pearson interval of the \
    share of violating runs lies above it. Other thresholds are given with the test. All other claims are undecided. A claim of several \
    parts has the worst verdict of those that are not vacuous. Numbers after ± are half-widths of 95 % intervals.";

const POWER: &str = "Power. A bound is vacuous if no learner can violate it: a bound on regret at or above the most that any learner can lose, a \
    count at or above the number of episodes, an interval around observations that do not vary. A claim holds only if the test could have \
    failed, which a control shows: it is wrong on purpose and must fail the same test. The control of a confidence number is half of it, in \
    the same runs; that of a count or of a bound on regret is a learner whose choices are drawn at random. Where the control passes as \
    well, or the runs are too few, the claim is consistent with the test and no more.";
