//! `emab reproduce`, with few runs.

use std::fs;

use crate::common::json;

/// Next to no runs: nothing can be decided that needs an error, and nothing is NaN.
#[test]
fn a_single_run_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let document = json(&[
        "reproduce",
        "--runs",
        "2",
        "--episodes",
        "3",
        "--out",
        out,
        "--json",
    ]);
    for claim in document["claims"].as_array().unwrap() {
        let measured = claim["measured"].as_str().unwrap();
        let mut words = measured.split(|c: char| !c.is_alphanumeric());
        assert!(
            !words.any(|word| word == "NaN" || word == "inf"),
            "{measured}"
        );
        if claim["says"].as_str().unwrap().contains("Equation 2") {
            assert_eq!(claim["verdict"], "undecided");
        }
    }
}

#[test]
fn reproduces_with_few_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let document = json(&[
        "reproduce",
        "--runs",
        "60",
        "--episodes",
        "2000",
        "--out",
        out,
        "--json",
    ]);
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.len() >= 8);
    let verdict = |dir: &str, says: &str| {
        let claim = claims
            .iter()
            .find(|c| c["place"] == dir && c["says"].as_str().unwrap().contains(says));
        claim.unwrap_or_else(|| panic!("{dir}: {says}"))["verdict"]
            .as_str()
            .unwrap()
    };
    assert_eq!(verdict("Section 5", "UCB1 and UCB1-V"), "holds");
    assert_eq!(verdict("Section 5", "optimal policy"), "holds");
    assert_eq!(verdict("Section 2.3, example", "earns 7"), "holds");
    assert_eq!(verdict("Section 2.3, example", "earns 3"), "holds-in-part");
    assert_eq!(verdict("our own reference", "separate program"), "holds");
    assert_eq!(verdict("Lemma 1", "in Section 5"), "holds");
    assert_eq!(verdict("Lemma 1", "in every problem"), "fails");
    assert_eq!(verdict("Lemma 1, repaired", "width=sound"), "holds");
    assert_eq!(verdict("Lemma 2, as printed", "every path"), "fails");
    assert_eq!(verdict("Lemma 2, as derived", "every path"), "holds");
    assert_eq!(verdict("Theorem 1, ties", "Assumption 1"), "fails");
    assert_eq!(verdict("Theorem 2", "log n"), "holds");
    for name in [
        "figure1.svg",
        "figure1.png",
        "figure2.svg",
        "figure2.png",
        "places.svg",
        "bound.svg",
        "feedback-gap.svg",
        "logarithm.svg",
        "report.md",
        "report.html",
    ] {
        assert!(
            fs::metadata(folder.path().join(name)).unwrap().len() > 1000,
            "{name}"
        );
    }
    let report = fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(report.contains("(figure1.png)") && report.contains("**holds in part**"));
}
