//! Invalid sweeps and shards: the error names the place, the value and the rule.

use std::fs;

use crate::test_dir::{SWEEP, TestDir, cases};

#[test]
fn rejects_shards_that_do_not_belong_together() {
    let dir = TestDir::new();
    dir.write("sweep.toml", SWEEP);
    dir.write("other.toml", &SWEEP.replace("[0.4, 0.8]", "[0.4, 0.9]"));
    let run = "run parity --episodes 20 --runs 6";
    for (folder, call) in [
        ("s1", "sweep @/sweep.toml --shard 1/3"),
        ("s2", "sweep @/sweep.toml --shard 2/3"),
        ("s3", "sweep @/sweep.toml --shard 3/3"),
        ("half", "sweep @/sweep.toml --shard 2/2"),
        ("foreign", "sweep @/other.toml --shard 3/3"),
        ("r1", &format!("{run} --shard 1/3")),
        ("r2", &format!("{run} --shard 2/3")),
        ("r3", &format!("{run} --shard 3/3")),
        ("r-half", &format!("{run} --shard 2/2")),
        ("r-seed", &format!("{run} --shard 3/3 --seed 2")),
        ("r-learner", &format!("{run} --shard 3/3 --learner random")),
        ("r-tiny", &format!("{run} --shard 7/1000000000000000000")),
    ] {
        dir.emab(&format!("{call} --out @/{folder}"));
    }
    fs::create_dir(dir.at("empty")).unwrap();
    let table = "
        @/s1 @/s3             => shards are missing: 2/3
        @/r2                  => shards are missing: 1/3, 3/3
        @/r-tiny              => missing: 1/1000000000000000000, 2/ | and 999999999999999979 more
        @/s1 @/s2 @/s3 @/s2   => s2 and | are both shard 2/3
        @/r1 @/r1 @/r3        => r1 and | are both shard 1/3
        @/s1 @/s2 @/foreign   => foreign is not a shard of the same result | its sweep is | s1 is
        @/r1 @/r2 @/r-seed    => r-seed is not a shard of the same result: its seed is 2 | r1 is 1
        @/r1 @/r2 @/r-learner => r-learner | list of learners is random
        @/s1 @/half           => half is shard 2/2, and | s1 is shard 1/3 | numbers of shards differ
        @/r1 @/r-half         => r-half is shard 2/2 | numbers of shards differ
        @/s1 @/s2 @/r3        => r3 contains no shard of a sweep, and other folders do
        @/r1 @/r2 @/empty     => empty contains no shard
        @/r1 @/nowhere        => cannot read the folder | nowhere
    ";
    for (folders, words) in cases(table) {
        dir.rejects(&format!("merge {folders} --out @/merged"), 2, words);
    }
    dir.rejects("merge @/s1 @/s2 @/s3", 2, "--out");
    // A rejected merge writes nothing.
    assert!(!dir.exists("merged"));

    // A folder with other content is not overwritten.
    let shard = dir.read("s1/sweep.json");
    dir.rejects_each(
        2,
        "
        merge @/s1 @/s2 @/s3 --out @/s1              => s1 is one of the folders to merge
        merge @/s1 @/s2 @/s3 --out @/foreign         => foreign contains shard 3/3 of a sweep of | --force
        merge @/s1 @/s2 @/s3 --out @/r1              => r1 contains shard 1/3 of a run of `parity` with feedbal
        merge @/r1 @/r2 @/r3 --out @/s1              => s1 contains shard 1/3 of a sweep
        sweep @/sweep.toml --shard 2/3 --out @/s1    => s1 contains shard 1/3 of a sweep | this call is shard 2/3
        sweep @/sweep.toml --out @/r1                => r1 contains shard 1/3 of a run of
        run parity --episodes 20 --runs 6 --out @/s1 => s1 contains shard 1/3 of a sweep of
        ",
    );
    assert_eq!(shard, dir.read("s1/sweep.json"));

    // Unfinished and damaged shards.
    fs::rename(dir.at("r2/shard.json"), dir.at("r2/checkpoint.json")).unwrap();
    dir.rejects(
        "merge @/r1 @/r2 @/r3 --out @/merged",
        2,
        "r2 contains an unfinished shard | --resume",
    );
    fs::rename(dir.at("r2/checkpoint.json"), dir.at("r2/shard.json")).unwrap();
    let text = dir.text("r2/shard.json");
    dir.write(
        "r2/shard.json",
        &text.replacen("\"runs\":6", "\"runs\":7", 1),
    );
    dir.rejects(
        "merge @/r1 @/r2 @/r3 --out @/merged",
        1,
        "r2/shard.json is damaged | checksum",
    );
    let text = dir.text("s2/cells.jsonl");
    let (first, rest) = text.split_once('\n').unwrap();
    dir.write("s2/cells.jsonl", rest);
    dir.rejects(
        "merge @/s1 @/s2 @/s3 --out @/merged",
        2,
        "s2 contains an unfinished shard: cell 2 (feedbal",
    );
    dir.write(
        "s2/cells.jsonl",
        &format!("{}\n{rest}", &first[..first.len() - 1]),
    );
    dir.rejects(
        "merge @/s1 @/s2 @/s3 --out @/merged",
        1,
        "line 1 of  | s2/cells.jsonl is damaged",
    );
    assert!(!dir.exists("merged"));

    for shard in ["0/3", "4/3", "3", "a/b", "1/3/5"] {
        let words = format!("--shard | K from 1 to N | {shard}");
        dir.rejects(&format!("{run} --shard {shard} --out @/never"), 2, &words);
    }
    dir.rejects(&format!("{run} --shard 1/3"), 2, "--out");
    dir.rejects("sweep @/sweep.toml --shard 1/3", 2, "--out");
}

