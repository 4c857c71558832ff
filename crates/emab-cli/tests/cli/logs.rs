//! `emab simulate`, `replay`, `evaluate`, `fit` and `plan`: documents, formats of logs, and wrong calls.

use std::fs;

use crate::audit::written;
use crate::common::{emab_with_input, json, said};
use crate::test_dir::TestDir;

const DESK: &str = include_str!("../../../../docs/logs.in/desk.toml");
const POLICY: &str = include_str!("../../../../docs/logs.in/until-it-helps.json");

fn desk() -> TestDir {
    let dir = TestDir::new();
    dir.write("desk.toml", DESK);
    dir.write("policy.json", POLICY);
    said(&dir.call("simulate @/desk.toml --learner random --episodes 300 --out @/log.jsonl"));
    dir
}

#[test]
fn documents_have_the_fields_of_the_contract() {
    let dir = desk();
    let it =
        json(&dir.call("evaluate @/log.jsonl --problem @/desk.toml --policy @/policy.json --json"));
    for field in
        "policy value lower upper confidence episodes supported unsupported logged_value".split(' ')
    {
        assert!(it.get(field).is_some(), "{field}");
    }
    assert_eq!(
        (&it["supported"], &it["episodes"]),
        (&true.into(), &300.into())
    );
    let [lower, value, upper] =
        ["lower", "value", "upper"].map(|it_is| it[it_is].as_f64().unwrap());
    assert!(lower < 0.7 && 0.7 < upper && lower < value && value < upper);

    let it = json(&dir.call(
        "replay @/log.jsonl --problem @/desk.toml --learner feedbal --learner random --json",
    ));
    let learners = it["learners"].as_array().unwrap();
    assert_eq!(learners.len(), 2);
    for learner in learners {
        for pointer in [
            "/learner",
            "/decisions",
            "/agreed",
            "/earlier_stops/count",
            "/earlier_stops/gain_difference",
            "/earlier_stops/stderr",
        ] {
            assert!(learner.pointer(pointer).is_some(), "{pointer}");
        }
    }
    // The fitted file is a problem file, in both syntaxes.
    let (out, _) = said(&dir.call("fit @/log.jsonl --problem @/desk.toml"));
    dir.write("fitted.toml", &out);
    said(&dir.call("check @/fitted.toml"));
    let file = json(&dir.call("fit @/log.jsonl --problem @/desk.toml --json"));
    dir.write("fitted.json", &file.to_string());
    let solved =
        |name: &str| json(&dir.call(&format!("solve @/{name} --json")))["optimal"]["value"].clone();
    assert_eq!(solved("fitted.json"), solved("fitted.toml"));
    let it =
        json(&dir.call(
            "plan @/log.jsonl --problem @/desk.toml --cases 50 --below 0.01 --draws 3 --json",
        ));
    assert_eq!((&it["draws"], &it["reached"]), (&3.into(), &0.into()));
    assert!(it["cases"]["median"].is_null());
    let (out, _) = said(&dir.call("plan @/log.jsonl --problem @/desk.toml --cases 50 --draws 3"));
    assert!(out.contains("In 3 plausible models:"), "{out}");
    let call = "plan @/log.jsonl --problem @/desk.toml --cases 50 --below 0.37 --draws 9";
    let (out, _) = said(&dir.call(call));
    let band = "after 40 further cases (90 % of plausible models: 40 to more than 50)";
    assert!(out.contains(band), "{out}");
}

#[test]
fn a_policy_file_is_what_solve_prints() {
    let dir = desk();
    let (solved, _) = said(&dir.call("solve @/desk.toml --json"));
    dir.write("solved.json", &solved);
    let value = |policy: &str| {
        let call = format!("evaluate @/log.jsonl --problem @/desk.toml --policy {policy} --json");
        json(&dir.call(&call))["value"].clone()
    };
    assert_eq!(value("@/solved.json"), value("@/policy.json"));
    assert_eq!(value("@/solved.json#optimal"), value("@/policy.json"));
}

#[test]
fn a_store_is_a_log() {
    let (dir, _) = written();
    let it = json(&dir.call("replay @/studies.db --study clinic --json"));
    assert_eq!(
        (&it["log"]["abandoned"], &it["log"]["learned"]),
        (&1.into(), &0.into())
    );
    dir.rejects_each(
        2,
        "
        evaluate @/studies.db --study clinic --policy logged => no episode with an outcome | 1 abandoned
        fit @/studies.db --study clinic                      => no episode with an outcome
        fit @/studies.db --study clinc                       => the store has no study `clinc` (did you mean `clinic`?)
        fit sqlite:@/none.db                                 => there is no store
        fit @/studies.db --study clinic --out @/studies.db --force        => is read by this command
        fit sqlite:@/studies.db --study clinic --out @/studies.db --force => is read by this command
    ",
    );
}

#[test]
fn a_pipe_is_a_log() {
    let dir = desk();
    let call = "evaluate /dev/stdin --problem @/desk.toml --policy logged --json";
    let piped = emab_with_input(&dir.call(call), &dir.read("log.jsonl"));
    let file = said(&dir.call(&call.replace("/dev/stdin", "@/log.jsonl")));
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), file.0);
    // Blank lines before the first episode are no end.
    let blank = [&[b'\n'; 100][..], &dir.read("log.jsonl")].concat();
    let piped = emab_with_input(&dir.call(call), &blank);
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), file.0);
}

