//! The alphabet of the LevelDB and RocksDB file formats: integers, checksums and hashes. No I/O.
//!
//! | module | what | where the formats use it |
//! |---|---|---|
//! | [`fixed`] | little-endian 16, 32 and 64-bit integers | footers, trailers, restart arrays |
//! | [`varint`] | base-128 integers, zigzag, length-prefixed slices | entries, handles, properties |
//! | [`checksum`] | the five block checksums, crc masking, context modifier | block trailers, footers, logs |
//! | [`hash32`] | the 32-bit hash, in LevelDB's and in RocksDB's dialect | old Bloom filters, hash indexes |
//! | [`xxph3`] | the frozen preview of XXH3 | cache-local Bloom and Ribbon filters |
//! | [`range_map`] | multiply-shift mapping of a hash onto a range | cache-local Bloom, Ribbon |
//! | [`prefetch`] | asking for memory before it is needed | filters, lookups of many keys |
//! | [`huge_pages`] | asking for large memory to be in large pages | filters in the making, caches |
//!
//! Decoders take `&mut &[u8]`, advance it past what they read, and return `None` (leaving it
//! where it was) when the bytes are not a whole value. None of them panics on any input.
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

#![deny(unsafe_code)]

pub mod checksum;
pub mod fixed;
pub mod hash32;
pub mod huge_pages;
pub mod prefetch;
pub mod range_map;
pub mod varint;
pub mod xxph3;

mod arch;
