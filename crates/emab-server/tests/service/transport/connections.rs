//! Slow, silent and too many clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::support::socket::{
    GET, GET_AND_CLOSE, LONG, Running, ask, connect_tls, data, hello, ms, rest, until,
};
use axum::body::{Body, Bytes};
use axum::routing::{get, post};
use axum::{Extension, Router};
use emab_server::http::{Peer, SlowBody};
use emab_server::transport::{Limits, Tls};
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt;

#[tokio::test]
async fn handlers_get_the_address_of_the_peer() {
    let app = Router::new().route(
        "/",
        get(|Extension(Peer(peer)): Extension<Peer>| async move { format!("you are {peer}") }),
    );
    let running = Running::start(app, Limits::default(), None).await;
    let mut stream = running.connect().await;
    let me = format!("you are {}", stream.local_addr().unwrap());
    // One after the other, and both at once.
    for request in [GET.to_vec(), [GET, GET].concat()] {
        stream.write_all(&request).await.unwrap();
        let times = request.len() / GET.len();
        let text = until(&mut stream, &me, times).await;
        assert_eq!(text.matches("HTTP/1.1 200 OK").count(), times, "{text}");
    }
    running.open(1).await;
    drop(stream);
    running.open(0).await;
}

#[tokio::test]
async fn a_slow_head_is_cut_off() {
    let running = Running::with(hello(), |limits| limits.head = ms(600)).await;
    let start = Instant::now();
    let (silent, dripping, second) = tokio::join!(
        async { rest(&mut running.connect().await).await },
        async { rest(&mut drip(running.connect().await).await).await },
        async {
            // The limit also applies to the second request of a connection.
            let mut stream = running.connect().await;
            stream.write_all(GET).await.unwrap();
            until(&mut stream, "hello", 1).await;
            rest(&mut drip(stream).await).await
        },
    );
    assert!(start.elapsed() >= ms(600));
    assert_eq!([silent, dripping, second], [""; 3]);
    running.open(0).await;
    assert!(ask(running.addr, GET_AND_CLOSE).await.ends_with("hello"));
}

/// Sends a part of a head, byte by byte.
async fn drip(mut stream: TcpStream) -> TcpStream {
    for byte in GET.iter().cycle().take(24) {
        sleep(ms(50)).await;
        if stream.write_all(&[*byte]).await.is_err() {
            break;
        }
    }
    stream
}

#[tokio::test]
async fn idle_connections_have_their_own_timeout() {
    let set = |limits: &mut Limits| (limits.head, limits.idle) = (ms(500), ms(2500));
    let running = Running::with(hello(), set).await;
    let mut stream = running.connect().await;
    for _ in 0..2 {
        stream.write_all(GET).await.unwrap();
        until(&mut stream, "hello", 1).await;
        sleep(ms(1000)).await;
    }
    assert_eq!(rest(&mut stream).await, "");
    running.open(0).await;
}

#[tokio::test]
async fn a_slow_response_is_not_an_idle_connection() {
    let limits = Limits {
        head: ms(300),
        idle: ms(300),
        stalled: ms(300),
        body: ms(300),
        ..Limits::default()
    };
    let stream = || async {
        let pieces = tokio_stream::iter(0..4).then(|i| async move {
            sleep(ms(400)).await;
            Ok::<_, std::io::Error>(format!("piece {i}\n"))
        });
        Body::from_stream(pieces)
    };
    let app = Router::new().route("/", get(stream));
    let running = Running::start(app, limits, None).await;
    let text = ask(running.addr, GET_AND_CLOSE).await;
    assert!(text.contains("piece 3"), "{text}");
}

fn measured() -> Router {
    let measure = |body: Body| async {
        match body.collect().await {
            Ok(body) => format!("{} bytes", body.to_bytes().len()),
            Err(error) => {
                let error = error.into_inner();
                match error.source().and_then(|source| source.downcast_ref()) {
                    Some(SlowBody { received, .. }) => format!("slow after {received}"),
                    _ => format!("other: {error}"),
                }
            }
        }
    };
    Router::new().route("/", post(measure))
}

const POST: &[u8] =
    b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 100\r\n\r\n";

