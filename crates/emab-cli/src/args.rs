//! The command line as plain values.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use emab::input::{did_you_mean, parse_count};
use emab_server::store::Address;
use emab_server::tables::Table;
use emab_server::tokens::Role;
use emab_sim::{DeviceChoice, Shard};
use tracing::Level;

mod logs;
mod plot;

pub use self::logs::{Evaluate, Fit, LogArgs, Plan, Replay, Simulate};
pub use self::plot::{Band, Plot};
use crate::error::CommandError;

/// What `--version` prints: `./release` adds the commit.
const VERSION: &str = match option_env!("EMAB_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Episodic multi-armed bandits: FeedBAL, the benchmark and comparison algorithms, on any problem.
#[derive(Parser)]
#[command(
    name = "emab",
    version = VERSION,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print one JSON document on standard output.
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Reproduce the paper: its figures, and a verdict on each of its testable claims.
    Reproduce(Reproduce),
    /// Run learners on a problem and report their regret.
    Run(Run),
    /// Compare learners on problems with common random numbers: regret, ranking, time and memory.
    Arena(Arena),
    /// Run a grid of learner and problem parameters from a file.
    Sweep(Sweep),
    /// Merge the shards of a run or a sweep; the result is byte-identical to an undivided one.
    Merge(Merge),
    /// Solve a problem: benchmark, optimal policy and best fixed sequence.
    Solve(ProblemArg),
    /// Convert a problem to a Markov decision process, solve it by three methods, and export it.
    Mdp(Mdp),
    /// Evaluate the paper's theorems on a problem: gaps, counts and regret bounds, and whether they are vacuous.
    Bounds(Bounds),
    /// Run a learner and count how often it violates each guarantee of the paper.
    Verify(Verify),
    /// Check a problem file, describe it and count its reachable step-state pairs.
    Check(ProblemArg),
    /// Plot the results in a folder of `emab run --out`, `emab sweep --out` or `emab arena --out`.
    Plot(Plot),
    /// Write one HTML page of result folders: problem, learners, curves, causes, soundness and how to repeat them.
    Report(Report),
    /// Show the choices and estimates of a learner saved in Python.
    Policy(Policy),
    /// Run the decision service: recommendations over HTTP, with a log of every event.
    Serve(Serve),
    /// Run the decision service with simulated studies in a temporary folder, to look at.
    Demo(Demo),
    /// Audit a store or an export of the decision service: hashes, chain, and every decision and sum recomputed.
    Audit(Audit),
    /// Back up a SQLite store of the decision service into a new file, also while the service runs.
    Backup(Backup),
    /// Export the episodes, decisions or estimates of a study as a table, CSV or Parquet, also while the service runs.
    Export(Export),
    /// Simulate episodes of a learner on a problem and write them as a log, to try the commands below.
    Simulate(Simulate),
    /// Replay a log through learners: how often each would have done the same, and what stopping earlier would have earned.
    Replay(Replay),
    /// Evaluate a policy on a log: what it would have earned, with an interval.
    Evaluate(Evaluate),
    /// Fit a model to a log: a problem file, and plausible models from its posterior.
    Fit(Fit),
    /// Continue a log in plausible models: how many more cases a certificate needs.
    Plan(Plan),
    /// List the built-in problems, print the file of one, or generate random problems.
    Problems(Problems),
    /// List the learners with their parameters, defaults and references.
    Learners {
        /// Learners to describe in full, with all parameters [default: a short list of all].
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Create, list and revoke access tokens of the decision service.
    Token(Token),
    /// Print the JSON schema of a problem file.
    Schema,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(clap::Args)]
pub struct Serve {
    /// The store: `sqlite:FILE` or `postgres://USER@HOST/DATABASE` [default: $EMAB_STORE, or studies.db in the user's data
    /// folder]. An address with a password belongs in EMAB_STORE, or the password in PGPASSWORD: other users can read
    /// arguments.
    #[arg(long, value_name = "STORE")]
    pub store: Option<Address>,
    /// The address to listen on; port 0 takes a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8420", value_parser = socket)]
    pub listen: SocketAddr,
    /// The token file of `emab token` [default: tokens.json in the user's data folder]. With PostgreSQL tokens are in the
    /// database, which takes those of this file at the first start.
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Do not create an admin token at the first start: its secret would be printed, which must not happen where standard output
    /// becomes a log. `emab token new` creates one.
    #[arg(long)]
    pub no_admin_token: bool,
    /// The TLS certificate chain (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The key that signs checkpoints (Ed25519, PKCS#8); it is created if there is no file [default: checkpoint.key beside
    /// the SQLite file, or in the user's data folder].
    #[arg(long, value_name = "FILE")]
    pub checkpoint_key: Option<PathBuf>,
    /// A file in another place than the store, to which every checkpoint is appended.
    #[arg(long, value_name = "FILE")]
    pub checkpoint_file: Option<PathBuf>,
    /// Allow non-local addresses without TLS, because a proxy in front terminates TLS.
    #[arg(long)]
    pub behind_proxy: bool,
    /// The header in which a proxy that authenticates people names the person, such as X-Forwarded-User. The proxy must remove
    /// the header from what its clients send.
    #[arg(long, value_name = "HEADER", requires = "trusted_proxy")]
    pub person_header: Option<String>,
    /// The address of that proxy; may be repeated. From other addresses the header is ignored.
    #[arg(long, value_name = "IP", requires = "person_header", value_parser = ip)]
    pub trusted_proxy: Vec<IpAddr>,
    /// Requests per second for each token; 0 means no limit.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = rate, allow_negative_numbers = true)]
    pub rate: u32,
    /// How long a person stays signed in to the console, such as `12h`.
    #[arg(long, value_name = "DURATION", default_value = "12h", value_parser = session_length)]
    pub session: Duration,
    /// Log level: `error`, `warn`, `info` or `debug` (every request). The log is JSON lines on standard error.
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    pub log: Level,
}

#[derive(clap::Args)]
pub struct Demo {
    /// The address to listen on; port 0 takes a free port [default: 127.0.0.1:8420, or a free port if it is in use].
    #[arg(long, value_name = "ADDR", value_parser = socket)]
    pub listen: Option<SocketAddr>,
    /// Allow non-local addresses, because a proxy in front terminates TLS.
    #[arg(long)]
    pub behind_proxy: bool,
    /// Seconds from one simulated report to the next.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = pace, allow_negative_numbers = true)]
    pub pace: Duration,
    /// The seed of the simulation: the same seed gives the same cases.
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
    /// The number of cases that are recorded at the start.
    #[arg(long, value_name = "N", default_value = "400", value_parser = cases, allow_negative_numbers = true)]
    pub cases: u64,
}

#[derive(clap::Args)]
pub struct Audit {
    /// A store (`sqlite:FILE`, its file, or `postgres://USER@HOST/DATABASE`), or the file of an export; `-` reads an
    /// export from standard input [default: $EMAB_STORE]. The audit changes nothing, and the service may run meanwhile.
    #[arg(value_name = "FILE|URL")]
    pub place: Option<String>,
    /// The study [default: all].
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// A hash recorded earlier: the head hash of an audit, or `previous` of a decision. If no event has it, the log has
    /// been rewritten and the audit fails.
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub expect: Option<String>,
    /// A file of `emab serve --checkpoint-file`, or of answers of GET …/checkpoint, one a line: the log must have every
    /// signed event, with the same hash.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// The public key that signs checkpoints, as the service logs it at its start; may be repeated, also with former keys.
    #[arg(long, value_name = "HEX", value_parser = hash, requires = "checkpoint")]
    pub checkpoint_key_public: Vec<String>,
}

#[derive(clap::Args)]
pub struct Backup {
    /// The store: its file, or `sqlite:FILE`.
    #[arg(value_name = "STORE")]
    pub store: String,
    /// The file to create.
    #[arg(value_name = "FILE")]
    pub to: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Export {
    /// The store: its file, `sqlite:FILE` or `postgres://USER@HOST/DATABASE` [default: $EMAB_STORE]. It is only read.
    #[arg(value_name = "STORE")]
    pub store: Option<String>,
    /// The study [default: the only one].
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// The table; `codebook` describes the columns of the others and needs no store.
    #[arg(long, value_name = "TABLE", value_parser = table())]
    pub table: Table,
    /// The format [default: the ending of the file].
    #[arg(long, value_name = "FORMAT", value_parser = ["csv", "parquet"])]
    pub format: Option<String>,
    /// The file to create.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
}

fn table() -> impl TypedValueParser<Value = Table> {
    PossibleValuesParser::new(Table::ALL.map(Table::name)).try_map(|name| name.parse::<Table>())
}

/// A SHA-256 or a public key, in lower case.
fn hash(text: &str) -> Result<String, String> {
    if text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("must be 64 hexadecimal digits".into())
    }
}

#[derive(clap::Args)]
pub struct Token {
    #[command(subcommand)]
    pub action: TokenAction,
    /// The token file [default: tokens.json in $EMAB_DATA, $XDG_DATA_HOME/emab or ~/.local/share/emab].
    #[arg(long, value_name = "FILE", global = true)]
    pub tokens: Option<PathBuf>,
    /// A PostgreSQL store, whose tokens are in the database [default: $EMAB_STORE].
    #[arg(long, value_name = "STORE", global = true, conflicts_with = "tokens")]
    pub store: Option<Address>,
}

/// The address of the store: given, or in `EMAB_STORE`, where other users cannot read its password.
pub fn store(given: Option<&Address>) -> Result<Option<Address>, CommandError> {
    if let Some(given) = given {
        return Ok(Some(given.clone()));
    }
    match std::env::var("EMAB_STORE") {
        Ok(text) if !text.is_empty() => {
            let read = text.parse();
            read.map(Some)
                .map_err(|error: String| CommandError::Input(format!("EMAB_STORE: {error}")))
        }
        _ => Ok(None),
    }
}

#[derive(Subcommand)]
pub enum TokenAction {
    /// Create a token and print its secret; the secret is not shown again.
    New(NewToken),
    /// List the tokens, including revoked ones.
    List,
    /// Replace a token by one with a new secret, and print the secret; the old one is valid for a while.
    Rotate {
        /// The token.
        #[arg(value_name = "ID|NAME")]
        token: String,
        /// How long the old secret is valid: a duration such as `1d` or `12h`; `0s` revokes it at once.
        #[arg(long, value_name = "DURATION", default_value = "1d", value_parser = parse_duration)]
        grace: Duration,
    },
    /// Revoke a token; a running service applies it within about a second, with PostgreSQL at once.
    Revoke {
        /// The token.
        #[arg(value_name = "ID|NAME")]
        token: String,
    },
}

#[derive(clap::Args)]
pub struct NewToken {
    /// The name of the token.
    pub name: String,
    /// The person who acts with it, as events name it [default: the name of the token].
    #[arg(long, value_name = "PERSON")]
    pub owner: Option<String>,
    /// How long it is valid: a duration such as `90d` [default: until it is revoked].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub valid_for: Option<Duration>,
    /// What the token allows: everything, acting on episodes, reading, or acting without seeing estimates.
    #[arg(long, value_parser = role())]
    pub role: Role,
    /// A study that the token may access; may be repeated [default: all].
    #[arg(long = "study", value_name = "STUDY")]
    pub studies: Vec<String>,
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "a duration is a number and a unit, such as `90d`, `12h` or `30min`".into())
}

