//! A SQLite store with two studies that contain every kind of event, written by the service's writer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use emab_server::app::error::ServiceError;
use emab_server::app::fair_queue::{FairQueue, QueueLimits};
use emab_server::app::metrics::Metrics;
use emab_server::app::writer::{GroupCommitWriter, Job, Work};
use emab_server::domain::author::Author;
use emab_server::domain::command::{Command, Reply, ReplyBody, RestoreEvents};
use emab_server::domain::event::Record;
use emab_server::domain::study::Study;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Backend, Store};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

const STUDY: &str = r#"{"horizon": 4, "states": 5, "actions": ["test", "treat"], "feedbacks": ["negative", "positive"],
    "transition": "x + f", "learning": {"sigma2": 0.2, "delta": 0.05, "feedback_spread": 1},
    "learner": "feedbal:width=sound", "shadow": ["feedbal:width=paper"]}"#;

/// A writer thread and its queue.
pub struct Writer {
    jobs: Arc<FairQueue<Work>>,
    thread: Option<JoinHandle<()>>,
    store: Arc<dyn Backend>,
}

impl Writer {
    pub fn open(path: &Path) -> Writer {
        Writer::over(Arc::new(Sqlite::open(path).unwrap()))
    }

    pub fn over(store: Arc<dyn Backend>) -> Writer {
        let jobs = Arc::new(FairQueue::new(QueueLimits {
            key: 16,
            token: 16,
            all: 16,
        }));
        let specs = Arc::default();
        let writer = GroupCommitWriter::new(&store, jobs.clone(), specs, Metrics::default(), None);
        let writer = writer.unwrap();
        Writer {
            jobs,
            thread: Some(std::thread::spawn(move || writer.run())),
            store,
        }
    }

    pub fn ask(&self, study: &str, command: Command) -> Result<Reply, ServiceError> {
        let (reply, answer) = oneshot::channel();
        let job = Job {
            study: study.into(),
            command,
            by: Author {
                token: "00000001".into(),
                person: "Anna".into(),
            },
            reply,
        };
        let pushed = self.jobs.push(study, "00000001", Work::Job(job));
        pushed.unwrap();
        answer.blocking_recv().unwrap()
    }

    pub fn reader(&self) -> Box<dyn Store> {
        self.store.reader().unwrap()
    }

    fn must(&self, study: &str, command: Command) -> Reply {
        let asked = format!("{command:?}");
        self.ask(study, command)
            .unwrap_or_else(|refusal| panic!("{asked}: {refusal:?}"))
    }

