//! Answers plain HTTP on a TLS port with an explanation.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The first byte of a TLS handshake; no HTTP method begins with it.
const HANDSHAKE: u8 = 0x16;

const RESPONSE: &str = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 51\r\n\r\n\
    This port uses TLS: write https:// in the address.\n";

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
    let send = async {
        stream.write_all(RESPONSE.as_bytes()).await?;
        stream.shutdown().await?;
        // Unread bytes would reset the connection and lose the response.
        tokio::io::copy(&mut (&mut stream).take(64 * 1024), &mut tokio::io::sink()).await
    };
    // Best effort.
    let _ = timeout(Duration::from_secs(1), send).await;
}

#[cfg(test)]
mod tests {
    use super::RESPONSE;

    #[test]
    fn states_the_length_of_the_response() {
        let (head, body) = RESPONSE.split_once("\r\n\r\n").unwrap();
        let stated = head.split("content-length: ").nth(1).unwrap();
        assert_eq!(stated.parse::<usize>().unwrap(), body.len());
    }
}
