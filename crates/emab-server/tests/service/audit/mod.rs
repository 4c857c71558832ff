//! Whatever is changed in a store or an export, by whoever, is found and named.

mod event_rules;
mod export;
mod file_bytes;
mod postgres;
mod recorded;
mod rewritten_log;
mod sqlite_rows;
