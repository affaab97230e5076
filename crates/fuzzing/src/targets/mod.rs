//! The bodies of the targets, besides those with modules of their own.

pub(crate) mod codecs;
pub(crate) mod database_parts;
pub(crate) mod filters;
pub(crate) mod table_parts;
pub(crate) mod values;