fn session_length(text: &str) -> Result<Duration, String> {
    const YEAR: Duration = Duration::from_secs(366 * 86_400);
    let length = parse_duration(text)?;
    let allowed = (Duration::from_secs(1)..=YEAR).contains(&length);
    let rule = "a session lasts from a second to a year, such as `12h`";
    allowed.then_some(length).ok_or_else(|| rule.into())
}

fn level(text: &str) -> Result<Level, String> {
    text.parse().map_err(|_| {
        let near = did_you_mean(text, ["error", "warn", "info", "debug"]);
        format!("a log level is error, warn, info or debug{near}")
    })
}

fn socket(text: &str) -> Result<SocketAddr, String> {
    let form = "an address is an IP address and a port, such as 127.0.0.1:8420 or [::1]:8420";
    text.parse().map_err(|_| form.into())
}

fn ip(text: &str) -> Result<IpAddr, String> {
    text.parse()
        .map_err(|_| "an IP address is needed, such as 10.0.0.4 or ::1".into())
}

fn role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|name| name.parse::<Role>())
}

#[derive(clap::Args)]
pub struct ProblemArg {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
}

#[derive(clap::Args)]
pub struct Policy {
    /// A file of `Learner.save`, or `-` for standard input.
    pub file: String,
    /// Show all actions at this step, in the state of --state.
    #[arg(long, value_name = "T", requires = "state", value_parser = count, allow_negative_numbers = true)]
    pub step: Option<u64>,
    /// The state, by its name or its number from 0.
    #[arg(long, value_name = "X", requires = "step")]
    pub state: Option<String>,
}

