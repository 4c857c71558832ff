//! Reads a streamed body line by line.

use std::time::Duration;

use axum::body::BodyDataStream;
use bytes::BytesMut;
use tokio_stream::StreamExt;

use super::body::incomplete;
use super::error::ApiError;
use crate::domain::MAX_LINE;

pub struct Lines {
    stream: BodyDataStream,
    buffer: BytesMut,
    searched: usize,
    ended: bool,
    /// The number of the last line.
    pub number: u64,
}

impl Lines {
    pub fn new(stream: BodyDataStream) -> Lines {
        Lines {
            stream,
            buffer: BytesMut::new(),
            searched: 0,
            ended: false,
            number: 0,
        }
    }

    /// The next line that is not blank, with its number from 1.
    pub async fn next(&mut self) -> Result<Option<(u64, String)>, ApiError> {
        loop {
            let found = self.buffer[self.searched..]
                .iter()
                .position(|&byte| byte == b'\n');
            let line = match found {
                Some(at) => {
                    let mut line = self.buffer.split_to(self.searched + at + 1);
                    line.truncate(line.len() - 1);
                    line
                }
                None if self.ended && self.buffer.is_empty() => return Ok(None),
                None if self.ended => self.buffer.split(),
                None => {
                    self.searched = self.buffer.len();
                    self.more().await?;
                    continue;
                }
            };
            self.searched = 0;
            self.number += 1;
            let number = self.number;
            let text = std::str::from_utf8(&line).map_err(|error| {
                ApiError::malformed(format!("line {number} is not UTF-8: {error}")).at("")
            })?;
            if !text.trim().is_empty() {
                return Ok(Some((number, text.trim().to_owned())));
            }
        }
    }

    async fn more(&mut self) -> Result<(), ApiError> {
        if self.buffer.len() > MAX_LINE {
            let number = self.number + 1;
            let what = format!("line {number} is longer than {MAX_LINE} bytes");
            return Err(ApiError::too_large(what));
        }
        match tokio::time::timeout(Duration::from_secs(60), self.stream.next()).await {
            Err(_) => Err(ApiError::malformed("no data for 60 s")),
            Ok(None) => {
                self.ended = true;
                Ok(())
            }
            Ok(Some(Ok(chunk))) => {
                self.buffer.extend_from_slice(&chunk);
                Ok(())
            }
            Ok(Some(Err(error))) => Err(incomplete(&error)),
        }
    }
}
