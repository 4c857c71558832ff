//! `--learner` and `--label` of `emab plot`: which learners are drawn, and by which names.

use std::collections::BTreeMap;

use crate::args::Plot;
use crate::error::CommandError;

/// The learners of a folder that are drawn.
pub struct Learners {
    /// Labels in the folder, in the order of the figure.
    chosen: Vec<String>,
    /// Names in the figure by label, where they differ.
    names: BTreeMap<String, String>,
}

impl Learners {
    /// The choice of the arguments among learners with these labels and names.
    pub fn choose(args: &Plot, known: &[(&str, &str)]) -> Result<Learners, CommandError> {
        let all: Vec<&str> = known.iter().map(|(label, _)| *label).collect();
        let find = |option: &str, asked: &str| {
            let by_name = |(label, name): &(&str, &str)| *label == asked || *name == asked;
            let found: Vec<&str> = match all.contains(&asked) {
                true => vec![asked],
                false => known
                    .iter()
                    .copied()
                    .filter(by_name)
                    .map(|(label, _)| label)
                    .collect(),
            };
            match found.is_empty() {
                false => Ok(found.into_iter().map(str::to_owned).collect::<Vec<_>>()),
                true => Err(CommandError::input(format!(
                    "{option}: {} has no learner `{asked}`; it has {}",
                    args.folder.display(),
                    all.join(", ")
                ))),
            }
        };
        let mut chosen: Vec<String> = Vec::new();
        for asked in &args.learner {
            for label in find("--learner", asked)? {
                if !chosen.contains(&label) {
                    chosen.push(label);
                }
            }
        }
        if args.learner.is_empty() {
            chosen = all.iter().map(|label| (*label).to_owned()).collect();
        }
        let mut names = BTreeMap::new();
        for given in &args.label {
            // Labels have equals signs of their own: the longest one that begins the argument is meant.
            let begins = |label: &&&str| {
                given
                    .strip_prefix(**label)
                    .is_some_and(|rest| rest.starts_with('='))
            };
            let longest = all.iter().filter(begins).max_by_key(|label| label.len());
            let (asked, text) = match longest {
                Some(label) => (*label, &given[label.len() + 1..]),
                None => given.split_once('=').ok_or_else(|| {
                    CommandError::input(format!("--label must be NAME=TEXT, got `{given}`"))
                })?,
            };
            match &find("--label", asked)?[..] {
                [one] => names.insert(one.clone(), text.to_owned()),
                several => {
                    return Err(CommandError::input(format!(
                        "--label: `{asked}` is the name of {} learners; give the label of one: {}",
                        several.len(),
                        several.join(", ")
                    )));
                }
            };
        }
        Ok(Learners { chosen, names })
    }

    /// The labels in the order of the figure.
    pub fn chosen(&self) -> &[String] {
        &self.chosen
    }

    /// The position of a label in the figure; none if it is not drawn.
    pub fn position(&self, label: &str) -> Option<usize> {
        self.chosen.iter().position(|one| one == label)
    }

    /// The name of a learner in the figure.
    pub fn name<'a>(&'a self, label: &'a str) -> &'a str {
        self.names.get(label).map_or(label, String::as_str)
    }
}
