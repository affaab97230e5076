//! Databases: those that the engines wrote, and small ones made here by hand.

mod analysis;
mod blobs;
mod changing;
mod contradictions;
mod corpus;
mod diff;
mod filters;
mod history;
mod maker;
mod model;
mod options_of_reads;
mod read_options;
mod reading;
mod remote;
mod remote_files;
mod unknown_order;
mod unreadable;
mod walks;
