//! Integers, checksums and hashes of the LevelDB and RocksDB file formats. No I/O.
//!
//! | module | what | where the formats use it |
//! |---|---|---|
//! | [`fixed`] | little-endian 16, 32 and 64-bit integers | footers, trailers, restart arrays |
//! | [`varint`] | base-128 integers, zigzag, length-prefixed slices | entries, handles, properties |
//! | `checksum` | the five block checksums, CRC masking, context modifier | block trailers, footers, logs |
//! | [`hash32`] | the 32-bit hash, LevelDB's and RocksDB's variant | old Bloom filters, hash indexes |
//! | [`xxph3`] | XXPH3, a frozen preview of XXH3 | cache-local Bloom and Ribbon filters |
//! | [`range_map`] | mapping a hash to a range by multiplication | cache-local Bloom, Ribbon |
//! | [`prefetch`] | prefetching cache lines | filters, batched lookups |
//! | `striped` | counters that many threads add to | statistics of lookups |
//! | [`huge_pages`] | requesting huge pages for large allocations | filters, block cache |
//! | [`named_enum!`] | enums whose values have names | numbers and names of the formats |
//! | [`setters!`], [`with_defaults!`] | options types: their methods, their defaults | none: for the crates above |
//! | [`EscapedBytes`], [`debug_struct!`], [`debug_opaque!`] | bytes as text in debug output | none: for the crates above |
//!
//! Without the feature `std`, which is a default, the crate needs only `alloc`, and `checksum` and
//! `striped` are left out.
//!
//! Decoders take `&mut &[u8]` and advance it past the value. If the bytes are not a complete value,
//! they return `None` and leave the slice unchanged. No input makes a decoder panic.
//!
//! ```
//! use sstkit_coding::varint::{get_varint64, put_varint64};
//!
//! let mut bytes = Vec::new();
//! put_varint64(&mut bytes, 300);
//! assert_eq!(bytes, [0xac, 0x02]);
//!
//! let mut input = bytes.as_slice();
//! assert_eq!(get_varint64(&mut input), Some(300));
//! assert!(input.is_empty());
//! ```

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]

extern crate alloc;

#[cfg(feature = "std")]
pub mod checksum;
pub mod fixed;
pub mod hash32;
pub mod huge_pages;
pub mod prefetch;
pub mod range_map;
#[cfg(feature = "std")]
pub mod striped;
pub mod varint;
pub mod xxph3;

mod arch;
mod escaped;
mod named_enum;
mod setters;
mod with_defaults;

pub use escaped::{DebugEscaped, Escaped, EscapedBytes};
pub use named_enum::UnknownName;

/// Tests the example in README.md.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;
