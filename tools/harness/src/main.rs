//! `emab-harness`: the service under kills, outages, full disks, moved clocks and load. Not part of the product.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use emab_harness::bench::{Bench, bench};
use emab_harness::clock::{Clock, clock};
use emab_harness::crash::{Crash, crash};
use emab_harness::fault::Fault;
use emab_harness::full::{Full, full};
use emab_harness::large::{Large, large};
use emab_harness::outage::{Outage, outage};
use emab_harness::scene::Kind;
use emab_harness::serve::{Serve, serve};
use emab_harness::soak::{Soak, soak};
use emab_server::store::Address;

/// The decision service under kills, outages, full disks, moved clocks and load.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    what: EventKind,
}

#[derive(Subcommand)]
enum EventKind {
    /// The service itself, as the others start it: it ends when its input does.
    Serve(ServeArgs),
    /// Kill it under load, and check that nothing acknowledged is lost.
    Crash(CrashArgs),
    /// Stop PostgreSQL as a crash would, under two copies of the service.
    Outage(OutageArgs),
    /// Fill its disk.
    DiskFull(FullArgs),
    /// Move its clock.
    Clock(TrialArgs),
    /// Measure writes and reads a second, beside the disk's rate and beside Optuna.
    Bench(BenchArgs),
    /// Measure a start on a large store.
    Large(LargeArgs),
    /// Watch its memory under a steady load for an hour.
    Soak(SoakArgs),
}

#[derive(Args)]
struct ServeArgs {
    /// `sqlite:FILE` or `postgres://…`.
    #[arg(long)]
    store: Address,
    /// The token file.
    #[arg(long)]
    tokens: PathBuf,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Calls a second for each token; 0 is no limit.
    #[arg(long, default_value_t = 0)]
    rate: u32,
    /// A fault to plant: ack-early, forget-projection or tell-twice.
    #[arg(long = "plant", value_name = "FAULT")]
    fault: Option<Fault>,
}

#[derive(Args)]
struct CrashArgs {
    /// How often it is killed.
    #[arg(long, default_value_t = 1000)]
    kills: u32,
    /// `sqlite` or `postgres`.
    #[arg(long, default_value = "sqlite")]
    store: Kind,
    /// How many clients there are.
    #[arg(long, default_value_t = 24)]
    clients: u16,
    /// The longest time from a start to a kill, in milliseconds.
    #[arg(long, default_value_t = 400)]
    life: u64,
    /// Recompute everything from the log after so many kills.
    #[arg(long, default_value_t = 50)]
    audit: u32,
    /// A fault to plant: ack-early, forget-projection or tell-twice.
    #[arg(long = "plant", value_name = "FAULT")]
    fault: Option<Fault>,
    /// What chance is made of.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Another program that serves, such as `emab`.
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Args)]
struct OutageArgs {
    /// How often it is stopped.
    #[arg(long, default_value_t = 50)]
    rounds: u32,
    /// Recompute everything from the log after so many rounds.
    #[arg(long, default_value_t = 10)]
    audit: u32,
    #[command(flatten)]
    trial: TrialArgs,
}

#[derive(Args)]
struct TrialArgs {
    /// How many clients there are.
    #[arg(long, default_value_t = 24)]
    clients: u16,
    /// What chance is made of.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Another program that serves, such as `emab`.
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Args)]
struct FullArgs {
    /// Limit the length of files, though a small file system could be mounted.
    #[arg(long)]
    no_mount: bool,
    #[command(flatten)]
    trial: TrialArgs,
}

