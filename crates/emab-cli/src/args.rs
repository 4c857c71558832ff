//! The command line, as plain values.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, value_parser};
use clap_complete::Shell;
use emab_server::store::Address;
use emab_server::tokens::Role;
use emab_sim::Shard;
use tracing::Level;

/// Episodic multi-armed bandits: FeedBAL, its benchmark and its rivals, on any problem you can state.
#[derive(Parser)]
#[command(
    name = "emab",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Print exactly one JSON document on standard output.
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Reproduce the paper: its figures, and a verdict on everything it says that can be tested.
    Reproduce(Reproduce),
    /// Run learners on a problem and report their regret.
    Run(Run),
    /// Compare learners on problems: who loses least, who is within noise, at which cost.
    Arena(Arena),
    /// Run a grid of learner and problem parameters that a file states.
    Sweep(Sweep),
    /// Make one result of the shards of a run or a sweep: the very bytes it would have had undivided.
    Merge(Merge),
    /// Solve a problem: benchmark, optimal policy and best fixed sequence.
    Solve(ProblemArg),
    /// Translate a problem into a Markov decision process, solve it in three ways, and write it for other programs.
    Mdp(Mdp),
    /// Evaluate the paper's theorems on a problem: gaps, counts, regret bounds, and where they are vacuous.
    Bounds(Bounds),
    /// Run a learner and count how often each promise of the paper is broken.
    Verify(Verify),
    /// Check a problem file, describe it and count what can be reached.
    Check(ProblemArg),
    /// Draw what a folder of `emab run --out` or `emab sweep --out` holds.
    Plot(Plot),
    /// Show what a learner that was saved in Python would choose, and what it knows.
    Policy(Policy),
    /// Serve recommendations on real cases over HTTP, and keep a log of everything.
    Serve(Serve),
    /// Check a store or an export of the decision service: hashes, chain, every decision and every sum recomputed.
    Audit(Audit),
    /// List the problems that come with the program, or print the file of one.
    Problems {
        /// Print this problem's file.
        name: Option<String>,
    },
    /// List the learners with their parameters, defaults and references.
    Learners {
        /// Those to explain, parameter by parameter; all of them in short when none is named.
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Make, list and revoke the tokens that let people and programs into the decision service.
    Token(Token),
    /// Print the JSON schema of a problem file.
    Schema,
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(clap::Args)]
pub struct Serve {
    /// Where everything is kept: `sqlite:FILE` or `postgres://USER@HOST/DATABASE`; `studies.db` in the user's data folder
    /// when left out.
    #[arg(long, value_name = "STORE")]
    pub store: Option<Address>,
    /// The address to listen on; port 0 takes any that is free.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8420")]
    pub listen: SocketAddr,
    /// The file of tokens that `emab token` keeps; `tokens.json` in the user's data folder when left out.
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// The certificate chain, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A proxy in front of it does the encryption: listen elsewhere than on this machine without TLS.
    #[arg(long)]
    pub behind_proxy: bool,
    /// Calls a second for each token; 0 is no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub rate: u32,
    /// What is logged, as one JSON object a line on standard error: `error`, `warn`, `info` or `debug` (every request).
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: Level,
}

#[derive(clap::Args)]
pub struct Audit {
    /// A store (`sqlite:FILE`, its file, or `postgres://USER@HOST/DATABASE`), or the file of an export; `-` is an export
    /// on standard input. Nothing is changed, and the service may go on meanwhile.
    #[arg(value_name = "FILE|URL")]
    pub place: String,
    /// The study; all that are there when left out.
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// A hash noted earlier: the head hash of an earlier audit, or `previous` of any decision. One of the events must have
    /// it; otherwise the log has been written anew.
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub expect: Option<String>,
}

