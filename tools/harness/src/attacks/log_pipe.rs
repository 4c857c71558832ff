//! A log that is not read.

use std::process::Stdio;

use super::{Api, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::scenarios::Report;

/// Leave the service's log unread, fill its pipe by rejected requests, and check that the service writes and stops.
#[derive(Clone, Debug, clap::Args)]
pub struct LogPipe {
    /// Number of rejected requests. A pipe holds 64 KiB.
    #[arg(long, default_value_t = 5_000)]
    pub requests: u32,
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

impl LogPipe {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let installation = Installation::new(&self.target, StoreKind::Sqlite)?;
        let admin = installation.token("anna", "admin")?;
        let viewer = installation.token("vera", "viewer")?;
        let mut command = installation.command(&installation.store);
        command.after.extend(["--log".into(), "debug".into()]);
        let service = command.start_with_log(Stdio::piped())?;
        let mut findings = Findings::default();
        let mut api = Api::new(service.address, &admin);
        api.succeed("PUT", "/v1/studies/clinic", fixture::study(&[]))?;
        let mut rejected = Api::new(service.address, &viewer);
        let mut answered = 0;
        for _ in 0..self.requests {
            let sent = rejected.call("POST", "/v1/studies/clinic/episodes", "{}");
            if !sent.is_ok_and(|response| response.status == 403) {
                break;
            }
            answered += 1;
        }
        findings.check(Check::Isolation, answered == self.requests, || {
            format!("rejected request {} has no answer", answered + 1)
        });
        for number in 0..20 {
            let body = serde_json::json!({"id": format!("e{number}")});
            let opened = api.succeed("POST", "/v1/studies/clinic/episodes", body);
            let failed = opened.is_err();
            findings.check_result(Check::Isolation, opened.map(|_| ()));
            if failed {
                break;
            }
        }
        findings.check_result(Check::Service, service.stop());
        let summary =
            format!("an unread log, {answered} rejected requests, then writes and SIGTERM");
        Ok(Report {
            summary,
            disruptions: answered,
            findings,
            ..Report::default()
        })
    }
}
