//! The rules of a study: commands, events, and the state that events lead to. Pure: no store, clock or HTTP.

pub mod command;
pub mod decision;
pub mod episode;
pub mod error;
pub mod event;
pub mod given;
pub mod json;
pub mod learned_episode;
pub mod learners;
pub mod past;
pub mod state;
pub mod study;
pub mod validate;
