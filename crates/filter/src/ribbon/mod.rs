//! The Ribbon filter of RocksDB ("Standard128Ribbon"): the rate of a Bloom filter in 70 % of its
//! space.
//!
//! # The idea
//!
//! A Bloom filter stores bits; a Ribbon stores the *solution of a system of linear equations* over
//! GF(2). Every key is an equation: a row of 128 random coefficients, starting at a random slot,
//! and a result of *r* random bits. The unknowns are *r* bits in each slot.
//!
//! ```text
//!            slot  0 1 2 3 4 5 ...                                    solution    result
//!  key "a"         . . 1 0 1 1 0 1 ... 128 coefficients ... . . .   | x0      |   |  r(a)
//!  key "b"         1 1 0 0 1 0 ...                          . . . . · | x1      | = |  r(b)
//!  key "c"         . . . 1 1 1 0 ...                          . . .   | x2 ...  |   |  r(c)
//!                      '- the band: a ribbon down the diagonal -'
//! ```
//!
//! A query computes the key's coefficients times the solution. For a key that was added the answer
//! is its result, by construction; for any other key it is *r* random bits, which agree with its
//! result once in 2^*r*. Since all nonzero coefficients of a row lie within 128 slots, Gaussian
//! elimination takes linear time, and a few percent more slots than keys (2.4 for a thousand, 4.8
//! for a million) suffice for a solution to exist, nineteen times in twenty. If not, other
//! coefficients are tried: there are 256 seeds. (Dillinger, Walzer: *Ribbon filter: practically
//! smaller than Bloom and Xor*, 2021.)
//!
//! # The bytes
//!
//! ```text
//!   block 0                  block 1               block m-1           trailer
//! +----+----+-----+--------+----+-----+-----+-----+-----------------+-----------------+
//! | c0 | c1 | ... | c(u-2) | c0 | ... |     | ... | c0 ... c(u-1)   | fe  seed  m (24)|
//! +----+----+-----+--------+----+-----+-----+-----+-----------------+-----------------+
//!   16-byte segment: column j of the solution for the 128 slots of a block, bit t for slot t
//!
//! '---- u-1 columns a block ---'            '----- u columns ------'
//!      the first few blocks                     and all the rest
//! ```
//!
//! A rate is not always a power of two. To meet 1 in 105, say, some blocks store six columns (1 in
//! 64) and the others seven (1 in 128), so that the mixture is right. How many follows from the
//! length alone.
//!
//! # The hash
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
//! A row that starts in a block with *c* columns agrees by chance once in 2^*c*. With *u* columns in
//! most blocks and *w* the share of starts in blocks with one fewer:
//!
//! ```text
//! w · 2^-(u-1) + (1 - w) · 2^-u
//! ```
//!
//! The policy's bits per key say which rate is aimed at: that of a cache-local Bloom filter of so
//! many bits. The rate is a fact of the layout, not an estimate: unlike Bloom filters, Ribbon
//! filters cannot be over- or underfull.
//!
//! # Sizes
//!
//! | bits per key of the Bloom filter it replaces | 5 | 8 | 10 | 16 | 20 |
//! |---|---|---|---|---|---|
//! | bits per key it takes at a million keys | 3.68 | 5.79 | 7.10 | 10.86 | 13.20 |
//!
//! # When it is a Bloom filter after all
//!
//! For a few hundred keys a Bloom filter may be smaller; for more than 950 million, where the
//! budget refuses the memory to solve it, or should all 256 seeds fail, a cache-local Bloom filter
//! is written instead. Readers do not care: the trailer tells.

mod back_substitution;
mod banding;
mod builder;
mod hash;
mod layout;
mod reader;
mod size;

pub(crate) use builder::RibbonBuilder;
pub(crate) use reader::RibbonReader;
pub use size::expected_fpr;

/// Coefficients of a row, and slots of a block.
const BAND_WIDTH: u32 = 128;

/// Columns a solution can have: the bits of a result.
const MAX_COLUMNS: u32 = 32;

/// Bytes of a segment: one column of one block.
const SEGMENT_LENGTH: usize = 16;

/// More keys than this are left to a Bloom filter: the number of blocks must fit 24 bits.
const MAX_ENTRIES: usize = 950_000_000;
