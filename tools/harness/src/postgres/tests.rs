//! The server as tests use it.

use super::Server;
use std::process::Command;

fn connect(url: &str) -> Result<postgres::Client, postgres::Error> {
    postgres::Client::connect(url, postgres::NoTls)
}

#[test]
fn what_is_committed_survives_an_immediate_stop() {
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
fn a_panic_leaves_nothing_behind() {
    let (tell, told) = std::sync::mpsc::channel();
    let test = std::thread::spawn(move || {
        let server = Server::start().unwrap();
        tell.send((server.socket().to_path_buf(), server.url()))
            .unwrap();
        panic!("a test that fails");
    });
    let (folder, url) = told.recv().unwrap();
    assert!(test.join().is_err());
    assert!(!folder.exists());
    assert!(connect(&url).is_err());
}

/// Not a test of its own: the process that the next one kills.
#[test]
fn victim() {
    if std::env::var_os("EMAB_VICTIM").is_some() {
        let server = Server::start().unwrap();
        println!(
            "\nsocket={}\nurl={}",
            server.socket().display(),
            server.url()
        );
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
}

#[test]
fn a_killed_process_takes_its_server_along_and_the_next_clears_up() {
    use std::io::{BufRead, BufReader};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "postgres::tests::victim", "--nocapture"])
        .env("EMAB_VICTIM", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said: Vec<String> = lines
        .map(Result::unwrap)
        .skip_while(|it| !it.starts_with("socket="))
        .take(2)
        .collect();
    let folder = std::path::PathBuf::from(&said[0]["socket=".len()..]);
    let url = &said[1]["url=".len()..];
    assert!(connect(url).is_ok());
    child.kill().unwrap();
    child.wait().unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while connect(url).is_ok() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(connect(url).is_err());
    // Other tests of this file sweep, too: whoever came first, it is gone now.
    super::stale::sweep();
    assert!(!folder.exists());
}
