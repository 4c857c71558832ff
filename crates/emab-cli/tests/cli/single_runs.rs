//! Single runs in result folders: complete, equal to the means, and the same bytes after any interruption.

use crate::common::{emab, interrupt};
use crate::runs::start_run;
use crate::test_dir::TestDir;

/// The rows of `runs.csv` without the header, as cells.
fn rows(dir: &TestDir, folder: &str) -> Vec<Vec<String>> {
    let text = dir.text(&format!("{folder}/runs.csv"));
    let rows = text.lines().skip(1);
    rows.map(|row| row.split(',').map(str::to_owned).collect())
        .collect()
}

#[test]
fn every_run_has_a_row_for_each_recorded_episode() {
    let dir = TestDir::new();
    let call = "run feedback-gap --learner feedbal --learner benchmark --episodes 2000 --runs 30 --record-at 500 --json";
    let result = dir.json(&format!("{call} --out @/out"));
    let header = "learner,run,episode,regret,gain,stuck\nfeedbal,0,500,";
    assert!(dir.text("out/runs.csv").starts_with(header));
    assert!(dir.read("out/runs.parquet").starts_with(b"PAR1"));
    let rows = rows(&dir, "out");
    let keys: Vec<(String, String, String)> = rows
        .iter()
        .map(|r| (r[0].clone(), r[1].clone(), r[2].clone()))
        .collect();
    let mut expected = Vec::new();
    for learner in ["feedbal", "benchmark"] {
        for run in 0..30 {
            let key = |episode: &str| (learner.to_owned(), run.to_string(), episode.to_owned());
            expected.extend([key("500"), key("2000")]);
        }
    }
    assert_eq!(keys, expected);
    // The rows give the mean, the median and the share of stuck runs of the result.
    let feedbal = &result["learners"][0];
    for (episode, point) in
        [("500", "500"), ("2000", "2000")].map(|(e, p)| (e, p.parse::<u64>().unwrap()))
    {
        let points = feedbal["curve"].as_array().unwrap();
        let point = points.iter().find(|p| p["episode"] == point).unwrap();
        let mut regrets: Vec<f64> = rows[..60]
            .iter()
            .filter(|r| r[2] == episode)
            .map(|r| r[3].parse().unwrap())
            .collect();
        let mean = regrets.iter().sum::<f64>() / 30.0;
        assert!((mean - point["regret"].as_f64().unwrap()).abs() < 1e-9);
        regrets.sort_by(f64::total_cmp);
        let median = point["quantiles"]["q50"].as_f64().unwrap();
        assert!(((regrets[14] + regrets[15]) / 2.0 - median).abs() < 1e-12);
    }
    let stuck = rows.iter().filter(|row| row[5] == "true").count() as f64;
    assert_eq!(feedbal["stuck"], stuck / 30.0);
    assert!(stuck > 10.0 && feedbal["groups"]["upper"].as_f64().unwrap() > 90.0);
    assert!(
        rows.iter()
            .all(|row| row[5].is_empty() == (row[2] == "500"))
    );

    dir.rejects_each(2, "
        run parity --episodes 10 --record-at 5                  => --out
        run parity --episodes 10 --record-at 50 --out @/other   => --record-at | from 1 to the number of episodes, 10, got 50
        run parity --episodes 10 --record-at five --out @/other => --record-at | five
    ");
}

#[test]
fn interrupted_and_killed_runs_give_the_same_rows() {
    let dir = TestDir::new();
    let job = "run resource --learner feedbal --learner random --episodes 20000 --runs 300 --seed 5 --record-at 100 --json";
    dir.json(&format!("{job} --out @/whole"));
    let child = start_run(&dir, &format!("{job} --threads 1 --out @/out"));
    interrupt(&child);
    child.wait_with_output().unwrap();
    assert!(dir.exists("out/runs.bin"));
    let mut child = start_run(&dir, "run --resume @/out --json");
    child.kill().unwrap();
    child.wait().unwrap();
    dir.json("run --resume @/out --json");
    assert!(!dir.exists("out/runs.bin"));
    for name in ["runs.csv", "runs.parquet", "curve.csv"] {
        assert!(
            dir.read(&format!("out/{name}")) == dir.read(&format!("whole/{name}")),
            "{name}"
        );
    }
}

#[test]
fn a_changed_record_is_noticed() {
    let dir = TestDir::new();
    let job = "run parity --episodes 200 --runs 8";
    dir.emab(&format!("{job} --shard 1/2 --out @/one"));
    dir.emab(&format!("{job} --shard 2/2 --out @/two"));
    let mut bytes = dir.read("two/runs.bin");
    bytes[0] ^= 1;
    std::fs::write(dir.at("two/runs.bin"), &bytes).unwrap();
    let fails = |words: [&str; 2]| {
        let output = emab(&dir.call("merge @/one @/two --out @/all"));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        std::fs::remove_dir_all(dir.at("all")).unwrap();
    };
    fails(["two/runs.bin is damaged", "run 4 of feedbal"]);
    bytes[0] ^= 1;
    std::fs::write(dir.at("two/runs.bin"), &bytes[..40]).unwrap();
    fails(["two/runs.bin is damaged", "run 5 of feedbal"]);
    // Without records, as in shards of earlier versions, the result has no rows.
    std::fs::remove_file(dir.at("two/runs.bin")).unwrap();
    dir.emab("merge @/one @/two --out @/all");
    assert!(dir.exists("all/run.json") && !dir.exists("all/runs.csv"));
}
