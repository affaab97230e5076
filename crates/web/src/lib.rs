//! The inspector behind `sst serve` and `sst report`: tables, filters, databases and lookups as pages
//! of a browser.
//!
//! ```no_run
//! use sstkit_table::TableReadOptions;
//! use sstkit_web::{Inspector, Opened, Server, ServerOptions, InspectedSource};
//!
//! let source = InspectedSource::new("000011.sst", || {
//!     Opened::table("000011.sst", &TableReadOptions::default())
//! });
//! let server = Server::bind(Inspector::new(vec![source]), &ServerOptions::default())?;
//! println!("{}", server.url());
//! server.run(|| false);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | part | what |
//! |---|---|
//! | [`InspectedSource`], [`Opened`] | a table or database that is inspected, opened when it is first needed |
//! | [`Inspector`] | answers an address with a page or its JSON; knows no sockets |
//! | [`Server`] | answers over HTTP, for this machine unless told otherwise |
//! | [`write_report`] | the same pages as one file that needs no server |
//!
//! # What the server allows
//!
//! Only `GET` and `HEAD`. Nothing is written. Requests that name another host, come from another
//! origin, or carry a body are refused, so no page of another site can read the files (DNS rebinding).
//! Beyond this machine, every request needs a token. All pages are embedded, and their
//! Content-Security-Policy keeps the browser from loading anything else. Connections, time, and the
//! size of requests and responses are limited.

#![forbid(unsafe_code)]

mod assets;
mod block_lists;
mod browser;
mod error;
mod filter_levels;
mod inspector;
mod pages;
mod query;
mod report;
mod server;
mod source;
mod verification;

pub use browser::open_browser;
pub use inspector::{Inspector, KeepGoing};
pub use report::{ReportOptions, ReportSummary, write_report};
pub use server::{Server, ServerOptions};
pub use source::{InspectedSource, Opened};
