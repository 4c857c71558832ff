//! How fast a SQLite store is here: events in groups, alone and with everything that belongs to them, then the decision
//! of an episode, then both at once, then opening it again.
//!
//! `cargo bench -p emab-server --bench store_rate -- FILE [EVENTS] [GROUP]`; FILE must not exist.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use emab_server::domain::episode::{End, EpisodeRecord, Outcome, Step};
use emab_server::domain::event::{Record, sha256};
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Backend, Changes, GainSum, Head, LearnedEpisode, Store, StoredDecision};

/// How many episodes are open at once.
const OPEN: usize = 5_000;
/// After so many steps an episode ends.
const STEPS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let file = PathBuf::from(
        arguments
            .next()
            .ok_or("name a file that does not exist yet")?,
    );
    let events = arguments
        .next()
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let group: usize = arguments.next().map_or(Ok(64), |text| text.parse())?;
    if file.exists() {
        return Err(format!("`{}` exists; name another file", file.display()).into());
    }
    let owner = Sqlite::open(&file)?;
    let mut writer = owner.writer()?;

    // The log alone, to compare with others.
    let mut bare = Load::new(&mut *writer, "bare")?;
    let few = events / 10;
    let mut times = Times::default();
    let start = Instant::now();
    while bare.head.seq < few {
        times.note(|| bare.group(&mut *writer, group))?;
    }
    report("write the log alone", few, start.elapsed(), &mut times);

    let mut load = Load::new(&mut *writer, "rate")?;
    let mut times = Times::default();
    let start = Instant::now();
    let mut longest = 0;
    while load.head.seq < events {
        times.note(|| load.group(&mut *writer, group))?;
        longest = longest.max(length(&beside(&file, "-wal")));
    }
    report("write everything", events, start.elapsed(), &mut times);
    println!(
        "  file {} MB, log at most {} MB",
        length(&file) >> 20,
        longest >> 20
    );

    let mut reader = owner.reader()?;
    let mut times = Times::default();
    let reads: u64 = 200_000;
    let start = Instant::now();
    for read in 0..reads {
        times.note(|| load.ask(&mut *reader, read))?;
    }
    report("answer, alone", reads, start.elapsed(), &mut times);

    both(&owner, &mut load, &mut *writer, group, &file)?;

    // As after a crash: the log is still there, in another place, since the lock is not left.
    let copy = beside(&file, ".copy");
    std::fs::copy(&file, &copy)?;
    std::fs::copy(beside(&file, "-wal"), beside(&copy, "-wal"))?;
    let left = length(&beside(&copy, "-wal"));
    let start = Instant::now();
    let mut found = Sqlite::open(&copy)?.reader()?;
    let head = found.head("rate")?.ok_or("the study is gone")?;
    println!(
        "open with a log of {} MB: {:?}, {} events",
        left >> 20,
        start.elapsed(),
        head.seq
    );
    drop((reader, writer, owner));
    let start = Instant::now();
    let head = Sqlite::open(&file)?.reader()?.head("rate")?;
    println!("open what was closed: {:?}", start.elapsed());
    assert_eq!(head.map(|head| head.seq), Some(load.head.seq));
    Ok(())
}

/// Two readers that never pause, beside the writer, for ten seconds.
fn both(
    owner: &Sqlite,
    load: &mut Load,
    writer: &mut dyn Store,
    group: usize,
    file: &Path,
) -> Result<(), Box<dyn Error>> {
    let done = AtomicBool::new(false);
    let readers = [owner.reader()?, owner.reader()?];
    let from = load.head.seq;
    let mut times = Times::default();
    let mut longest = 0;
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let (study, asked) = (load.head.key, load.head.seq);
        let handles = readers.map(|mut reader| {
            let done = &done;
            scope.spawn(move || {
                let mut reads = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    let id = id((reads * 7919 % (asked / 10 + 1)) as usize);
                    black_box(reader.decision(study, &id, None).ok());
                    reads += 1;
                }
                reads
            })
        });
        while start.elapsed() < Duration::from_secs(10) {
            times.note(|| load.group(writer, group))?;
            longest = longest.max(length(&beside(file, "-wal")));
        }
        done.store(true, Ordering::Relaxed);
        let took = start.elapsed();
        report(
            "write beside readers",
            load.head.seq - from,
            took,
            &mut times,
        );
        println!("  log at most {} MB", longest >> 20);
        for handle in handles {
            let reads = handle.join().map_err(|_| "a reader panicked")?;
            println!(
                "  a reader beside: {:.0} answers/s",
                reads as f64 / took.as_secs_f64()
            );
        }
        Ok(())
    })
}

/// What is written: episodes in an unpredictable order.
struct Load {
    head: Head,
    open: Vec<EpisodeRecord>,
    opened: usize,
    random: u64,
}

fn id(number: usize) -> String {
    // Names are often random, and that is the worst for an index.
    sha256(&number.to_le_bytes())[..32].to_string()
}

