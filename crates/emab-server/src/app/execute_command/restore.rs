//! Restores a study from an export.

use super::{CommandExecutor, imported_reply};
use crate::app::{CHANGED, CommandError};
use crate::domain::{Rejection, Reply, RestoreEvents};
use crate::store::{Restore, StoreError};

impl CommandExecutor<'_> {
    /// Appends events of an exported study unchanged: same numbers, same hashes. A study that is not being restored accepts only
    /// events that it has.
    ///
    /// The import has recomputed the decisions beside the writer. Nothing is learned before the end of the restoration, and there are no
    /// gain sums until then.
    pub(super) fn restore(
        &mut self,
        events: &RestoreEvents,
        by: &str,
    ) -> Result<Reply, CommandError> {
        if self.state.head.restoring {
            self.same_export(events.end.as_ref())?;
            self.state.stale = true;
        }
        let (mut new, mut repeated) = (0, 0);
        for record in &events.records {
            let wrong = |what: &str| Rejection::conflict(format!("event {}: {what}", record.seq));
            if !record.is_intact() {
                return Err(wrong(CHANGED).into());
            }
            if record.seq <= self.state.head.seq {
                let key = self.state.head.key;
                let stored = self.store.events(key, record.seq.saturating_sub(1), 1)?;
                // Or appended earlier in this transaction.
                let pending = || {
                    self.changes
                        .events
                        .iter()
                        .find(|event| event.seq == record.seq)
                };
                let known = stored.first().or_else(pending);
                if known.is_none_or(|known| known.hash != record.hash) {
                    return Err(wrong("the study has another event of this number").into());
                }
                repeated += 1;
                continue;
            }
            if !self.state.head.restoring {
                return Err(wrong(
                    "the study exists; an export is restored into a study that does not exist, and past episodes are imported as \
                     {\"id\", \"actions\", …}",
                )
                .into());
            }
            let event = record.read().map_err(|error| {
                Rejection::not_possible(format!("event {}: {error}", record.seq))
            })?;
            if let Some(id) = event.kind.episode()
                && !self.episodes.contains_key(id)
            {
                for episode in self.store.episodes(self.state.head.key, &[id])? {
                    self.episodes.insert(episode.id.clone(), episode);
                }
            }
            let episode = event.kind.episode().and_then(|id| self.episodes.get(id));
            let strict = self.state.check_strictly(&event, episode);
            strict.map_err(|error| wrong(&error.detail))?;
            self.append(&event, record.clone())
                .map_err(|error| wrong(&error.detail))?;
            new += 1;
        }
        if new > 0 {
            let study = &self.state.head.name;
            tracing::info!(study, by, events = new, "restored events");
        }
        Ok(imported_reply(new, repeated))
    }

    /// The record of the restoration; fails if it was begun with an export that has another end.
    fn same_export(&mut self, end: Option<&(u64, String)>) -> Result<Restore, CommandError> {
        let begun = self.store.restore(self.state.head.key)?;
        let missing = || StoreError::Damaged("the record of the restoration is missing".into());
        let begun = begun.ok_or_else(missing)?;
        // 0 for an export without a header.
        if begun.seq > 0 && end.is_some_and(|(seq, hash)| (*seq, hash) != (begun.seq, &begun.hash))
        {
            return Err(Rejection::conflict(format!(
                "study `{}` is being restored from an export that ends with event {} and hash {}, and this one ends otherwise; \
                 import the same file",
                self.state.head.name, begun.seq, begun.hash
            ))
            .into());
        }
        Ok(begun)
    }

    /// Ends the restoration of a study: it is live from here on.
    pub(super) fn finish_restore(
        &mut self,
        end: Option<&(u64, String)>,
        by: &str,
    ) -> Result<Reply, CommandError> {
        if !self.state.head.restoring {
            return Ok(imported_reply(0, 0));
        }
        let begun = self.same_export(end)?;
        let head = &self.state.head;
        let named = Some((begun.seq, &begun.hash)).filter(|(seq, _)| *seq > 0);
        let end = named.or(end.map(|(seq, hash)| (*seq, hash)));
        if let Some((seq, hash)) = end
            && (seq, hash) != (head.seq, &head.hash)
        {
            return Err(Rejection::conflict(format!(
                "the export ends at event {}, and its first line names event {seq} with hash {hash}: a part of it is missing; the \
                 study stays in restoration until the whole file is imported",
                head.seq
            ))
            .into());
        }
        let restore = Restore {
            finished: Some(self.at.into()),
            finished_by: Some(format!("{by} ({})", self.person)),
            seq: head.seq,
            hash: head.hash.clone(),
            ..begun
        };
        self.store.put_restore(head.key, &restore)?;
        self.state.head.restoring = false;
        self.restored = true;
        let all = self.state.learners.gain_sums();
        self.changed_gains = all.iter().map(|it| (it.t, it.x, it.a)).collect();
        Ok(imported_reply(0, 0))
    }
}
