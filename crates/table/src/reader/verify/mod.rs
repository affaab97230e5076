//! Verifying a table: one pass over the file that compares everything with everything else.
//!
//! | what | compared with |
//! |---|---|
//! | every block | its checksum; its neighbours (no overlap, nothing but zeros between) |
//! | keys | each other: strictly ascending; the separators of the index around them |
//! | first keys and hash indexes | the keys they lead to |
//! | values | their own encoding: columns, references, embedded blobs |
//! | keys and prefixes | the filter, which must pass them |
//! | properties | what they count |
//!
//! A problem does not end the pass: everything that can still be read is read. The same pass yields
//! what a database needs to verify its tables against each other: [key spans](KeySpan) with their
//! sequence numbers, references to blob files, and the checksum of the whole file.

mod counts;
mod data_blocks;
mod file_checksum;
mod filter_probes;
mod progress;
mod property_check;

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use sstkit_coding::{setters, with_defaults};

use self::counts::{Counts, Tail};
use self::data_blocks::{DataBlockVerifier, out_of_order};
use self::file_checksum::FileChecksum;
pub use self::progress::VerifyProgress;
use crate::error::{Error, Result};
use crate::raw::{BlobIndex, Block, BlockHandle, BlockKind, IndexEntries, KeyExpansion};
use crate::reader::block::reader::read_exact;
use crate::reader::open::core::Core;
use crate::reader::open::layout;

/// Problems that are kept; more are only counted.
const MAX_PROBLEMS: usize = 1000;

/// Bytes of a table for which another thread is worth it.
const MIN_PART: u64 = 1 << 20;

/// Bytes of a gap between blocks that are checked at once.
const GAP_CHUNK: u64 = 1 << 16;

/// What [`Table::verify`](crate::Table::verify) found.
#[derive(Debug, Default)]
pub struct Verification {
    problems: Vec<Error>,
    problem_count: u64,
    blocks: u64,
    entries: u64,
    order_checked: bool,
    spans: Vec<KeySpan>,
    file_checksum: Option<Result<u32>>,
}

/// A stretch of the data blocks of a table, about 8 MiB long: which keys and sequence numbers it has.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySpan {
    /// Its first user key, without timestamp.
    pub first: Vec<u8>,
    /// Its last user key, without timestamp.
    pub last: Vec<u8>,
    /// The smallest sequence number of its entries, as readers see it.
    pub smallest_sequence: u64,
    /// The largest sequence number of its entries, as readers see it.
    pub largest_sequence: u64,
}

sstkit_coding::debug_struct!(KeySpan {
    first: bytes,
    last: bytes,
    smallest_sequence,
    largest_sequence,
});

/// Visits the references to blob files in the entries of a part of a table, while the table is
/// verified.
pub trait ReferenceVisitor: Send {
    /// `user_key` (as stored, with its timestamp) has its value, or a column, where `index` says:
    /// always in another file.
    fn visit(&mut self, user_key: &[u8], index: &BlobIndex<'_>);
}

/// Ignores all references.
impl ReferenceVisitor for () {
    fn visit(&mut self, _: &[u8], _: &BlobIndex<'_>) {}
}

with_defaults! {
    /// How to verify a table.
    #[derive(Clone, Debug)]
    pub struct VerifyOptions {
        threads: usize = 1,
        file_checksum: bool,
        progress: VerifyProgress,
    }
}

setters! {
    impl VerifyOptions:

    /// Verifies data blocks with this number of threads. The result does not depend on it.
    pub fn threads(mut self, threads: usize) { self.threads = threads; }

    /// Whether to compute the CRC-32C of the whole file. It costs no further reads.
    pub fn file_checksum(mut self, file_checksum: bool) { self.file_checksum = file_checksum; }

    /// Counts the verified bytes there, and stops when it is stopped.
    pub fn progress(mut self, progress: &VerifyProgress) { self.progress = progress.clone(); }
}

impl Verification {
    /// Whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    /// The problems in the order in which they were found; at most 1000, with at most
    /// [`KeyExcerpt::MAX_SHOWN`](crate::KeyExcerpt::MAX_SHOWN) bytes of each key.
    pub fn problems(&self) -> &[Error] {
        &self.problems
    }

    /// The number of problems, including those that were not kept.
    pub fn problem_count(&self) -> u64 {
        self.problem_count
    }

