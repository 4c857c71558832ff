//! Load: clients that go through whole episodes and record every acknowledgement.

pub(crate) mod ack_journal;
pub(crate) mod client;
pub(crate) mod episode;
pub(crate) mod event_key;
pub(crate) mod generator;
pub(crate) mod readers;
pub(crate) mod studies;
