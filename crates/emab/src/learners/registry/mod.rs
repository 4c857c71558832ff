//! The registry: learners by name, their parameters, defaults and properties, and how one is built.

pub(crate) mod catalogue;
pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod parameter;
pub(crate) mod settings;
mod table_choices;
