//! `emab-harness`: the decision service under kills, outages, full disks, moved clocks and load.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use emab_harness::scenarios::{Bench, Clock, Crash, DiskFull, Large, Outage, Soak};
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
    Clock(Clock),
    Bench(Bench),
    Large(Large),
    Soak(Soak),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
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
        Command::Clock(clock) => ("clock", clock.run()?),
        Command::Bench(bench) if bench.json => {
            let report = bench.run()?;
            println!("{}", report.summary);
            return Ok(report.findings.total());
        }
        Command::Bench(bench) => ("bench", bench.run()?),
        Command::Large(large) => ("large", large.run()?),
        Command::Soak(soak) => ("soak", soak.run()?),
    };
    print!("{report}");
    let violations = report.findings.total();
    match violations {
        0 => println!("{name}: ok"),
        _ => println!("{name}: FAILED, guarantees were violated {violations} times"),
    }
    Ok(violations)
}
