//! What tests and measurements of the decision service need around it:
//! clients that remember what they were promised, a service to be killed under them, and the checks of both.
//!
//! [`crash`] → [`child`] (the service, killed) ← [`load`] (who asks, and keeps a journal) → [`check`] (journal and log)
#![forbid(unsafe_code)]

pub mod bench;
pub mod chance;
pub mod check;
pub mod child;
pub mod clock;
pub mod crash;
pub mod fault;
pub mod full;
pub mod large;
pub mod load;
pub mod outage;
pub mod room;
pub mod scene;
pub mod serve;
pub mod soak;
pub mod trial;
pub mod wire;
