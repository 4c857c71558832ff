//! Changes of the store by a user who can write to it: single bytes of a SQLite file, and SQL in every table and column.
//!
//! A change is effective if any answer of the service differs after it. The audit must report every effective change, and every row
//! and object that the service did not write.

mod edits;

use std::path::Path;

use self::edits::{Database, Edit, edits};
use super::answers::{Answer, read_all};
use super::export::Export;
use super::{Api, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::rng::Rng;
use crate::scenarios::Report;

/// Change bytes of a SQLite file and rows of every table, and count effective changes that the audit does not report.
#[derive(Clone, Debug, clap::Args)]
pub struct Tamper {
    /// Number of changed bytes (SQLite).
    #[arg(long, default_value_t = 5_000)]
    pub flips: u32,
    /// Rows of each table that are changed, column by column.
    #[arg(long, default_value_t = 4)]
    pub rows: usize,
    /// Of the changes by SQL, every one of this many.
    #[arg(long, default_value_t = 1)]
    pub every: usize,
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

/// How many changes had which result.
#[derive(Default)]
struct Counts {
    reported: u32,
    harmless: u32,
    silent: u32,
}

struct Attack {
    installation: Installation,
    token: String,
    /// The answers of the unchanged store.
    answers: Vec<Answer>,
    findings: Findings,
}

impl Tamper {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let installation = Installation::new(&self.target, self.store)?;
        let token = installation.token("anna", "admin")?;
        let service = installation.start()?;
        let mut api = Api::new(service.address, &token);
        fixture::populate(&mut api, "clinic", 14, &fixture::plain_value)?;
        fixture::populate(&mut api, "school", 5, &fixture::plain_value)?;
        let export = api.succeed("GET", "/v1/studies/school:export", "")?;
        let export = Export::read(&export.text())?;
        let restored = api.import("restored", &export.write(&export.texts, "restored"))?;
        if restored.status != 200 {
            Err(format!("restore: {} {}", restored.status, restored.text()))?;
        }
        service.stop()?;
        let audit = installation.audit(&installation.store, &[])?;
        if !audit.is_clean {
            Err(format!("the audit of the unchanged store: {}", audit.text))?;
        }
        let base = Database::of(&installation, &installation.store)?;
        let copy = base.copy(&installation)?;
        let answers = read_all(&installation, &copy.address, &token)?;
        copy.remove(&installation)?;
        let mut attack = Attack {
            installation,
            token,
            answers,
            findings: Findings::default(),
        };
        let mut rng = Rng::new(self.target.seed);
        let mut lines = Vec::new();
        if self.store == StoreKind::Sqlite {
            let counts = attack.flip_bytes(&base, self.flips, &mut rng)?;
            lines.push(counts.line("single bytes changed"));
        }
        let edits = edits(&base, self.rows, &mut rng)?;
        let counts = attack.edit_rows(&base, edits.iter().step_by(self.every.max(1)))?;
        lines.push(counts.line("changes by SQL"));
        let all = counts.reported + counts.harmless + counts.silent;
        Ok(Report {
            summary: format!("{:?}: {}", self.store, lines.join("; ")),
            disruptions: all,
            findings: attack.findings,
            ..Report::default()
        })
    }
}

impl Counts {
    fn line(&self, what: &str) -> String {
        let Counts {
            reported,
            harmless,
            silent,
        } = self;
        let all = reported + harmless + silent;
        format!(
            "{all} {what}, {reported} reported by the audit, {harmless} without effect, {silent} effective and not reported"
        )
    }
}

impl Attack {
    fn flip_bytes(&mut self, base: &Database, flips: u32, rng: &mut Rng) -> Result<Counts> {
        let mut counts = Counts::default();
        let original = std::fs::read(base.file()?)?;
        for _ in 0..flips {
            let copy = base.copy(&self.installation)?;
            let at = match rng.percent(70) {
                true => rng.below(original.len() as u64) as usize,
                // The head of a page: its kind, and the positions of its rows.
                false => {
                    let page = rng.below(original.len() as u64) as usize / 4096 * 4096;
                    page + rng.below(120) as usize
                }
            };
            let by = 1 + rng.below(255) as u8;
            let mut bytes = original.clone();
            bytes[at] ^= by;
            std::fs::write(copy.file()?, bytes)?;
            let what = format!("byte {at} ^ {by}");
            self.judge(&copy, &what, false, &mut counts)?;
        }
        Ok(counts)
    }

    fn edit_rows<'a>(
        &mut self,
        base: &Database,
        edits: impl Iterator<Item = &'a Edit>,
    ) -> Result<Counts> {
        let mut counts = Counts::default();
        for edit in edits {
            let copy = base.copy(&self.installation)?;
            // What the database itself rejects is no change.
            match copy.execute(&edit.sql) {
                Ok(()) => self.judge(&copy, &edit.sql, edit.foreign, &mut counts)?,
                Err(_) => copy.remove(&self.installation)?,
            }
        }
        Ok(counts)
    }

    /// Audits a changed copy. A change that is not reported must have no effect; a `foreign` one must be reported.
    fn judge(
        &mut self,
        copy: &Database,
        what: &str,
        foreign: bool,
        counts: &mut Counts,
    ) -> Result<()> {
        let clean = self.installation.audit(&copy.address, &[])?.is_clean;
        let effect = match clean {
            false => None,
            true => self
                .effect(&copy.address)
                .or(foreign.then(|| "the service did not write it".to_owned())),
        };
        match (clean, &effect) {
            (false, _) => counts.reported += 1,
            (true, None) => counts.harmless += 1,
            (true, Some(_)) => counts.silent += 1,
        }
        self.findings.check(Check::Audit, effect.is_none(), || {
            let what: String = what.chars().take(300).collect();
            format!("{what}: {}", effect.unwrap_or_default())
        });
        copy.remove(&self.installation)
    }

    /// The first answer that differs.
    fn effect(&self, store: &str) -> Option<String> {
        match read_all(&self.installation, store, &self.token) {
            Err(error) => Some(format!("the service fails: {error}")),
            Ok(after) => {
                let both = self.answers.iter().zip(&after);
                let differs = both.into_iter().find(|(before, after)| before != after);
                match differs {
                    Some(((path, ..), _)) => Some(format!("GET {path} is answered differently")),
                    None if after.len() != self.answers.len() => Some("fewer answers".into()),
                    None => None,
                }
            }
        }
    }
}

/// Copies the file of a store.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to)?;
    Ok(())
}
