//! Files under the service that are linked, removed or damaged: the service ends access instead of guessing.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::{Api, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::environment::service_process::ServiceProcess;
use crate::scenarios::Report;

/// The service reads its tokens again once a second; a loaded machine takes longer.
const NOTICE: Duration = Duration::from_secs(10);

/// Damages the token file.
type Damage = fn(&Installation) -> Result<()>;

/// Link the store file; remove, damage and open the token file to others; revoke a token under two instances.
#[derive(Clone, Debug, clap::Args)]
pub struct FailClosed {
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

impl FailClosed {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let mut findings = Findings::default();
        self.hard_links(&mut findings)?;
        let damages: [(&str, Damage); 4] = [
            ("deleted", |it| Ok(std::fs::remove_file(it.tokens())?)),
            ("malformed", |it| Ok(std::fs::write(it.tokens(), "[{")?)),
            ("empty", |it| Ok(std::fs::write(it.tokens(), "")?)),
            ("writable by others", |it| {
                let permissions = std::fs::Permissions::from_mode(0o666);
                Ok(std::fs::set_permissions(it.tokens(), permissions)?)
            }),
        ];
        for (what, damage) in damages {
            self.tokens(what, damage, &mut findings)?;
        }
        self.revocation(&mut findings)?;
        let summary = format!(
            "hard links of a store, {} damaged token files, a token revoked under two instances",
            damages.len()
        );
        Ok(Report {
            summary,
            disruptions: 2 + damages.len() as u32,
            findings,
            ..Report::default()
        })
    }

    /// Two services on two names of one file, and one service on a file that gets a second name.
    fn hard_links(&self, findings: &mut Findings) -> Result<()> {
        let installation = Installation::new(&self.target, StoreKind::Sqlite)?;
        let admin = installation.token("anna", "admin")?;
        let service = installation.start()?;
        let mut api = Api::new(service.address, &admin);
        api.succeed("PUT", "/v1/studies/clinic", fixture::study(&[]))?;
        let (first, second) = (
            installation.path("studies.db"),
            installation.path("other.db"),
        );
        std::fs::hard_link(&first, &second)?;
        let store = format!("sqlite:{}", second.display());
        let other = installation.command(&store).start();
        let mut acknowledged = 0;
        if let Ok(other) = &other {
            let mut apis = [api, Api::new(other.address, &admin)];
            for number in 0..20 {
                let body = serde_json::json!({"id": format!("e{number}")});
                let api = &mut apis[number % 2];
                let sent = api.call("POST", "/v1/studies/clinic/episodes", body)?;
                acknowledged += usize::from(sent.status == 201);
            }
        }
        findings.check(Check::Closed, other.is_err(), || {
            format!("a second service on another name of the store acknowledged writes: {acknowledged} of 20 in all")
        });
        stop([Some(service), other.ok()]);
        let again = installation.start();
        findings.check(Check::Closed, again.is_err(), || {
            "the service starts on a file with two names".into()
        });
        stop([again.ok()]);
        let audit = installation.audit(&installation.store, &[])?;
        findings.check(Check::Closed, !audit.is_clean, || {
            "the audit accepts a file with two names".into()
        });
        std::fs::remove_file(second)?;
        let again = installation.start();
        findings.check_result(Check::Service, again.map(|_| ()));
        Ok(())
    }

    /// A damaged token file: no token is accepted any more, and the service does not start with it.
    fn tokens(&self, what: &str, damage: Damage, findings: &mut Findings) -> Result<()> {
        let installation = Installation::new(&self.target, StoreKind::Sqlite)?;
        let admin = installation.token("anna", "admin")?;
        let original = std::fs::read(installation.tokens())?;
        let service = installation.start()?;
        let mut api = Api::new(service.address, &admin);
        api.succeed("GET", "/v1/studies", "")?;
        damage(&installation)?;
        let closed = wait(|| Ok(matches!(api.get("/v1/studies")?.status, 401 | 503)))?;
        findings.check(Check::Closed, closed, || {
            format!("token file {what}: an old token is accepted {NOTICE:?} later")
        });
        if what == "malformed" || what == "writable by others" {
            let second = installation.start();
            findings.check(Check::Closed, second.is_err(), || {
                format!("token file {what}: the service starts with it")
            });
        }
        // A repaired file gives access again.
        std::fs::write(installation.tokens(), original)?;
        let permissions = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(installation.tokens(), permissions)?;
        let open = wait(|| Ok(api.get("/v1/studies")?.status == 200))?;
        findings.check(Check::Closed, open, || {
            format!("token file {what}, then repaired: the token is not accepted")
        });
        findings.check_result(Check::Service, service.stop());
        Ok(())
    }

    /// A revocation in PostgreSQL reaches every instance at once.
    fn revocation(&self, findings: &mut Findings) -> Result<()> {
        let installation = Installation::new(&self.target, StoreKind::Postgres)?;
        let tokens = [
            installation.token("anna", "admin")?,
            installation.token("otto", "operator")?,
        ];
        let services = [installation.start()?, installation.start()?];
        let mut apis = services
            .each_ref()
            .map(|it| Api::new(it.address, &tokens[1]));
        for api in &mut apis {
            api.succeed("GET", "/v1/studies", "")?;
        }
        let arguments = ["token", "revoke", "otto", "--store", &installation.store];
        let revoked = installation.program.run(arguments)?.status.success();
        findings.check(Check::Closed, revoked, || {
            "a token of the database is not revoked".into()
        });
        for api in &mut apis {
            let status = api.get("/v1/studies")?.status;
            findings.check(Check::Closed, status == 401, || {
                format!("a revoked token gets {status} from an instance")
            });
        }
        stop(services.map(Some));
        Ok(())
    }
}

fn stop(services: impl IntoIterator<Item = Option<ServiceProcess>>) {
    drop(services.into_iter().collect::<Vec<_>>());
}

/// Waits until a condition holds; false if it does not within [`NOTICE`].
fn wait(mut holds: impl FnMut() -> Result<bool>) -> Result<bool> {
    let end = Instant::now() + NOTICE;
    while Instant::now() < end {
        if holds()? {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(false)
}
