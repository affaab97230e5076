//! The files of database directories: those of the engines, those made by hand, and damaged ones.

mod blobs;
mod corpus;
mod damage;
mod edit_writer;
mod golden;
mod log_writer;
mod logs;
mod manifests;
