//! A study whose cases are simulated: its past in rounds, then one report at a time.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use emab::{Role, Stream};

use super::DemoError;
use super::case::{Case, Report, Stage};
use super::people::{People, Person};
use super::studies::StudyPlan;
use super::truth::Truth;
use crate::app::{Service, ServiceError};
use crate::domain::{Command, Reply};

/// The probabilities that an open case goes on, and that an outcome arrives, in a round of the past.
const GOES_ON: f64 = 0.8;
const ARRIVES: f64 = 0.5;
/// The number of rounds of the past, unless too many cases would begin in each.
const ROUNDS: u64 = 50;
/// The largest number of cases that begin in a round: the queue of the writer has a limit.
const MOST_NEW: u64 = 20;
/// The numbers of open cases and of awaited outcomes that the simulation aims at.
const OPEN: usize = 8;
const AWAITED: usize = 6;

pub struct SimulatedStudy {
    plan: &'static StudyPlan,
    truth: Truth,
    service: Arc<Service>,
    people: Arc<People>,
    /// How people behave.
    behaviour: Stream,
    /// When something happens.
    timing: Stream,
    /// The cases of which something is still to be reported, in the order of their numbers.
    cases: Vec<Case>,
    /// The number of the last case.
    last: u64,
    /// The number of the current round.
    round: usize,
}

impl SimulatedStudy {
    /// Creates the study.
    pub async fn create(
        plan: &'static StudyPlan,
        service: Arc<Service>,
        people: Arc<People>,
        (seed, number): (u64, u64),
    ) -> Result<SimulatedStudy, DemoError> {
        let file = plan.problem()?;
        let body = plan.body(&file)?;
        let study = service.read_study(plan.name, body.into()).await?;
        let create = Command::Create(Arc::new(study));
        let admin = people.author(Person::Admin);
        service.submit(plan.name, create, admin).await?;
        Ok(SimulatedStudy {
            plan,
            truth: Truth::new(file.problem()?, seed, number),
            service,
            people,
            behaviour: Stream::new(seed, number, Role::Conditions),
            timing: Stream::new(seed, number, Role::Delay),
            cases: Vec::new(),
            last: 0,
            round: 0,
        })
    }

    /// Records so many cases. Some of them are open afterwards, and some outcomes are awaited.
    ///
    /// The reports of a round are queued together, so that the writer commits them in batches, and they are of one person: the
    /// queue keeps the order of a person in a study. The log thus depends on the seed alone, except for times, tokens and salts.
    pub async fn record_past(&mut self, cases: u64) -> Result<(), DemoError> {
        let each = (cases / ROUNDS).clamp(1, MOST_NEW);
        while self.last < cases {
            for _ in 0..each.min(cases - self.last) {
                self.add_case()?;
            }
            let acting = self.draw_next(&ACTING_STAGES, GOES_ON);
            self.report(&acting, self.plan.acting).await?;
            let arriving = self.draw_next(&AWAITED_STAGES, ARRIVES);
            self.report(&arriving, self.plan.reporting).await?;
            // A correction waits for the learners to be rebuilt, and other reports may overtake it.
            for i in self.draw_next(&WRONG_STAGES, ARRIVES) {
                self.report(&[i], self.plan.correcting).await?;
            }
            self.cases.retain(|case| case.stage != Stage::Ended);
            self.round += 1;
        }
        Ok(())
    }

    fn add_case(&mut self) -> Result<(), DemoError> {
        self.last += 1;
        let case = Case::new(self.plan, &self.truth, self.last)?;
        self.cases.push(case);
        Ok(())
    }

    /// The cases of which something is reported in this round: those in these stages, each with this probability, and new ones.
    fn draw_next(&mut self, stages: &[Stage], probability: f64) -> Vec<usize> {
        let mut cases = self.in_stages(stages);
        cases.retain(|&i| self.cases[i].stage == Stage::New || self.timing.uniform() < probability);
        cases
    }

