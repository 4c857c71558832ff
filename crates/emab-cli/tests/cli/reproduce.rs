//! `emab reproduce`, with few runs.

use crate::common::said;
use crate::test_dir::TestDir;

/// Next to no runs: nothing can be decided that needs an error, and nothing is NaN.
#[test]
fn a_single_run_decides_nothing() {
    let document = TestDir::new().json("reproduce --runs 2 --episodes 3 --out @ --json");
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
    let dir = TestDir::new();
    let document = dir.json("reproduce --runs 60 --episodes 2000 --out @ --json");
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.len() >= 8);
    for (place, says, verdict) in [
        ("Section 5", "UCB1 and UCB1-V", "holds"),
        ("Section 5", "optimal policy", "holds"),
        ("Section 2.3, example", "earns 7", "holds"),
        ("Section 2.3, example", "earns 3", "holds-in-part"),
        ("Section 2.3, Appendix A", "1 - 1/e", "holds"),
        ("Appendix A", "every action once", "fails"),
        ("our own reference", "independent loop", "holds"),
        ("Lemma 1", "in Section 5", "holds"),
        ("Lemma 1", "in every problem", "fails"),
        ("Lemma 1, repaired", "width=sound", "holds"),
        ("Lemma 2, as printed", "every path", "fails"),
        ("Lemma 2, as derived", "every path", "holds"),
        ("Corollary 1", "in every problem", "fails"),
        ("Corollary 1, repaired", "width=sound", "holds"),
        ("Theorem 1", "in Section 5", "vacuous"),
        ("Theorem 1", "in every problem", "fails"),
        ("Theorem 1, ties", "Assumption 1", "fails"),
        ("Theorem 2", "in Section 5", "vacuous"),
        ("Theorem 2", "in every problem", "fails"),
        ("Theorem 2, repaired", "width=sound", "holds"),
        ("Theorem 2", "log n", "holds"),
        ("Corollary 2", "in every problem", "fails"),
        ("Corollary 2, repaired", "width=sound", "holds"),
        ("Abstract, Section 2.4", "number of steps", "holds"),
        ("Abstract, Section 2.4", "number of states", "holds"),
        ("Abstract, Section 2.4", "number of actions", "holds"),
        ("Section 4", "benchmark earns after", "holds"),
        ("Section 4", "worst continuation", "fails"),
        (
            "Section 5, additional results",
            "calls for σ² = 0.2",
            "fails",
        ),
    ] {
        let mut claims = claims.iter().filter(|c| c["place"] == place);
        let claim = claims.find(|c| c["says"].as_str().unwrap().contains(says));
        let claim = claim.unwrap_or_else(|| panic!("{place}: {says}"));
        assert_eq!(claim["verdict"], verdict, "{place}: {says}");
    }
    let names = "figure1.svg figure1.png figure2.svg figure2.png places.svg bound.svg feedback-gap.svg logarithm.svg \
                 report.md report.html";
    for name in names.split(' ') {
        assert!(dir.read(name).len() > 1000, "{name}");
    }
    let report = dir.text("report.md");
    assert!(report.contains("(figure1.png)") && report.contains("**holds in part**"));
    // Repairs and additions are in the other table.
    for claim in claims {
        let place = claim["place"].as_str().unwrap();
        let ours = claim["ours"].as_bool().unwrap();
        assert!(ours || !place.ends_with("repaired"), "{place}");
        if claim["says"].as_str().unwrap().contains("UCB1-V, which") {
            assert!(ours);
        }
    }
    // A summary and the figures come before the tables of claims.
    let at = |text: &str| report.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("| does not hold |") < at("(figure1.png)"));
    assert!(at("(logarithm.png)") < at("## Claims of the paper"));
}

/// The command prints a screenful; `--full` prints every claim.
#[test]
fn prints_a_summary_or_everything() {
    let dir = TestDir::new();
    let call = "reproduce --runs 10 --episodes 50 --out @";
    let (summary, _) = said(&dir.call(call));
    let lines = summary.lines().count();
    assert!(lines <= 50, "{lines} lines: {summary}");
    assert!(summary.contains("Does not hold:") && summary.contains("`--full`"));
    // A path is not divided.
    let mut texts = summary.lines().filter(|line| !line.contains("report.html"));
    assert!(texts.all(|line| line.chars().count() <= 100), "{summary}");
    let (full, _) = said(&dir.call(&format!("{call} --full")));
    assert!(full.lines().count() > 4 * lines, "{full}");
}
