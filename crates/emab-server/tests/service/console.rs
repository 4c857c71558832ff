//! The console, without a browser: requests as browsers send them.

mod new_study;
mod pages;
mod people;
mod sessions;
mod study;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, Request, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::support::{Answer, TestServer};

/// The host of the service in the requests.
const HOST: &str = "emab.test";

/// A browser: it keeps the cookie and names the origin of its forms.
pub struct Browser {
    router: Router,
    pub cookie: Option<String>,
    /// `http` or `https`.
    pub scheme: &'static str,
}

impl Browser {
    pub fn new(server: &TestServer) -> Browser {
        Browser::of(server.router.clone())
    }

    pub fn of(router: Router) -> Browser {
        Browser {
            router,
            cookie: None,
            scheme: "http",
        }
    }

    /// A browser that is signed in.
    pub async fn signed_in(server: &TestServer, token: &str) -> Browser {
        let mut browser = Browser::new(server);
        browser.sign_in(token).await;
        assert!(browser.cookie.is_some());
        browser
    }

    pub async fn sign_in(&mut self, token: &str) -> Answer {
        self.post("/sign-in", &[("token", token)]).await
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, "", &[]).await
    }

    /// Sends a form.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut form = form_urlencoded::Serializer::new(String::new());
        let form = form.extend_pairs(fields).finish();
        let origin = format!("{}://{HOST}", self.scheme);
        self.send("POST", path, &form, &[("origin", &origin)]).await
    }

    /// A file, which need not be text.
    pub async fn file(&mut self, path: &str) -> (Answer, Bytes) {
        self.exchange("GET", path, "", &[]).await
    }

    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let body = body.to_owned();
        self.exchange(method, path, body, headers).await.0
    }

    /// Sends any body, and returns the answer also as bytes.
    pub async fn exchange(
        &mut self,
        method: &str,
        path: &str,
        body: impl Into<Body>,
        headers: &[(&str, &str)],
    ) -> (Answer, Bytes) {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header(header::HOST, HOST);
        if !headers.iter().any(|(name, _)| *name == "accept") {
            request = request.header(header::ACCEPT, "text/html,*/*;q=0.8");
        }
        if method == "POST" && !headers.iter().any(|(name, _)| *name == "content-type") {
            let kind = "application/x-www-form-urlencoded";
            request = request.header(header::CONTENT_TYPE, kind);
        }
        if let Some(cookie) = &self.cookie {
            request = request.header(header::COOKIE, cookie);
        }
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request = request.header(name, *value);
        }
        let request = request.body(body.into()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let answer = Answer {
            status,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            headers,
        };
        if let Some(cookie) = answer.headers.get(header::SET_COOKIE) {
            let cookie = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookie = Some(cookie.to_owned()).filter(|cookie| !cookie.ends_with('='));
        }
        (answer, bytes)
    }
}

impl Answer {
    #[track_caller]
    pub fn shows(&self, text: &str) {
        let content = self.text.split_once("<main").map_or("", |(_, it)| it);
        assert!(self.text.contains(text), "no {text:?} in {content}");
    }

    /// Asserts the page of a form that was rejected.
    #[track_caller]
    pub fn expect_rejected(self) -> Answer {
        self.shows("Not recorded");
        self.is(200)
    }

    /// Asserts the page to sign in.
    #[track_caller]
    pub fn asks_to_sign_in(self) {
        self.shows("current-password");
    }
}
