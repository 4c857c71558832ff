//! The audit of the product, over all studies of the load.

use emab_server::app::audit::audit_study;
use emab_server::store::{Store, StoreError};

use super::{Check, Findings};
use crate::load::studies::STUDIES;

/// Recomputes every log and compares with what is stored beside it.
pub fn audit(store: &mut dyn Store, findings: &mut Findings) -> Result<(), StoreError> {
    for study in &STUDIES {
        let Some(head) = store.head(study.name)? else {
            continue;
        };
        let report = audit_study(store, head)?;
        findings.checked(Check::Replay, report.events);
        for finding in &report.findings {
            let what = format!("study {}, {}: {}", study.name, finding.place, finding.what);
            findings.broken(Check::Replay, what);
        }
    }
    Ok(())
}
