//! Wrong input is refused, with an exit code and in words.

use std::fs;

use crate::common::rejects;

#[test]
fn wrong_input_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let coin = "horizon = 3\nstates = 3\nactions = [\"toss\"]\nfeedbacks = 2\ntransition = \"x + f\"\n\
                [model]\nfeedback = [\"0.5\", \"0.5\"]\nreward = \"x\"\n";
    let misspelt = write("misspelt.toml", &coin.replace("horizon", "horizn"));
    let law = write("law.toml", &coin.replace("\"0.5\"]", "\"0.6\"]"));
    let zero = write("zero.toml", &coin.replace("\"x\"\n", "\"1 / (2 - x)\"\n"));
    let range = write("range.toml", &coin.replace("x + f", "x + 3 * f"));
    let long = write(
        "long.toml",
        &coin.replace("horizon = 3", "horizon = 1000000000000"),
    );
    let live = write("live.toml", coin.split("[model]").next().unwrap());
    let many = write(
        "many.toml",
        &coin
            .replace("horizon = 3", "horizon = 30")
            .replace("[\"toss\"]", "3")
            .replace("x + f", "x"),
    );
    let good = write("good.toml", coin);
    let odd = write("odd.txt", coin);
    let bytes = folder.path().join("bytes.toml");
    fs::write(&bytes, b"name = \"\xff\"").unwrap();

    for command in ["run", "solve", "check"] {
        rejects(
            &[command, &misspelt],
            2,
            &[
                "misspelt.toml:1:1",
                "unknown field `horizn`",
                "did you mean `horizon`?",
            ],
        );
        rejects(
            &[command, &law],
            2,
            &["law.toml:7:12", "t = 1, x = 0", "sum to 1.1, expected 1"],
        );
        rejects(
            &[command, &zero],
            2,
            &["zero.toml:8:11", "t = 3, x = 2", "division by zero: 1 / 0"],
        );
        rejects(
            &[command, &range],
            2,
            &[
                "range.toml:5:14",
                "t = 1, x = 0",
                "f = 1",
                "got 3",
                "from 0 to 2",
            ],
        );
        rejects(
            &[command, &long],
            2,
            &["long.toml:1:11", "from 1 to 1000000, got 1000000000000"],
        );
        rejects(&[command, &odd], 2, &["ends in .toml or .json"]);
        rejects(
            &[command, bytes.to_str().unwrap()],
            2,
            &["not UTF-8", "byte 8"],
        );
        rejects(&[command, "nowhere.toml"], 2, &["cannot read nowhere.toml"]);
        rejects(
            &[command, "resurce"],
            2,
            &["unknown problem `resurce`", "did you mean `resource`?"],
        );
    }
    for command in ["run", "solve"] {
        rejects(&[command, &live], 2, &["live.toml", "no [model]"]);
    }
    for (learner, words) in [
        (
            "feedball",
            &["unknown learner `feedball`", "did you mean `feedbal`?"][..],
        ),
        ("feedbal:sigma=1", &["no parameter `sigma`", "`sigma2`"][..]),
        (
            "feedbal:delta=1.5",
            &["`delta` must lie in (0, 1), got 1.5"][..],
        ),
        (
            "feedbal:delta=nan",
            &["`delta` must lie in (0, 1), got NaN"][..],
        ),
        ("feedbal:sigma2=-1", &["`sigma2`", "got -1"][..]),
        (
            "feedbal:sigma2=much",
            &["`sigma2` must be a number, got much"][..],
        ),
        (
            "feedbal:width=narrow",
            &["`width` must be `paper`, `sound` or `bernstein`, got `narrow`"][..],
        ),
        (
            "feedbal:delta",
            &["`delta` is not of the form key=value"][..],
        ),
        (
            "feedbal:delta=0.1,delta=0.2",
            &["`delta` is given twice"][..],
        ),
        ("ucb1:c=2", &["no parameter `c`", "it has none"][..]),
    ] {
        rejects(&["run", &good, "--learner", learner], 2, words);
    }
    rejects(
        &["run", &many, "--learner", "ucb1"],
        2,
        &["102945566047324 arms", "1000000"],
    );
    rejects(
        &["run", &good, "--episodes", "0"],
        2,
        &["--episodes", "at least 1"],
    );
    rejects(
        &["run", &good, "--runs", "many"],
        2,
        &["--runs", "whole number"],
    );
    rejects(&["run", &good, "--threads", "0"], 2, &["--threads"]);
    rejects(
        &["run", &good, "--episodes", "10", "--checkpoints", "5,11"],
        2,
        &[
            "--checkpoints",
            "from 1 to the number of episodes, 10, got 11",
        ],
    );
    rejects(
        &["run", &good, "--out", "/dev/null/folder"],
        1,
        &["cannot make the folder /dev/null/folder"],
    );
    rejects(
        &[
            "reproduce",
            "--runs",
            "1",
            "--episodes",
            "1",
            "--out",
            "/dev/null/folder",
        ],
        1,
        &["/dev/null/folder"],
    );
    rejects(
        &["run", "--resume", folder.path().to_str().unwrap()],
        2,
        &["contains no unfinished run"],
    );
    rejects(
        &["run", "--resume", "/nowhere"],
        2,
        &["cannot read the folder /nowhere"],
    );
    rejects(
        &["run", "--resume", "/nowhere", "--runs", "3"],
        2,
        &["cannot be used with"],
    );
    rejects(
        &["plot", folder.path().to_str().unwrap()],
        2,
        &["contains no results"],
    );
    rejects(&["problems", "nothing"], 2, &["unknown problem `nothing`"]);
    rejects(&["run"], 2, &["PROBLEM"]);
    rejects(&["fly"], 2, &["unrecognized subcommand"]);
    // A refused run has written nothing.
    let out = folder.path().join("never");
    rejects(&["run", &zero, "--out", out.to_str().unwrap()], 2, &[]);
    assert!(!out.exists());
}

#[test]
fn a_damaged_checkpoint_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("checkpoint.json"), "{").unwrap();
    rejects(
        &["run", "--resume", folder.path().to_str().unwrap()],
        1,
        &["checkpoint.json is damaged"],
    );
}
