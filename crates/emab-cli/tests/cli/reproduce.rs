//! `emab reproduce`, with few runs.

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
        ("our own reference", "separate program", "holds"),
        ("Lemma 1", "in Section 5", "holds"),
        ("Lemma 1", "in every problem", "fails"),
        ("Lemma 1, repaired", "width=sound", "holds"),
        ("Lemma 2, as printed", "every path", "fails"),
        ("Lemma 2, as derived", "every path", "holds"),
        ("Theorem 1, ties", "Assumption 1", "fails"),
        ("Theorem 2", "log n", "holds"),
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
}
