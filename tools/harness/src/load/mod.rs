//! Load: clients that play whole episodes, and remember everything that they were promised.

pub mod client;
pub mod episode;
pub mod fleet;
pub mod journal;
pub mod key;
pub mod studies;

use std::time::Duration;

use crate::wire::{Answer, Message};

/// What somebody does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sends this.
    Send(Message),
    /// Waits so long.
    Rest(Duration),
    /// Nothing more.
    Done,
}

/// Somebody who talks to the service: one request, one answer, the next request.
pub trait Talker {
    /// What to do now that nothing is on its way.
    fn next(&mut self) -> Next;
    /// What was sent last has been answered, after so long.
    fn answered(&mut self, answer: Answer, took: Duration);
    /// The connection is gone; what was sent last, if anything, is not answered and never will be.
    fn broken(&mut self);
}
