//! The log in pages and as a stream.

use axum::body::Body;
use axum::http::Request;
use emab_server::tokens::TokenStore;
use emab_server::transport::Limits;
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::support::request;
use crate::support::socket::{LONG, Running, until};
use crate::support::study::{StudyClient, clinic};

#[tokio::test]
async fn the_log_is_read_in_pages() {
    let client = clinic().await;
    client.send_all().await;
    let all = client.export().await;
    let mut text = String::new();
    let mut after = 0;
    loop {
        let page = client.get(&format!("/events?after={after}&limit=4")).await;
        let page = page.is(200);
        assert_eq!(page.header("content-type"), "application/x-ndjson");
        assert!(page.text.lines().count() <= 4);
        if page.text.is_empty() {
            break;
        }
        after += page.text.lines().count();
        text.push_str(&page.text);
    }
    assert_eq!(text, all);
    assert_eq!(client.get("/events").await.is(200).text, all);
    for (i, line) in all.lines().enumerate() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["seq"], i + 1);
    }
}

fn stream_request(client: &StudyClient, query: &str, last: Option<&str>) -> Request<Body> {
    let mut headers = vec![("accept", "text/event-stream")];
    headers.extend(last.map(|last| ("last-event-id", last)));
    let path = client.path(&format!("/events{query}"));
    request(&client.server.viewer, "GET", &path, &headers, "")
}

/// A stream of events, as the router gives it.
pub(super) struct Stream(Body, String);

impl Stream {
    pub(super) async fn open(client: &StudyClient, query: &str, last: Option<&str>) -> Stream {
        let request = stream_request(client, query, last);
        let response = client.server.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream(response.into_body(), String::new())
    }

    /// The next event: its id and its data.
    async fn next(&mut self) -> (u64, String) {
        loop {
            if let Some((block, rest)) = self.1.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.1 = rest;
                // A comment keeps the connection open.
                if block.starts_with(':') {
                    continue;
                }
                let (id, data) = block.split_once('\n').unwrap();
                let id = id.strip_prefix("id: ").unwrap().parse().unwrap();
                return (id, data.strip_prefix("data: ").unwrap().to_owned());
            }
            let frame = timeout(LONG, self.0.frame()).await.expect("nothing came");
            let data = frame.unwrap().unwrap().into_data().unwrap();
            self.1.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    /// Waits for its end.
    pub(super) async fn ends(mut self) {
        let end = async { while self.0.frame().await.is_some() {} };
        timeout(LONG, end).await.expect("it goes on for ever");
    }
}

#[tokio::test]
async fn a_stream_follows_the_log() {
    let client = clinic().await;
    let mut stream = Stream::open(&client, "", None).await;
    assert_eq!(stream.next().await.0, 1);
    client.open("p1").await.is(201);
    let (id, data) = stream.next().await;
    assert_eq!(id, 2);
    client.tell("p1", 1, "scan", "positive").await.is(200);
    client.stop("p1", 2).await.is(200);
    assert_eq!(stream.next().await.0, 3);
    drop(stream);
    // A reconnecting client states its last event.
    let mut stream = Stream::open(&client, "", Some("3")).await;
    let (id, _) = stream.next().await;
    assert_eq!(id, 4);
    let mut stream = Stream::open(&client, "?after=1", None).await;
    assert_eq!(stream.next().await, (2, data.clone()));
    assert_eq!(client.export().await.lines().nth(1), Some(&*data));
    // The header has precedence: a reconnecting browser sends both.
    let mut stream = Stream::open(&client, "?after=1", Some("2")).await;
    assert_eq!(stream.next().await.0, 3);
}

#[tokio::test]
async fn a_stream_resumes_on_a_socket() {
    let client = clinic().await;
    let running = Running::start(client.server.router.clone(), Limits::default(), None).await;
    let request = |last: &str| {
        format!(
            "GET /v1/studies/clinic/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             accept: text/event-stream\r\n{last}\r\n",
            client.server.admin
        )
    };
    let mut stream = running.connect().await;
    stream.write_all(request("").as_bytes()).await.unwrap();
    let head = until(&mut stream, "id: 1\n", 1).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    client.open("p1").await.is(201);
    until(&mut stream, "id: 2\n", 1).await;
    drop(stream);
    client.stop("p1", 1).await.is(200);
    let mut stream = running.connect().await;
    let again = request("last-event-id: 2\r\n");
    stream.write_all(again.as_bytes()).await.unwrap();
    let text = until(&mut stream, "id: 3\n", 1).await;
    assert!(!text.contains("id: 2\n"), "{text}");
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let client = clinic().await;
    let mut stream = Stream::open(&client, "", None).await;
    assert_eq!(stream.next().await.0, 1);
    client.server.tokens.revoke("viewer").unwrap();
    stream.ends().await;
}

#[tokio::test]
async fn streams_end_when_the_service_stops() {
    let client = clinic().await;
    let mut stream = Stream::open(&client, "", None).await;
    assert_eq!(stream.next().await.0, 1);
    client.server.app.end_streams();
    stream.ends().await;
    let request = stream_request(&client, "", None);
    client.server.send(request).await.expect_error(503);
    // The log is still readable.
    client.get("/events").await.is(200);
}
