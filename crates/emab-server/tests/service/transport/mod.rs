//! The listener, its limits and TLS, on real sockets.

mod connections;
mod file_descriptors;
mod tls;
