//! Many threads at once: each sees what it would see alone.

mod readers;
mod shared_database;
mod writers;
