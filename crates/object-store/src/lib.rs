//! Tables of LevelDB and RocksDB in object stores, by way of the [`object_store`] crate.
//!
//! ```no_run
//! use sstkit_object_store::{AsyncObject, RemoteObject, Store};
//! use sstkit_table::{AsyncTable, Table, TableReadOptions};
//!
//! # async fn read() -> Result<(), Box<dyn std::error::Error>> {
//! let options = TableReadOptions::default();
//!
//! // In a program that has a runtime:
//! let (store, path) = Store::parse("s3://bucket/000011.sst")?;
//! let table = AsyncTable::from_source(AsyncObject::new(&store, path), &options).await?;
//! let values = table.get_many(&["alice", "bob"]).await?; // the blocks of all keys at once
//!
//! // In one that has none:
//! let (store, path) = Store::parse("https://example.org/000011.sst")?;
//! let table = Table::from_source(RemoteObject::open(&store, path)?, &options)?;
//! for entry in table.iter() { // reads ahead while entries are decoded
//!     let (key, value) = entry?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! An object that is replaced while it is read is an error of kind [`Changed`](sstkit_table::ErrorKind::Changed): all
//! reads are of the version that was opened, by its ETag. Failed requests are repeated by `object_store`.
//!
//! # Features
//!
//! `write`: output in a store: tables and folders ([`StagedOutput`]), and builds in parts ([`remote_build`]).
//!
//! `aws`, `gcp`, `azure`, `http` and `fs`: one for each store of [`Store::parse`]. None is a default.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod async_object;
#[cfg(feature = "write")]
mod build_folder;
mod error;
mod object_files;
mod remote_object;
mod runtime;
#[cfg(feature = "write")]
mod staged_output;
mod store;
mod upload;

pub use object_store;

pub use self::async_object::AsyncObject;
#[cfg(feature = "write")]
pub use self::build_folder::{StoreFolder, remote_build};
pub use self::object_files::{register, register_store};
pub use self::remote_object::RemoteObject;
#[cfg(feature = "write")]
pub use self::staged_output::StagedOutput;
pub use self::store::{Store, is_address};
pub use self::upload::{upload, upload_folder, upload_folder_while};

#[cfg(feature = "tls")]
use reqwest as _; // selects TLS without a provider
