//! The Ribbon filter of RocksDB ("Standard128Ribbon"): the rate of a Bloom filter in 70 % of the space.
//!
//! # Overview
//!
//! A Ribbon filter stores the *solution of a system of linear equations* over GF(2). Every key is an
//! equation: a row of 128 random coefficients that starts at a random slot, and a result of *r* random
//! bits. The unknowns are *r* bits per slot.
//!
//! ```text
//!            slot  0 1 2 3 4 5 ...                                    solution    result
//!  key "a"         . . 1 0 1 1 0 1 ... 128 coefficients ... . . .   | x0      |   |  r(a)
//!  key "b"         1 1 0 0 1 0 ...                          . . . . · | x1      | = |  r(b)
//!  key "c"         . . . 1 1 1 0 ...                          . . .   | x2 ...  |   |  r(c)
//!                      '- the band: a ribbon down the diagonal -'
//! ```
//!
//! A probe multiplies the coefficients of the key with the solution. For a key that was added, the
//! product equals its result. For any other key it is *r* random bits, which equal the result with
//! probability 2^-*r*. Since all nonzero coefficients of a row are within 128 slots, Gaussian
//! elimination takes linear time. With a few percent more slots than keys (2.4 for a thousand keys, 4.8
//! for a million), a solution exists with a probability of 95 %. Otherwise the coefficients are
//! computed with another of 256 seeds. (Dillinger, Walzer: *Ribbon filter: practically smaller than
//! Bloom and Xor*, 2021.)
//!
//! # Bytes
//!
//! ```text
//!   block 0                  block 1               block m-1           trailer
//! +----+----+-----+--------+----+-----+-----+-----+-----------------+-----------------+
//! | c0 | c1 | ... | c(u-2) | c0 | ... |     | ... | c0 ... c(u-1)   | fe  seed  m (24)|
//! +----+----+-----+--------+----+-----+-----+-----+-----------------+-----------------+
//!   16-byte segment: column j of the solution for the 128 slots of a block, bit t for slot t
//!
//! '--- u-1 columns per block --'            '----- u columns ------'
//!         first blocks                          remaining blocks
//! ```
//!
//! The rate is not limited to powers of two. For 1 in 105, some blocks have six columns (1 in 64) and
//! the others seven (1 in 128). The number of blocks of each kind follows from the length of the data.
//!
//! # Hash
//!
//! ```text
//! g      = (XXPH3(key) ^ raw(seed)) · 0x6193d459236a3a0d
//! start  = g · (slots - 127) >> 64                          first slot of the row
//! a      = g · 0xc28f82822b650bed
//! row    = a << 64 | (a ^ 0xc367844a6e52731d) | 1           128 coefficients, the first always 1
//! result = the bytes of the high half of a, reversed        column j is bit j
//! ```
//!
//! # Rate
//!
//! A row that starts in a block with *c* columns matches by chance with probability 2^-*c*. With *u*
//! columns in the later blocks and *w* the fraction of rows that start in blocks with one fewer:
//!
//! ```text
//! w · 2^-(u-1) + (1 - w) · 2^-u
//! ```
//!
//! The bits per key of the policy determine the target rate, which is that of a cache-local Bloom filter
//! with as many bits per key. The rate follows exactly from the layout: unlike Bloom filters, Ribbon
//! filters cannot be over- or underfull.
//!
//! # Sizes
//!
//! | bits per key of the policy | 5 | 8 | 10 | 16 | 20 |
//! |---|---|---|---|---|---|
//! | bits per key used with a million keys | 3.68 | 5.79 | 7.10 | 10.86 | 13.20 |
//!
//! # Fallback to a Bloom filter
//!
//! The builder writes a cache-local Bloom filter instead if that is smaller (for up to a few hundred
//! keys), if there are more than 950 million keys, if the budget refuses the memory for solving the
//! equations, or if all 256 seeds fail. Readers recognize it by its trailer.

mod back_substitution;
mod banding;
mod builder;
mod hash;
mod layout;
mod radix_partitioner;
mod reader;
mod size;

pub(crate) use builder::RibbonBuilder;
pub(crate) use reader::RibbonReader;
pub use size::expected_fpr;

/// Coefficients per row, and slots per block.
const BAND_WIDTH: u32 = 128;

/// Maximum number of columns: the bits of a result.
const MAX_COLUMNS: u32 = 32;

/// Length of a segment, which is one column of one block.
const SEGMENT_LENGTH: usize = 16;

/// Maximum number of keys. The number of blocks must fit 24 bits.
const MAX_ENTRIES: usize = 950_000_000;
