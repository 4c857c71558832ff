//! `emab plot`: formats, choice and names of learners, bands, sizes, and folders of arenas.

use crate::common::said;
use crate::test_dir::TestDir;

/// The words of a figure.
fn has(svg: &str, words: &str) {
    for word in words.split(" | ") {
        assert!(svg.contains(&format!(">{word}<")), "{word} is not in {svg}");
    }
}

/// The figure of a folder, in a new file.
fn drawn(dir: &TestDir, folder: &str, call: &str) -> String {
    let name = (0..)
        .map(|i| format!("{i}.svg"))
        .find(|name| !dir.exists(name));
    let name = name.unwrap();
    dir.emab(&format!("plot @/{folder} --output @/{name} {call}"));
    dir.text(&name)
}

fn run() -> TestDir {
    let dir = TestDir::new();
    let learners = "--learner feedbal:sigma2=0.1 --learner feedbal:sigma2=0.4 --learner random";
    dir.emab(&format!(
        "run parity {learners} --runs 20 --episodes 60 --out @/run"
    ));
    dir
}

#[test]
fn a_figure_is_written_as_pdf_svg_and_png() {
    let dir = run();
    for (name, head) in [
        ("figure.pdf", &b"%PDF-1."[..]),
        ("figure.svg", b"<svg"),
        ("figure.png", b"\x89PNG"),
    ] {
        let call = format!("plot @/run --size 3.5x2.6in --font-size 8 --output @/{name}");
        dir.emab(&call);
        let first = dir.read(name);
        assert!(first.starts_with(head), "{name}");
        dir.emab(&call);
        assert!(dir.read(name) == first, "{name}: same bytes");
    }
    assert!(dir.text("figure.svg").contains("width=\"336"));
}

#[test]
fn learners_are_chosen_and_named() {
    let dir = run();
    let drawn = |call: &str| drawn(&dir, "run", call);
    let svg =
        drawn("--learner random --label feedbal:sigma2=0.4=Wide --learner feedbal:sigma2=0.4");
    has(&svg, "random | Wide");
    assert!(!svg.contains("sigma2=0.1"));
    assert!(
        svg.find(">random<") < svg.find(">Wide<"),
        "in the order given"
    );
    // The name stands for all learners of that name.
    let svg =
        drawn("--learner feedbal --label random=Chance --x-label n --y-label R --y-range :50");
    has(&svg, "feedbal:sigma2=0.1 | feedbal:sigma2=0.4 | n | R | 50");
    assert!(!svg.contains(">Chance<") && !svg.contains(">episodes<"));
    dir.rejects_each(
        2,
        "
        plot @/run --learner ucb1            => --learner: | has no learner `ucb1`; it has feedbal:sigma2=0.1, feedbal:sigma2=0.4, random
        plot @/run --label random            => --label must be NAME=TEXT, got `random`
        plot @/run --label x=y               => --label: | has no learner `x`
        plot @/run --label feedbal=F         => `feedbal` is the name of 2 learners; give the label of one
        plot @/run --size 3x                 => must be a width and a height, such as 3.5x2.6in
        plot @/run --size 0.1x0.1in          => '0.1x0.1in' for '--size | width and height must be from 0.5 to 100 in
        plot @/run --font-size 8px           => '8px' for '--font-size | must be a number of points from 2 to 100, such as 8
        plot @/run --x-range 90:             => x range: it must overlap the values, which reach from 1 to 60, got 90:
        plot @/run --y-range 5000:6000       => y range: it must overlap the values, which reach from
        plot @/run --x-range 1               => must be two numbers with a colon between them
        plot @/run --x-range 9:2             => x range: it must begin below its end, got 9:2
        plot @/run --log-y --y-range 0:2     => y range: the ends of a log axis must be above 0
        plot @/run --where p=1 --lines       => --where, --lines: | contains no sweep
        plot @/run --output @/figure.jpg     => --output must end in .pdf, .svg or .png
        ",
    );
}

#[test]
fn bands_are_intervals_or_quantiles() {
    let dir = run();
    dir.emab("plot @/run --output @/ci.svg");
    dir.emab("plot @/run --band quantile --output @/quantile.svg");
    let (ci, quantile) = (dir.text("ci.svg"), dir.text("quantile.svg"));
    assert!(
        ci.contains("20 runs, 95 % intervals") && quantile.contains("median, quartiles, 5 to 95 %")
    );
    assert_eq!(ci.matches("opacity=").count(), 3);
    assert_eq!(quantile.matches("opacity=").count(), 6);
    // A result of an earlier version.
    let old = dir
        .text("run/run.json")
        .replace("\"quantiles\"", "\"other\"");
    dir.write("run/run.json", &old);
    dir.rejects(
        "plot @/run --band quantile",
        2,
        "has no quantiles, because an earlier version of emab wrote it",
    );
}