    /// The number of blocks read.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The number of entries read, range tombstones included.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Whether the order of the keys was checked: not if it is unknown.
    pub fn order_checked(&self) -> bool {
        self.order_checked
    }

    /// Keys and sequence numbers of the data blocks that could be read, in file order. Range tombstones
    /// are not included.
    pub fn spans(&self) -> &[KeySpan] {
        &self.spans
    }

    /// The CRC-32C of the whole file, or why it could not be read; `None` unless it was
    /// [requested](VerifyOptions::file_checksum).
    pub fn file_checksum(&self) -> Option<&Result<u32>> {
        self.file_checksum.as_ref()
    }

    /// The first problem as an error.
    pub fn into_result(self) -> Result<()> {
        self.problems.into_iter().next().map_or(Ok(()), Err)
    }

    fn add(&mut self, problem: Error) {
        self.problem_count += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Adds what was found in the next part of the table.
    fn absorb(&mut self, part: Self) {
        self.blocks += part.blocks;
        self.problem_count += part.problem_count;
        let room = MAX_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(part.problems.into_iter().take(room));
        self.spans.extend(part.spans);
    }

    /// Adds the error of a result, if it is one.
    fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }
}

/// One line per problem and their number, or a line that says the table is sound.
impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_sound() {
            return write!(f, "sound: {} blocks, {} entries", self.blocks, self.entries);
        }
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        write!(f, "{} problems", self.problem_count)
    }
}

/// Verifies a table. Each thread has a visitor; they are returned in file order.
pub(crate) fn verify<V: ReferenceVisitor>(
    core: &Arc<Core>,
    options: &VerifyOptions,
    new_visitor: impl Fn() -> V,
) -> (Verification, Vec<V>) {
    let mut found = Verification { order_checked: core.keys.is_ordered(), ..Default::default() };
    let mut checksum = options.file_checksum.then(FileChecksum::default);
    let mut blocks = Vec::new();
    for (kind, _, handle) in layout::meta_blocks(core) {
        blocks.push((kind, handle));
    }
    for (kind, partitions) in [
        (BlockKind::FilterPartition, layout::filter_partitions(core)),
        (BlockKind::IndexPartition, layout::index_partitions(core)),
    ] {
        let partitions = found.take(partitions).unwrap_or_default();
        blocks.extend(partitions.into_iter().map(|handle| (kind, handle)));
    }
    found.blocks += blocks.len() as u64;
    let tail = check_meta_blocks(core, &blocks, checksum.as_mut(), &mut found);

    let mut counts = Counts::default();
    let mut complete = tail.index_sound;
    let mut visitors = Vec::new();
    let mut last_key: Option<Vec<u8>> = None;
    let parts = if tail.index_sound { data_blocks(core, options, new_visitor) } else { Vec::new() };
    for part in parts {
        let mut shares_key = false;
        if let (Some(last), Some((first, handle))) = (&last_key, &part.first_key) {
            let user_key = |stored| core.keys.bare(core.keys.stored_user_key(stored, false));
            shares_key = user_key(last) == user_key(first);
            out_of_order(core, last, first, *handle).into_iter().for_each(|it| found.add(it));
        }
        last_key = part.last_key().map(<[u8]>::to_vec).or(last_key);
        found.absorb(part.found);
        counts.add(part.counts, shares_key);
        blocks.extend(part.blocks);
        complete &= part.complete;
        visitors.push(part.visitor);
        if let (Some(checksum), Some(of_part)) = (&mut checksum, part.checksum) {
            checksum.append(of_part);
        }
    }
    found.entries = counts.entries + counts.range_deletions;
    if complete {
        property_check::compare(core, &counts, &tail, &mut found);
        check_gaps(core, blocks, checksum.as_mut(), &mut found);
    }
    found.file_checksum = checksum.map(|checksum| checksum.finish(core));
    (found, visitors)
}

