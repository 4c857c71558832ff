//! Fills the disk: writes are deferred, reads succeed, and no acknowledged write is lost.

use std::time::{Duration, Instant};

use super::{Common, Report, Scenario};
use crate::Result;
use crate::checks::Check;
use crate::environment::StoreKind;
use crate::environment::limited_disk::LimitedDisk;
use crate::environment::service_process::ServiceProcess;
use crate::http::Request;
use crate::load::studies::STUDIES;

/// The longest time until the disk is full, and from free space to new writes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Fill the disk of the service.
#[derive(Clone, Debug, clap::Args)]
pub struct DiskFull {
    /// Limit the size of files, even where a small file system can be mounted.
    #[arg(long)]
    pub no_mount: bool,
    /// Clients, seed and program.
    #[command(flatten)]
    pub common: Common,
}

impl DiskFull {
    /// Runs the scenario.
    pub fn run(&self) -> Result<Report> {
        let disk = LimitedDisk::new(!self.no_mount)?;
        let mut scenario = self.common.scenario(StoreKind::Sqlite, None)?;
        disk.apply(&mut scenario.environment)?;
        let mut service = scenario.environment.start_with_studies()?;
        fill(&mut scenario, &service)?;
        let writes = scenario.counts().writes;
        scenario.drain();
        scenario.check(true)?;
        check_reads(&mut scenario, &service)?;

        // A crash while the disk is full.
        scenario.run_load(&[service.address], Duration::from_millis(100));
        service.kill()?;
        scenario.drain_and_disconnect();
        drop(service);
        let restart = match scenario.start_service() {
            Ok(started) => {
                service = started;
                check_reads(&mut scenario, &service)?;
                disk.free_space(service.id())?;
                format!("it served after {} ms", service.startup.as_millis())
            }
            Err(error) => {
                // Reading needs space, too. The service must start once there is some.
                disk.free_space(0)?;
                service = scenario.start_service()?;
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                format!("it did not start ({reason}), but did with free space")
            }
        };
        let recovery = scenario.run_until_written(&[service.address], 200, TIMEOUT);
        scenario
            .findings
            .check(Check::Service, recovery.is_some(), || {
                format!("no writes within {TIMEOUT:?} after space was freed")
            });
        scenario.finish([service])?;
        let summary = format!(
            "{} was full after {writes} writes; writes succeeded {} ms after space was freed; killed and started while \
             full: {restart}",
            disk.description(),
            recovery.unwrap_or_default().as_millis()
        );
        Ok(scenario.report(summary, 1))
    }
}

/// Writes until every write is deferred.
fn fill(scenario: &mut Scenario, service: &ServiceProcess) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < TIMEOUT {
        let before = scenario.counts();
        scenario.run_load(&[service.address], Duration::from_millis(400));
        let after = scenario.counts();
        if after.writes == before.writes && after.deferred > before.deferred {
            return Ok(());
        }
    }
    let log = scenario.environment.command.log_tail();
    Err(format!("the disk is not full after {TIMEOUT:?}\n{log}").into())
}

fn check_reads(scenario: &mut Scenario, service: &ServiceProcess) -> Result<()> {
    let mut client = scenario.environment.connect(service)?;
    let study = format!("/v1/studies/{}", STUDIES[0].name);
    for target in [
        "/livez".into(),
        "/readyz".into(),
        study.clone(),
        format!("{study}/episodes?limit=5"),
        format!("{study}/estimates"),
        format!("{study}/events?limit=5"),
    ] {
        let request = Request::json("GET", target, String::new());
        let result = client.send(request).map(|_| ());
        scenario.findings.check_result(Check::Reads, result);
    }
    Ok(())
}
