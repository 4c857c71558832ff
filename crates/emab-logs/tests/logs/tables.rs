use emab::Action;
use emab_logs::read::{TableLog, read_csv_log, read_past_log};
use emab_logs::{LogEntry, Status};
use emab_problem::ProblemFile;
use emab_tables::Cell;

fn problem() -> ProblemFile {
    ProblemFile::find("resource").unwrap()
}

const TABLE: &str = "\
episode,step,state,recommended,action,feedback,cost,reward,status,learned,event,learned_event
b,1,0,cont,cont,1,0.5,0,learned,1,2,9
b,2,1,cont,stop,,,1.5,learned,1,4,9
a,2,0,stop,stop,,,0.25,learned,0,5,6
a,1,0,cont,cont,0,,0,learned,0,3,6
c,1,0,cont,,,,,open,,7,
";

#[test]
fn a_table_has_the_order_of_events() {
    let log = read_csv_log(problem(), TABLE.as_bytes()).unwrap();
    let ids: Vec<&str> = log.episodes.iter().map(|it| &*it.id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    let [a, b, c] = &log.episodes[..] else {
        panic!()
    };
    assert_eq!(
        (a.episode.known_cost(1), a.episode.known_reward(2)),
        (None, Some(0.25))
    );
    assert_eq!(
        (b.episode.states.clone(), b.known_gain()),
        (vec![0, 1], Some(1.0))
    );
    assert_eq!((b.first_override(), a.first_override()), (Some(2), None));
    assert_eq!((c.status, c.action(1)), (Status::Open, None));
    use LogEntry::{Decision, Learned, Pending};
    assert_eq!(
        log.entries(),
        [
            Decision(1, 1),
            Pending(1, 0),
            Decision(0, 1),
            Pending(0, 0),
            Decision(1, 2),
            Pending(1, 1),
            Decision(0, 2),
            Pending(0, 1),
            Learned(0),
            Pending(0, 2),
            Decision(2, 1),
            Pending(2, 0),
            Learned(1),
            Pending(1, 2),
        ]
    );
    let mut choices = Vec::new();
    let pending = b.pending.iter().map(|change| {
        change.apply(&mut choices);
        choices.clone()
    });
    let go = Action::Continue(0);
    assert_eq!(
        pending.collect::<Vec<_>>(),
        [vec![(0, go)], vec![(0, go), (1, go)], vec![]]
    );
    // Without the events, one episode after another in the order of learning.
    let without: String = TABLE
        .lines()
        .map(|line| {
            let columns: Vec<&str> = line.split(',').collect();
            format!("{}\n", columns[..10].join(","))
        })
        .collect();
    let log = read_csv_log(problem(), without.as_bytes()).unwrap();
    assert_eq!(
        log.entries(),
        [
            Decision(0, 1),
            Decision(0, 2),
            Learned(0),
            Decision(1, 1),
            Decision(1, 2),
            Learned(1),
            Decision(2, 1)
        ]
    );
    assert_eq!(log.episodes[1].action(2), Some(Action::Stop));
}

#[test]
fn cases_under_way_need_event_numbers() {
    let pending = |text: &str| {
        let log = read_csv_log(problem(), text.as_bytes()).unwrap();
        log.episodes
            .iter()
            .map(|it| it.pending.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(pending(TABLE), [3, 3, 1]);
    // Two decisions with one number, decisions that are not in order, and one after the episode was learned.
    for (from, to) in [("1,4,9", "1,7,9"), ("1,4,9", "1,1,9"), ("1,2,9", "1,2,3")] {
        let text = TABLE.replace(from, to);
        let text = if to == "1,2,3" {
            text.replace("1,4,9", "1,4,3")
        } else {
            text
        };
        assert_eq!(pending(&text), [0, 0, 0], "{to}");
    }
    // An abandoned case ends with its last decision; one that was voided was not under way, as far as the table says.
    assert_eq!(pending(&TABLE.replace("open", "abandoned")), [3, 3, 2]);
    assert_eq!(pending(&TABLE.replace("open", "voided")), [3, 3, 0]);
}

#[test]
fn wrong_tables_are_named() {
    for (from, to, expected) in [
        ("step,", "stap,", "the table has no column `step`"),
        (
            "b,1,0,cont,cont,1",
            "b,1,0,cont,cant,1",
            "row 2, column `action`: there is no action `cant`",
        ),
        (
            "b,1,0,cont,cont,1,0.5",
            "b,1,0,cont,cont,1,x",
            "row 2, column `cost`: `x` is not a finite number",
        ),
        (
            "b,2,1,",
            "b,3,1,",
            "episode `b` (row 2): row 3 has step 3, expected 2",
        ),
        (
            "b,2,1,cont,stop",
            "b,2,1,cont,cont",
            "episode `b` (row 2): its last row takes `cont`",
        ),
        (
            "b,2,1,cont",
            "b,2,0,cont",
            "episode `b` (row 2): row 3 has the state `0`, and the actions and feedbacks before lead to `1`",
        ),
        (
            "b,1,0,",
            "b,0,0,",
            "row 2, column `step`: steps are 1, 2, …, got 0",
        ),
        (
            "b,2,1,",
            "b,1,1,",
            "episode `b` (row 2): rows 2 and 3 are both its step 1",
        ),
        (
            "b,1,0,cont,cont,1,0.5",
            "b,1,0,cont,Stop,1,0.5",
            "row 2, column `action`: there is no action `Stop`; there is `cont`, and `stop`",
        ),
        (
            "b,1,0,cont,cont,1,0.5",
            "b,1,0,cont,cont,1,\"0,5\"",
            "row 2, column `cost`: `0,5` is not a finite number: decimals have a point",
        ),
        (
            "event",
            "cost",
            "the table cannot be read: several columns are called `cost`",
        ),
        ("b,1,0,", "b,,0,", "row 2, column `step`: it is empty"),
        ("b,1,0,", ",1,0,", "row 2, column `episode`: it is empty"),
        (
            "b,2,1,cont,stop,,,1.5",
            "b,2,1,cont,stop,1,,1.5",
            "episode `b` (row 2): row 3 is `stop` and has a feedback",
        ),
        (
            "open",
            "opened",
            "row 6, column `status`: `opened` is not open",
        ),
        (
            "a,1,0,cont,cont,0",
            "a,1,0,cont,,",
            "episode `a` (row 4): step 1 has no action with a feedback",
        ),
    ] {
        let table = TABLE.replacen(from, to, 1);
        assert_ne!(table, TABLE);
        let error = read_csv_log(problem(), table.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn a_number_is_no_index_where_names_are_numbers() {
    let text = "horizon = 2\nstates = 2\nactions = [\"go\"]\nfeedbacks = [\"1\", \"2\"]\ntransition = \"f\"\n";
    let file = ProblemFile::parse("numbers.toml", text).unwrap();
    let read = |feedback: &str| {
        let table = format!(
            "episode,step,action,feedback,cost,reward\na,1,go,{feedback},0,0\na,2,stop,,,1\n"
        );
        read_csv_log(file.clone(), table.as_bytes())
    };
    assert_eq!(read("1").unwrap().episodes[0].episode.feedbacks, [0]);
    assert_eq!(read("2").unwrap().episodes[0].episode.feedbacks, [1]);
    let error = read("0").unwrap_err().to_string();
    assert!(error.contains("there is no feedback `0`"), "{error}");
}

#[test]
fn a_table_in_another_encoding_is_named() {
    let table = TABLE.replace("b,1", "B\u{fc}chner,1");
    let latin: Vec<u8> = table.chars().map(|it| it as u8).collect();
    let error = read_csv_log(problem(), &latin[..]).unwrap_err().to_string();
    assert!(error.contains("line 2 is not UTF-8: save"), "{error}");
}

#[test]
fn an_episode_beyond_the_horizon_is_named() {
    let text =
        "horizon = 2\nstates = 2\nactions = [\"go\"]\nfeedbacks = 2\ntransition = [[[[0, 1]]]]\n";
    let file = ProblemFile::parse("short.toml", text).unwrap();
    let table = "episode,step,state,action,feedback,cost,reward\na,1,0,go,1,0,0\na,2,1,go,1,0,0\na,3,1,stop,,,1\n";
    let error = read_csv_log(file, table.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.contains("2 actions: at most 1 fit"), "{error}");
}

#[test]
fn an_episode_without_a_known_value_has_no_outcome() {
    let table = "episode,step,action,feedback,cost,reward\na,1,stop,,,\nb,1,stop,,,0.5\n";
    let log = read_csv_log(problem(), table.as_bytes()).unwrap();
    let counts = log.counts();
    assert_eq!((counts.learned, counts.stopped), (1, 1));
}

#[test]
fn known_values_are_an_outcome_also_without_a_stop() {
    let table = "episode,step,action,feedback,cost,reward\na,1,cont,0,0.5,0\na,2,,,,0.5\nb,1,,,,\n";
    let log = read_csv_log(problem(), table.as_bytes()).unwrap();
    let counts = log.counts();
    assert_eq!((counts.learned, counts.open), (1, 1));
    assert_eq!(
        (log.episodes[0].action(2), log.episodes[0].known_gain()),
        (None, Some(0.0))
    );
}

#[test]
fn a_table_says_what_an_override_is() {
    let overrides = |values: [&str; 2]| {
        let [one, two] = values;
        let table = format!(
            "episode,step,recommended,action,feedback,cost,reward,override\na,1,stop,cont,0,0.5,0,{one}\na,2,stop,stop,,,0.5,{two}\n"
        );
        read_csv_log(problem(), table.as_bytes()).map(|log| log.episodes[0].first_override())
    };
    assert_eq!(overrides(["", ""]).unwrap(), Some(1));
    assert_eq!(overrides(["False", "true"]).unwrap(), Some(2));
    let error = overrides(["no", ""]).unwrap_err().to_string();
    assert!(
        error.starts_with("row 2, column `override`: `no` is neither true nor false"),
        "{error}"
    );
}

#[test]
fn an_empty_text_is_missing() {
    let mut table = TableLog::new(problem());
    let text = |it: &'static str| Cell::text(it);
    let rows = [
        ["a", "1", "cont", "1", "0.5", ""],
        ["a", "2", "stop", "", "", "1"],
        ["", "", "", "", "", ""],
    ];
    for (number, row) in (1..).zip(rows) {
        table.row(number, &row.map(text)).unwrap();
    }
    let log = table.finish(&[true; 6]).unwrap();
    assert_eq!(
        (
            log.counts().episodes,
            log.episodes[0].episode.known_reward(1)
        ),
        (1, None)
    );
}

#[test]
fn empty_rows_are_skipped() {
    let log = read_csv_log(problem(), format!("{TABLE},,,,,,,,,,,\n").as_bytes()).unwrap();
    assert_eq!(log.counts().episodes, 3);
}

#[test]
fn past_episodes_are_a_log() {
    let lines = "{\"id\": \"p1\", \"actions\": [0], \"feedbacks\": [1], \"costs\": [null], \"rewards\": [0, 1]}\n\
                 {\"id\": \"p2\", \"actions\": [], \"feedbacks\": [], \"costs\": [], \"rewards\": [0], \"outlier\": true, \"reason\": \"r\"}\n";
    let log = read_past_log(problem(), lines.as_bytes()).unwrap();
    assert_eq!(log.counts().learned, 2);
    assert_eq!(
        (log.counts().incomplete, log.episodes[1].known_gain()),
        (1, Some(0.0))
    );
    let wrong = lines.replace("[1]", "[7]");
    let error = read_past_log(problem(), wrong.as_bytes()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("line 1: there is no feedback 7"),
        "{error}"
    );
}