#[tokio::test]
async fn a_body_below_the_minimum_rate_is_cut_off() {
    // The same body in ten parts, for two rates.
    let send = |rate| async move {
        let set = |limits: &mut Limits| (limits.body, limits.body_rate) = (ms(700), rate);
        let running = Running::with(measured(), set).await;
        let (mut from, mut to) = running.connect().await.into_split();
        to.write_all(POST).await.unwrap();
        let send = async {
            for _ in 0..10 {
                sleep(ms(100)).await;
                let _ = to.write_all(&[b'x'; 10]).await;
            }
        };
        tokio::join!(rest(&mut from), send).0
    };
    let (fast, slow) = tokio::join!(send(10), send(1_000_000));
    assert!(fast.ends_with("100 bytes"), "{fast}");
    assert!(slow.contains("slow after "), "{slow}");
}

#[tokio::test]
async fn a_response_before_the_end_of_the_body_arrives() {
    let app = Router::new().route("/", post(|| async { "too much" }));
    let running = Running::start(app, Limits::default(), None).await;
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000\r\n\r\n";
    let mut request = head.as_bytes().to_vec();
    request.resize(head.len() + 10_000_000, b'x');
    for _ in 0..20 {
        assert!(ask(running.addr, &request).await.ends_with("too much"));
    }
}

#[tokio::test]
async fn a_truncated_body_is_an_error() {
    let (sent, mut received) = tokio::sync::mpsc::channel(1);
    let read = |body: Body| async move {
        sent.send(body.collect().await.is_err()).await.unwrap();
    };
    let app = Router::new().route("/", post(read));
    let running = Running::start(app, Limits::default(), None).await;
    let mut stream = running.connect().await;
    stream.write_all(POST).await.unwrap();
    stream.write_all(b"some of it").await.unwrap();
    drop(stream);
    // The handler gets an error or is dropped; it never sees a complete body.
    assert_ne!(timeout(LONG, received.recv()).await.unwrap(), Some(false));
}

