//! The table of learners in docs/learners.md is the catalogue.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use emab::learners::CATALOGUE;

const BEGIN: &str = "<!-- table of learners, written by tools/regenerate -->\n";
const END: &str = "<!-- end of table -->";

#[test]
fn the_documented_learners_are_those_of_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/learners.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let mut now =
        String::from("\n| learner | reads | choices depend on | method |\n|---|---|---|---|\n");
    for entry in CATALOGUE {
        let (access, basis) = (entry.access.description(), entry.choice_basis.name());
        let (name, about) = (entry.name, entry.about);
        now += &format!("| `{name}` | {access} | {basis} | {about} |\n");
    }
    now += "\n";
    if std::env::var_os("EMAB_REGENERATE").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{now}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(table, now, "docs/learners.md: run `tools/regenerate`");
}