impl Load {
    fn new(store: &mut dyn Store, name: &str) -> Result<Load, Box<dyn Error>> {
        let spec = "{}".repeat(1000);
        let mut head = Head::new(name, &sha256(spec.as_bytes()), 1);
        store.begin()?;
        head.key = store.create(&head, &spec)?.ok_or("the name is taken")?;
        store.commit()?;
        Ok(Load {
            head,
            open: Vec::new(),
            opened: 0,
            random: 1,
        })
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.random >> 33) % below as u64) as usize
    }

    fn ask(&mut self, store: &mut dyn Store, read: u64) -> Result<(), Box<dyn Error>> {
        let place = self.draw(self.open.len());
        let found = store.decision(self.head.key, &self.open[place].id, None)?;
        black_box(found.ok_or_else(|| format!("read {read}: no decision"))?);
        Ok(())
    }

    fn group(&mut self, store: &mut dyn Store, size: usize) -> Result<(), Box<dyn Error>> {
        let mut changes = Changes::default();
        let mut touched = std::collections::BTreeSet::new();
        store.begin()?;
        self.head = store.lock(&self.head.name)?.ok_or("the study is gone")?;
        while changes.events.len() < size {
            let place = self.draw(OPEN);
            if !touched.insert(place) {
                continue;
            }
            self.event(place, &mut changes);
        }
        if self.head.name == "bare" {
            let events = changes.events;
            changes = Changes {
                events,
                ..Changes::default()
            };
        }
        store.write(&self.head, &changes)?;
        store.commit()?;
        Ok(())
    }

    /// One step of an episode, or its end and the first step of another.
    fn event(&mut self, place: usize, changes: &mut Changes) {
        self.head.seq += 1;
        let seq = self.head.seq;
        let ends = self
            .open
            .get(place)
            .is_some_and(|record| record.step() == STEPS);
        if ends {
            let record = &mut self.open[place];
            record.end = Some(End {
                abandoned: false,
                ..End::default()
            });
            record.outcome = Outcome {
                costs: vec![Some(0.125); STEPS - 1],
                rewards: vec![Some(0.1 + 0.2); STEPS],
                last: true,
            };
            record.position = Some(self.head.learned);
            changes.episodes.push(record.clone());
            changes.learned_episodes.push(LearnedEpisode {
                position: self.head.learned,
                bytes: vec![7; 16 * STEPS],
            });
            for t in 1..=STEPS as u32 {
                let (x, a) = (self.draw(100) as u32, self.draw(4) as u32);
                let count = self.head.learned;
                changes.gain_sums.push(GainSum {
                    t,
                    x,
                    a,
                    count,
                    sum: 0.1,
                });
            }
            self.head.learned += 1;
        }
        if ends || place >= self.open.len() {
            let record = EpisodeRecord {
                id: id(self.opened),
                states: Vec::new(),
                steps: Vec::new(),
                recommended: Some(1),
                end: None,
                outcome: Outcome::default(),
                position: None,
                opened: seq,
                touched: seq,
                given: Vec::new(),
                imported: false,
                ..EpisodeRecord::default()
            };
            self.opened += 1;
            match self.open.get_mut(place) {
                Some(old) => *old = record,
                None => self.open.push(record),
            }
        }
        let place = place.min(self.open.len() - 1);
        let record = &mut self.open[place];
        if !record.states.is_empty() {
            record.steps.push(Step {
                action: 1,
                feedback: 2,
                ..Step::default()
            });
        }
        record.states.push(record.states.len());
        record.touched = seq;
        let decision = format!(
            r#"{{"study":"rate","episode":"{}","step":{},"action":"a{}","estimate":{{"mean":0.{seq},"lower":0.1{seq},"upper":0.9{seq}}},"second":{{"action":"stop","mean":0.2{seq},"lower":0.1{seq},"upper":0.4{seq}}},"certificate":0.3{seq},"explored":false,"as_of":{seq},"spec_hash":"{}","previous":"{}"}}"#,
            record.id,
            record.step(),
            seq % 4,
            self.head.spec_hash,
            self.head.hash
        );
        let text = format!(
            r#"{{"seq":{seq},"at":"2026-01-01T00:00:00.000000Z","by":"token-12345678","previous":"{}","kind":"told","data":{{"episode":"{}","step":{},"action":"a1","feedback":"f2","override":false,"decision":{decision}}}}}"#,
            self.head.hash,
            record.id,
            record.step()
        );
        changes.decisions.push(StoredDecision {
            episode: record.id.clone(),
            step: record.step() as u32,
            text: decision,
        });
        changes.episodes.push(record.clone());
        let record = Record::new(seq, text);
        self.head.hash = record.hash.clone();
        changes.events.push(record);
    }
}

/// How long each of something took.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn note<T>(&mut self, mut what: impl FnMut() -> T) -> T {
        let start = Instant::now();
        let done = what();
        self.0.push(start.elapsed());
        done
    }

    /// The time under which this share of them is.
    fn under(&self, share: f64) -> Duration {
        let place = (self.0.len() as f64 * share) as usize;
        self.0
            .get(place)
            .or(self.0.last())
            .copied()
            .unwrap_or_default()
    }
}

fn report(what: &str, count: u64, took: Duration, times: &mut Times) {
    times.0.sort();
    println!(
        "{what}: {:.0}/s; each p10 {:?}, p50 {:?}, p99 {:?}, p999 {:?}, most {:?}",
        count as f64 / took.as_secs_f64(),
        times.under(0.1),
        times.under(0.5),
        times.under(0.99),
        times.under(0.999),
        times.under(1.0)
    );
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
