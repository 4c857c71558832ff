//! Measures how long a long log takes to replay and to evaluate.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use emab::{Role, Stream};
use emab_server::domain::event::{
    Created, Event, EventKind, Opened, OutcomeGiven, RULES, StepRecorded, Stopped,
};
use emab_server::domain::study::Study;
use emab_server::domain::study_state::StudyState;
use emab_server::domain::{DecisionPoint, EpisodeRecord};
use serde_json::value::to_raw_value;

use super::Report;
use crate::Result;

/// Up to three tests; the state is the last result.
const STUDY: &str = r#"{"horizon": 4, "states": ["new", "clear", "suspect"], "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"], "transition": "1 + f",
    "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1], "outcome_range": {"cost": [0, 1]}},
    "learner": "feedbal:width=sound"}"#;
/// The probability of a positive result, by action and state, and the expected reward by state.
const POSITIVE: [[f64; 3]; 2] = [[0.3, 0.2, 0.6], [0.5, 0.3, 0.8]];
const REWARD: [f64; 3] = [0.5, 0.6, 0.9];
/// A time that every event has.
const AT: &str = "2026-01-31T09:30:00.000000Z";

/// Measure replay, evaluation and fit of a long log.
#[derive(Clone, Debug, clap::Args)]
pub struct Logs {
    /// Number of events.
    #[arg(long, default_value_t = 1_000_000)]
    pub events: u64,
    /// The command `emab` to measure.
    #[arg(long, default_value = "target/release/emab")]
    pub program: PathBuf,
    /// Keep the export in this file.
    #[arg(long)]
    pub keep: Option<PathBuf>,
}

impl Logs {
    /// Writes the log, and measures.
    pub fn run(&self) -> Result<Report> {
        let folder = tempfile::tempdir()?;
        let file = self.keep.clone();
        let file = file.unwrap_or_else(|| folder.path().join("export.ndjson"));
        let since = Instant::now();
        let episodes = write_export(&file, self.events)?;
        let megabytes = file.metadata()?.len() >> 20;
        let mut summary = format!(
            "{} events of {episodes} episodes, {megabytes} MiB, written within {:.1} s\n",
            self.events,
            since.elapsed().as_secs_f64()
        );
        for arguments in [
            &["replay", "--learner", "feedbal"][..],
            &["evaluate", "--policy", "logged"],
            &["evaluate", "--policy", "optimal"],
            &["fit"],
        ] {
            let since = Instant::now();
            let mut command = Command::new(&self.program);
            let output = command.arg(arguments[0]).arg(&file).args(&arguments[1..]);
            let output = output.arg("--json").output()?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into());
            }
            let seconds = since.elapsed().as_secs_f64();
            summary += &format!("emab {}: {seconds:.2} s\n", arguments.join(" "));
        }
        Ok(Report {
            summary,
            ..Report::default()
        })
    }
}

/// The log of a simulated study, as an export without its first line; returns the number of episodes.
fn write_export(file: &Path, events: u64) -> Result<u64> {
    let study = Study::read("clinic", STUDY.as_bytes()).map_err(|it| it.detail)?;
    let mut log = LogWriter {
        state: StudyState::new(Arc::new(study), RULES).map_err(|it| it.detail)?,
        out: BufWriter::new(File::create(file)?),
        stream: Stream::new(1, 0, Role::Steps),
    };
    let study = log.state.study.clone();
    let created = EventKind::Created(Created {
        study: study.name.clone(),
        spec: serde_json::from_str(&study.canonical)?,
        spec_hash: study.hash.clone(),
        rules: RULES,
    });
    log.write(created, None)?;
    let mut episodes = 0;
    while log.state.head.seq < events {
        log.episode(&format!("p{episodes}"))?;
        episodes += 1;
    }
    log.out.flush()?;
    Ok(episodes)
}

struct LogWriter {
    state: StudyState,
    out: BufWriter<File>,
    stream: Stream,
}

impl LogWriter {
    /// Records an episode from its opening to its outcome.
    fn episode(&mut self, id: &str) -> Result<()> {
        let (mut t, mut x, mut rewards) = (1, 0, vec![self.reward(0)]);
        let (mut action, decision) = self.decide(id, None, t, x)?;
        let opened = EventKind::Opened(Opened {
            episode: id.into(),
            start: None,
            decision,
            shadow: Vec::new(),
            request: None,
        });
        let mut episode = self.write(opened, None)?;
        while action != "stop" {
            let a = usize::from(action == "scan");
            let f = usize::from(self.stream.uniform() < POSITIVE[a][x]);
            (t, x) = (t + 1, 1 + f);
            rewards.push(self.reward(x));
            let (next, decision) = self.decide(id, episode.as_ref(), t, x)?;
            let told = EventKind::StepRecorded(StepRecorded {
                episode: id.into(),
                step: t - 1,
                action,
                feedback: ["negative", "positive"][f].into(),
                overridden: false,
                reason: None,
                policy: None,
                decision,
                shadow: Vec::new(),
                request: None,
            });
            episode = self.write(told, episode)?;
            action = next;
        }
        let stopped = EventKind::Stopped(Stopped {
            episode: id.into(),
            step: t,
            overridden: false,
            reason: None,
            policy: None,
            request: None,
        });
        episode = self.write(stopped, episode)?;
        let outcome = EventKind::OutcomeGiven(OutcomeGiven {
            episode: id.into(),
            costs: vec![Some(0.05); t - 1],
            rewards: rewards.into_iter().map(Some).collect(),
            last: false,
            outlier: false,
            reason: None,
            request: None,
        });
        self.write(outcome, episode)?;
        Ok(())
    }

    fn reward(&mut self, x: usize) -> f64 {
        f64::from(u8::from(self.stream.uniform() < REWARD[x]))
    }

    /// The recommended action and the decision, as JSON.
    fn decide(
        &mut self,
        id: &str,
        episode: Option<&EpisodeRecord>,
        t: usize,
        x: usize,
    ) -> Result<(String, Box<serde_json::value::RawValue>)> {
        let number = match episode {
            Some(episode) => episode.number,
            None => self.state.next_number(),
        };
        let (decision, _) = self.state.decide(DecisionPoint {
            episode: id,
            number,
            t,
            x,
            at: AT,
        });
        Ok((decision.advice.action.clone(), to_raw_value(&decision)?))
    }

    /// Writes the next event and applies it; returns its episode.
    fn write(
        &mut self,
        kind: EventKind,
        episode: Option<EpisodeRecord>,
    ) -> Result<Option<EpisodeRecord>> {
        let head = &self.state.head;
        let event = Event {
            seq: head.seq + 1,
            at: AT.into(),
            by: "00000000".into(),
            person: Some("simulation".into()),
            previous: head.hash.clone(),
            salt: Some(format!("{:032x}", head.seq)),
            kind,
        };
        let record = event.record()?;
        writeln!(self.out, "{}", record.line())?;
        let advance = self.state.advance(&event, &record.hash, episode);
        Ok(advance.map_err(|it| it.detail)?.episode)
    }
}
