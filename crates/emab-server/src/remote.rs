//! Reads the log of a study from another service, over HTTP or HTTPS.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::handshake;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::client_tls::{system_authorities, trusting};

/// How long a connection may take, and each part of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// An error is read up to this size.
const MAX_ERROR: usize = 64 << 10;

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The address is not that of a study.
    #[error("{0}")]
    Address(String),
    /// The service did not answer.
    #[error("the service at {address} cannot be read: {what}")]
    Connection {
        /// Host and port.
        address: String,
        /// What failed.
        what: String,
    },
    /// The service answered with an error.
    #[error("the service at {address} answers {status}: {what}")]
    Answer {
        /// Host and port.
        address: String,
        /// The status.
        status: u16,
        /// The problem, in words.
        what: String,
    },
}

/// The address of a study on a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyUrl {
    tls: bool,
    host: String,
    port: u16,
    path: String,
}

impl StudyUrl {
    /// Parses `http://HOST:PORT/v1/studies/STUDY`, with or without a path before `v1`; a URL without `v1` needs the study.
    ///
    /// ```
    /// use emab_server::remote::StudyUrl;
    /// let url = StudyUrl::parse("http://127.0.0.1:8420/v1/studies/clinic", None).unwrap();
    /// assert_eq!(url, StudyUrl::parse("http://127.0.0.1:8420", Some("clinic")).unwrap());
    /// assert!(StudyUrl::parse("http://127.0.0.1:8420", None).is_err());
    /// assert!(StudyUrl::parse("http://127.0.0.1:84200/v1/studies/clinic", None).is_err());
    /// ```
    pub fn parse(text: &str, study: Option<&str>) -> Result<StudyUrl, RemoteError> {
        let wrong = |what: String| RemoteError::Address(what);
        // Before anything else: no message may contain a password.
        if text.contains('@') {
            let what = "a URL has no user and password here: set EMAB_TOKEN to the token";
            return Err(wrong(what.into()));
        }
        let uri: Uri = text
            .parse()
            .map_err(|error| wrong(format!("`{text}` is not a URL: {error}")))?;
        let tls = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().to_owned();
        let has_port = uri.authority().is_some_and(|it| it.as_str() != host);
        let port = match uri.port_u16() {
            Some(port) => port,
            None if has_port => {
                return Err(wrong(format!(
                    "`{text}` has no valid port: it is a number from 1 to 65535"
                )));
            }
            None if tls => 443,
            None => 80,
        };
        let path = uri.path().trim_end_matches('/');
        let path = match (path.split_once("/v1/studies/"), study) {
            (Some((_, named)), Some(study)) if named != study => {
                return Err(wrong(format!(
                    "the URL names study `{named}`, and --study `{study}`"
                )));
            }
            (Some((_, named)), _) if crate::domain::is_name(named) => path.to_owned(),
            (None, Some(study)) if crate::domain::is_name(study) => {
                format!("{path}/v1/studies/{study}")
            }
            (None, None) => {
                let what = "name the study: …/v1/studies/STUDY, or --study";
                return Err(wrong(format!("`{text}` is the URL of a service; {what}")));
            }
            _ => return Err(wrong(format!("`{text}` does not name a study"))),
        };
        Ok(StudyUrl {
            tls,
            host,
            port,
            path,
        })
    }

    fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Reads the export of the study with this token.
    pub fn export(&self, token: &str) -> Result<Vec<u8>, RemoteError> {
        let failed = |what: String| RemoteError::Connection {
            address: self.address(),
            what,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        runtime.block_on(self.read(token))
    }

    async fn read(&self, token: &str) -> Result<Vec<u8>, RemoteError> {
        let failed = |what: String| RemoteError::Connection {
            address: self.address(),
            what,
        };
        let host = self.host.trim_matches(['[', ']']);
        let connect = TcpStream::connect((host, self.port));
        let stream = tokio::time::timeout(TIMEOUT, connect)
            .await
            .map_err(|_| failed("no connection within 30 s".into()))?
            .map_err(|error| failed(error.to_string()))?;
        if !self.tls {
            return self.request(stream, token).await;
        }
        let config = system_authorities().and_then(trusting).map_err(failed)?;
        let name =
            ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let stream = tokio::time::timeout(TIMEOUT, stream)
            .await
            .map_err(|_| failed("no TLS within 30 s".into()))?
            .map_err(|error| failed(error.to_string()))?;
        self.request(stream, token).await
    }

    async fn request(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        token: &str,
    ) -> Result<Vec<u8>, RemoteError> {
        let failed = |what: String| RemoteError::Connection {
            address: self.address(),
            what,
        };
        let (mut sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(error.to_string()))?;
        tokio::spawn(async move {
            // An error also fails the request.
            let _ = connection.await;
        });
        let request = Request::get(format!("{}:export", self.path))
            .header(HOST, self.address())
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .body(Empty::<Bytes>::new())
            .map_err(|_| failed("the token has characters that no token has".into()))?;
        let answer = tokio::time::timeout(TIMEOUT, sender.send_request(request))
            .await
            .map_err(|_| failed("no answer within 30 s".into()))?
            .map_err(|error| failed(error.to_string()))?;
        let status = answer.status();
        let (mut body, mut bytes) = (answer.into_body(), Vec::new());
        loop {
            let frame = tokio::time::timeout(TIMEOUT, body.frame())
                .await
                .map_err(|_| failed("no data for 30 s".into()))?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|error| failed(error.to_string()))?;
            if let Ok(data) = frame.into_data() {
                bytes.extend_from_slice(&data);
            }
            if status != StatusCode::OK && bytes.len() > MAX_ERROR {
                break;
            }
        }
        if status == StatusCode::OK {
            return Ok(bytes);
        }
        let problem: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let detail = problem.get("detail").and_then(|it| it.as_str());
        let title = problem.get("title").and_then(|it| it.as_str());
        Err(RemoteError::Answer {
            address: self.address(),
            status: status.as_u16(),
            what: detail.or(title).unwrap_or("no reason is given").into(),
        })
    }
}
