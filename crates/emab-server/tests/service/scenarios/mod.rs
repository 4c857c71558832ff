//! Whole requests against a service with a SQLite store, from creating a study to its estimates.

mod as_of;
mod backup;
mod certificates;
mod checkpoints;
mod concurrency;
mod corrections;
mod discard;
mod episodes;
mod export;
mod fallback;
mod import;
mod in_flight;
mod learners;
mod outcomes;
mod postgres_replicas;
mod protocol;
mod replay;
mod resent_requests;
mod roles;
mod saved_learner;
mod shadows;
mod shared_limits;
mod step_corrections;
mod streams;
mod study_status;
mod token_sources;
