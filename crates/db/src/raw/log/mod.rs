//! Log files: the write-ahead logs `000029.log` and the MANIFEST have the same framing.
//!
//! A log is a row of blocks of 32 KiB, a block a row of physical records. A record that does not fit
//! into what is left of a block continues in the next one, in fragments:
//!
//! ```text
//!     0       1       2       3       4       5       6       7       8
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//!     | masked CRC-32C of type .. end | payload length|  type | pay- …
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//!     | masked CRC-32C of type .. end | payload length|  type | log n…      types 5-8, 11, 131:
//!     +-------+-------+-------+-------+-------+-------+-------+-------+      four bytes of the
//!     |  … umber              | payload …                                    file's log number
//!     +-------+-------+-------+-------+-------+-------+-------+-------+
//!
//! | block 0                            | block 1              | block 2                      |
//! | full | full      | first           | middle               | last | full |  end of file  |
//! ```
//!
//! | type | | |
//! |---|---|---|
//! | 0 | zeros of a preallocated file: the rest of the block is empty | |
//! | 1, 2, 3, 4 | full, first, middle, last | |
//! | 5, 6, 7, 8 | the same, recyclable | RocksDB |
//! | 9 | from here on records are compressed | RocksDB |
//! | 10, 11 | sizes of user timestamps, plain and recyclable | RocksDB |
//! | 130, 131 | about the log before this one, plain and recyclable | RocksDB |
//! | bit 7 | unknown types are skipped | RocksDB |
//!
//! Fewer than seven bytes at the end of a block are filled with zeros.
//!
//! # Recycled logs
//!
//! RocksDB may write a new log over an old one without cutting it first. The bytes behind the last
//! new record are then sound records of the old log; they are recognised by the log number in their header.
//!
//! # What the reader reports
//!
//! The engines tolerate different damage in different files. [`LogReader`] therefore does not
//! judge: it returns records and problems in file order, and the caller decides
//! ([`RecoveryMode`]).

mod block_reader;
mod decompressor;
mod limit;
mod problem;
mod reader;
mod record_type;
mod recovery_mode;
mod writer;

pub use decompressor::DEFAULT_MAX_RECORD_SIZE;
pub use limit::LogLimit;
pub use problem::{LogProblem, LogProblemKind};
pub use reader::{LogEvent, LogFragment, LogReader, LogRecord, MAX_KEPT_FRAGMENTS, PredecessorWal};
pub use recovery_mode::{Reaction, RecoveryMode};
pub use writer::LogWriter;
