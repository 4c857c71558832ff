//! A study with every kind of event.

use serde_json::{Value, json};

use super::Api;
use crate::Result;

/// The body of the request that creates the study.
pub(super) fn study(shadow: &[&str]) -> Value {
    json!({"horizon": 4, "states": ["low", "raised", "high"], "actions": ["blood", "scan"],
        "feedbacks": ["negative", "positive"], "transition": "min(x + f, 2)",
        "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
        "learner": "feedbal:width=sound", "shadow": shadow, "missing_at_random": true})
}

/// Creates the study and runs episodes `e1`, `e2`, …: complete, in parts, corrected, abandoned, final with unknown values, imported,
/// and open. Costs and rewards come from `value`, which gets the episode and the position of the value.
pub(super) fn populate(
    api: &mut Api,
    name: &str,
    episodes: usize,
    value: &dyn Fn(usize, usize) -> f64,
) -> Result<()> {
    let path = format!("/v1/studies/{name}");
    api.succeed("PUT", &path, study(&["olp"]))?;
    for number in 1..=episodes {
        let id = format!("e{number}");
        run_episode(api, &path, &id, number, value)?;
    }
    let past = json!({"id": "past", "actions": ["scan"], "feedbacks": ["positive"],
        "costs": [value(0, 0)], "rewards": [value(0, 1), value(0, 2)]});
    let response = api.import(name, &format!("{past}\n"))?;
    match response.status {
        200 => Ok(()),
        status => Err(format!("import: {status} {}", response.text()).into()),
    }
}

fn run_episode(
    api: &mut Api,
    path: &str,
    id: &str,
    number: usize,
    value: &dyn Fn(usize, usize) -> f64,
) -> Result<()> {
    let at = |rest: &str| format!("{path}/episodes/{id}{rest}");
    api.succeed("POST", &format!("{path}/episodes"), json!({"id": id}))?;
    let steps = number % 4;
    for step in 1..=steps {
        let action = ["blood", "scan"][(number + step) % 2];
        let feedback = ["negative", "positive"][(number / 2 + step) % 2];
        let tell =
            json!({"step": step, "action": action, "feedback": feedback, "reason": "as agreed"});
        api.succeed("POST", &at(":tell"), tell)?;
    }
    match number % 7 {
        5 => return Ok(()),
        6 => {
            let reason = json!({"reason": "did not come back"});
            api.succeed("POST", &at(":abandon"), reason)?;
            return Ok(());
        }
        _ => {
            let stop = json!({"step": steps + 1, "reason": "went home"});
            api.succeed("POST", &at(":stop"), stop)?;
        }
    }
    let costs: Vec<f64> = (0..steps).map(|i| value(number, i)).collect();
    let rewards: Vec<f64> = (0..=steps).map(|i| value(number, 10 + i)).collect();
    let mut first: Vec<Option<f64>> = vec![None; rewards.len()];
    first[0] = Some(rewards[0]);
    let part = json!({"rewards": first, "final": number % 7 == 4});
    api.succeed("PUT", &at("/outcome"), part)?;
    match number % 7 {
        // No further values.
        3 | 4 => return Ok(()),
        _ => api.succeed(
            "PUT",
            &at("/outcome"),
            json!({"costs": costs, "rewards": rewards}),
        )?,
    };
    if number % 7 == 2 {
        let last = steps;
        let mut corrected: Vec<Option<f64>> = vec![None; rewards.len()];
        corrected[last] = Some(value(number, 20));
        let amend = json!({"rewards": corrected, "reason": "mistyped"});
        api.succeed("POST", &at("/outcome:amend"), amend)?;
    }
    Ok(())
}

/// Values that differ from one another.
pub(super) fn plain_value(episode: usize, position: usize) -> f64 {
    ((episode * 7 + position * 3) % 16) as f64 / 16.0
}

/// A study whose transition is a table of about this many bytes.
pub(super) fn large_study(bytes: usize) -> Value {
    // `[[0,1]],` for each state.
    let states = (bytes / 8).max(2);
    let table: Vec<Value> = (0..states).map(|_| json!([[0, 1]])).collect();
    json!({"horizon": 2, "states": states, "actions": ["scan"], "feedbacks": ["negative", "positive"],
        "transition": [table], "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
        "learner": "feedbal:width=sound"})
}

/// Creates this many studies of this many bytes, a study `quiet`, and a noisy one with this many past episodes.
pub(super) fn prepare_noise(
    api: &mut Api,
    noisy: &str,
    [studies, bytes, episodes]: [usize; 3],
) -> Result<()> {
    let body = large_study(bytes);
    for number in 0..studies {
        api.succeed("PUT", &format!("/v1/studies/large{number}"), &body)?;
    }
    for name in [noisy, "quiet"] {
        api.succeed("PUT", &format!("/v1/studies/{name}"), study(&[]))?;
    }
    let past = (0..episodes).map(|number| {
        let line = json!({"id": format!("past{number}"), "actions": ["scan"],
            "feedbacks": ["positive"], "costs": [0.5], "rewards": [0.25, number % 2]});
        format!("{line}\n")
    });
    let response = api.import(noisy, &past.collect::<String>())?;
    match response.status {
        200 => Ok(()),
        status => Err(format!("import: {status} {}", response.text()).into()),
    }
}
