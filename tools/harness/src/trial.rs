//! What all trials share: clients under whom something is broken, and the checks after it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::check::audit::audit;
use crate::check::log::Logs;
use crate::check::{Check, Findings};
use crate::load::client::{Client, Done, Habits};
use crate::load::fleet::Fleet;
use crate::scene::Scene;

/// Longer than any request may take.
const SILENCE: Duration = Duration::from_secs(35);

/// Clients at a scene.
pub struct Trial {
    /// Where it takes place.
    pub scene: Scene,
    /// Chance.
    pub chance: Chance,
    /// What was found so far.
    pub findings: Findings,
    fleet: Fleet<Client>,
    logs: Logs,
    begun: Instant,
}

/// What came of a trial.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was found.
    pub findings: Findings,
    /// What the clients did.
    pub done: Done,
    /// Events in the logs at the end.
    pub events: u64,
    /// How long all of it took.
    pub took: Duration,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Done {
            writes,
            reads,
            unanswered,
            put_off,
        } = self.done;
        writeln!(
            f,
            "in {:.1} s: {writes} writes acknowledged, {reads} other answers, {unanswered} requests unanswered, {put_off} \
             put off, {} events in the logs",
            self.took.as_secs_f64(),
            self.events
        )?;
        write!(f, "{}", self.findings)
    }
}

impl Trial {
    /// So many clients at a scene; a seed decides what they do.
    pub fn new(scene: Scene, clients: u16, seed: u64) -> Trial {
        let talkers = Client::many(clients, seed, Habits::CURIOUS);
        Trial {
            chance: Chance::new(seed),
            findings: Findings::default(),
            fleet: Fleet::new(&scene.token, talkers),
            logs: Logs::default(),
            begun: Instant::now(),
            scene,
        }
    }

    /// Lets the clients talk to the service at these addresses for a while. Requests are on their way when it returns.
    pub fn play(&mut self, addresses: &[SocketAddr], time: Duration) -> Result<(), String> {
        self.fleet.drive(addresses, Instant::now() + time)
    }

    /// What the clients did so far.
    pub fn done(&mut self) -> Done {
        self.fleet
            .talkers()
            .fold(Done::default(), |mut done, client| {
                done.add(client.done);
                done
            })
    }

    /// Lets the clients talk until they have had so many more writes acknowledged; how long that took, none if it did
    /// not happen within the time.
    pub fn until_written(
        &mut self,
        addresses: &[SocketAddr],
        writes: u64,
        time: Duration,
    ) -> Result<Option<Duration>, String> {
        let (begun, before) = (Instant::now(), self.done().writes);
        while begun.elapsed() < time {
            self.play(addresses, Duration::from_millis(10))?;
            if self.done().writes >= before + writes {
                return Ok(Some(begun.elapsed()));
            }
        }
        Ok(None)
    }

    /// Waits until nothing is on its way.
    pub fn quiet(&mut self) -> Result<(), String> {
        let silent = self.fleet.drain(SILENCE)?;
        self.findings.check(Check::Answer, silent == 0, || {
            format!("{silent} requests are neither answered nor broken off")
        });
        Ok(())
    }

    /// Closes all connections.
    pub fn hang_up(&mut self) {
        self.fleet.hang_up();
    }

    /// Compares what was promised with what is there, while nothing is on its way; if so asked, recomputes everything
    /// from the log.
    pub fn check(&mut self, everything: bool) -> Result<(), String> {
        let mut clients: Vec<&mut Client> = self.fleet.talkers().collect();
        for client in &mut clients {
            self.findings.extend(&mut client.findings);
        }
        let mut store = self.scene.look()?;
        let findings = &mut self.findings;
        let mut checked = self.logs.check(&mut *store, &mut clients, findings);
        if everything && checked.is_ok() {
            checked = audit(&mut *store, findings);
        }
        checked.map_err(|error| format!("{error}\n{}", self.scene.said()))
    }

    /// Looks once more for everything that was ever acknowledged.
    pub fn end(mut self) -> Outcome {
        let clients: Vec<&mut Client> = self.fleet.talkers().collect();
        self.logs.check_all(&clients, &mut self.findings);
        Outcome {
            done: self.done(),
            findings: self.findings,
            events: self.logs.events(),
            took: self.begun.elapsed(),
        }
    }
}
