//! Measurements, not tests: `cargo test -p emab-server rates -- --ignored --nocapture`

use std::time::Instant;

use super::*;
use crate::domain::{EpisodeRecord, Outcome, Step};
use crate::store::{GainSum, LearnedEpisode, StoredDecision};

/// A batch of requests on one study: one step of each of several episodes.
fn group(head: &mut Head, size: u64) -> Changes {
    let mut changes = Changes::default();
    for position in 0..size {
        head.seq += 1;
        let text = format!(
            r#"{{"seq":{},"at":"2025-01-01T00:00:00.000000Z","by":"abcdef","previous":"{}","kind":"told","data":{}}}"#,
            head.seq,
            head.hash,
            "\"the decision, as it was answered, is about this long\"".repeat(8)
        );
        let event = Record::new(head.seq, text);
        head.hash = event.hash.clone();
        let id = format!("episode-{}", (head.seq + position) % 5000);
        changes.events.push(event);
        changes.decisions.push(StoredDecision {
            episode: id.clone(),
            step: u32::try_from(head.seq).unwrap(),
            text: "a decision ".repeat(35),
        });
        changes.episodes.retain(|episode| episode.id != id);
        changes.episodes.push(EpisodeRecord {
            id,
            states: vec![0, 1, 2],
            steps: vec![
                Step {
                    action: 1,
                    feedback: 2,
                    overridden: false,
                    reason: None
                };
                2
            ],
            recommended: Some(1),
            end: None,
            outcome: Outcome::default(),
            position: None,
            opened: 1,
            touched: head.seq,
            given: Vec::new(),
            imported: false,
        });
    }
    // Some episodes end.
    for position in 0..size / 8 {
        changes.learned_episodes.push(LearnedEpisode {
            position: head.learned,
            bytes: vec![7; 60],
        });
        head.learned += 1;
        changes.gain_sums.push(GainSum {
            t: 1,
            x: u32::try_from(position).unwrap(),
            a: 0,
            count: head.seq,
            sum: 0.5,
        });
    }
    changes
}

#[test]
#[ignore = "a measurement"]
fn one_hot_study() {
    let server = Server::start().unwrap();
    for copies in [1, 2] {
        for size in [1, 8, 64, 256] {
            let url = server.database(&format!("rate{copies}x{size}")).unwrap();
            let store = Postgres::open(&url).unwrap();
            create(&mut *store.writer().unwrap(), "hot");
            let groups = 4000 / (size + 9) / copies;
            let start = Instant::now();
            let mut times: Vec<(Duration, Duration)> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..copies)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut store = store.writer().unwrap();
                            let mut times = Vec::new();
                            for _ in 0..groups {
                                let start = Instant::now();
                                store.begin().unwrap();
                                let mut head = store.lock("hot").unwrap().unwrap();
                                let changes = group(&mut head, size);
                                store.write(&head, &changes).unwrap();
                                let written = start.elapsed();
                                store.commit().unwrap();
                                times.push((start.elapsed(), written));
                            }
                            times
                        })
                    })
                    .collect();
                let times = threads.into_iter().flat_map(|it| it.join().unwrap());
                times.collect()
            });
            let took = start.elapsed();
            times.sort();
            let (middle, written) = times[times.len() / 2];
            println!(
                "{copies} copies, groups of {size}: {:.0} events/s, a group {middle:.1?} in the middle \
                 ({written:.1?} of them before the commit), {:.1?} at p99",
                (copies * groups * size) as f64 / took.as_secs_f64(),
                times[times.len() * 99 / 100].0,
            );
        }
    }
}
