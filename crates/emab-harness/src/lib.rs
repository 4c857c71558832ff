//! What tests and measurements of the decision service need around it: a database server of their own, certificates.
#![forbid(unsafe_code)]

pub mod certificate;
pub mod postgres;