#[derive(clap::Args)]
pub struct Mdp {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
    /// Write a .json file (the document of --json) or a .npz file (dense NumPy arrays).
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "out")]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Bounds {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
    /// The number of episodes.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = count, allow_negative_numbers = true)]
    pub episodes: u64,
    /// The probability that the confidence bounds may fail, or `1/n` [default: from the problem file].
    #[arg(long, value_name = "D")]
    pub delta: Option<String>,
    /// The variance proxy of the noise [default: from the problem file].
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub sigma2: Option<String>,
    /// The confidence width, `paper` or `sound`.
    #[arg(long, value_name = "W", default_value = "paper")]
    pub width: Option<String>,
    /// For the sound width: how far one feedback can move the next expected reward [default: from the problem file].
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub feedback_spread: Option<String>,
    /// The bias that the learner adds to the gain of `stop`.
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub stop_bias: Option<String>,
    /// Also compute the lower bound: what no consistent learner's regret can be less than.
    #[arg(long)]
    pub lower: bool,
    /// For the lower bound: what regret is measured against.
    #[arg(
        long,
        value_name = "TARGET",
        default_value = "benchmark",
        requires = "lower"
    )]
    pub target: Target,
    /// For the lower bound: the least expected cost that an action can have, 0 as in the paper [default: any].
    #[arg(long, value_name = "C", requires = "lower", value_parser = cost, allow_negative_numbers = true)]
    pub least_cost: Option<f64>,
}