#[derive(Args)]
struct LargeArgs {
    /// How many events.
    #[arg(long, default_value_t = 1_000_000)]
    events: u64,
    /// `sqlite` or `postgres`.
    #[arg(long, default_value = "sqlite")]
    store: Kind,
    /// Another program that serves, such as `emab`.
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Args)]
struct SoakArgs {
    /// `sqlite` or `postgres`.
    #[arg(long, default_value = "sqlite")]
    store: Kind,
    /// How many clients there are.
    #[arg(long, default_value_t = 64)]
    clients: u16,
    /// How long.
    #[arg(long, default_value_t = 3600)]
    seconds: u32,
    /// Writes a second, of all clients together: a million of them take 1.5 GB of disk.
    #[arg(long, default_value_t = 2000)]
    rate: u32,
    /// Another program that serves, such as `emab`.
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Args)]
struct BenchArgs {
    /// Which stores.
    #[arg(long, value_delimiter = ',', default_value = "sqlite,postgres")]
    stores: Vec<Kind>,
    /// How many clients there are.
    #[arg(long, default_value_t = 64)]
    clients: u16,
    /// How long each measurement takes.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Leave Optuna out.
    #[arg(long)]
    no_optuna: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
    /// Another program that serves, such as `emab`.
    #[arg(long)]
    program: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Command::parse().what) {
        Ok(code) => code,
        Err(what) => {
            eprintln!("emab-harness: {what}");
            ExitCode::from(2)
        }
    }
}

fn run(what: EventKind) -> Result<ExitCode, String> {
    match what {
        EventKind::Serve(args) => {
            tracing_subscriber::fmt()
                .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
                .with_writer(std::io::stderr)
                .init();
            serve(&Serve {
                store: args.store,
                tokens: args.tokens,
                listen: args.listen,
                rate: args.rate,
                fault: args.fault,
            })?;
            Ok(ExitCode::SUCCESS)
        }
        EventKind::Crash(args) => {
            let report = crash(&Crash {
                program: program(args.program)?,
                store: args.store,
                kills: args.kills,
                clients: args.clients,
                life: args.life,
                audit: args.audit,
                fault: args.fault,
                seed: args.seed,
            })?;
            print!("{report}");
            Ok(close("crash", report.outcome.findings.total()))
        }
        EventKind::Outage(args) => {
            let report = outage(&Outage {
                program: program(args.trial.program)?,
                rounds: args.rounds,
                clients: args.trial.clients,
                audit: args.audit,
                seed: args.trial.seed,
            })?;
            print!("{report}");
            Ok(close("outage", report.outcome.findings.total()))
        }
        EventKind::DiskFull(args) => {
            let report = full(&Full {
                program: program(args.trial.program)?,
                mount: !args.no_mount,
                clients: args.trial.clients,
                seed: args.trial.seed,
            })?;
            print!("{report}");
            Ok(close("disk-full", report.outcome.findings.total()))
        }
        EventKind::Clock(args) => {
            let report = clock(&Clock {
                program: program(args.program)?,
                clients: args.clients,
                seed: args.seed,
            })?;
            print!("{report}");
            Ok(close("clock", report.outcome.findings.total()))
        }
        EventKind::Bench(args) => {
            let report = bench(&Bench {
                program: program(args.program)?,
                stores: args.stores,
                clients: args.clients,
                time: Duration::try_from_secs_f64(args.seconds)
                    .map_err(|error| format!("--seconds: {error}"))?,
                optuna: !args.no_optuna,
            })?;
            if args.json {
                println!("{:#}", report.json());
                return Ok(code(report.findings.total()));
            }
            print!("{report}");
            Ok(close("bench", report.findings.total()))
        }
        EventKind::Soak(args) => {
            let report = soak(&Soak {
                program: program(args.program)?,
                store: args.store,
                clients: args.clients,
                time: Duration::from_secs(args.seconds.into()),
                rate: args.rate,
            })?;
            print!("{report}");
            Ok(close("soak", report.findings.total()))
        }
        EventKind::Large(args) => {
            let report = large(&Large {
                program: program(args.program)?,
                store: args.store,
                events: args.events,
            })?;
            print!("{report}");
            Ok(close("large", 0))
        }
    }
}

/// This program serves, unless another is named.
fn program(named: Option<PathBuf>) -> Result<PathBuf, String> {
    match named {
        Some(program) => Ok(program),
        None => std::env::current_exe().map_err(|error| format!("which program this is: {error}")),
    }
}

/// The closing line.
fn close(what: &str, broken: u64) -> ExitCode {
    match broken {
        0 => println!("{what}: ok"),
        _ => println!("{what}: FAILED, promises were broken {broken} times"),
    }
    code(broken)
}

fn code(broken: u64) -> ExitCode {
    ExitCode::from(u8::from(broken > 0))
}