#[test]
fn an_arena_is_drawn_again_with_some_of_its_learners() {
    let dir = TestDir::new();
    dir.emab("arena parity --learner feedbal --learner ucb1 --learner random --episodes 50 --runs 3 --out @/arena");
    let before = dir.text("arena/arena.svg");
    dir.emab("plot @/arena");
    assert!(dir.text("arena/arena.svg") == before);
    dir.emab("plot @/arena --learner ucb1 --label ucb1=UCB1 --output @/some.svg");
    let svg = dir.text("some.svg");
    has(&svg, "UCB1");
    assert!(!svg.contains(">feedbal<") && !svg.contains(">random<"));
    dir.rejects_each(
        2,
        "
        plot @/arena --log-x                       => --log-x: | contains an arena
        plot @/arena --band quantile --bound       => --bound, --band: | contains an arena
        plot @/arena --learner psrl                => has no learner `psrl`; it has
        plot @/arena --size 4x3in --font-size 8    => a map is scaled to its size with its texts
        ",
    );
    std::fs::remove_file(dir.at("arena/arena.json")).unwrap();
    dir.rejects(
        "plot @/arena",
        2,
        "contains an unfinished arena | emab arena",
    );
}

#[test]
fn a_sweep_is_drawn_for_some_learners() {
    let dir = TestDir::new();
    dir.write(
        "sweep.toml",
        "problem = \"resource\"\nlearners = [\"feedbal\", \"ucb1v\"]\nruns = 5\nepisodes = 60\n\
         [grid]\nproblem.p = [0.4, 0.8]\nlearner.sigma2 = [0.1, 0.2]\n",
    );
    dir.emab("sweep @/sweep.toml --out @/sweep");
    let drawn = |call: &str| drawn(&dir, "sweep", call);
    let map = drawn("--learner feedbal --label feedbal=FeedBAL --x-label p");
    has(&map, "FeedBAL | p | learner.sigma2");
    assert!(!map.contains(">ucb1v<"));
    // The lines of one learner are named by their values below its name.
    let lines = drawn("--learner feedbal --lines --band quantile");
    has(
        &lines,
        "feedbal | learner.sigma2 = 0.1 | learner.sigma2 = 0.2 | median regret after 60 episodes",
    );
    has(&drawn("--lines"), "feedbal, learner.sigma2 = 0.1 | ucb1v");
    has(&drawn("--band quantile"), "median regret after 60 episodes");
    dir.rejects(
        "plot @/sweep --log-y",
        2,
        "--log-y: for lines | --lines draws final regret over `problem.p`",
    );
    dir.rejects(
        "plot @/sweep --learner psrl",
        2,
        "has no learner `psrl`; it has feedbal, ucb1v",
    );
}

#[test]
fn unreliable_intervals_are_marked_and_explained() {
    let note = "† the runs form two groups: the interval is unreliable";
    let dir = TestDir::new();
    dir.emab("run feedback-gap --runs 60 --episodes 300 --out @/run");
    has(&dir.text("run/regret.svg"), &format!("feedbal † | {note}."));
    let (_, noted) = said(&dir.call("plot @/run --output @/ci.svg"));
    assert!(noted.contains(note) && noted.contains("--band quantile"));
    assert_eq!(dir.text("ci.svg"), dir.text("run/regret.svg"));
    assert!(!drawn(&dir, "run", "--band quantile").contains('†'));
    dir.write(
        "sweep.toml",
        "problem = \"feedback-gap\"\nlearners = [\"feedbal\"]\nruns = 60\nepisodes = 300\n\
         [grid]\nlearner.delta = [0.01, 0.1]\nlearner.sigma2 = [0.0025, 0.003]\n",
    );
    let (table, _) = said(&dir.call("sweep @/sweep.toml --out @/sweep"));
    assert!(table.ends_with(&format!("{note}\n")), "{table}");
    let map = drawn(&dir, "sweep", "");
    assert!(map.contains(" †<") && map.contains(">† the runs form two groups"));
    has(&drawn(&dir, "sweep", "--lines"), &format!("{note}."));
    dir.emab("report @/sweep --out @/report.html");
    assert!(dir.text("report.html").contains(&format!("{note}.")));
}

#[test]
fn an_unfinished_sweep_is_drawn_with_a_note() {
    let dir = TestDir::new();
    dir.write(
        "sweep.toml",
        "problem = \"parity\"\nlearners = [\"feedbal\"]\nruns = 2\nepisodes = 20\n\
         [grid]\nlearner.sigma2 = [0.1, 0.2, 0.3, 0.4]\n",
    );
    dir.emab("sweep @/sweep.toml --out @/sweep");
    let (_, noted) = said(&dir.call("plot @/sweep --output @/all.svg"));
    assert!(!noted.contains("note:"), "{noted}");
    let cells = dir.text("sweep/cells.jsonl");
    let some: String = cells.split_inclusive('\n').take(3).collect();
    dir.write("sweep/cells.jsonl", &some);
    let (_, noted) = said(&dir.call("plot @/sweep --output @/some.svg"));
    let note = "note: 3 of 4 cells are finished; `emab sweep ";
    assert!(
        noted.contains(note) && noted.contains("` runs the rest"),
        "{noted}"
    );
}
