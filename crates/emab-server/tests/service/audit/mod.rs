//! The audit finds and names every change of a store or an export.

mod event_rules;
mod export;
mod file_bytes;
mod postgres;
mod recorded;
mod rewritten_log;
mod sqlite_rows;