/// Reads all blocks other than data blocks.
fn check_meta_blocks(
    core: &Core,
    blocks: &[(BlockKind, BlockHandle)],
    mut checksum: Option<&mut FileChecksum>,
    found: &mut Verification,
) -> Tail {
    let mut blocks = blocks.to_vec();
    blocks.sort_by_key(|&(_, handle)| handle);
    let mut tail = Tail::default();
    let mut end = 0;
    for (kind, handle) in blocks {
        // An overlap is reported with the gaps. The block is not read: a forged metaindex could have
        // the same bytes read again and again.
        if handle.offset < end {
            tail.complete = false;
            continue;
        }
        let contents = core.blocks.stored(kind, handle).and_then(|stored| {
            if let Some(checksum) = &mut checksum {
                checksum.add_block(&stored);
            }
            core.blocks.decompress(stored)
        });
        let Some(contents) = found.take(contents) else {
            tail.complete = false;
            continue;
        };
        tail.add(kind, handle.offset, contents.len() as u64);
        end = handle.end().unwrap_or(u64::MAX);
        if matches!(kind, BlockKind::Index | BlockKind::IndexPartition)
            && let Err(error) = check_separators_expand(core, contents)
        {
            // Following it would take gigabytes of separators.
            tail.index_sound = false;
            found.add(core.blocks.locate(error, kind, handle.offset));
        }
    }
    tail
}

/// An error if the keys of an index block expand too far. Other damage is found when the index is
/// followed.
fn check_separators_expand(core: &Core, contents: Bytes) -> Result<()> {
    let mut expansion = KeyExpansion::of_block(contents.len());
    let Ok(block) = Block::parse(contents) else { return Ok(()) };
    let Ok(mut entries) = IndexEntries::new(block, core.index_format) else { return Ok(()) };
    while let Ok(true) = entries.advance() {
        expansion.add(entries.key().len())?;
    }
    Ok(())
}

/// Verifies all data blocks, in as many parts as there are threads; in fewer if the table is small.
fn data_blocks<'v, V: ReferenceVisitor>(
    core: &'v Arc<Core>,
    options: &VerifyOptions,
    new_visitor: impl Fn() -> V,
) -> Vec<DataBlockVerifier<'v, V>> {
    let end = core.footer.offset;
    let threads = (options.threads as u64).clamp(1, (end / MIN_PART).max(1));
    let start = |part: u64| match part == threads {
        // A forged handle may be anywhere.
        true => u64::MAX,
        false => (u128::from(end) * u128::from(part) / u128::from(threads)) as u64,
    };
    let parts = (0..threads).map(|part| {
        let checksum = options.file_checksum.then(FileChecksum::default);
        let progress = options.progress.clone();
        let verifier = DataBlockVerifier::new(core, new_visitor(), checksum, progress);
        (verifier, start(part)..start(part + 1))
    });
    if threads == 1 {
        return parts.map(|(verifier, part)| verifier.verify(&part)).collect();
    }
    thread::scope(|scope| {
        let threads: Vec<_> =
            parts.map(|(verifier, part)| scope.spawn(move || verifier.verify(&part))).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Blocks must not overlap. Gaps between them may only be padding, which is zeros.
fn check_gaps(
    core: &Core,
    mut blocks: Vec<(BlockKind, BlockHandle)>,
    mut checksum: Option<&mut FileChecksum>,
    found: &mut Verification,
) {
    // Blocks outside of the file have been reported, and have no gaps around them.
    blocks.retain(|&(_, handle)| handle.stored_range(core.footer.offset).is_ok());
    blocks.sort_by_key(|&(_, handle)| handle);
    let mut end = 0;
    for (kind, handle) in blocks {
        if handle.offset < end {
            let error = Error::mismatch(
                "the block overlaps the one before it",
                format_args!("{end} or more"),
                handle.offset,
            );
            found.add(core.blocks.locate(error, kind, handle.offset));
        } else {
            check_zeros(core, end, handle.offset, checksum.as_deref_mut(), found);
        }
        end = end.max(handle.end().unwrap_or(u64::MAX));
    }
    check_zeros(core, end, core.footer.offset, checksum, found);
}

/// Checks a gap, which is within the file because the blocks around it are.
fn check_zeros(
    core: &Core,
    mut start: u64,
    end: u64,
    mut checksum: Option<&mut FileChecksum>,
    found: &mut Verification,
) {
    while start < end {
        let length = (end - start).min(GAP_CHUNK);
        let problem = match read_exact(&*core.blocks.source, start, length as usize) {
            Ok(bytes) if bytes.iter().all(|&byte| byte == 0) => {
                if let Some(checksum) = &mut checksum {
                    checksum.add(start, &bytes);
                }
                start += length;
                continue;
            }
            Ok(_) => Error::corrupt(format!(
                "bytes {start} to {end} belong to no block and are not zero"
            )),
            Err(error) => error,
        };
        found.add(core.blocks.in_file(problem));
        return;
    }
}
