//! The domain: commands, events, and the state that events lead to. Pure: no store, no clock, no HTTP.
//!
//! - [`validate`]: every rule that a command or an event must satisfy, one function each.
//! - [`study_state`]: [`study_state::StudyState::advance`] applies one event; live service, replay, import and audit all call it.
//! - [`decision`]: [`decision::Decision::make`] is where a recommendation and its certificate are computed.
//! - [`tables`]: the columns of the tables of a study.
//! - [`command`] and [`event`]: what is asked for, and what is recorded.

pub mod author;
pub mod checkpoint;
pub mod command;
pub mod counters;
pub mod decision;
pub mod drift;
pub mod episode;
pub mod estimates;
pub mod event;
pub mod finding;
pub mod hash_chain;
pub mod head;
pub mod health;
pub mod in_flight;
pub mod json;
pub mod learned_episode;
pub mod policy;
pub mod protocol;
pub mod rejection;
pub mod restore;
pub mod session;
pub mod study;
pub mod study_learners;
pub mod study_state;
pub mod tables;
pub mod validate;

pub use self::{
    author::*, checkpoint::*, command::*, counters::*, decision::*, drift::*, episode::*, event::*,
    finding::*, head::*, health::*, in_flight::*, learned_episode::*, policy::*, protocol::*,
    rejection::*, restore::*, session::*, study::*, study_learners::*, study_state::*,
};