    /// The recommended action; none is `stop`.
    fn decision(reply: Reply) -> Option<String> {
        let ReplyBody::Decision(text) = reply.body else {
            panic!("no decision: {reply:?}")
        };
        let decision: Value = serde_json::from_str(&text).unwrap();
        let action = decision["action"].as_str().unwrap().to_string();
        (action != "stop").then_some(action)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs.close();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A fixed sequence of random numbers.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn value(&mut self) -> Option<f64> {
        Some(self.below(1000) as f64 / 700.0)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A folder with the file `studies.db`, in which are the studies `clinic` and `other`.
pub struct RecordedStore {
    folder: TempDir,
    /// The log of `clinic`.
    pub events: Vec<Record>,
}

impl RecordedStore {
    pub fn new(episodes: u64) -> RecordedStore {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::open(&folder.path().join("studies.db"));
        for (name, seed) in [("clinic", 1), ("other", 2)] {
            write(&writer, name, &mut Lcg(seed), episodes);
        }
        let mut store = writer.reader();
        let key = store.head("clinic").unwrap().unwrap().key;
        let events = store.events(key, 0, usize::MAX).unwrap();
        drop(store);
        drop(writer);
        // Copies are of the file alone, and a connection that was closed late may have left a log beside it.
        let file = rusqlite::Connection::open(folder.path().join("studies.db")).unwrap();
        let emptied = file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        assert_eq!(emptied, Ok(0_i64));
        drop(file);
        RecordedStore { folder, events }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("studies.db")
    }

    /// A copy of the file.
    pub fn copy(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        std::fs::copy(self.path(), &path).unwrap();
        (folder, path)
    }

    /// The log as it is exported.
    pub fn export(&self) -> Vec<u8> {
        let lines = self.events.iter().map(|event| event.line() + "\n");
        lines.collect::<String>().into_bytes()
    }
}

pub fn study(name: &str) -> Arc<Study> {
    Arc::new(Study::read(name, STUDY.as_bytes()).unwrap())
}

/// The command that restores events of `clinic`.
pub fn restore_command(records: Vec<Record>) -> Command {
    Command::Restore(RestoreEvents {
        study: Some(study("clinic")),
        end: None,
        records,
    })
}

/// The body of a command.
fn body<T: DeserializeOwned>(fields: Value) -> T {
    serde_json::from_value(fields).unwrap()
}

fn write(writer: &Writer, study: &str, lcg: &mut Lcg, episodes: u64) {
    writer.must(study, Command::Create(self::study(study)));
    for i in 0..episodes {
        let id = format!("p{i}");
        if i % 7 == 3 {
            let (cost, rewards) = (lcg.value(), [(); 3].map(|()| lcg.value()));
            let past = json!({"id": format!("old-{i}"), "actions": ["test", "treat"],
                "feedbacks": ["positive", "negative"], "costs": [cost, null], "rewards": rewards});
            writer.must(study, Command::Import(vec![(1, body(past))]));
        }
        let steps = play(writer, study, &id, lcg);
        if i % 6 == 5 {
            // Left open.
            continue;
        }
        end(writer, study, &id, steps, lcg, i);
    }
    writer.must(study, Command::Close(Default::default()));
    // Open episodes continue.
    let reason = body(json!({"reason": "moved away"}));
    writer.must(study, Command::Abandon("p5".into(), reason));
}

/// Opens an episode and records some steps; returns the current step.
fn play(writer: &Writer, study: &str, id: &str, lcg: &mut Lcg) -> usize {
    let mut recommended =
        Writer::decision(writer.must(study, Command::Open(body(json!({"id": id})))));
    let mut step = 1;
    while step < 4 {
        let (action, reason) = match &recommended {
            Some(action) if !lcg.one_in(4) => (action.clone(), None),
            Some(_) if lcg.one_in(2) => break,
            None if !lcg.one_in(3) => break,
            Some(action) => {
                let other = if action == "test" { "treat" } else { "test" };
                (other.into(), Some("the patient asked for it — so be it"))
            }
            None => ("test".into(), Some("to be sure")),
        };
        let feedback = ["negative", "positive"][lcg.below(2) as usize];
        let reason = reason.filter(|_| Some(&action) != recommended.as_ref());
        let tell = json!({"step": step, "action": action, "feedback": feedback, "reason": reason});
        let tell = Command::Tell(id.into(), body(tell));
        recommended = Writer::decision(writer.must(study, tell));
        step += 1;
    }
    step
}

fn end(writer: &Writer, study: &str, id: &str, steps: usize, lcg: &mut Lcg, i: u64) {
    let id = id.to_string();
    if i.is_multiple_of(4) {
        let reason = body(json!({"reason": "did not come back"}));
        writer.must(study, Command::Abandon(id.clone(), reason));
        if i.is_multiple_of(8) {
            // Its outcome never comes.
            return;
        }
    } else {
        let stop = body(json!({"step": steps, "reason": "enough"}));
        writer.must(study, Command::Stop(id.clone(), stop));
    }
    let costs: Vec<Option<f64>> = (1..steps).map(|_| lcg.value()).collect();
    let rewards: Vec<Option<f64>> = (0..steps).map(|_| lcg.value()).collect();
    let give = |costs: Option<&[_]>, rewards: &[_], last: bool| {
        let given = body(json!({"costs": costs, "rewards": rewards, "final": last}));
        writer.must(study, Command::GiveOutcome(id.clone(), given));
    };
    if i % 3 == 1 {
        // First a part; for some episodes it stays the only one.
        let mut part = rewards.clone();
        part[0] = None;
        give(None, &part, i.is_multiple_of(2));
    }
    if i % 3 != 1 || !i.is_multiple_of(2) {
        give(Some(&costs), &rewards, false);
    }
    if i % 5 == 2 {
        let mut rewards = vec![None; steps];
        rewards[steps - 1] = lcg.value().map(|value| value + 3.0);
        let amend = body(json!({"rewards": rewards, "reason": "typing error"}));
        writer.must(study, Command::Amend(id, amend));
    }
}