/// A policy that regret is measured against.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Target {
    /// The benchmark, which looks one step ahead.
    Benchmark,
    /// The optimal policy.
    Optimal,
}

impl From<Target> for emab::theory::Target {
    fn from(target: Target) -> Self {
        match target {
            Target::Benchmark => Self::Benchmark,
            Target::Optimal => Self::Optimal,
        }
    }
}

#[derive(clap::Args)]
pub struct Verify {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
    /// The learner, optionally with parameters; it must have confidence bounds that can be verified.
    #[arg(long, value_name = "NAME[:key=value,...]", default_value = "feedbal")]
    pub learner: String,
    /// Episodes in each run.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = count, allow_negative_numbers = true)]
    pub episodes: u64,
    /// A condition that replaces the one in the problem file; may be repeated: missing_costs=0.1, missing_costs=0:0.8 (by
    /// feedback), missing_rewards=0.1. No others apply.
    #[arg(long, value_name = "KEY=VALUE")]
    pub condition: Vec<String>,
    /// Independent runs; 368 are needed to show that a probability of 0.01 holds.
    #[arg(long, value_name = "R", default_value = "1000", value_parser = count, allow_negative_numbers = true)]
    pub runs: u64,
    /// The seed.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
}

#[derive(clap::Args)]
pub struct Run {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    #[arg(required_unless_present = "resume")]
    pub problem: Option<String>,
    /// A learner, optionally with parameters; may be repeated [default: feedbal].
    #[arg(long, value_name = "NAME[:key=value,...]")]
    pub learner: Vec<String>,
    /// Episodes in each run [default: 10000].
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub episodes: Option<u64>,
    /// Independent runs to average over [default: 100].
    #[arg(long, value_name = "R", value_parser = count, allow_negative_numbers = true)]
    pub runs: Option<u64>,
    /// The seed; the same seed gives the same bytes [default: 1].
    #[arg(long, value_name = "S", value_parser = whole, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// Where runs are played: `cpu`, `gpu`, or `auto` for a GPU if there is one. Results do not depend on it.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: DeviceChoice,
    /// Episodes at which to record regret [default: evenly spaced on a log axis].
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = count, allow_negative_numbers = true)]
    pub checkpoints: Vec<u64>,
    /// Episodes at which runs.csv and runs.parquet have the regret and the gain of every run, besides the last.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = count, requires = "out")]
    pub record_at: Vec<u64>,
    /// A condition that replaces the one in the problem file; may be repeated: delay=20, delay=geometric:20,
    /// delay=batches:50, open=20, dropout=0.05, dropout='if(t < 11, 0, 0.1)' (of t x a f), lost=0.1, missing_costs=0.1, missing_costs=0:0.8 (by feedback),
    /// missing_rewards=0.1, override=0.2, drift=p:0.4@5000.
    #[arg(long, value_name = "KEY=VALUE")]
    pub condition: Vec<String>,
    /// Write the results into this folder: run.json, curve.csv, runs.csv, runs.parquet, places.csv, problem.json and plots. The
    /// same command continues an interrupted run.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace other results of emab in the folder.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Run only the K-th of N parts of the runs; `emab merge` combines the parts.
    #[arg(long, value_name = "K/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Continue an interrupted run in this folder, which was given to --out.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["problem", "learner", "episodes", "runs", "seed", "checkpoints", "condition", "out", "force", "shard"])]
    pub resume: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Problems {
    /// Print the file of this problem.
    #[arg(conflicts_with = "random")]
    pub name: Option<String>,
    /// Generate problems of a family: small, mixed, long, wide, narrow, noisy or myopic, optionally with properties, each a
    /// number or a range.
    #[arg(long, value_name = "FAMILY[:steps=3..8,...]")]
    pub random: Option<String>,
    /// The seed of the family.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true, requires = "random")]
    pub seed: u64,
    /// The number of problems; more than one need --out.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count, allow_negative_numbers = true, requires = "random")]
    pub count: u64,
    /// Write the problems into this folder, one file each. `emab arena DIR` compares learners on them.
    #[arg(long, value_name = "DIR", requires = "random")]
    pub out: Option<PathBuf>,
    /// Replace files of the same names.
    #[arg(long, requires = "out")]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Arena {
    /// Built-in problems' names, .toml or .json files, folders of files [default: all built-in problems but the
    /// published ones].
    pub problem: Vec<String>,
    /// A learner, optionally with parameters; may be repeated. `feedbal` is always included [default: all].
    #[arg(long, value_name = "NAME[:key=value,...]")]
    pub learner: Vec<String>,
    /// Episodes in each run: the horizon at which learners are ranked [default: 5000].
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub episodes: Option<u64>,
    /// Rank the learners after this many episodes of longer runs [default: all episodes].
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub rank_at: Option<u64>,
    /// Runs, at least 2, the same for all learners [default: 40]; the most runs with --until-decided [default: 1000].
    #[arg(long, value_name = "R", value_parser = count, allow_negative_numbers = true)]
    pub runs: Option<u64>,
    /// Add runs, 50 at a time, until every pair of learners is decided or equivalent within the margin: by intervals that
    /// hold after all rounds at once.
    #[arg(long, requires = "margin")]
    pub until_decided: bool,
    /// Differences of at most this much regret do not matter.
    #[arg(long, value_name = "M", value_parser = margin, requires = "until_decided", allow_negative_numbers = true)]
    pub margin: Option<f64>,
    /// The seed.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// Where runs are played: `cpu`, `gpu`, or `auto` for a GPU if there is one. Results do not depend on it.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: DeviceChoice,
    /// Few and short runs: about half a minute for all problems and learners, with wider intervals.
    #[arg(long)]
    pub quick: bool,
    /// A condition that replaces the ones in the problem files; may be repeated, as in `emab run`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub condition: Vec<String>,
    /// Save finished cells in this folder, and write arena.csv, arena.json, arena.svg and arena.png, pairs.csv with
    /// --until-decided, and problems that are not built in into arena-problems. The same command continues an interrupted arena.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace other results of emab in the folder; finished cells of this arena are kept.
    #[arg(long, requires = "out")]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Sweep {
    /// A sweep file (.toml).
    pub file: PathBuf,
    /// Save finished cells in this folder, and write sweep.csv and sweep.parquet. The same command continues an
    /// interrupted sweep.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace other results of emab in the folder; finished cells of this sweep are kept.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Run only the K-th of N parts of the cells; `emab merge` combines the parts.
    #[arg(long, value_name = "K/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// Where runs are played: `cpu`, `gpu`, or `auto` for a GPU if there is one. Results do not depend on it.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: DeviceChoice,
}

