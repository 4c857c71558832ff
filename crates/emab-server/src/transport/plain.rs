//! Answers plain HTTP on a TLS port with an explanation.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::parse_errors::response_bytes;
use crate::http::error::ApiError;

/// The first byte of a TLS handshake; no HTTP method begins with it.
const HANDSHAKE: u8 = 0x16;

/// Whether the client sends plain text, or nothing.
pub async fn is_plain(stream: &TcpStream) -> bool {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) => first[0] != HANDSHAKE,
        _ => true,
    }
}

/// Sends the explanation and closes the connection.
pub async fn reject(mut stream: TcpStream) {
    let error = ApiError::malformed("this port uses TLS: write https:// in the address");
    let send = async {
        stream.write_all(&response_bytes(&error)).await?;
        stream.shutdown().await?;
        // Unread bytes would reset the connection and lose the response.
        tokio::io::copy(&mut (&mut stream).take(64 * 1024), &mut tokio::io::sink()).await
    };
    // Best effort.
    let _ = timeout(Duration::from_secs(1), send).await;
}
