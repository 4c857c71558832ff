//! Counts in every notation, suggestions, files of the wrong kind, warnings of sweeps, and tables that fit the terminal.

use crate::common::{command, json, said, timeless};
use crate::test_dir::{SWEEP, TestDir};

#[test]
fn counts_may_have_exponents_and_underscores() {
    let plain =
        json("run parity --episodes 100 --runs 20 --seed 3000 --checkpoints 50 --threads 2 --json");
    let other = json(
        "run parity --episodes 1e2 --runs 2_0 --seed 3e3 --checkpoints 5.0e1 --threads 2e0 --json",
    );
    assert_eq!(timeless(plain), timeless(other));
    let dir = TestDir::new();
    dir.write("plain.toml", SWEEP);
    let other = SWEEP.replace("= 60", "= 6e1").replace("[20]", "[2e1]");
    dir.write("other.toml", &other.replace("steps = 3", "steps = 3e0"));
    assert_eq!(
        timeless(dir.json("sweep @/plain.toml --json")),
        timeless(dir.json("sweep @/other.toml --json"))
    );
    let coin = "horizon = 3e0\nstates = 3\nactions = 1\nfeedbacks = 2\ntransition = \"x + f\"\n";
    dir.write("coin.toml", coin);
    dir.emab("check @/coin.toml");
    dir.rejects_each(
        2,
        "
        run parity --episodes 1.5        => --episodes | it is not a whole number | 1e5
        run parity --episodes 1e30       => --episodes | it is larger than 2^64 - 1
        run parity --runs -3             => --runs | it is negative
        run parity --runs 1,000          => --runs | it is not a number
        run parity --seed 1e-3           => --seed | it is not a whole number
        run parity --checkpoints 10,1.5  => --checkpoints | it is not a whole number
        run parity --threads 1e4         => --threads | at most 1024
        run parity --condition delay=1.5 => `delay` must be a whole number of episodes
        verify parity --runs 1e-1        => --runs | whole number
        arena parity --episodes none     => --episodes | it is not a number
        ",
    );
}

#[test]
fn suggests_the_nearest_name() {
    let dir = TestDir::new();
    let named = "horizon = 3\nstates = [\"healthy\", \"ill\"]\nactions = [\"test\"]\nfeedbacks = [\"negative\", \"positive\"]\n\
                 transition = \"if(f == positive, ill, x)\"\n[model]\nfeedback = [0.5, 0.5]\nreward = \"x == healthy\"\n";
    for (name, from, to) in [
        ("field.toml", "transition", "transitoin"),
        ("model.toml", "reward =", "rewards ="),
        ("state.toml", "x == healthy", "x == helthy"),
        ("feedback.toml", "f == positive", "f == positve"),
        ("function.toml", "if(", "iff("),
        ("start.toml", "transition", "start = \"healty\"\ntransition"),
        (
            "noise.toml",
            "reward =",
            "reward_noise = { kind = \"norml\", variance = 1 }\nreward =",
        ),
    ] {
        dir.write(name, &named.replacen(from, to, 1));
    }
    dir.rejects_each(
        2,
        "
        check @/field.toml                          => did you mean `transition`?
        check @/model.toml                          => did you mean `reward`?
        check @/state.toml                          => did you mean `healthy`?
        check @/feedback.toml                       => did you mean `positive`?
        check @/function.toml                       => did you mean `if`?
        check @/start.toml                          => did you mean `healthy`?
        check @/noise.toml                          => did you mean `normal`?
        check screning                              => did you mean `screening`?
        run parity --learner Feedbal                => did you mean `feedbal`?
        run parity --learner thompson-sampling      => did you mean `thompson`?
        run parity --learner feedbal:sigam2=1       => no parameter `sigam2` (did you mean `sigma2`?)
        run parity --learner feedbal:width=suond    => (did you mean `sound`?), got `suond`
        run parity --condition dely=3               => did you mean `delay`?
        verify parity --learner fedbal              => did you mean `feedbal`?
        learners fedbal                             => did you mean `feedbal`?
        problems resorce                            => did you mean `resource`?
        problems --random mixd                      => did you mean `mixed`?
        problems --random mixed:stps=3              => did you mean `steps`?
        ",
    );
}

