//! TLS: clients with and without it, and a replaced certificate.

use std::fs;
use std::process::Command;

use crate::support::socket::{
    GET_AND_CLOSE, LONG, Running, ask, connect_tls, data, hello, ms, rest,
};
use emab_server::transport::{Limits, Tls};
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

fn tls() -> Option<Tls> {
    Some(Tls::from_files(&data("localhost.crt"), &data("localhost.key")).unwrap())
}

#[tokio::test]
async fn serves_tls() {
    let running = Running::start(hello(), Limits::default(), tls()).await;
    let stream = connect_tls(running.addr, &data("localhost.crt")).await;
    let mut stream = stream.unwrap();
    stream.write_all(GET_AND_CLOSE).await.unwrap();
    assert!(rest(&mut stream).await.ends_with("hello"));
}

#[tokio::test]
async fn answers_plain_http_with_an_error_and_closes_on_garbage() {
    let running = Running::start(hello(), Limits::default(), tls()).await;
    let text = ask(running.addr, GET_AND_CLOSE).await;
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    assert!(text.contains("https://"), "{text}");
    // The first bytes are those of a handshake.
    let rubbish = b"\x16\x03\x01\x00\x05rubbish and more rubbish";
    ask(running.addr, rubbish).await;
    running.open(0).await;
}

#[tokio::test]
async fn handshakes_time_out() {
    let limits = Limits {
        handshake: ms(300),
        ..Limits::default()
    };
    let running = Running::start(hello(), limits, tls()).await;
    let (silent, begun) = tokio::join!(ask(running.addr, b""), ask(running.addr, b"\x16\x03\x01"));
    assert_eq!([silent, begun], [""; 2]);
    running.open(0).await;
}

#[tokio::test]
async fn shutdown_does_not_wait_for_handshakes() {
    let mut running = Running::start(hello(), Limits::default(), tls()).await;
    let mut silent = running.connect().await;
    running.open(1).await;
    running.stop();
    assert_eq!(rest(&mut silent).await, "");
    running.ended().await;
}

#[tokio::test]
async fn sighup_reloads_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("it.crt"), folder.path().join("it.key"));
    fs::copy(data("localhost.crt"), &cert).unwrap();
    fs::copy(data("localhost.key"), &key).unwrap();
    let tls = Tls::from_files(&cert, &key).unwrap();
    let running = Running::start(hello(), Limits::default(), Some(tls)).await;
    let first = connect_tls(running.addr, &data("localhost.crt")).await;
    first.unwrap();

    fs::copy(data("other.crt"), &cert).unwrap();
    fs::copy(data("other.key"), &key).unwrap();
    let pid = std::process::id().to_string();
    let kill = Command::new("kill").args(["-HUP", &pid]).status();
    assert!(kill.unwrap().success());
    let wait = async {
        while connect_tls(running.addr, &data("other.crt")).await.is_err() {
            sleep(ms(20)).await;
        }
    };
    let reloaded = timeout(LONG, wait).await;
    reloaded.expect("the old certificate stays");
}
