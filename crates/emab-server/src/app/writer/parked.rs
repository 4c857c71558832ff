//! Jobs that wait for the loader.

use super::Job;

/// The largest number of corrections of a study that are prepared, and so recorded, together while other studies are in use: the
/// others wait for that batch.
const MAX_CORRECTIONS: usize = 4;

/// The jobs of a study that wait for the loader.
#[derive(Default)]
pub(super) struct Parked {
    /// Whether the loader has a task for this study.
    pub(super) busy: bool,
    /// They wait for the state of the study.
    pub(super) loading: Vec<Job>,
    /// Learners are prepared for these corrections.
    pub(super) preparing: Vec<Job>,
    /// These corrections came later.
    pub(super) corrections: Vec<Job>,
}

impl Parked {
    pub(super) fn len(&self) -> usize {
        self.loading.len() + self.preparing.len() + self.corrections.len()
    }

    /// The corrections to prepare next, the oldest ones: a few while other studies are in use, otherwise all.
    pub(super) fn prepare(&mut self, others_in_use: bool) -> &[Job] {
        let mut most = self.corrections.len();
        if others_in_use {
            most = most.min(MAX_CORRECTIONS);
        }
        self.preparing = self.corrections.drain(..most).collect();
        &self.preparing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Author, Command};

    #[test]
    fn a_few_corrections_are_prepared_together_while_other_studies_are_in_use() {
        for (others_in_use, parts) in [
            (true, vec!["0123", "4567", "8"]),
            (false, vec!["012345678"]),
        ] {
            let job = |number: usize| Job {
                study: "clinic".into(),
                command: Command::Close(Default::default()),
                by: Author {
                    token: number.to_string(),
                    person: String::new(),
                },
                reply: tokio::sync::oneshot::channel().0,
            };
            let mut parked = Parked {
                corrections: (0..9).map(job).collect(),
                ..Parked::default()
            };
            for part in parts {
                let jobs = parked.prepare(others_in_use);
                assert_eq!(
                    jobs.iter().map(|job| &*job.by.token).collect::<String>(),
                    part
                );
            }
            assert!(parked.corrections.is_empty());
        }
    }
}
