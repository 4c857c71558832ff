//! Missing, garbled and duplicate tokens.

use axum::body::Body;
use axum::http::Request;

use super::{CALLS, Fixture};

#[tokio::test]
async fn rejects_missing_and_wrong_tokens() {
    let fixture = Fixture::new().await;
    let admin = &fixture.server.admin;
    let half = &admin[..admin.len() - 1];
    let stranger = format!("emab_{}", "5a".repeat(32));
    let headers: Vec<Vec<Vec<u8>>> = vec![
        vec![],
        vec![b"".to_vec()],
        vec![admin.clone().into_bytes()],
        vec![b"Bearer".to_vec()],
        vec![b"Bearer ".to_vec()],
        vec![b"Bearer x".to_vec()],
        vec![format!("Bearer{admin}").into_bytes()],
        vec![format!("Basic {admin}").into_bytes()],
        vec![format!("Bearer {half}").into_bytes()],
        vec![format!("Bearer {admin}0").into_bytes()],
        vec![format!("Bearer {}", admin.to_uppercase()).into_bytes()],
        vec![format!("Bearer {admin}, Bearer {admin}").into_bytes()],
        vec![format!("Bearer {}", stranger).into_bytes()],
        vec![format!("Bearer {}", "x".repeat(10_000)).into_bytes()],
        vec![b"Bearer \xff\xfe".to_vec()],
        vec![format!("Bearer {admin}").into_bytes(); 2],
        vec![format!("Bearer {admin}").into_bytes(), b"Bearer x".to_vec()],
    ];
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
    let fixture = Fixture::new().await;
    for path in ["/livez", "/readyz", "/openapi.json", "/docs"] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        fixture.server.send(request).await.is(200);
    }
}

#[tokio::test]
async fn limits_the_rate_of_each_token() {
    use emab_server::http::{App, Rates, app};
    use emab_server::tokens::Tokens;
    use tower::ServiceExt;

    let fixture = Fixture::new().await;
    let server = &fixture.server;
    let tokens = Tokens::watch(server.tokens.path()).unwrap();
    let metrics = emab_server::app::metrics::Metrics::default();
    let router = app(App::new(
        server.service.clone(),
        tokens,
        Rates::new(3),
        metrics,
    ));
    let ask = |token: &str| {
        let request =
            Request::get("/v1/studies").header("authorization", format!("Bearer {token}"));
        router.clone().oneshot(request.body(Body::empty()).unwrap())
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
