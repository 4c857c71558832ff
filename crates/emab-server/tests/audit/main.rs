//! Whatever is changed in a store or an export, by whoever, is found and named.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bytes;
mod export;
mod forge;
mod postgres;
mod rules;
mod script;
mod store;