/// Asserts problem details with this status.
#[track_caller]
fn assert_problem(text: &str, status: u16) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap();
    assert!(first.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
    let lines: Vec<&str> = lines.collect();
    for line in [
        "content-type: application/problem+json",
        "connection: close",
        &format!("content-length: {}", body.len()),
    ] {
        assert!(lines.contains(&line), "{line:?} is not in {text}");
    }
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["status"], status);
    assert!(!body["detail"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn invalid_heads_are_answered_with_problem_details() {
    let running = Running::start(hello(), Limits::default(), None).await;
    let headers = |lines: &str| format!("GET / HTTP/1.1\r\nhost: x\r\n{lines}\r\n").into_bytes();
    let cases = [
        (headers(&format!("x: {}\r\n", "a".repeat(40_000))), 431),
        (headers(&"x: a\r\n".repeat(200)), 431),
        (headers("no colon\r\n"), 400),
        (b"\x00\xff rubbish\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/3.0\r\nhost: x\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n".to_vec(), 400),
        (headers("host: x\r\n"), 400),
    ];
    for (request, status) in cases {
        assert_problem(&ask(running.addr, &request).await, status);
        // Also as the second request of a connection, alone and together with the first.
        let both = ask(running.addr, &[GET, &request].concat()).await;
        let (first, second) = both.split_once("hello").unwrap();
        assert!(first.starts_with("HTTP/1.1 200 OK"), "{both}");
        assert_problem(second, status);
        let mut stream = running.connect().await;
        stream.write_all(GET).await.unwrap();
        until(&mut stream, "hello", 1).await;
        stream.write_all(&request).await.unwrap();
        assert_problem(&rest(&mut stream).await, status);
    }
    let old = ask(running.addr, b"GET / HTTP/1.0\r\n\r\n").await;
    assert!(old.ends_with("hello"), "{old}");
    assert!(ask(running.addr, GET_AND_CLOSE).await.ends_with("hello"));
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let running = Running::with(hello(), |limits| limits.connections = 2).await;
    let first = running.connect().await;
    let second = running.connect().await;
    running.open(2).await;
    let mut third = running.connect().await;
    third.write_all(GET_AND_CLOSE).await.unwrap();
    timeout(ms(300), third.readable()).await.unwrap_err();
    running.open(2).await;
    drop(first);
    assert!(rest(&mut third).await.ends_with("hello"));
    drop(second);
    running.open(0).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let endless = || async {
        let block = Bytes::from(vec![b'x'; 64 * 1024]);
        let blocks = std::iter::repeat_with(move || Ok::<_, std::io::Error>(block.clone()));
        Body::from_stream(tokio_stream::iter(blocks))
    };
    let app = Router::new().route("/", get(endless));
    let running = Running::with(app, |limits| limits.stalled = ms(300)).await;
    let mut stream = running.connect().await;
    stream.write_all(GET).await.unwrap();
    running.open(1).await;
    running.open(0).await;
}

/// A handler that signals its start and waits before it answers.
fn slow(begun: &Arc<Notify>, on: &Arc<Notify>) -> Router {
    let (begun, on) = (Arc::clone(begun), Arc::clone(on));
    let handler = move || async move {
        begun.notify_one();
        on.notified().await;
        "done"
    };
    hello().route("/slow", get(handler))
}

const GET_SLOW: &[u8] = b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn a_half_closed_client_is_answered() {
    for tls in [false, true] {
        let (begun, on) = (Arc::default(), Arc::default());
        let config = Tls::from_files(&data("localhost.crt"), &data("localhost.key")).unwrap();
        let app = slow(&begun, &on);
        let running = Running::start(app, Limits::default(), tls.then_some(config)).await;
        // Over TLS with and without an alert.
        for alert in [true, false] {
            let answer = async {
                if tls {
                    let stream = connect_tls(running.addr, &data("localhost.crt")).await;
                    let mut stream = stream.unwrap();
                    stream.write_all(GET_SLOW).await.unwrap();
                    match alert {
                        true => stream.shutdown().await.unwrap(),
                        false => stream.get_mut().0.shutdown().await.unwrap(),
                    }
                    rest(&mut stream).await
                } else {
                    let mut stream = running.connect().await;
                    stream.write_all(GET_SLOW).await.unwrap();
                    stream.shutdown().await.unwrap();
                    rest(&mut stream).await
                }
            };
            let handler = async {
                begun.notified().await;
                sleep(ms(50)).await;
                on.notify_one();
            };
            let (text, ()) = tokio::join!(answer, handler);
            assert!(text.ends_with("done"), "TLS {tls}: {text}");
        }
        running.open(0).await;
    }
}

#[tokio::test]
async fn shutdown_waits_for_running_requests() {
    let (begun, on) = (Arc::default(), Arc::default());
    let mut running = Running::start(slow(&begun, &on), Limits::default(), None).await;
    let mut idle = running.connect().await;
    idle.write_all(GET).await.unwrap();
    until(&mut idle, "hello", 1).await;
    let mut silent = running.connect().await;
    let mut busy = running.connect().await;
    busy.write_all(GET_SLOW).await.unwrap();
    begun.notified().await;
    running.open(3).await;

    running.stop();
    // Idle connections are closed at once and new ones are not accepted.
    assert_eq!(rest(&mut idle).await, "");
    assert_eq!(rest(&mut silent).await, "");
    refused(running.addr).await;
    on.notify_one();
    let text = rest(&mut busy).await;
    let whole = text.starts_with("HTTP/1.1 200 OK") && text.ends_with("done");
    assert!(whole, "{text}");
    running.ended().await;
}

/// Waits until an address refuses connections: a process that another test starts holds a copy of the socket until it runs its
/// program.
async fn refused(addr: SocketAddr) {
    let wait = async {
        while TcpStream::connect(addr).await.is_ok() {
            sleep(ms(10)).await;
        }
    };
    timeout(LONG, wait).await.expect("still accepts");
}

#[tokio::test]
async fn shutdown_drops_requests_after_the_grace_period() {
    let (begun, on) = (Arc::default(), Arc::default());
    let mut running = Running::with(slow(&begun, &on), |limits| limits.grace = ms(200)).await;
    let mut busy = running.connect().await;
    busy.write_all(GET_SLOW).await.unwrap();
    begun.notified().await;
    running.stop();
    assert_eq!(rest(&mut busy).await, "");
    running.open(0).await;
    running.ended().await;
}

#[tokio::test]
async fn a_panic_in_a_handler_answers_500() {
    let app = hello().route("/bug", get(|| async { panic!("planted") as &'static str }));
    let running = Running::start(app, Limits::default(), None).await;
    let mut stream = running.connect().await;
    let request = b"GET /bug HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let text = until(&mut stream, "harmless\"}", 1).await;
    assert!(text.starts_with("HTTP/1.1 500"), "{text}");
    assert!(text.contains("application/problem+json"), "{text}");
    assert!(!text.contains("planted"), "{text}");
    stream.write_all(GET_AND_CLOSE).await.unwrap();
    assert!(rest(&mut stream).await.ends_with("hello"));
}
