//! A bounded queue that is fair between keys: items are taken in turns, one of each key.
//!
//! A key is a study and the token that sent the item. Items of one key keep their order. A key with many items delays only
//! itself: an item of another key is taken in the next round, and while several keys are in use no batch has many items of one
//! key alone. Each key, each token and the whole queue have a limit, and the limits of a key and of a token are below that of the
//! queue, so that one token cannot fill it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::app::recent_tokens::IN_USE;

/// The largest numbers of queued items.
#[derive(Clone, Copy, Debug)]
pub struct QueueLimits {
    /// Of a token in a study.
    pub key: usize,
    /// Of a token.
    pub token: usize,
    pub all: usize,
}

/// Why an item was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// The limit that was reached.
    Full(usize),
    /// The queue is closed.
    Closed,
}

/// The queue. Clients push from any thread, one thread takes.
pub struct FairQueue<T> {
    limits: QueueLimits,
    /// How long a key counts as in use after an item.
    in_use: Duration,
    inner: Mutex<Inner<T>>,
    ready: Condvar,
}

#[derive(Default)]
struct Key {
    study: String,
    token: String,
}

struct Inner<T> {
    /// The keys with items; the first one is next.
    turns: VecDeque<(Key, VecDeque<T>)>,
    /// The number of items of each token.
    tokens: HashMap<String, usize>,
    length: usize,
    /// Taken before all others, without a limit.
    urgent: VecDeque<T>,
    closed: bool,
    /// The number of threads that wait. Waking none takes a system call too.
    waiting: usize,
    /// The key of the last item.
    last: Key,
    /// When an item last had another key than the one before it.
    changed: Option<Instant>,
}

