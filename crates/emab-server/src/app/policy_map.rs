//! The policy of a study as people read it: what is recommended in each step and state, what that rests on, and what has changed
//! since an earlier event.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::Deserialize;

use crate::app::{Service, ServiceError};
use crate::domain::{
    CHECKED_PAIRS, Decision, DecisionPoint, Head, PolicyTable, Rejection, StudyState,
};
use crate::store::{Store, StoreError};

/// What a recommendation rests on, as a decision in this step and state would state it.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    /// The number of observations of the recommended action; none if the learner keeps no estimates.
    pub count: Option<u64>,
    pub certificate: Option<f64>,
    /// Why there is no certificate.
    pub withheld: Option<String>,
}

/// The policy at the present event.
#[derive(Clone, Debug)]
pub struct PolicyMap {
    pub table: PolicyTable,
    /// What the shown choices rest on: of the table from the first of this range on.
    pub bases: Vec<Basis>,
    pub shown: Range<usize>,
}

impl PolicyMap {
    /// The policy, and what the choices that `shown` selects rest on.
    pub fn of(
        state: &mut StudyState,
        shown: impl FnOnce(&PolicyTable) -> Range<usize>,
    ) -> Result<PolicyMap, Rejection> {
        let table = PolicyTable::of(state)?;
        let shown = shown(&table);
        let (study, number) = (state.study.clone(), state.next_number());
        let wrong = |error: emab::spec::PointError| Rejection::not_possible(error.to_string());
        // In the order of the table.
        let reachable = study.spec.reachable(CHECKED_PAIRS).map_err(wrong)?;
        let pairs = reachable.pairs.get(shown.clone()).unwrap_or_default();
        let bases = pairs.iter().map(|&(t, x)| {
            let point = DecisionPoint {
                episode: "",
                number,
                t,
                x,
                at: "",
            };
            let decision = Decision::make(&study, &state.head, &mut state.learners, point);
            Basis {
                count: decision.estimate.map(|it| it.count),
                certificate: decision.certificate,
                withheld: decision.withheld,
            }
        });
        let bases = bases.collect();
        Ok(PolicyMap {
            table,
            bases,
            shown,
        })
    }
}

/// The largest number of earlier policies that are kept, and of the choices of each.
const KEPT: usize = 16;
const KEPT_CHOICES: usize = 10_000;

/// Policies by study and event, the latest request first.
type Kept = VecDeque<((i64, u64), Arc<PolicyTable>)>;

/// Earlier policies that were computed. They never change, and an open page asks for its own again and again.
#[derive(Clone, Debug, Default)]
pub struct EarlierPolicies(Arc<Mutex<Kept>>);

impl EarlierPolicies {
    /// The policy of a study at an event. The log is replayed up to it, unless it is known.
    pub async fn at(
        &self,
        service: &Service,
        head: &Head,
        seq: u64,
    ) -> Result<Arc<PolicyTable>, ServiceError> {
        let key = (head.key, seq);
        let known = self.locked().iter().find(|it| it.0 == key).cloned();
        if let Some((_, table)) = known {
            return Ok(table);
        }
        let table = service.past_state(&head.name, seq, |replay, _, _| {
            let state = replay.state.as_mut();
            let state = state.ok_or_else(|| Rejection::not_found("the log is empty"))?;
            Ok(PolicyTable::of(state)?)
        });
        let table = Arc::new(table.await?);
        if table.choices.len() <= KEPT_CHOICES {
            let mut kept = self.locked();
            kept.truncate(KEPT - 1);
            kept.push_front((key, table.clone()));
        }
        Ok(table)
    }

    fn locked(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The actions of an earlier policy that differ from those of a later one, by the position in the later one.
pub fn changes(earlier: &PolicyTable, later: &PolicyTable) -> HashMap<usize, String> {
    let key = |step: usize, state: &str| (step, state.to_owned());
    let choices = earlier.choices.iter();
    let known: HashMap<_, _> = choices
        .map(|it| (key(it.step, &it.state), &it.action))
        .collect();
    let now = later.choices.iter().enumerate();
    let changed = now.filter_map(|(i, it)| {
        let before = *known.get(&key(it.step, &it.state))?;
        (*before != it.action).then(|| (i, before.clone()))
    });
    changed.collect()
}

/// The last event before a time, by bisection; 0 if there is none. Where a clock was set back, it is one of several such events.
pub fn last_event_before(
    store: &mut dyn Store,
    head: &Head,
    time: SystemTime,
) -> Result<u64, StoreError> {
    #[derive(Deserialize)]
    struct Line {
        at: String,
    }
    let (mut before, mut end) = (0, head.seq);
    while before < end {
        let middle = before + (end - before).div_ceil(2);
        let damaged = |what: String| StoreError::Damaged(format!("event {middle}: {what}"));
        let page = store.events(head.key, middle - 1, 1)?;
        let record = page.first().ok_or_else(|| damaged("missing".into()))?;
        let line: Line =
            serde_json::from_str(&record.text).map_err(|error| damaged(error.to_string()))?;
        let at = humantime::parse_rfc3339(&line.at).map_err(|error| damaged(error.to_string()))?;
        match at < time {
            true => before = middle,
            false => end = middle - 1,
        }
    }
    Ok(before)
}
