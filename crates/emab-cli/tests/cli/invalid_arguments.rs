//! Invalid input of `emab run`, `solve`, `check` and `plot`: exit codes and messages.

use std::fs;

use crate::test_dir::{TestDir, cases};

#[test]
fn rejects_invalid_input() {
    let dir = TestDir::new();
    let coin = "horizon = 3\nstates = 3\nactions = [\"toss\"]\nfeedbacks = 2\ntransition = \"x + f\"\n\
                [model]\nfeedback = [\"0.5\", \"0.5\"]\nreward = \"x\"\n";
    let many = coin.replace("horizon = 3", "horizon = 30");
    let many = many.replace("[\"toss\"]", "3").replace("x + f", "x");
    for (name, text) in [
        ("misspelt.toml", &coin.replace("horizon", "horizn")),
        ("sum.toml", &coin.replace("\"0.5\"]", "\"0.6\"]")),
        ("zero.toml", &coin.replace("\"x\"\n", "\"1 / (2 - x)\"\n")),
        ("range.toml", &coin.replace("x + f", "x + 3 * f")),
        (
            "long.toml",
            &coin.replace("horizon = 3", "horizon = 1000000000000"),
        ),
        ("live.toml", &coin.split("[model]").next().unwrap().into()),
        ("many.toml", &many),
        ("good.toml", &coin.into()),
        ("odd.txt", &coin.into()),
    ] {
        dir.write(name, text);
    }
    fs::write(dir.at("bytes.toml"), b"name = \"\xff\"").unwrap();

    let table = "
        @/misspelt.toml => misspelt.toml:1:1 | unknown field `horizn` | did you mean `horizon`?
        @/sum.toml      => sum.toml:7:12 | t = 1, x = 0 | sum to 1.1, expected 1
        @/zero.toml     => zero.toml:8:11 | t = 3, x = 2 | division by zero: 1 / 0
        @/range.toml    => range.toml:5:14 | t = 1, x = 0 | f = 1 | got 3 | from 0 to 2
        @/long.toml     => long.toml:1:11 | from 1 to 1000000, got 1000000000000
        @/odd.txt       => ends in .toml or .json
        @/bytes.toml    => not UTF-8 | byte 8
        nowhere.toml    => cannot read nowhere.toml
        resurce         => unknown problem `resurce` | did you mean `resource`?
    ";
    for (problem, words) in cases(table) {
        for command in ["run", "solve", "check"] {
            dir.rejects(&format!("{command} {problem}"), 2, words);
        }
    }
    let table = "
        feedball                    => unknown learner `feedball` | did you mean `feedbal`?
        feedbal:sigma=1             => no parameter `sigma` | `sigma2`
        feedbal:delta=1.5           => `delta` must lie in (0, 1), got 1.5
        feedbal:delta=nan           => `delta` must lie in (0, 1), got NaN
        feedbal:sigma2=-1           => `sigma2` | got -1
        feedbal:sigma2=much         => `sigma2` must be a number, got much
        feedbal:width=narrow        => `width` must be `paper`, `sound` or `bernstein`, got `narrow`
        feedbal:delta               => `delta` is not of the form key=value
        feedbal:delta=0.1,delta=0.2 => `delta` is given twice
        ucb1:c=2                    => no parameter `c` | it has none
    ";
    for (learner, words) in cases(table) {
        dir.rejects(&format!("run @/good.toml --learner {learner}"), 2, words);
    }
    dir.rejects_each(
        2,
        "
        run @/live.toml                                   => live.toml | no [model]
        solve @/live.toml                                 => live.toml | no [model]
        run @/many.toml --learner ucb1                    => 102945566047324 arms | 1000000
        run @/good.toml --episodes 0                      => --episodes | at least 1
        run @/good.toml --runs many                       => --runs | whole number
        run @/good.toml --threads 0                       => --threads
        run @/good.toml --episodes 10 --checkpoints 5,11  => --checkpoints | from 1 to the number of episodes, 10, got 11
        run @/good.toml --device tpu                      => 'tpu' for '--device | a device is `cpu`, `gpu` or `auto`, got `tpu`
        sweep @/good.toml --device GPU                    => 'GPU' for '--device | a device is `cpu`, `gpu` or `auto`, got `GPU`
        arena @/good.toml --device ''                     => '--device | a device is `cpu`, `gpu` or `auto`
        run @/good.toml --device                          => '--device | a value is required
        run --resume @                                    => contains no unfinished run
        run --resume /nowhere                             => cannot read the folder /nowhere
        run --resume /nowhere --runs 3                    => cannot be used with
        plot @                                            => contains no result; `emab plot` draws finished runs
        problems nothing                                  => unknown problem `nothing`
        run                                               => PROBLEM
        fly                                               => unrecognized subcommand
        token new z --role viewer --valid-for 90          => '90' for '--valid-for | a number and a unit, such as `90d`
        token new z --role viewer --valid-for abc         => 'abc' for '--valid-for | a number and a unit
        serve --log inf                                   => 'inf' for '--log | error, warn, info or debug (did you mean `info`?)
        serve --session 90000000h                         => '90000000h' for '--session | a session lasts from a second to a year
        serve --session 0s                                => '0s' for '--session | a session lasts from a second to a year
        serve --listen foo                                => 'foo' for '--listen | an IP address and a port, such as 127.0.0.1:8420
        serve --person-header X --trusted-proxy abc       => 'abc' for '--trusted-proxy | an IP address is needed, such as 10.0.0.4
        ",
    );
    dir.rejects_each(
        1,
        "
        run @/good.toml --out /dev/null/folder                  => cannot make the folder /dev/null/folder
        reproduce --runs 1 --episodes 1 --out /dev/null/folder  => /dev/null/folder
        ",
    );
    // A rejected run writes nothing.
    dir.rejects("run @/zero.toml --out @/never", 2, "");
    assert!(!dir.exists("never"));
}

#[test]
fn rejects_a_damaged_checkpoint() {
    let dir = TestDir::new();
    dir.write("checkpoint.json", "{");
    dir.rejects("run --resume @", 1, "checkpoint.json is damaged");
}
