//! `emab-harness`: the decision service under kills, outages, full disks, moved clocks and load.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use emab_harness::attacks::{
    Disturb, FailClosed, Forge, LogPipe, Noisy, Protocol, Tamper, WalTail, Worlds,
};
use emab_harness::scenarios::{
    Bench, Clock, Crash, DiskFull, Drift, Large, Logs, Outage, Pages, Soak, Story,
};
use emab_harness::serve::Serve;

/// The decision service under kills, outages, full disks, moved clocks and load.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Serve),
    Crash(Crash),
    Outage(Outage),
    DiskFull(DiskFull),
    Drift(Drift),
    Clock(Clock),
    Bench(Bench),
    Large(Large),
    Logs(Logs),
    Pages(Pages),
    Soak(Soak),
    Story(Story),
    Protocol(Protocol),
    Tamper(Tamper),
    Worlds(Worlds),
    Forge(Forge),
    WalTail(WalTail),
    Disturb(Disturb),
    Noisy(Noisy),
    LogPipe(LogPipe),
    FailClosed(FailClosed),
    /// The command `emab` of this build; the attacks run it.
    #[command(disable_help_flag = true)]
    Emab {
        /// Its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let command = match Arguments::parse().command {
        Command::Emab { arguments } => return ExitCode::from(emab_harness::serve::emab(arguments)),
        command => command,
    };
    match run(command) {
        Ok(violations) => ExitCode::from(u8::from(violations > 0)),
        Err(error) => {
            eprintln!("emab-harness: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs a command and prints its report; returns how often guarantees were violated.
fn run(command: Command) -> Result<u64, emab_harness::Error> {
    let (name, report) = match command {
        Command::Serve(serve) => {
            tracing_subscriber::fmt()
                .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
                .with_writer(std::io::stderr)
                .init();
            return serve.run().map(|()| 0);
        }
        Command::Crash(crash) => ("crash", crash.run()?),
        Command::Outage(outage) => ("outage", outage.run()?),
        Command::DiskFull(disk_full) => ("disk-full", disk_full.run()?),
        Command::Drift(drift) => ("drift", drift.run()?),
        Command::Clock(clock) => ("clock", clock.run()?),
        Command::Bench(bench) if bench.json => {
            let report = bench.run()?;
            println!("{}", report.summary);
            return Ok(report.findings.total());
        }
        Command::Bench(bench) => ("bench", bench.run()?),
        Command::Large(large) => ("large", large.run()?),
        Command::Logs(logs) => ("logs", logs.run()?),
        Command::Pages(pages) => ("pages", pages.run()?),
        Command::Story(story) => ("story", story.run()?),
        Command::Soak(soak) => ("soak", soak.run()?),
        Command::Protocol(protocol) => ("protocol", protocol.run()?),
        Command::Tamper(tamper) => ("tamper", tamper.run()?),
        Command::Worlds(worlds) => ("worlds", worlds.run()?),
        Command::Disturb(disturb) => ("disturb", disturb.run()?),
        Command::Noisy(noisy) => ("noisy", noisy.run()?),
        Command::WalTail(wal_tail) => ("wal-tail", wal_tail.run()?),
        Command::Forge(forge) => ("forge", forge.run()?),
        Command::LogPipe(log_pipe) => ("log-pipe", log_pipe.run()?),
        Command::FailClosed(fail_closed) => ("fail-closed", fail_closed.run()?),
        Command::Emab { .. } => return Ok(0),
    };
    print!("{report}");
    let violations = report.findings.total();
    match violations {
        0 => println!("{name}: ok"),
        _ => println!("{name}: FAILED, guarantees were violated {violations} times"),
    }
    Ok(violations)
}
