//! A Markov decision process as a JSON document, sparse: only transitions that can happen are listed.

use std::borrow::Cow;

use emab::Mdp;
use emab::oracle::SolvedMdp;
use serde::ser::{Error, SerializeStruct};
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

pub(super) struct MdpDocument<'a> {
    pub(super) solved: &'a SolvedMdp,
    pub(super) problem: &'a str,
    pub(super) hash: &'a str,
}

impl Serialize for MdpDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (solved, mdp) = (self.solved, &self.solved.mdp);
        let at_start = |values: &[f64]| values[mdp.start()];
        let value_iteration = solved.value_iteration.as_ref();
        let policy_iteration = solved.policy_iteration.as_ref();
        let mut out = serializer.serialize_struct("Mdp", 13)?;
        out.serialize_field("problem", self.problem)?;
        out.serialize_field("problem_hash", self.hash)?;
        out.serialize_field("horizon", &mdp.problem().spec().horizon())?;
        out.serialize_field("states", &Rows(mdp, States))?;
        let actions: Vec<_> = (0..mdp.actions()).map(|a| mdp.action_name(a)).collect();
        out.serialize_field("actions", &OneLine(actions))?;
        out.serialize_field("start", &mdp.start())?;
        out.serialize_field("end", &mdp.end())?;
        out.serialize_field("transitions", &Rows(mdp, Transitions))?;
        out.serialize_field("rewards", &Rows(mdp, Rewards))?;
        out.serialize_field(
            "optimal",
            &Best {
                value: at_start(&solved.values),
                values: OneLine(&solved.values),
                policy: OneLine(&solved.policy),
            },
        )?;
        out.serialize_field(
            "value_iteration",
            &value_iteration.map(|by| BySweeps {
                value: at_start(by.values()),
                sweeps: by.sweeps(),
            }),
        )?;
        out.serialize_field(
            "policy_iteration",
            &policy_iteration.map(|by| ByRounds {
                value: at_start(by.values()),
                rounds: by.rounds(),
            }),
        )?;
        out.serialize_field(
            "benchmark",
            &Value {
                value: solved.benchmark,
            },
        )?;
        out.end()
    }
}

#[derive(Serialize)]
struct Best<'a> {
    value: f64,
    values: OneLine<&'a [f64]>,
    policy: OneLine<&'a [usize]>,
}

#[derive(Serialize)]
struct BySweeps {
    value: f64,
    sweeps: usize,
}

#[derive(Serialize)]
struct ByRounds {
    value: f64,
    rounds: usize,
}

#[derive(Serialize)]
struct Value {
    value: f64,
}

/// A list serialized entry by entry, one per line: there may be millions.
struct Rows<'a, K>(&'a Mdp, K);
struct States;
struct Transitions;
struct Rewards;

impl Serialize for Rows<'_, States> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct State<'a> {
            index: usize,
            t: Option<usize>,
            x: Option<usize>,
            name: Cow<'a, str>,
        }
        let mdp = self.0;
        serializer.collect_seq((0..mdp.len()).map(|index| {
            let (t, x) = mdp.pair(index).unzip();
            let name = mdp.state_name(index);
            OneLine(State { index, t, x, name })
        }))
    }
}

impl Serialize for Rows<'_, Transitions> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mdp = self.0;
        let from = (0..mdp.len()).flat_map(|s| mdp.allowed(s).map(move |a| (s, a)));
        serializer.collect_seq(from.flat_map(|(s, a)| {
            let next = mdp.transitions(s, a);
            next.map(move |(next, p)| OneLine((s, a, next, p)))
        }))
    }
}

impl Serialize for Rows<'_, Rewards> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mdp = self.0;
        serializer.collect_seq((0..mdp.len()).map(|s| {
            let row: Vec<_> = (0..mdp.actions()).map(|a| mdp.reward(s, a)).collect();
            OneLine(row)
        }))
    }
}