#[test]
fn recognises_files_of_the_wrong_kind() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    let (coin, _) = said("problems parity");
    dir.write("coin.toml", &coin);
    dir.write("coin.json", &said("problems parity --json").0);
    for command in ["run", "solve", "check", "bounds", "verify", "mdp", "arena"] {
        dir.rejects(
            &format!("{command} @/sweep.toml"),
            2,
            "this is a sweep file | emab sweep | its problem is `resource`",
        );
    }
    dir.rejects_each(
        2,
        "
        sweep @/coin.toml => this is a problem file, and a sweep file is needed | emab run
        sweep @/coin.json => this is a problem file, and a sweep file is needed | emab run
        sweep parity      => `parity` is a built-in problem | emab run parity
        sweep @           => it is a folder; name the sweep file
        check @           => it is a folder
        run parity --out @/coin.toml => --out: | coin.toml is a file, and a folder is needed
        ",
    );
    let size = "--runs 2 --episodes 20";
    dir.emab(&format!("run parity {size} --out @/run"));
    dir.emab(&format!("arena parity {size} --out @/arena"));
    dir.rejects_each(
        2,
        "
        run @/run/run.json       => this is a result of emab, and a problem file is needed | emab report
        check @/arena/arena.json => this is a result of emab, and a problem file is needed | emab plot
        sweep @/run/run.json     => this is a result of emab, and a sweep file is needed
        ",
    );
}

#[test]
fn start_in_a_problem_file_has_clear_errors() {
    let dir = TestDir::new();
    let coin = "horizon = 3\nstates = 3\nactions = 1\nfeedbacks = 2\nSTARTtransition = \"x\"\n[model]\nMODEL\n\
                feedback = [0.5, 0.5]\nreward = \"x\"\n";
    for (start, model, words) in [
        (
            "start = { state = 0 }\n",
            "",
            "`start` must be a state, or a list of states | got a table | `start` in [model]",
        ),
        (
            "start = true\n",
            "",
            "`start` must be a state, or a list of states | got true",
        ),
        (
            "start = [0, 1]\n",
            "start = [0.5, 0.3, 0.2]",
            "a list of 2 probabilities | this list has 3 entries | `start` before [model] lists 2 states",
        ),
        (
            "start = [0, 1]\n",
            "start = { a = 1 }",
            "a list of 2 probabilities | got a table",
        ),
    ] {
        dir.write(
            "coin.toml",
            &coin.replace("START", start).replace("MODEL", model),
        );
        dir.rejects("check @/coin.toml", 2, words);
    }
}

#[test]
fn a_sweep_warns_once_of_each_kind() {
    let dir = TestDir::new();
    dir.write(
        "sweep.toml",
        "problem = \"tutoring\"\nlearners = [\"feedbal\", \"random\"]\nepisodes = 10\nruns = 2\n\
         [grid]\nlearner.sigma2 = [0.05, 0.1, 0.2]\n",
    );
    let said = dir.emab("sweep @/sweep.toml");
    let warnings: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect();
    assert_eq!(warnings.len(), 1, "{said}");
    for words in [
        "warning: cell 1 (feedbal:sigma2=0.05; learner.sigma2 = 0.05): the paper's width is not sound",
        "x = basic",
        "2 more cells have the same warning with other numbers",
    ] {
        assert!(warnings[0].contains(words), "{words}: {said}");
    }
    let sound = dir
        .text("sweep.toml")
        .replace("feedbal\"", "feedbal:width=sound\"");
    dir.write("sound.toml", &sound.replace("0.05, 0.1, 0.2", "0.25, 0.5"));
    let said = dir.emab("sweep @/sound.toml");
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn every_table_fits_the_terminal() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    let calls = [
        "learners",
        "learners feedbal psrl",
        "problems",
        "solve treatment",
        "bounds treatment",
        "check tutoring",
        "mdp screening",
        "verify screening --runs 2 --episodes 10",
        "run tutoring --runs 2 --episodes 10 --learner feedbal:ties=random,stop_bias=0.1 --learner ucb1v",
        "arena tutoring screening --quick --runs 2 --episodes 10 --learner feedbal:width=sound --learner random",
        "sweep @/sweep.toml",
    ];
    for call in calls {
        for width in [60, 80, 100, 200] {
            let mut command = command(&dir.call(call));
            let output = command.env("COLUMNS", width.to_string()).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && !text.is_empty(), "{call}");
            for line in text.lines() {
                let length = line.chars().count();
                assert!(length <= width, "{call} at {width}: {line}\n{text}");
            }
        }
    }
}

#[test]
fn states_go_by_their_names() {
    let (text, _) = said("bounds screening");
    assert!(!text.contains(" x = 0"), "{text}");
    let document = json("bounds screening --json");
    let triplet = &document["triplets"][0];
    assert!(triplet["x"].is_u64() && triplet["state"].is_string());
    let name = triplet["state"].as_str().unwrap();
    assert!(
        name.parse::<u64>().is_err() && text.contains(name),
        "{text}"
    );
}
