//! A Markov decision process as a JSON document, sparse: only transitions that can happen are listed.

use std::borrow::Cow;

use emab::Mdp;
use emab::oracle::SolvedMdp;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::to_raw_value;

/// A value on one line of an otherwise indented document.
struct OneLine<T>(T);

impl<T: Serialize> Serialize for OneLine<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        to_raw_value(&self.0)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

/// The document; lists are serialized entry by entry, one per line: there may be millions.
#[derive(Serialize)]
pub(super) struct MdpDocument<'a> {
    problem: &'a str,
    problem_hash: &'a str,
    horizon: usize,
    #[serde(serialize_with = "states")]
    states: &'a Mdp,
    actions: OneLine<Vec<Cow<'a, str>>>,
    start: usize,
    end: usize,
    #[serde(serialize_with = "transitions")]
    transitions: &'a Mdp,
    #[serde(serialize_with = "rewards")]
    rewards: &'a Mdp,
    optimal: Best<'a>,
    value_iteration: Option<Found>,
    policy_iteration: Option<Found>,
    benchmark: Found,
}

#[derive(Serialize)]
struct Best<'a> {
    value: f64,
    values: OneLine<&'a [f64]>,
    policy: OneLine<&'a [usize]>,
}

/// A value at the start, and the work of the method that found it.
#[derive(Serialize)]
struct Found {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweeps: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<usize>,
}

impl<'a> MdpDocument<'a> {
    pub(super) fn new(solved: &'a SolvedMdp, problem: &'a str, problem_hash: &'a str) -> Self {
        let mdp = &solved.mdp;
        let found = |value, sweeps, rounds| Found {
            value,
            sweeps,
            rounds,
        };
        let value_iteration = solved.value_iteration.as_ref();
        let policy_iteration = solved.policy_iteration.as_ref();
        Self {
            problem,
            problem_hash,
            horizon: mdp.problem().spec().horizon(),
            states: mdp,
            actions: OneLine((0..mdp.actions()).map(|a| mdp.action_name(a)).collect()),
            start: mdp.start(),
            end: mdp.end(),
            transitions: mdp,
            rewards: mdp,
            optimal: Best {
                value: solved.values[mdp.start()],
                values: OneLine(&solved.values),
                policy: OneLine(&solved.policy),
            },
            value_iteration: value_iteration
                .map(|by| found(by.values[mdp.start()], Some(by.rounds), None)),
            policy_iteration: policy_iteration
                .map(|by| found(by.values[mdp.start()], None, Some(by.rounds))),
            benchmark: found(solved.benchmark, None, None),
        }
    }
}

fn states<S: Serializer>(mdp: &Mdp, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct State<'a> {
        index: usize,
        t: Option<usize>,
        x: Option<usize>,
        name: Cow<'a, str>,
    }
    serializer.collect_seq((0..mdp.len()).map(|index| {
        let (t, x) = mdp.pair(index).unzip();
        let name = mdp.state_name(index);
        OneLine(State { index, t, x, name })
    }))
}

fn transitions<S: Serializer>(mdp: &Mdp, serializer: S) -> Result<S::Ok, S::Error> {
    let from = (0..mdp.len()).flat_map(|s| mdp.allowed(s).map(move |a| (s, a)));
    serializer.collect_seq(from.flat_map(|(s, a)| {
        let next = mdp.transitions(s, a);
        next.map(move |(next, p)| OneLine((s, a, next, p)))
    }))
}

fn rewards<S: Serializer>(mdp: &Mdp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq((0..mdp.len()).map(|s| {
        let row: Vec<_> = (0..mdp.actions()).map(|a| mdp.reward(s, a)).collect();
        OneLine(row)
    }))
}
