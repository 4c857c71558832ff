//! Arguments of the commands that read logs.

use std::path::PathBuf;

use clap::ValueEnum;
use emab_logs::Pooling;
use emab_logs::assumptions::Stated;

use super::{count, whole};

#[derive(clap::Args)]
pub struct LogArgs {
    /// The log: an export of the decision service, past episodes as JSON lines, a saved learner, a table of decisions (.csv or
    /// .parquet, as `emab export` writes it), a store (`sqlite:FILE`, its file, or `postgres://USER@HOST/DATABASE`), or the URL of a study
    /// (`http://HOST:PORT/v1/studies/NAME`, with a token in EMAB_TOKEN); `-` reads standard input.
    #[arg(value_name = "LOG")]
    pub log: String,
    /// The problem: a built-in problem's name, or a .toml or .json file. Needed where the log does not carry it; otherwise the log must be of
    /// this problem, and its parameters are used.
    #[arg(long, value_name = "FILE")]
    pub problem: Option<String>,
    /// The study, where the store has several.
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
}

/// What is known beside the log.
#[derive(clap::Args)]
pub struct StatedArgs {
    /// The range of expected rewards [default: `reward_range` or `outcome_range` of the problem, or the observed ones].
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    pub reward_range: Option<(f64, f64)>,
    /// The range of expected costs [default: `outcome_range` of the problem, or the observed ones].
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    pub cost_range: Option<(f64, f64)>,
    /// The variance proxy of the noise on costs and rewards; that of values in a stated range where it is smaller [default: that of the problem, or that of values in their range].
    #[arg(long, value_name = "S", value_parser = variance, allow_negative_numbers = true)]
    pub sigma2: Option<f64>,
}

impl From<&StatedArgs> for Stated {
    fn from(args: &StatedArgs) -> Stated {
        Stated {
            reward_range: args.reward_range,
            cost_range: args.cost_range,
            sigma2: args.sigma2,
        }
    }
}

#[derive(clap::Args)]
pub struct Simulate {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
    /// The learner that decides, optionally with parameters.
    #[arg(long, value_name = "NAME[:key=value,...]", default_value = "feedbal")]
    pub learner: String,
    /// The number of episodes.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count, allow_negative_numbers = true)]
    pub episodes: u64,
    /// The seed; the episodes are those of the first run of `emab run` with this seed.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
    /// The file to create, past episodes as JSON lines [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "out")]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Replay {
    #[command(flatten)]
    pub log: LogArgs,
    /// A learner, optionally with parameters; may be repeated [default: the learner of the log, or feedbal].
    #[arg(long, value_name = "NAME[:key=value,...]")]
    pub learner: Vec<String>,
    /// The seed of learners that draw.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
}

/// Which observations are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pool {
    /// Those of the same step and state.
    State,
    /// Those of the same actions and feedbacks before.
    Path,
}

impl From<Pool> for Pooling {
    fn from(pool: Pool) -> Pooling {
        match pool {
            Pool::State => Pooling::State,
            Pool::Path => Pooling::Path,
        }
    }
}

#[derive(clap::Args)]
pub struct Evaluate {
    #[command(flatten)]
    pub log: LogArgs,
    /// The policy: `benchmark`, `optimal` or `best-fixed` of the fitted model, `logged` (what was done), a policy file
    /// (`{"policy": [[…], …]}`, or what `emab solve --json` prints, with `FILE#optimal` for its optimal policy), or the file of a
    /// saved learner.
    #[arg(long, value_name = "NAME|FILE")]
    pub policy: String,
    /// The probability with which the interval contains the value.
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
    pub confidence: f64,
    /// The policy of the file was computed from this log: the interval allows for it, as it always does for the policies of the fitted
    /// model and for learners.
    #[arg(long)]
    pub from_log: bool,
    /// Which observations are taken together: those of the same step and `state`, or of the same `path` before.
    #[arg(long, value_name = "POOL", default_value = "state")]
    pub by: Pool,
    #[command(flatten)]
    pub stated: StatedArgs,
}

#[derive(clap::Args)]
pub struct Fit {
    #[command(flatten)]
    pub log: LogArgs,
    /// The number of plausible models to draw from the posterior; they are written into the folder --out.
    #[arg(long, value_name = "N", value_parser = count, requires = "out", allow_negative_numbers = true)]
    pub draws: Option<u64>,
    /// The seed of the draws.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
    /// The file to create [default: standard output]; with --draws a folder.
    #[arg(long, value_name = "FILE|DIR")]
    pub out: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub stated: StatedArgs,
}

#[derive(clap::Args)]
pub struct Plan {
    #[command(flatten)]
    pub log: LogArgs,
    /// The number of further cases to simulate.
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub cases: u64,
    /// The certificate that is wanted: how far the recommendation at step 1 may be from the best one [default: none; the
    /// certificates after further cases are shown].
    #[arg(long, value_name = "C", value_parser = variance, allow_negative_numbers = true)]
    pub below: Option<f64>,
    /// The learner [default: that of the log, or feedbal:width=sound].
    #[arg(long, value_name = "NAME[:key=value,...]")]
    pub learner: Option<String>,
    /// The number of plausible models.
    #[arg(long, value_name = "N", default_value = "100", value_parser = count, allow_negative_numbers = true)]
    pub draws: u64,
    /// The seed of the models and of the cases.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
    #[command(flatten)]
    pub stated: StatedArgs,
}

/// Two numbers, the first at most the second.
fn range(text: &str) -> Result<(f64, f64), String> {
    let read = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|it| it.abs() <= 1e100)
    };
    let both = text.split_once(',');
    match both.map(|(low, high)| (read(low), read(high))) {
        Some((Some(low), Some(high))) if low <= high => Ok((low, high)),
        _ => Err("a range is two numbers, the first at most the second, such as 0,1".into()),
    }
}

fn variance(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok();
    let value = value.filter(|it| (0.0..=1e100).contains(it));
    value.ok_or_else(|| "must be a number from 0 on".into())
}
