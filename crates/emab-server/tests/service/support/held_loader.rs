//! A store whose loader threads can be held while they read learned episodes, after they have begun their snapshot.

use std::sync::{Arc, Condvar, Mutex};

use emab_server::store::*;

/// Counts the reads of loader threads, and holds them while it is closed.
#[derive(Default)]
pub struct Gate {
    /// Whether it is closed, and the number of reads so far.
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    pub fn close(&self) {
        self.state.lock().unwrap().0 = true;
    }

    pub fn open(&self) {
        self.state.lock().unwrap().0 = false;
        self.changed.notify_all();
    }

    pub fn reads(&self) -> usize {
        self.state.lock().unwrap().1
    }

    /// Waits until loader threads have begun this many reads.
    pub fn wait_for(&self, reads: usize) {
        let state = self.state.lock().unwrap();
        let waited = self.changed.wait_while(state, |(_, begun)| *begun < reads);
        drop(waited.unwrap());
    }

    fn pass(&self) {
        if std::thread::current().name() != Some("loader") {
            return;
        }
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(closed, _)| *closed));
    }
}

pub struct HeldBackend {
    pub inner: Arc<dyn Backend>,
    pub gate: Arc<Gate>,
}

impl Backend for HeldBackend {
    fn writer(&self) -> Result<Box<dyn Store>> {
        self.inner.writer()
    }

    fn reader(&self) -> Result<Box<dyn Store>> {
        let (inner, gate) = (self.inner.reader()?, self.gate.clone());
        Ok(Box::new(HeldStore { inner, gate }))
    }
}

struct HeldStore {
    inner: Box<dyn Store>,
    gate: Arc<Gate>,
}

macro_rules! delegate {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $returns:ty;)*) => {
        $(fn $name(&mut self $(, $argument: $type)*) -> Result<$returns> {
            self.inner.$name($($argument),*)
        })*
    };
}

impl Store for HeldStore {
    fn rollback(&mut self) {
        self.inner.rollback();
    }

    fn learned_episodes(
        &mut self,
        study: i64,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LearnedEpisode>> {
        self.gate.pass();
        self.inner.learned_episodes(study, from, limit)
    }

    delegate! {
        fn begin() -> ();
        fn commit() -> ();
        fn begin_snapshot() -> ();
        fn create(head: &Head, spec: &str) -> Option<i64>;
        fn lock_all(names: &[&str]) -> Vec<Head>;
        fn write_all(studies: &[(&Head, &Changes)]) -> ();
        fn put_restore(study: i64, restore: &Restore) -> ();
        fn discard(study: i64) -> ();
        fn put_checkpoint(study: i64, checkpoint: &Checkpoint) -> ();
        fn put_session(session: &Session) -> ();
        fn remove_session(hash: &str) -> ();
        fn session(hash: &str) -> Option<Session>;
        fn check_store() -> Vec<Finding>;
        fn uncovered(after: &str, limit: usize) -> Vec<Head>;
        fn spec(study: i64) -> Option<String>;
        fn restore(study: i64) -> Option<Restore>;
        fn checkpoint(study: i64) -> Option<Checkpoint>;
        fn head(name: &str) -> Option<Head>;
        fn heads(after: &str, limit: usize) -> Vec<Head>;
        fn episodes_of(keys: &[(i64, &str)]) -> Vec<(i64, EpisodeRecord)>;
        fn episodes_after(study: i64, after: &str, which: Which, limit: usize) -> Vec<EpisodeRecord>;
        fn decision(study: i64, episode: &str, step: Option<u32>) -> Option<StoredDecision>;
        fn decisions(study: i64, episode: &str) -> Vec<StoredDecision>;
        fn decisions_after(study: i64, after: Option<(&str, u32)>, limit: usize) -> Vec<StoredDecision>;
        fn events(study: i64, after: u64, limit: usize) -> Vec<Record>;
        fn events_at(study: i64, seqs: &[u64]) -> Vec<Record>;
        fn gain_sums(study: i64, after: Option<(u32, u32, u32)>, limit: usize) -> Vec<GainSum>;
    }
}
