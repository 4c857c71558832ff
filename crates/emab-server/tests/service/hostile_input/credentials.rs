//! Missing, garbled and duplicate tokens.

use axum::body::Body;
use axum::http::Request;

use super::{CALLS, Fixture};
use crate::support::{TestServer, request};

#[tokio::test]
async fn rejects_missing_and_wrong_tokens() {
    let fixture = Fixture::new().await;
    let admin = &fixture.server.admin;
    let half = &admin[..admin.len() - 1];
    let stranger = format!("emab_{}", "5a".repeat(32));
    // The values of the header.
    let one = [
        String::new(),
        admin.clone(),
        "Bearer".into(),
        "Bearer ".into(),
        "Bearer x".into(),
        format!("Bearer{admin}"),
        format!("Basic {admin}"),
        format!("Bearer {half}"),
        format!("Bearer {admin}0"),
        format!("Bearer {}", admin.to_uppercase()),
        format!("Bearer {admin}, Bearer {admin}"),
        format!("Bearer {stranger}"),
        format!("Bearer {}", "x".repeat(10_000)),
    ];
    let right = format!("Bearer {admin}").into_bytes();
    let mut headers = vec![
        vec![],
        vec![b"Bearer \xff\xfe".to_vec()],
        vec![right.clone(); 2],
        vec![right, b"Bearer x".to_vec()],
    ];
    headers.extend(one.map(|value| vec![value.into_bytes()]));
    let reads = [
        ("GET", "/v1/studies", ""),
        ("GET", "/v1/studies/clinic", ""),
        ("GET", "/v1/studies/none", ""),
        ("GET", "/v1/studies/clinic/episodes/open", ""),
        ("GET", "/v1/studies/clinic/events", ""),
        ("GET", "/v1/studies/clinic:export", ""),
        ("GET", "/metrics", ""),
    ];
    for values in &headers {
        for (method, path, body) in CALLS.iter().chain(&reads) {
            let mut request = Request::builder()
                .method(*method)
                .uri(*path)
                .header("content-type", "application/json");
            for value in values {
                request = request.header("authorization", value.as_slice());
            }
            let request = request.body(Body::from(*body)).unwrap();
            let answer = fixture.server.send(request).await.expect_error(401);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            assert!(!answer.text.contains(&admin[5..20]));
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn health_and_documentation_need_no_token() {
    let server = TestServer::new();
    for path in ["/livez", "/readyz", "/openapi.json", "/docs"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        server.send(request).await.is(200);
    }
}

#[tokio::test]
async fn limits_the_rate_of_each_token() {
    use emab_server::console;
    use emab_server::http::{App, Rates};
    use emab_server::tokens::Tokens;
    use tower::ServiceExt;

    let server = TestServer::new();
    let tokens = Tokens::watch(server.tokens.path()).unwrap();
    let metrics = emab_server::app::metrics::Metrics::default();
    let service = server.service.clone();
    let router = console::app(App::new(service, tokens, Rates::new(3), metrics));
    let ask = |token: &str| {
        let request = request(token, "GET", "/v1/studies", &[], "");
        router.clone().oneshot(request)
    };
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let answer = ask(&server.admin).await.unwrap();
        if answer.status() == 429 {
            assert_eq!(answer.headers()["retry-after"], "1");
            assert_eq!(answer.headers()["content-type"], "application/problem+json");
        }
        statuses.push(answer.status().as_u16());
    }
    assert_eq!(statuses[..3], [200; 3]);
    assert!(statuses.contains(&429));
    assert_eq!(ask(&server.viewer).await.unwrap().status(), 200);
}
