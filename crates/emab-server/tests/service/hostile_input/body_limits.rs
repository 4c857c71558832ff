//! Bodies over the limits, with and without a Content-Length.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use emab_server::transport::Limits;
use tokio::time::timeout;

use super::{CALLS, EMPTY, Fixture, JSON, LINES};
use crate::support::socket::{LONG, Running};

const CHUNK: usize = 64 << 10;

/// The largest body of a call.
fn most(i: usize) -> usize {
    match i {
        0 => 16 << 20,
        LINES => 64 << 20,
        _ => 1 << 20,
    }
}

/// A body of one gigabyte, generated on demand, and the number of bytes generated.
fn gigabyte(byte: u8) -> (Body, Arc<AtomicUsize>) {
    let pulled = Arc::new(AtomicUsize::new(0));
    let count = pulled.clone();
    let chunk = Bytes::from(vec![byte; CHUNK]);
    let chunks = (0..(1 << 30) / CHUNK).map(move |_| {
        count.fetch_add(CHUNK, Ordering::Relaxed);
        Ok::<_, Infallible>(chunk.clone())
    });
    (Body::from_stream(tokio_stream::iter(chunks)), pulled)
}

#[tokio::test]
async fn rejects_a_body_one_byte_over_the_limit() {
    let fixture = Fixture::new().await;
    for i in JSON.chain(EMPTY) {
        let (method, path, body) = CALLS[i];
        let long = format!("{body}{}", " ".repeat(most(i) + 1 - body.len()));
        let answer = fixture.refuses(413, method, path, long).await;
        assert_eq!(answer.header("connection"), "close");
    }
    fixture.assert_unchanged().await;
    // One byte less is accepted.
    let (method, path, body) = CALLS[4];
    let fits = format!("{body}{}", " ".repeat(most(4) - body.len()));
    fixture.json(method, path, fits).await.is(200);
}

#[tokio::test]
async fn rejects_a_content_length_over_the_limit() {
    let fixture = Fixture::new().await;
    for i in JSON.chain(EMPTY) {
        let (method, path, body) = CALLS[i];
        for length in [most(i) + 1, usize::MAX / 2] {
            let length = length.to_string();
            let json = ("content-type", "application/json");
            let headers = [json, ("content-length", &*length)];
            let answer = fixture.send(method, path, &headers, body).await;
            answer.expect_error(413);
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn stops_reading_a_chunked_body_at_the_limit() {
    let fixture = Fixture::new().await;
    for i in JSON.chain([LINES]).chain(EMPTY) {
        let (method, path, _) = CALLS[i];
        for byte in [0, b' ', b'['] {
            let (body, pulled) = gigabyte(byte);
            fixture.refuses(413, method, path, body).await;
            let pulled = pulled.load(Ordering::Relaxed);
            assert!(pulled <= most(i) + 2 * CHUNK, "{pulled} to {path}");
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn answers_413_on_a_socket_while_the_client_sends() {
    let fixture = Fixture::new().await;
    let running = Running::start(fixture.server.router.clone(), Limits::default(), None).await;
    let calls = [1, 2, 3, 4, 5, 6, LINES, EMPTY.start];
    // In parallel on separate threads, so that there is always something to read.
    let senders = calls.map(|i| {
        let (method, path, _) = CALLS[i];
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\n\r\n",
            fixture.server.admin
        );
        let mut read = std::net::TcpStream::connect(running.addr).unwrap();
        let mut write = read.try_clone().unwrap();
        let sender = tokio::task::spawn_blocking(move || {
            let chunk = [b"10000\r\n", &[b' '; CHUNK][..], b"\r\n"].concat();
            write.write_all(head.as_bytes()).unwrap();
            while write.write_all(&chunk).is_ok() {}
        });
        let reader = tokio::task::spawn_blocking(move || {
            let mut answer = vec![0; 4096];
            let n = read.read(&mut answer).unwrap();
            (String::from_utf8_lossy(&answer[..n]).into_owned(), read)
        });
        (path, reader, sender)
    });
    for (path, reader, sender) in senders {
        let (answer, _read) = timeout(LONG, reader).await.expect(path).unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer:?}");
        let sent = timeout(LONG, sender).await;
        sent.expect("it is read for ever").unwrap();
    }
    fixture.assert_unchanged().await;
}
