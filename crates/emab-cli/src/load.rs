//! Finds a problem: one that comes with the program, a file, or standard input; and a learner for it.

use std::fs;
use std::io::Read;
use std::path::Path;

use emab::Environment;
use emab::learners::{LearnerConfig, nearest};
use emab::oracle::{Pairs, Variation};
use emab_problem::{BUILTIN, Format, ProblemFile};
use emab_report::{premises_words, soundness_words};

use crate::failure::Failure;
use crate::terminal;

/// Files larger than this are not problem files.
const LARGEST: u64 = 256 << 20;

/// The problem of this name: `-` is JSON on standard input, a bare name a built-in problem, anything else a file.
pub fn problem(name: &str) -> Result<ProblemFile, Failure> {
    if name == "-" {
        let text = read(std::io::stdin().lock(), "standard input")?;
        return Ok(ProblemFile::parse_as(Format::Json, "<stdin>", &text)?);
    }
    if let Some(file) = ProblemFile::builtin(name) {
        return Ok(file?);
    }
    let path = Path::new(name);
    if path.extension().is_none() && !path.exists() {
        let names: Vec<&str> = BUILTIN.iter().map(|b| b.name).collect();
        let near = nearest(name, names.iter().copied());
        let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        return Err(Failure::input(format!(
            "unknown problem `{name}`{near}: it is neither a file nor one of {}",
            names.join(", ")
        )));
    }
    let file = fs::File::open(path)
        .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    Ok(ProblemFile::parse(name, &read(file, name)?)?)
}

/// The problem under conditions that the call states, in place of those that its file does.
pub fn under(file: ProblemFile, texts: &[String]) -> Result<ProblemFile, Failure> {
    if texts.is_empty() {
        return Ok(file);
    }
    let conditions = file
        .conditions()
        .with(texts.iter().map(String::as_str))
        .map_err(|error| Failure::input(format!("--condition: {error}")))?;
    Ok(file.with_conditions(&conditions)?)
}

/// Says so where a file states conditions and the command is about the problem without them.
pub fn note_conditions(file: &ProblemFile) {
    if !file.conditions().is_none() {
        terminal::note(&format!(
            "note: the conditions of {} ({}) are left out here; `emab run` plays them",
            file.name(),
            file.conditions()
        ));
    }
}

/// A learner for runs of so many episodes; says what is assumed where nobody said it.
pub fn learner(file: &ProblemFile, text: &str, episodes: u64) -> Result<LearnerConfig, Failure> {
    let config = LearnerConfig::parse(text, file.learning())
        .and_then(|config| config.for_episodes(episodes))
        .map_err(|error| Failure::learner(file, error))?;
    for name in config.assumed() {
        let value = config.parameters().iter().find(|(n, _)| n == name);
        terminal::note(&format!(
            "note: {text}: neither the call nor [learning] states `{name}`; {} is assumed",
            value.map_or(String::new(), |(_, value)| value.to_string())
        ));
    }
    Ok(config)
}

/// Says so where a learner's confidence does not cover what its problem varies by.
pub fn warn_unsound(file: &ProblemFile, configs: &[LearnerConfig]) -> Result<(), Failure> {
    // Whoever is told nothing has no premises.
    let told = |config: &&LearnerConfig| !config.parameters().is_empty();
    if !configs.iter().any(|config| told(&config)) {
        return Ok(());
    }
    let mut pairs = Pairs::new(file.problem()?).map_err(|error| Failure::oracle(file, error))?;
    let Ok(variation) = Variation::of(&mut pairs, Environment::EXACT_PAIRS) else {
        terminal::note(&format!(
            "note: more than {} pairs can be reached, too many to see here whether the width is sound; `emab check` looks further",
            Environment::EXACT_PAIRS
        ));
        return Ok(());
    };
    let costs = pairs.iter().flat_map(|pair| {
        let pairs = &pairs;
        pairs.allowed(pair).map(move |a| pairs.cost(pair, a))
    });
    let least_cost = costs.fold(f64::INFINITY, f64::min);
    for config in configs.iter().filter(told) {
        let words = match config.feedbal() {
            Ok(told) => soundness_words(&told, &variation, file.spec()),
            Err(_) => premises_words(config, &variation, least_cost),
        };
        if let Some(words) = words {
            terminal::note(&format!("warning: {}: {words}", config.label()));
        }
    }
    Ok(())
}

fn read(from: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::input(format!(
            "{name} is larger than {LARGEST} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input(format!(
            "{name} is not UTF-8 text: byte {at} does not belong there"
        ))
    })
}