#[test]
fn rejects_invalid_sweep_files() {
    let dir = TestDir::new();
    let head = "problem = \"resource\"\nepisodes = 10\nruns = 2\n";
    let table = r#"
        runz = 3 => sweep.toml:4:1 | unknown field `runz` | did you mean `runs`?
        seed = -1 => sweep.toml:4:8 | `seed` must be a whole number of at least 0, got -1
        seed = 1e20 => sweep.toml:4:8 | got 1e20 | is larger than 2^64 - 1
        episodez = 1.5 => did you mean `episodes`?
        checkpoints = 5 => sweep.toml:4:15 | `checkpoints` must be a list of episodes | got 5
        checkpoints = [2.5] => sweep.toml:4:16 | whole number of at least 1, got 2.5 | is not a whole number
        learners = "feedbal" => `learners` must be a list of learners | got the text `feedbal`
        seed = => sweep.toml:4:7 | this is not TOML
        learners = [] => `learners` is empty
        learners = ["feedball"] => unknown learner `feedball` | did you mean `feedbal`?
        checkpoints = [11] => `checkpoints` | episodes, 10, got 11
        [grid]⏎p = [1] => sweep.toml:5:1 | `grid.p` belongs neither | problem.NAME
        [grid]⏎lerner.delta = [1] => `grid.lerner` belongs neither | did you mean `learner`?
        [grid]⏎learner = [1] => `grid.learner` belongs neither | learner.NAME
        [grid]⏎learner.sigma = [1] => `learner.sigma` is a parameter of none of the learners (did you mean `sigma2`?) | emab learners
        [[cell]]⏎learner.sigma = 1 => `learner.sigma` is a parameter of none
        [grid]⏎learner.sigma2 = [] => `learner.sigma2` has no values
        [grid]⏎learner.sigma2 = [0.1, 1, 0.10] => `learner.sigma2` has 0.1 twice
        [grid]⏎learner.sigma2 = [nan] => sweep.toml:5:19 | must be finite, got NaN
        [grid]⏎problem.p = [0.5, -inf] => must be finite, got -inf
        [grid]⏎problem.p = [9007199254740993] => `problem.p` | at most 2^53, got 9007199254740993
        [grid]⏎problem.p = [[0.5]] => `problem.p` must be a number or a text | got a list
        [grid]⏎problem.p = 1979-05-27 => a date has no meaning here
        [[cell]]⏎problem.p = [0.5] => `problem.p` | got a list
        [grid]⏎problem.p = {} => the range of `problem.p` has no `from` | a range is { from = A
        [grid]⏎problem.p = { to = 1, steps = 3 } => `problem.p` has no `from`
        [grid]⏎problem.p = { from = 0.1, to = 1 } => `problem.p` has no `steps`
        [grid]⏎problem.p = { from = 0.1, to = 1, step = 3 } => unknown field `step` | did you mean `steps`?
        [grid]⏎problem.p = { from = 0.1, to = 1, steps = 2.5 } => `steps` must be a whole number of at least 2, got 2.5
        [grid]⏎problem.p = { from = 0.1, to = 1, steps = 1 } => `steps` must be a whole number of at least 2, got 1
        [grid]⏎problem.p = { from = 0.1, to = 1, steps = 100001 } => `problem.p` must have 2 to 100000 steps, got 100001
        [grid]⏎problem.p = { from = 0.1, to = inf, steps = 3 } => must be finite, got inf
        [grid]⏎problem.p = { from = "low", to = 1, steps = 3 } => sweep.toml:5:22 | `from` must be a number | got the text `low`
        [grid]⏎problem.p = { from = 0.5, to = 0.5, steps = 3 } => `problem.p` has 0.5 twice
        [grid]⏎problem.p = { from = 0, to = 1, steps = 3, scale = "log" } => `problem.p` needs ends above 0 on a log scale, got 0 to 1
        [grid]⏎problem.p = { from = 0.1, to = 1, steps = 3, scale = "lgo" } => `scale` must be `linear` or `log`, got `lgo` | did you mean `log`?
        [grid]⏎problem.p = { from = -1e308, to = 1e308, steps = 4 } => `problem.p` has ends too far apart
        [grid]⏎problem.q = [1] => `problem.q` is not in the problem | (beta, p)
        [grid]⏎problem.bta = [1] => `problem.bta` is not in the problem (did you mean `problem.beta`?)
        [grid]⏎problem.horizn = [5] => (did you mean `problem.horizon`?)
        [grid]⏎problem.model.cost_noise.varianz = [1] => `problem.model.cost_noise.varianz` is not in the problem (did you mean `problem.model.cost_noise.variance`?)
        [grid]⏎problem.model = [1] => `problem.model` is a table in the problem
        [grid]⏎problem.p = [0.5, 1.5] => error: the problem with problem.p = 1.5 is invalid: `feedback` is wrong at t = 1 | got -0.5, expected a probability | sweep.toml:5:13
        [grid]⏎problem.p = [0.2, "a"] => sweep.toml:5:13 | the problem with problem.p = a is invalid: `p` must be a number; got the text `a`
        [grid]⏎problem.model.cost_noise = [1] => `problem.model.cost_noise` is a table in the problem, and a sweep replaces single values only
        [grid]⏎problem.conditions.dropuot = [0.1] => `problem.conditions.dropuot` is not in the problem (did you mean `problem.conditions.dropout`?)
        [grid]⏎problem.horizon = [2.5] => sweep.toml:5:19 | the problem with problem.horizon = 2.5 is invalid: `horizon` must be a whole number from 1 to
        [[cell]]⏎problem.p = 1.5 => sweep.toml:5:13 | the problem with problem.p = 1.5 is invalid: `feedback`
        [grid]⏎learner.delta = [0.5, 1.5] => cell 2 ( | learner.delta = 1.5 | `delta` must lie in (0, 1), got 1.5
        [grid]⏎problem.p = [0.5]⏎problem.parameters.p = [0.6] => `problem.p` is given twice
        [grid]⏎learner.delta = ["0.1,sigma2=3"] => `learner.delta` must be one value | `0.1,sigma2=3`
        learners = ["feedbal:delta=0.1"]⏎[grid]⏎learner.delta = [0.5] => learner.delta = 0.5 | `delta` is given twice
        [grid]⏎problem.p = { from = 0.1, to = 1, steps = 1001 }⏎problem.beta = { from = 0.1, to = 1, steps = 1000 } => `grid` makes more than 1000000 cells
    "#;
    for (text, words) in cases(table) {
        dir.write("sweep.toml", &format!("{head}{text}\n"));
        dir.rejects("sweep @/sweep.toml --out @/never", 2, words);
    }
    let table = r#"
        # => a sweep file needs `problem`, which is not given
        problem = 3 => sweep.toml:1:11 | `problem` must be a text | got 3
        horizon = 3⏎states = 2 => this is a problem file, and a sweep file is needed | emab run
        problem = "resurce" => unknown problem `resurce` | did you mean `resource`?
        problem = "no.toml" => cannot read | no.toml
        problem = "resource"⏎runs = 0 => `runs` must be a whole number of at least 1, got 0
        problem = "resource"⏎episodes = 0 => `episodes` must be a whole number of at least 1, got 0
    "#;
    for (text, words) in cases(table) {
        dir.write("sweep.toml", &text);
        dir.rejects("sweep @/sweep.toml --out @/never", 2, words);
    }
    // A problem that is invalid by itself is reported at its own place.
    dir.write(
        "wrong.toml",
        "horizon = 3\nstates = 3\nactions = 1\nfeedbacks = 2\ntransition = \"x + f\"\n[parameters]\np = 0.5\n\
         [model]\nfeedback = [\"1.1 - p\", \"p\"]\nreward = \"x\"\n",
    );
    for grid in ["", "[grid]\nproblem.p = [0.2]\n"] {
        dir.write("sweep.toml", &format!("problem = \"wrong.toml\"\n{grid}"));
        let words = "error: `feedback` is wrong | wrong.toml:9:12 | sum to 1.1";
        dir.rejects("sweep @/sweep.toml --out @/never", 2, words);
    }
    fs::write(dir.at("sweep.toml"), b"problem = \"\xff\"").unwrap();
    dir.rejects("sweep @/sweep.toml --out @/never", 2, "cannot read | UTF-8");
    dir.rejects("sweep @/nowhere.toml", 2, "cannot read | nowhere.toml");
    // A rejected sweep writes nothing.
    assert!(!dir.exists("never"));
    dir.write("sweep.toml", SWEEP);
    dir.rejects(
        "sweep @/sweep.toml --out /dev/null/folder",
        1,
        "cannot make the folder /dev/null/folder",
    );
}