/// A SHA-256, in small letters.
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
    /// The token file; tokens.json in $EMAB_DATA, $XDG_DATA_HOME/emab or ~/.local/share/emab when left out.
    #[arg(long, value_name = "FILE", global = true)]
    pub tokens: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum TokenAction {
    /// Make a token and print its secret, once.
    New {
        /// Whose it is, in words.
        name: String,
        /// What it may do: everything, act on episodes, read, or act without seeing how actions compare.
        #[arg(long, value_parser = role())]
        role: Role,
        /// A study that it may see; may be repeated. All of them when left out.
        #[arg(long = "study", value_name = "STUDY")]
        studies: Vec<String>,
    },
    /// List the tokens, the revoked ones too.
    List,
    /// Revoke a token; a running service notices within about a second.
    Revoke {
        /// The token.
        #[arg(value_name = "ID|NAME")]
        token: String,
    },
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
    /// A file that `Learner.save` wrote, or `-` for standard input.
    pub file: String,
    /// Show this step alone, in the state of --state, with all actions.
    #[arg(long, value_name = "T", requires = "state", value_parser = count)]
    pub step: Option<u64>,
    /// The state, by its name or its number from 0.
    #[arg(long, value_name = "X", requires = "step")]
    pub state: Option<String>,
}

#[derive(clap::Args)]
pub struct Mdp {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
    /// A .json file for the document that --json prints, or a .npz file for dense NumPy arrays.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Bounds {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
    /// After how many episodes.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = count)]
    pub episodes: u64,
    /// The chance that the confidence bounds may fail with, or `1/n`; the problem file's when left out.
    #[arg(long, value_name = "D")]
    pub delta: Option<String>,
    /// Variance proxy of the noise; the problem file's when left out.
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub sigma2: Option<String>,
    /// The confidence width, `paper` or `sound`.
    #[arg(long, value_name = "W", default_value = "paper")]
    pub width: Option<String>,
    /// For the sound width, how far one feedback can move the next expected reward; the problem file's when left out.
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub feedback_spread: Option<String>,
    /// What the learner adds to the gain of `stop`.
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    pub stop_bias: Option<String>,
}

#[derive(clap::Args)]
pub struct Verify {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    pub problem: String,
    /// The learner, with parameters if need be: one that promises something.
    #[arg(
        long,
        value_name = "NAME[:key=value,...]",
        default_value = "feedbal",
        hide_default_value = true
    )]
    pub learner: String,
    /// Episodes in each run.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = count)]
    pub episodes: u64,
    /// Independent runs: it takes 368 to show that a chance of 0.01 is kept.
    #[arg(long, value_name = "R", default_value = "1000", value_parser = count)]
    pub runs: u64,
    /// The seed.
    #[arg(long, value_name = "S", default_value = "1")]
    pub seed: u64,
    /// Threads; one a processor when left out.
    #[arg(long, value_name = "T", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

