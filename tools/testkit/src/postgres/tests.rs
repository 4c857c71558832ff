use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Server;

fn connect(url: &str) -> Result<postgres::Client, postgres::Error> {
    postgres::Client::connect(url, postgres::NoTls)
}

#[test]
fn committed_rows_survive_an_immediate_stop() {
    let mut server = Server::start().unwrap();
    let url = server.database("one").unwrap();
    let mut client = connect(&url).unwrap();
    client
        .batch_execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (7)")
        .unwrap();
    server.stop_immediate().unwrap();
    assert!(client.batch_execute("SELECT 1").is_err());
    assert!(connect(&url).is_err());
    server.start_again().unwrap();
    let mut client = connect(&url).unwrap();
    let row = client.query_one("SELECT a FROM t", &[]).unwrap();
    assert_eq!(row.get::<_, i32>(0), 7);
    let row = client.query_one("SHOW fsync", &[]).unwrap();
    assert_eq!(row.get::<_, String>(0), "on");
}

#[test]
fn a_panic_stops_the_server_and_removes_its_folder() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let test = std::thread::spawn(move || {
        let server = Server::start().unwrap();
        let started = (server.socket().to_path_buf(), server.url());
        sender.send(started).unwrap();
        panic!("expected");
    });
    let (folder, url) = receiver.recv().unwrap();
    assert!(test.join().is_err());
    assert!(!folder.exists());
    assert!(connect(&url).is_err());
}

/// The process that the next test kills; does nothing when the test suite runs it.
#[test]
fn victim() {
    if std::env::var_os("EMAB_VICTIM").is_some() {
        let server = Server::start().unwrap();
        let (folder, url) = (server.socket().display(), server.url());
        println!("\nstarted {folder} {url}");
        std::thread::sleep(Duration::from_secs(600));
    }
}

#[test]
fn the_server_of_a_killed_process_stops_and_its_folder_is_removed_later() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "postgres::tests::victim", "--nocapture"])
        .env("EMAB_VICTIM", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let started = lines.find_map(|line| {
        let line = line.unwrap();
        let (folder, url) = line.strip_prefix("started ")?.split_once(' ')?;
        Some((std::path::PathBuf::from(folder), url.to_owned()))
    });
    let (folder, url) = started.unwrap();
    assert!(connect(&url).is_ok());
    child.kill().unwrap();
    child.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while connect(&url).is_ok() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(connect(&url).is_err());
    super::folder::remove_abandoned();
    assert!(!folder.exists());
}