impl<T> FairQueue<T> {
    pub fn new(limits: QueueLimits) -> FairQueue<T> {
        FairQueue {
            limits,
            in_use: IN_USE,
            inner: Mutex::new(Inner {
                turns: VecDeque::new(),
                tokens: HashMap::new(),
                length: 0,
                urgent: VecDeque::new(),
                closed: false,
                waiting: 0,
                last: Key::default(),
                changed: None,
            }),
            ready: Condvar::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, inner: MutexGuard<'_, Inner<T>>) {
        let waits = inner.waiting > 0;
        drop(inner);
        if waits {
            self.ready.notify_one();
        }
    }

    /// Queues an item of a token in a study.
    pub fn push(&self, study: &str, token: &str, item: T) -> Result<(), QueueError> {
        let mut inner = self.locked();
        if inner.closed {
            return Err(QueueError::Closed);
        }
        let of_token = inner.tokens.get(token).copied().unwrap_or(0);
        let mut turns = inner.turns.iter();
        let place = turns.position(|(key, _)| key.token == token && key.study == study);
        let of_key = place.map_or(0, |place| inner.turns[place].1.len());
        let QueueLimits {
            key,
            token: each,
            all,
        } = self.limits;
        for (length, most) in [(of_key, key), (of_token, each), (inner.length, all)] {
            if length >= most {
                return Err(QueueError::Full(most));
            }
        }
        if inner.last.study != study || inner.last.token != token {
            inner.last = Key {
                study: study.into(),
                token: token.into(),
            };
            inner.changed = Some(Instant::now());
        }
        match place {
            Some(place) => inner.turns[place].1.push_back(item),
            None => {
                let (study, token) = (study.into(), token.into());
                let items = VecDeque::from([item]);
                inner.turns.push_back((Key { study, token }, items));
            }
        }
        *inner.tokens.entry(token.into()).or_default() += 1;
        inner.length += 1;
        self.wake(inner);
        Ok(())
    }

    /// Queues an item before all others, also after [`FairQueue::close`].
    pub fn push_urgent(&self, item: T) {
        let mut inner = self.locked();
        inner.urgent.push_back(item);
        self.wake(inner);
    }

    /// Waits for items and takes some, in turns: at least one, and no further one once their weights reach `most`. `None` if the
    /// queue is closed and empty and no urgent item is `expected`. Nothing is taken if there are no items `until` some time.
    pub fn take(
        &self,
        most: usize,
        weight: impl Fn(&T) -> usize,
        expected: bool,
        until: Option<Instant>,
    ) -> Option<Vec<T>> {
        let mut inner = self.locked();
        while inner.length == 0 && inner.urgent.is_empty() {
            if inner.closed && !expected {
                return None;
            }
            let left = until.map(|it| it.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Some(Vec::new());
            }
            inner.waiting += 1;
            inner = match left {
                Some(left) => {
                    let woken = self.ready.wait_timeout(inner, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let woken = self.ready.wait(inner);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
            };
            inner.waiting -= 1;
        }
        let mut taken: Vec<T> = inner.urgent.drain(..).collect();
        let mut total: usize = taken.iter().map(&weight).sum();
        let rounds = inner.rounds(self.in_use);
        let mut keys = inner.turns.len();
        for _ in 0..rounds {
            for _ in 0..std::mem::take(&mut keys) {
                if total >= most {
                    return Some(taken);
                }
                if let Some((item, more)) = inner.next() {
                    total += weight(&item);
                    taken.push(item);
                    keys += usize::from(more);
                }
            }
            if keys == 0 {
                break;
            }
        }
        Some(taken)
    }

    /// Whether several keys are in use.
    pub fn is_shared(&self) -> bool {
        self.locked().is_shared(self.in_use)
    }

    /// Accepts no more items.
    pub fn close(&self) {
        self.locked().closed = true;
        self.ready.notify_all();
    }
}

impl<T> Inner<T> {
    fn is_shared(&self, in_use: Duration) -> bool {
        self.changed.is_some_and(|at| at.elapsed() < in_use)
    }

    /// The most items of one key that are taken at once: while several keys are in use, as many as the key with the second most
    /// items has, and at least one.
    fn rounds(&self, in_use: Duration) -> usize {
        if !self.is_shared(in_use) {
            return usize::MAX;
        }
        let (mut first, mut second) = (0, 0);
        for (_, items) in &self.turns {
            second = second.max(items.len().min(first));
            first = first.max(items.len());
        }
        second.max(1)
    }

    /// The next item, and whether its key has more; the key goes to the end.
    fn next(&mut self) -> Option<(T, bool)> {
        let (key, mut items) = self.turns.pop_front()?;
        let item = items.pop_front()?;
        self.length -= 1;
        if let Entry::Occupied(mut count) = self.tokens.entry(key.token.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        let more = !items.is_empty();
        if more {
            self.turns.push_back((key, items));
        }
        Some((item, more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> FairQueue<String> {
        FairQueue::new(QueueLimits {
            key: 3,
            token: 5,
            all: 8,
        })
    }

    /// Takes everything, in items of weight 1.
    fn taken(queue: &FairQueue<String>, most: usize) -> String {
        queue
            .take(most, |_| 1, false, None)
            .unwrap_or_default()
            .join(" ")
    }

    #[test]
    fn takes_one_of_each_key_in_turns() {
        let queue = queue();
        for (study, token, item) in [
            ("loud", "a", "a1"),
            ("loud", "a", "a2"),
            ("loud", "a", "a3"),
            ("quiet", "a", "q1"),
            ("loud", "b", "b1"),
            ("loud", "b", "b2"),
        ] {
            queue.push(study, token, item.into()).unwrap();
        }
        assert_eq!(taken(&queue, 4), "a1 q1 b1 a2");
        queue.push("quiet", "c", "c1".into()).unwrap();
        queue.push_urgent("first".into());
        assert_eq!(taken(&queue, 100), "first b2 a3 c1");
    }

    #[test]
    fn a_full_key_or_token_does_not_keep_others_out() {
        let queue = queue();
        let push = |study: &str, token: &str| queue.push(study, token, study.into());
        for _ in 0..3 {
            push("loud", "a").unwrap();
        }
        assert_eq!(push("loud", "a"), Err(QueueError::Full(3)));
        push("one", "a").unwrap();
        push("two", "a").unwrap();
        assert_eq!(push("three", "a"), Err(QueueError::Full(5)));
        for study in ["loud", "quiet", "loud"] {
            push(study, "b").unwrap();
        }
        assert_eq!(push("quiet", "c"), Err(QueueError::Full(8)));
        // Taken items make room.
        assert_eq!(taken(&queue, 1), "loud");
        push("three", "a").unwrap();
    }

    #[test]
    fn no_batch_is_long_because_of_one_key_while_others_are_in_use() {
        for (in_use, batches) in [
            (Duration::MAX, ["a1 b1 a2 b2", "a3", "a4"]),
            (Duration::ZERO, ["a1 b1 a2 b2 a3 a4", "", ""]),
        ] {
            let mut queue = queue();
            (queue.in_use, queue.limits.key, queue.limits.token) = (in_use, 6, 6);
            for item in ["a1", "a2", "a3", "a4", "b1", "b2"] {
                queue.push(&item[..1], "t", item.into()).unwrap();
            }
            assert_eq!(queue.is_shared(), in_use > Duration::ZERO);
            // Nothing is waited for.
            queue.close();
            assert_eq!(batches, [9; 3].map(|most| taken(&queue, most)));
        }
    }

    #[test]
    fn a_heavy_item_ends_a_batch() {
        let queue = queue();
        for (study, item) in [("a", "1"), ("b", "500"), ("c", "1")] {
            queue.push(study, "t", item.into()).unwrap();
        }
        let weight = |item: &String| item.parse().unwrap();
        assert_eq!(queue.take(256, weight, false, None).unwrap(), ["1", "500"]);
        assert_eq!(queue.take(256, weight, false, None).unwrap(), ["1"]);
    }

    #[test]
    fn a_closed_queue_is_emptied_and_waits_for_what_is_expected() {
        let queue = queue();
        queue.push("a", "t", "last".into()).unwrap();
        queue.close();
        assert_eq!(queue.push("a", "t", "x".into()), Err(QueueError::Closed));
        assert_eq!(taken(&queue, 9), "last");
        queue.push_urgent("loaded".into());
        assert_eq!(queue.take(9, |_| 1, true, None).unwrap(), ["loaded"]);
        assert_eq!(queue.take(9, |_| 1, false, None), None);
    }

    #[test]
    fn an_empty_queue_is_waited_for_until_some_time() {
        let now = Some(Instant::now());
        assert_eq!(queue().take(9, |_| 1, false, now), Some(Vec::new()));
        let queue = queue();
        queue.push("a", "t", "first".into()).unwrap();
        assert_eq!(queue.take(9, |_| 1, false, now).unwrap(), ["first"]);
    }
}
