//! TLS on real sockets: those who speak it, those who do not, and a certificate that is replaced.

use std::fs;
use std::process::Command;

use crate::support::socket::{GET_AND_CLOSE, LONG, Running, ask, connect_tls, data, ms, rest};
use axum::Router;
use axum::routing::get;
use emab_server::transport::{Limits, Tls};
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

fn tls() -> Option<Tls> {
    Some(Tls::from_files(&data("localhost.crt"), &data("localhost.key")).unwrap())
}

#[tokio::test]
async fn who_speaks_tls_is_answered_in_it() {
    let running = Running::start(hello(), Limits::default(), tls()).await;
    let mut stream = connect_tls(running.addr, &data("localhost.crt"))
        .await
        .unwrap();
    stream.write_all(GET_AND_CLOSE).await.unwrap();
    assert!(rest(&mut stream).await.ends_with("hello"));
}

#[tokio::test]
async fn plain_http_is_told_so_and_rubbish_does_not_hang() {
    let running = Running::start(hello(), Limits::default(), tls()).await;
    let text = ask(running.addr, GET_AND_CLOSE).await;
    assert!(
        text.starts_with("HTTP/1.1 400") && text.contains("https://"),
        "{text}"
    );
    // It begins as a handshake does.
    ask(
        running.addr,
        b"\x16\x03\x01\x00\x05rubbish and more rubbish",
    )
    .await;
    running.open(0).await;
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_cut_off() {
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
async fn the_end_of_the_service_does_not_wait_for_handshakes() {
    let mut running = Running::start(hello(), Limits::default(), tls()).await;
    let mut silent = running.connect().await;
    running.open(1).await;
    running.stop();
    assert_eq!(rest(&mut silent).await, "");
    running.ended().await;
}

#[tokio::test]
async fn sighup_has_the_certificate_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("it.crt"), folder.path().join("it.key"));
    fs::copy(data("localhost.crt"), &cert).unwrap();
    fs::copy(data("localhost.key"), &key).unwrap();
    let tls = Tls::from_files(&cert, &key).unwrap();
    let running = Running::start(hello(), Limits::default(), Some(tls)).await;
    connect_tls(running.addr, &data("localhost.crt"))
        .await
        .unwrap();

    fs::copy(data("other.crt"), &cert).unwrap();
    fs::copy(data("other.key"), &key).unwrap();
    let pid = std::process::id().to_string();
    assert!(
        Command::new("kill")
            .args(["-HUP", &pid])
            .status()
            .unwrap()
            .success()
    );
    let wait = async {
        while connect_tls(running.addr, &data("other.crt")).await.is_err() {
            sleep(ms(20)).await;
        }
    };
    timeout(LONG, wait)
        .await
        .expect("the old certificate stays");
}
