//! The server over raw TCP: what it answers, and what it refuses.

mod attacks;
mod client;
mod pages;
mod schemas;
mod streaming;
