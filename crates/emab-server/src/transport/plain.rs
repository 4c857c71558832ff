//! Plain HTTP on a port that speaks TLS: people do it, and get told.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The first byte of every TLS handshake; no method of HTTP begins with it.
const HANDSHAKE: u8 = 0x16;

const ANSWER: &str = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 52\r\n\r\n\
    This port speaks TLS: write https:// in the address\n";

/// Whether the client begins to speak in plain text (or not at all).
pub async fn is_plain(stream: &TcpStream) -> bool {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) => first[0] != HANDSHAKE,
        _ => true,
    }
}

/// Says so and hangs up.
pub async fn refuse(mut stream: TcpStream) {
    let farewell = async {
        stream.write_all(ANSWER.as_bytes()).await?;
        stream.shutdown().await?;
        // Unread bytes would make the system reset the connection, and the answer would be lost with it.
        tokio::io::copy(&mut (&mut stream).take(64 * 1024), &mut tokio::io::sink()).await
    };
    // It is a courtesy: whether it arrives is not worth another word.
    let _ = timeout(Duration::from_secs(1), farewell).await;
}

#[cfg(test)]
mod tests {
    use super::ANSWER;

    #[test]
    fn the_answer_is_as_long_as_it_says() {
        let (head, body) = ANSWER.split_once("\r\n\r\n").unwrap();
        let said = head.split("content-length: ").nth(1).unwrap();
        assert_eq!(said.parse::<usize>().unwrap(), body.len());
    }
}
