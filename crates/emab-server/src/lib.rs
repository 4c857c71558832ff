//! The decision service: people in the loop, nothing lost.
#![forbid(unsafe_code)]
