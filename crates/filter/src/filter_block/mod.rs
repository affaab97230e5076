//! LevelDB's filter block: one small Bloom filter for every 2 KiB of the table file.
//!
//! ```text
//! +----------+----------+-----+-------------+----+----+-----+------+----+----+
//! | filter 0 | filter 1 | ... | filter n-1  | o0 | o1 | ... | on-1 | A  | lg |
//! +----------+----------+-----+-------------+----+----+-----+------+----+----+
//!                                           ^ A: start of the offset array
//!
//! oi   fixed32  offset of filter i in this block; filter i ends where the next one starts,
//!               and the last one at A, which serves as offset n
//! A    fixed32  offset of the array
//! lg   u8       log2 of the span of a filter: 11 for 2 KiB
//! ```
//!
//! Filter *i* covers the keys of all data blocks that *start* in bytes 2048*i* to 2048*i* + 2047 of
//! the file. After a larger block, the filters of the spans in which no block starts are empty. An
//! empty filter matches nothing. A probe needs the offset of the data block, so the index is
//! searched first.
//!
//! Each filter is a bit array followed by the number of probes:
//!
//! ```text
//!   bit array, 8 bytes or more                      k
//! +-----------------------------------------------+----+
//! | max(64, n·b) bits, rounded up to bytes        | u8 |
//! +-----------------------------------------------+----+
//!
//! h = 32-bit Bloom hash; delta = h rotated right by 17
//! k times: bit = h mod number of bits;  h += delta
//! ```
//!
//! *b* is an integer number of bits per key, *k* = ⌊0.69 *b*⌋, limited to 1 to 30. With independent
//! probes the rate would be (1 - e^(-*k*/*b*))^*k*. Measured rates are up to 1.5 times as high
//! ([`BlockBloom::expected_fpr`]).
//!
//! | bits per key | 5 | 8 | 10 | 12 | 14 | 16 | 20 |
//! |---|---|---|---|---|---|---|---|
//! | probes | 3 | 5 | 6 | 8 | 9 | 11 | 13 |
//! | expected rate | 9.2 % | 2.2 % | 0.84 % | 0.31 % | 0.12 % | 0.046 % | 0.0068 % |
//!
//! RocksDB's "block-based" filter is the same except for the hash, whose variant differs for keys
//! with bytes above 0x7f among the last one to three. RocksDB 7.0 stopped writing these filters and
//! 7.4 stopped reading them. sstkit reads and writes both. The name of the block in the metaindex
//! tells which one it is ([`BlockBloom`]).
//!
//! Damaged filters answer "may contain".
//!
//! # Example
//!
//! ```
//! use sstkit_filter::{FilterBlock, FilterPolicy};
//!
//! let policy: FilterPolicy = "leveldb.BuiltinBloomFilter2:10".parse()?;
//! let mut builder = policy.block_builder()?;
//! builder.start_block(0);
//! builder.add(b"apple");
//! builder.start_block(4101); // the first data block has 4101 bytes, trailer included
//! builder.add(b"banana");
//! let bytes = builder.finish()?;
//!
//! let filters = FilterBlock::leveldb(&bytes);
//! assert!(filters.may_contain(0, b"apple"));
//! assert!(!filters.may_contain(0, b"banana"));
//! assert!(filters.may_contain(4101, b"banana"));
//! # Ok::<(), sstkit_filter::Error>(())
//! ```

mod bloom;
mod builder;
mod excess;
mod reader;

pub use bloom::BlockBloom;
pub use builder::FilterBlockBuilder;
pub use reader::FilterBlock;

/// log2 of the bytes of a table file that one filter covers.
const BASE_LG: u8 = 11;

/// The offset of the array, and `lg`.
const TAIL_LENGTH: usize = 5;
