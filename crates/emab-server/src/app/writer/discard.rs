//! Removes studies that are being restored.

use super::{GroupCommitWriter, Outcome, Queued};
use crate::app::no_study;
use crate::domain::{Command, Head, Rejection, Reply, ReplyBody};
use crate::store::StoreError;

impl GroupCommitWriter {
    /// Executes the [discards](Command::DiscardRestore) among the jobs of a locked study, before its other jobs: none of them is
    /// answered yet. Returns the head if the study still exists, and the other jobs. No state is needed: a study that cannot be
    /// loaded can be discarded.
    pub(super) fn discard(
        &mut self,
        name: &str,
        mut head: Option<Head>,
        jobs: Vec<usize>,
        batch: &[Queued],
        outcomes: &mut [Outcome],
    ) -> Result<(Option<Head>, Vec<usize>), StoreError> {
        let is_discard = |&i: &usize| matches!(batch[i].job.command, Command::DiscardRestore);
        let (discards, others) = jobs.into_iter().partition::<Vec<_>, _>(is_discard);
        for i in discards {
            let discarded = match head.take() {
                None => Err(no_study(name)),
                Some(live) if !live.restoring => {
                    head = Some(live);
                    Err(Rejection::conflict(format!(
                        "study `{name}` is not being restored, and only such a study can be discarded: a study is never deleted; \
                         to end it, close it with `POST /v1/studies/{name}:close`"
                    )))
                }
                Some(restoring) => {
                    self.store.discard(restoring.key)?;
                    self.states.remove(name);
                    let body = ReplyBody::Study(Box::new(restoring));
                    Ok(Reply { new: true, body })
                }
            };
            outcomes[i] = Outcome::Done(discarded);
        }
        Ok((head, others))
    }
}

/// Logs a committed discard: nothing in the store records it.
pub(super) fn log(queued: &Queued, outcome: &Outcome) {
    if let Command::DiscardRestore = &queued.job.command
        && let Outcome::Done(Ok(reply)) = outcome
        && let ReplyBody::Study(head) = &reply.body
    {
        let (study, by) = (&head.name, &queued.job.by.token);
        let (seq, hash) = (head.seq, &head.hash);
        tracing::warn!(
            study,
            by,
            seq,
            hash,
            "discarded a study that was being restored"
        );
    }
}