    /// Reports the next of each of these cases at once, by the person whose turn it is.
    async fn report(&mut self, cases: &[usize], people: &[Person]) -> Result<(), DemoError> {
        let mut reports = Vec::new();
        for &i in cases {
            let next = self.cases[i].next(self.plan, &self.truth, &mut self.behaviour);
            reports.push(next?);
        }
        let by = people[self.round % people.len()];
        let sent = reports.iter().map(|report| self.send(report, by));
        let replies = join_in_order(sent).await;
        for ((&i, report), reply) in cases.iter().zip(&reports).zip(replies) {
            self.cases[i].apply(report, &reply?.body, &self.truth)?;
        }
        Ok(())
    }

    async fn send(&self, report: &Report, by: Person) -> Result<Reply, ServiceError> {
        let (command, by) = (report.command.clone(), self.people.author(by));
        self.service.submit(self.plan.name, command, by).await
    }

    /// Reports one thing. A case that a visitor has changed is left alone.
    pub async fn step(&mut self) -> Result<(), DemoError> {
        let Ok(head) = self.service.head(self.plan.name).await else {
            return Ok(());
        };
        let opens = !head.closed && !head.details.paused;
        let Some(i) = self.choose(opens)? else {
            return Ok(());
        };
        let people = match self.cases[i].stage {
            Stage::New | Stage::Open => self.plan.acting,
            Stage::WrongStep | Stage::WrongOutcome => self.plan.correcting,
            _ => self.plan.reporting,
        };
        let by = people[self.timing.below(people.len())];
        let report = self.cases[i].next(self.plan, &self.truth, &mut self.behaviour)?;
        match self.send(&report, by).await {
            Ok(reply) if reply.new => {
                self.cases[i].apply(&report, &reply.body, &self.truth)?;
            }
            // A visitor has reported the same, or something else.
            Ok(_) | Err(ServiceError::Rejected(_)) => self.cases[i].stage = Stage::Ended,
            Err(ServiceError::Unavailable(..) | ServiceError::Busy(..)) => {}
        }
        self.cases.retain(|case| case.stage != Stage::Ended);
        Ok(())
    }

    /// The case of which something is reported next; a new one if it is time for one and the study opens cases.
    fn choose(&mut self, opens: bool) -> Result<Option<usize>, DemoError> {
        // A new case that could not be opened is not in the log.
        self.cases.retain(|case| opens || case.stage != Stage::New);
        let acting = self.in_stages(&ACTING_STAGES);
        let awaited = self.in_stages(&AWAITED_STAGES);
        let wrong = self.in_stages(&WRONG_STAGES);
        let weight = |cases: &[usize], weight: f64| match cases.is_empty() {
            true => 0.0,
            false => weight,
        };
        let weights = [
            match (opens, acting.len() < OPEN) {
                (false, _) => 0.0,
                (true, true) => 1.5,
                (true, false) => 0.1,
            },
            weight(&acting, 1.5),
            weight(&awaited, if awaited.len() < AWAITED { 0.4 } else { 1.5 }),
            weight(&wrong, 1.0),
        ];
        let mut draw = self.timing.uniform() * weights.iter().sum::<f64>();
        let kind = weights.iter().position(|weight| {
            draw -= weight;
            draw < 0.0
        });
        let cases = match kind {
            None => return Ok(None),
            Some(0) => {
                self.add_case()?;
                return Ok(Some(self.cases.len() - 1));
            }
            Some(1) => acting,
            Some(2) => awaited,
            Some(_) => wrong,
        };
        Ok(Some(cases[self.timing.below(cases.len())]))
    }

    fn in_stages(&self, stages: &[Stage]) -> Vec<usize> {
        let all = self.cases.iter().enumerate();
        let found = all.filter(|(_, case)| stages.contains(&case.stage));
        found.map(|(i, _)| i).collect()
    }
}

const ACTING_STAGES: [Stage; 2] = [Stage::New, Stage::Open];
const AWAITED_STAGES: [Stage; 2] = [Stage::Stopped, Stage::Partial];
const WRONG_STAGES: [Stage; 2] = [Stage::WrongStep, Stage::WrongOutcome];

/// Runs futures concurrently. The first poll of each is in their order, so that they queue their commands in it.
async fn join_in_order<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let futures = futures.into_iter();
    let mut running: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut ready = true;
        for (future, output) in &mut running {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *output = Some(value),
                    Poll::Pending => ready = false,
                }
            }
        }
        match ready {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    let outputs = running.into_iter().filter_map(|(_, output)| output);
    outputs.collect()
}