#[derive(clap::Args)]
pub struct Merge {
    /// The folders of all shards.
    #[arg(required = true)]
    pub folders: Vec<PathBuf>,
    /// The folder for the result.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace other results of emab in the folder.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Reproduce {
    /// Few runs: seconds instead of minutes, with wider intervals.
    #[arg(long)]
    pub quick: bool,
    /// Runs of each curve of the figures; other experiments scale with it [default: 1000].
    #[arg(long, value_name = "R", value_parser = count, allow_negative_numbers = true)]
    pub runs: Option<u64>,
    /// Episodes in each run of the figures [default: 20000].
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub episodes: Option<u64>,
    /// The seed.
    #[arg(long, value_name = "S", default_value = "1", value_parser = whole, allow_negative_numbers = true)]
    pub seed: u64,
    /// Threads [default: one per processor].
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// The folder for figures and report.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub out: PathBuf,
    /// Print every claim with its measurement, not only a summary.
    #[arg(long)]
    pub full: bool,
    /// Replace other results of emab in the folder.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Report {
    /// Folders of `emab run --out`, `emab sweep --out` or `emab arena --out`; several are compared.
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// The .html file to write [default: report.html in the folder, if there is one folder].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
}

/// A number of at least 0.
fn margin(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(margin) if margin >= 0.0 && f64::is_finite(margin) => Ok(margin),
        _ => Err("a margin is a number of at least 0".into()),
    }
}

