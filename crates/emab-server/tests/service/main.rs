//! Tests of the decision service: whole requests against a service on its own store, sockets, the audit and hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod console;
mod earlier_stores;
mod hostile_input;
mod openapi;
mod scenarios;
mod store_conformance;
mod support;
mod transport;
