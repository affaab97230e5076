//! LevelDB's filter block: one small Bloom filter for every 2 KiB of the table file.
//!
//! ```text
//! +----------+----------+-----+-------------+----+----+-----+------+----+----+
//! | filter 0 | filter 1 | ... | filter n-1  | o0 | o1 | ... | on-1 | A  | lg |
//! +----------+----------+-----+-------------+----+----+-----+------+----+----+
//!                                           ^ A: start of the offset array
//!
//! oi   fixed32  offset of filter i in this block; filter i ends where the next one starts,
//!               the last at A (which thus serves as offset n)
//! A    fixed32  offset of the array
//! lg   u8       log2 of the span of a filter: 11, for 2 KiB
//! ```
//!
//! Filter *i* covers all keys of the data blocks that *start* in bytes 2048*i* to 2048*i* + 2047 of
//! the file. A block larger than that leaves the filters after it empty, and an empty filter
//! matches nothing: no block starts there. A query therefore needs the offset of the data block,
//! that is, the index first.
//!
//! One filter is an array of bits and, as its last byte, the number of probes:
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
//! *b* is a whole number of bits per key, *k* = ⌊0.69 *b*⌋ from 1 to 30. The expected rate is
//! (1 - e^(-*k*/*b*))^*k*, were the probes independent; measured rates are up to half as high again
//! ([`BlockBloom::expected_fpr`]).
//!
//! | bits per key | 5 | 8 | 10 | 12 | 14 | 16 | 20 |
//! |---|---|---|---|---|---|---|---|
//! | probes | 3 | 5 | 6 | 8 | 9 | 11 | 13 |
//! | expected rate | 9.2 % | 2.2 % | 0.84 % | 0.31 % | 0.12 % | 0.046 % | 0.0068 % |
//!
//! RocksDB took all of this over as its "block-based" filter, with one difference: its own dialect
//! of the hash, which shows only for keys that have bytes above 0x7f in their last one to three.
//! RocksDB 7.0 stopped writing such filters and 7.4 stopped reading them; sstkit does both. The two
//! are told apart by the name under which the block is listed in the table's metaindex
//! ([`BlockBloom`]).
//!
//! Anything damaged answers "may contain".
//!
//! # Example
//!
//! ```
//! use sstkit_filter::{FilterBlock, FilterPolicy};
//!
//! let policy: FilterPolicy = "leveldb.BuiltinBloomFilter2:10".parse()?;
//! let mut builder = policy.block_builder().expect("builds filter blocks");
//! builder.start_block(0);
//! builder.add(b"apple");
//! builder.start_block(4101); // the first data block took 4101 bytes with its trailer
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
mod reader;

pub use bloom::BlockBloom;
pub use builder::FilterBlockBuilder;
pub use reader::FilterBlock;

/// log2 of the bytes of a table file that one filter covers.
const BASE_LG: u8 = 11;

/// The array's own offset and the byte after it.
const TAIL_LENGTH: usize = 5;