/// A count of at least 1, such as 100000, 100_000 or 1e5.
fn count(text: &str) -> Result<u64, String> {
    match whole(text)? {
        0 => Err("must be at least 1".into()),
        n => Ok(n),
    }
}

/// A whole number of at least 0, in the same notations.
fn whole(text: &str) -> Result<u64, String> {
    parse_count(text)
        .map_err(|why| format!("it {why}; write a whole number, such as 100000, 100_000 or 1e5"))
}

/// A number of threads.
fn threads(text: &str) -> Result<u16, String> {
    let threads = u16::try_from(count(text)?).ok();
    let threads = threads.filter(|threads| *threads <= 1024);
    threads.ok_or_else(|| "must be at most 1024".into())
}

/// A time between simulated reports.
fn pace(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=3_600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("the pace is a number of seconds from 0.001 to 3600".into()),
    }
}

/// An expected cost.
fn cost(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cost) if cost.is_finite() => Ok(cost),
        _ => Err("write a number, such as 0 or 0.5".into()),
    }
}

/// A number of simulated cases.
fn cases(text: &str) -> Result<u64, String> {
    let cases = whole(text)?;
    let few = (cases <= 100_000).then_some(cases);
    few.ok_or_else(|| "must be at most 100000".into())
}

/// Requests per second.
fn rate(text: &str) -> Result<u32, String> {
    u32::try_from(whole(text)?).map_err(|_| format!("must be at most {}", u32::MAX))
}
