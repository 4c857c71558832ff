//! Test support for the service and the command: temporary PostgreSQL servers and TLS certificates.
#![forbid(unsafe_code)]

pub mod certificate;
pub mod postgres;
