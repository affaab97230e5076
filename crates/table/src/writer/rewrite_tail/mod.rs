//! A new tail for the data blocks of another table.
//!
//! ```text
//! before   | data blocks | filter | index | … | properties | metaindex | footer |
//!             |               '---------------- read, not copied -----------'
//!             v bytes as they are, same offsets
//! after    | data blocks | filter | index | … | properties | metaindex | footer |    new
//! ```
//!
//! This gives an existing table a filter of another policy, a partitioned index or a newer footer
//! without compressing anything: the data area is copied, with padding and embedded blobs. Keys are
//! read, as filter and index are made from them. One block is in memory at a time.
//!
//! | file | what |
//! |---|---|
//! | `settings.rs` | the options, completed by what is fixed in the source |
//! | `source_blocks.rs` | the data blocks of the source, each read once |
//! | `data_copy.rs` | copying the data area |
//! | `rocksdb_tail.rs`, `leveldb_tail.rs` | the tail of either engine |

mod data_copy;
mod leveldb_tail;
mod rocksdb_tail;
mod settings;
mod source_blocks;

use std::io::Write;
use std::path::Path;

use self::settings::settle;
use super::Summary;
use super::create_file;
use super::output::{Output, Sink};
use super::returned_sink::ReturnedSink;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::output::{FinishedFile, OutputFile};
use crate::raw::{Engine, TableView};

/// Writes a table to `path` that has the data blocks of `source` byte for byte, at the same
/// offsets, and a new tail with the settings of `options`.
///
/// ```no_run
/// use sstkit_table::{Table, TableOptions, rewrite_tail};
///
/// let table = Table::open("old.sst")?;
/// let options = TableOptions::like(&table)?.filter("ribbonfilter:10".parse()?);
/// rewrite_tail(table.view(), "new.sst", &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The options for filter, index, properties, identity, format version and checksum are used. How
/// the data blocks were built (codec, restart interval, separated values) is taken from the source.
/// So are dictionary, range tombstones, meta blocks of plug-ins, global sequence number, user
/// properties and key times, and column family, merge operator and base context checksum unless the
/// options set them. Of a LevelDB table only the filter is new.
///
/// The checksums of data blocks stay, unless their type changes, or their context: with another
/// base, or if the format version crosses 6. If they stay and the source is a file, the system copies
/// the data area, on Linux by `copy_file_range`: file systems that can share blocks on disk do so.
///
/// # Errors
///
/// A table of another engine than that of the options; one of format version 0 or 1 with a codec
/// whose encoding changed with version 2; options with a comparator other than the source's; damage
/// to the source.
pub fn rewrite_tail(
    source: &TableView<'_>,
    path: impl AsRef<Path>,
    options: &TableOptions,
) -> Result<Summary> {
    let path = path.as_ref();
    let options = settle(source, options)?;
    let (target, file) = create_file(path)?;
    let (summary, file) = write(source, Sink::File(file), &options, &mut |_| Ok(()))?;
    if let Some(file) = file {
        target.commit(file).map_err(|error| Error::from(error).in_file(path))?;
    }
    Ok(summary)
}

/// The same, to a sink.
///
/// # Errors
///
/// Those of [`rewrite_tail`].
pub fn rewrite_tail_to(
    source: &TableView<'_>,
    sink: impl Write + Send,
    options: &TableOptions,
) -> Result<Summary> {
    let options = settle(source, options)?;
    let sink = Sink::Writer(Box::new(ReturnedSink::new(sink).0));
    write(source, sink, &options, &mut |_| Ok(())).map(|(summary, _)| summary)
}

/// The same, to a file with a temporary name, which the caller renames: see [`output`](crate::output).
/// `progress` is called with the number of bytes of each data block; its error ends the work.
///
/// ```no_run
/// use sstkit_table::output::OutputPath;
/// use sstkit_table::{Table, TableOptions, rewrite_tail_to_output_file};
///
/// let table = Table::open("old.sst")?;
/// let options = TableOptions::like(&table)?.filter("ribbonfilter:10".parse()?);
/// let new = OutputPath::new("new.sst".as_ref(), false)?; // must not exist
/// let mut done = 0;
/// let (_summary, file) =
///     rewrite_tail_to_output_file(table.view(), new.create()?, &options, &mut |bytes| {
///         done += bytes;
///         println!("{done} of {} bytes", table.size());
///         Ok(())
///     })?;
/// new.commit(file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Those of [`rewrite_tail`], and of `progress`.
pub fn rewrite_tail_to_output_file(
    source: &TableView<'_>,
    file: OutputFile,
    options: &TableOptions,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(Summary, FinishedFile)> {
    let options = settle(source, options)?;
    match write(source, Sink::File(file), &options, progress)? {
        (summary, Some(file)) => Ok((summary, file)),
        (_, None) => Err(Error::invalid_input("the table was not written to a file")),
    }
}

fn write(
    source: &TableView<'_>,
    sink: Sink<'_>,
    options: &TableOptions,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(Summary, Option<FinishedFile>)> {
    let output = Output::new(sink, options.format.checksum, options.context_checksum());
    match options.engine {
        Engine::RocksDb => rocksdb_tail::write(source, output, options, progress),
        Engine::LevelDb => leveldb_tail::write(source, output, options, progress),
    }
}