#[test]
fn files_are_kept() {
    let dir = desk();
    dir.rejects_each(
        2,
        "
        simulate @/desk.toml --out @/log.jsonl                                  => log.jsonl exists; --force replaces it
        fit @/log.jsonl --problem @/desk.toml --out @/policy.json               => policy.json exists and has other content
        fit @/log.jsonl --problem @/desk.toml --draws 3 --out @                 => has another problem
        fit @/log.jsonl --problem @/desk.toml --draws 3                         => --out
        fit @/log.jsonl --problem @/desk.toml --out @/log.jsonl --force         => is read by this command
        fit @/log.jsonl --problem @/desk.toml --out @/desk.toml --force         => is read by this command
        simulate @/desk.toml --out @/desk.toml --force                          => is read by this command
    ",
    );
    let call = "fit @/log.jsonl --problem @/desk.toml --draws 3 --out @/draws";
    said(&dir.call(call));
    let first = fs::read_to_string(dir.at("draws/draw-1.toml")).unwrap();
    said(&dir.call(call));
    assert_eq!(
        fs::read_to_string(dir.at("draws/draw-1.toml")).unwrap(),
        first
    );
    dir.rejects(
        &format!("{call} --seed 2"),
        2,
        "draw-1.toml exists and has other content",
    );
    said(&dir.call(&format!("{call} --seed 2 --force")));
    assert_ne!(
        fs::read_to_string(dir.at("draws/draw-1.toml")).unwrap(),
        first
    );
}

#[test]
fn wrong_calls_are_named() {
    let dir = desk();
    dir.write("empty.csv", "");
    dir.write("other.csv", "episode,step,action,feedback,cost\n");
    dir.write(
        "wrong.csv",
        "episode,step,action,feedback,cost,reward\nt1,1,restrt,fails,0,0\n",
    );
    dir.write("head.csv", "episode,step,action,feedback,cost,reward\n");
    dir.write(
        "semicolon.csv",
        "episode;step;action;feedback;cost;reward\nt1;x;restart;fails;0;0\n",
    );
    dir.write(
        "equal.csv",
        "episode,step,action,feedback,cost,reward\nt1,1,stop,,,1\n",
    );
    dir.write("bare.json", r#"{"horizon": 2, "states": 1, "actions": ["restart"], "feedbacks": ["fails"], "transition": 0}"#);
    dir.write("wrong.json", "{\"policy\": [[\"restrt\"]]}");
    dir.write("none.json", "{\"polisy\": []}");
    dir.write("gap.json", "{\"policy\": [[\"restart\"]]}");
    dir.write("study.json", "{\"learner\": \"feedbal\", \"horizon\": 4}");
    dir.rejects_each(
        2,
        "
        replay @/log.jsonl                                                       => does not say which problem it is of | --problem
        replay @/none.jsonl --problem @/desk.toml                                => cannot read
        replay @/empty.csv --problem @/desk.toml                                 => is empty
        replay @/other.csv --problem @/desk.toml                                 => no column `reward`
        replay @/wrong.csv --problem @/desk.toml                                 => row 2, column `action` | no action `restrt` (did you mean `restart`?)
        replay @/head.csv --problem @/desk.toml                                  => the log has no episodes
        replay @/semicolon.csv --problem @/desk.toml                             => row 2, column `step` | `x` is not a finite number
        evaluate @/equal.csv --problem @/bare.json --policy optimal              => no reward range is stated | --reward-range
        replay @/log.jsonl --problem resource                                    => line 1 | there is no action `
        replay @/log.jsonl --problem @/study.json                                => study.json
        replay @/log.jsonl --problem @/desk.toml --learner feedball              => did you mean `feedbal`?
        replay @/log.jsonl --problem @/desk.toml --learner psrl:prior_sd=0       => `prior_sd`
        evaluate @/log.jsonl --problem @/desk.toml                               => --policy
        evaluate @/log.jsonl --problem @/desk.toml --policy optimum              => cannot read optimum | did you mean `optimal`?
        evaluate @/log.jsonl --problem @/desk.toml --policy @/wrong.json         => step 1 of the policy | there is no action `restrt`
        evaluate @/log.jsonl --problem @/desk.toml --policy @/none.json          => a policy file is
        evaluate @/log.jsonl --problem @/desk.toml --policy @/gap.json           => --policy | gap.json | no action at step 2 in state `unsolved`
        evaluate @/log.jsonl --problem @/desk.toml --policy logged --study desk  => log.jsonl has no study `desk`
        evaluate @/log.jsonl --problem @/desk.toml --policy @/policy.json#best   => has no `best`
        evaluate @/log.jsonl --problem @/desk.toml --policy logged --confidence 1 => more than 0 and less than 1
        evaluate @/log.jsonl --problem @/desk.toml --policy logged --cost-range 1,0 => --cost-range | such as 0,1
        evaluate @/log.jsonl --problem @/desk.toml --policy logged --by pair     => --by
        plan @/log.jsonl --problem @/desk.toml --cases 10 --below -1             => --below
        plan @/log.jsonl --problem @/desk.toml --cases 10 --below 1 --learner random => no certificate
        replay http://127.0.0.1:1                                                => name the study
    ",
    );
}

#[test]
fn a_service_needs_a_token() {
    let dir = TestDir::new();
    // Without a token nothing is sent.
    dir.rejects(
        "replay http://127.0.0.1:1/v1/studies/clinic",
        2,
        "set EMAB_TOKEN",
    );
}
