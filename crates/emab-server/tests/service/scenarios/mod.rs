//! Stories of people in the loop, each from its first request to the estimates.
mod as_of;
mod certificates;
mod concurrency;
mod corrections;
mod episodes;
mod export;
mod import;
mod learners;
mod outcomes;
mod replay;
mod replicas;
mod resent_requests;
mod roles;
mod saved_learner;
mod shadows;
mod streams;
