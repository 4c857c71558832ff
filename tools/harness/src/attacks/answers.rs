//! Everything that the service answers to reads.

use serde_json::Value;

use super::{Api, Installation};
use crate::Result;

/// A request and its answer.
pub(super) type Answer = (String, u16, String);

/// Starts the service on a store and reads everything that `/openapi.json` lists under `GET`, for every study, episode and step.
/// Fails if the service does not start.
pub(super) fn read_all(
    installation: &Installation,
    store: &str,
    token: &str,
) -> Result<Vec<Answer>> {
    let service = installation.command(store).start()?;
    let mut api = Api::new(service.address, token);
    let mut answers = Vec::new();
    let studies = api.get("/v1/studies?limit=1000")?;
    for study in names(&studies.text(), "studies", "study") {
        let listed = api.get(&format!("/v1/studies/{study}/episodes?limit=1000"))?;
        let episodes = names(&listed.text(), "episodes", "episode");
        for path in paths(&mut api, &study, &episodes)? {
            let response = api.get(&path)?;
            answers.push((path, response.status, response.text().into_owned()));
        }
    }
    answers.push(("/v1/studies".into(), studies.status, studies.text().into()));
    Ok(answers)
}

/// The paths under `GET` for a study.
fn paths(api: &mut Api, study: &str, episodes: &[String]) -> Result<Vec<String>> {
    let document: Value = api.succeed("GET", "/openapi.json", "")?.json()?;
    let mut paths = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        // A checkpoint is signed anew where it is missing: docs/threat-model.md.
        let is_record = path.contains("{study}") && !path.ends_with("/checkpoint");
        if methods.get("get").is_none() || !is_record {
            continue;
        }
        let path = path.replace("{study}", study);
        if !path.contains("{episode}") {
            if path.ends_with("/estimates") {
                paths.extend([3, 20, 40].map(|seq| format!("{path}?as_of={seq}")));
            }
            if path.ends_with("/episodes") {
                paths.push(format!("{path}?open=true"));
            }
            paths.push(path);
            continue;
        }
        for episode in episodes {
            let path = path.replace("{episode}", episode);
            match path.contains("{step}") {
                true => paths.extend((1..=4).map(|step| path.replace("{step}", &step.to_string()))),
                false => paths.push(path),
            }
        }
    }
    Ok(paths)
}

/// The names in a list.
fn names(text: &str, list: &str, field: &str) -> Vec<String> {
    let read: Value = serde_json::from_str(text).unwrap_or_default();
    let items = read[list].as_array().into_iter().flatten();
    let names = items.filter_map(|item| item[field].as_str());
    names.map(str::to_owned).collect()
}