#[derive(clap::Args)]
pub struct Run {
    /// A built-in problem's name, a .toml or .json file, or `-` for JSON on standard input.
    #[arg(required_unless_present = "resume")]
    pub problem: Option<String>,
    /// A learner, with parameters if need be; may be repeated. `feedbal` when left out.
    #[arg(long, value_name = "NAME[:key=value,...]")]
    pub learner: Vec<String>,
    /// Episodes in each run [default: 10000].
    #[arg(long, value_name = "N", value_parser = count)]
    pub episodes: Option<u64>,
    /// Independent runs to average over [default: 100].
    #[arg(long, value_name = "R", value_parser = count)]
    pub runs: Option<u64>,
    /// The seed; the same seed gives the same bytes [default: 1].
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Threads; one a processor when left out.
    #[arg(long, value_name = "T", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Episodes at which to record regret; evenly spaced on a log axis when left out.
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = count)]
    pub checkpoints: Vec<u64>,
    /// What the problem is played under, in place of what its file states; may be repeated: delay=20,
    /// delay=geometric:20, delay=batches:50, dropout=0.05, lost=0.1, override=0.2, drift=p:0.4@5000.
    #[arg(long, value_name = "KEY=VALUE")]
    pub condition: Vec<String>,
    /// Write curve.csv, run.json, problem.json, regret.svg and regret.png into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Do a part of the runs alone, the K-th of N; `emab merge` makes one result of all parts.
    #[arg(long, value_name = "K/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Go on with a run that was interrupted, from the folder given to --out.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["problem", "learner", "episodes", "runs", "seed", "checkpoints", "condition", "out", "shard"])]
    pub resume: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Arena {
    /// Built-in problems' names, .toml or .json files; all built-in problems when left out.
    pub problem: Vec<String>,
    /// A learner, with parameters if need be; may be repeated. All learners when left out; `feedbal` is always there.
    #[arg(long, value_name = "NAME[:key=value,...]")]
    pub learner: Vec<String>,
    /// Episodes in each run [default: 5000].
    #[arg(long, value_name = "N", value_parser = count)]
    pub episodes: Option<u64>,
    /// Runs, the same for all learners: at least 2 [default: 40].
    #[arg(long, value_name = "R", value_parser = count)]
    pub runs: Option<u64>,
    /// The seed.
    #[arg(long, value_name = "S", default_value = "1")]
    pub seed: u64,
    /// Threads; one a processor when left out.
    #[arg(long, value_name = "T", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Few and short runs: half a minute for everything, and wider intervals.
    #[arg(long)]
    pub quick: bool,
    /// What the problems are played under, in place of what their files state; may be repeated, as in `emab run`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub condition: Vec<String>,
    /// Keep what is finished here, and write arena.csv, arena.json, arena.svg and arena.png; the same call goes on
    /// where it was stopped.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Sweep {
    /// A .toml file that states the sweep.
    pub file: PathBuf,
    /// Keep finished cells here, and write sweep.csv and sweep.parquet; the same call goes on where it was stopped.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Do a part of the cells alone, the K-th of N; `emab merge` makes one result of all parts.
    #[arg(long, value_name = "K/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Threads; one a processor when left out.
    #[arg(long, value_name = "T", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

#[derive(clap::Args)]
pub struct Merge {
    /// The folders of all shards.
    #[arg(required = true)]
    pub folders: Vec<PathBuf>,
    /// The folder for the result.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(clap::Args)]
pub struct Reproduce {
    /// Few runs: seconds, and wider intervals.
    #[arg(long)]
    pub quick: bool,
    /// Runs behind each curve of the figures; the other experiments go with it [default: 1000].
    #[arg(long, value_name = "R", value_parser = count)]
    pub runs: Option<u64>,
    /// Episodes in each run of the figures [default: 20000].
    #[arg(long, value_name = "N", value_parser = count)]
    pub episodes: Option<u64>,
    /// The seed.
    #[arg(long, value_name = "S", default_value = "1")]
    pub seed: u64,
    /// Threads; one a processor when left out.
    #[arg(long, value_name = "T", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The folder for figures and report.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub out: PathBuf,
}

#[derive(clap::Args)]
pub struct Plot {
    /// A folder that `emab run --out` or `emab sweep --out` wrote.
    pub folder: PathBuf,
    /// Of a sweep: what goes on the horizontal axis; the first that varies when left out.
    #[arg(long, value_name = "NAME")]
    pub x: Option<String>,
    /// Of a sweep: what goes on the vertical axis of a heat map; the second that varies when left out.
    #[arg(long, value_name = "NAME")]
    pub y: Option<String>,
    /// Of a sweep: only cells with this value; may be repeated.
    #[arg(long = "where", value_name = "NAME=VALUE")]
    pub only: Vec<String>,
    /// Of a sweep: final regret over --x, one line for each combination of the rest, instead of a heat map.
    #[arg(long, conflicts_with_all = ["curves", "y"])]
    pub lines: bool,
    /// Of a sweep: regret over episodes, one curve a cell.
    #[arg(long)]
    pub curves: bool,
    /// Episodes on a log axis.
    #[arg(long)]
    pub log_x: bool,
    /// Regret on a log axis.
    #[arg(long)]
    pub log_y: bool,
    /// Draw Theorem 1 beside the curves of `feedbal`, on a log axis, in bound.svg and bound.png.
    #[arg(long)]
    pub bound: bool,
    /// The title; the problem's name when left out.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// A .svg or .png file to write; regret.*, bound.* or sweep.* in the folder when left out.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A count of at least 1, in which `_` may part the digits.
fn count(text: &str) -> Result<u64, String> {
    match text.replace('_', "").parse::<u64>() {
        Ok(0) => Err("must be at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) => Err("must be a whole number of at least 1".into()),
    }
}
