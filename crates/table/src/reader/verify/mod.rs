//! Reading everything and comparing it with everything else.
//!
//! | what | compared with |
//! |---|---|
//! | every block | its checksum; the blocks beside it (no overlap, nothing but zeros between) |
//! | keys | each other: strictly ascending; the separators of the index around them |
//! | first keys and hash indexes | the keys they lead to |
//! | values | their own form: columns, references, embedded blobs |
//! | keys and prefixes | the filter, which must let them pass |
//! | properties | what they count |
//!
//! A problem does not end the search: what can still be read is read.

mod contents;
mod counts;
mod filter;
mod properties;

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;

use self::contents::{Contents, out_of_order};
use self::counts::{Counts, Tail};
use crate::error::{Error, Result};
use crate::raw::{Block, BlockHandle, BlockKind, IndexEntries, KeyExpansion};
use crate::reader::block::reader::read_exact;
use crate::reader::open::core::Core;
use crate::reader::open::layout;

/// More problems than this are counted, not kept.
const MAX_PROBLEMS: usize = 1000;

/// What is worth a thread.
const MIN_PART: u64 = 1 << 20;

/// Bytes of a gap between blocks that are looked at in one go.
const GAP_CHUNK: u64 = 1 << 16;

/// What [`Table::verify`](crate::Table::verify) found.
#[derive(Debug, Default)]
pub struct Verification {
    problems: Vec<Error>,
    problem_count: u64,
    blocks: u64,
    entries: u64,
    order_checked: bool,
}

impl Verification {
    /// Whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    /// The problems, in the order they were found; a thousand at most, with at most
    /// [`KeyExcerpt::MAX_SHOWN`](crate::KeyExcerpt::MAX_SHOWN) bytes of each key.
    pub fn problems(&self) -> &[Error] {
        &self.problems
    }

    /// How many there were in all.
    pub fn problem_count(&self) -> u64 {
        self.problem_count
    }

    /// Blocks read.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Entries read, range deletions among them.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Whether the order of the keys was checked: not where it is not known.
    pub fn order_checked(&self) -> bool {
        self.order_checked
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

    /// Adds what was found elsewhere.
    fn absorb(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.problem_count += other.problem_count;
        let room = MAX_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(other.problems.into_iter().take(room));
    }

    /// Keeps the error of a result, if it is one.
    fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }
}

/// A line for each problem, or one that says there is none.
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

/// Verifies a table, with so many threads for its data blocks.
pub(crate) fn verify(core: &Arc<Core>, threads: usize) -> Verification {
    let mut found = Verification { order_checked: core.keys.is_ordered(), ..Default::default() };
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
    let tail = check_meta_blocks(core, &blocks, &mut found);

    let mut counts = Counts::default();
    let mut complete = tail.index_sound;
    let mut last_key: Option<Vec<u8>> = None;
    let parts = if tail.index_sound { contents(core, threads) } else { Vec::new() };
    for part in parts {
        if let (Some(last), Some((first, handle))) = (&last_key, &part.first_key)
            && let Some(problem) = out_of_order(core, last, first, *handle)
        {
            found.add(problem);
        }
        found.absorb(part.found);
        counts.add(part.counts);
        blocks.extend(part.blocks);
        complete &= part.complete;
        last_key = part.last_key.or(last_key);
    }
    found.entries = counts.entries + counts.range_deletions;
    if complete {
        properties::compare(core, &counts, &tail, &mut found);
        check_gaps(core, blocks, &mut found);
    }
    found
}

/// Reads all blocks but data blocks.
fn check_meta_blocks(
    core: &Core,
    blocks: &[(BlockKind, BlockHandle)],
    found: &mut Verification,
) -> Tail {
    let mut blocks = blocks.to_vec();
    blocks.sort_by_key(|&(_, handle)| handle);
    let mut tail = Tail::default();
    let mut end = 0;
    for (kind, handle) in blocks {
        // One that overlaps the one before it is reported with the gaps. It is not read: a forged
        // metaindex could have one block read again and again.
        if handle.offset < end {
            tail.complete = false;
            continue;
        }
        let Some(contents) = found.take(core.blocks.contents(kind, handle)) else {
            tail.complete = false;
            continue;
        };
        tail.add(kind, handle.offset, contents.len() as u64);
        end = handle.end().unwrap_or(u64::MAX);
        if matches!(kind, BlockKind::Index | BlockKind::IndexPartition)
            && let Err(error) = check_separators_expand(core, contents)
        {
            // What it leads to would be gone through with keys of gigabytes.
            tail.index_sound = false;
            found.add(core.blocks.locate(error, kind, handle.offset));
        }
    }
    tail
}

/// An error if the keys of an index block expand too far. Other damage is found on the way through the
/// index.
fn check_separators_expand(core: &Core, contents: Bytes) -> Result<()> {
    let mut expansion = KeyExpansion::of_block(contents.len());
    let Ok(block) = Block::parse(contents) else { return Ok(()) };
    let Ok(mut entries) = IndexEntries::new(block, core.index_format) else { return Ok(()) };
    while let Ok(true) = entries.advance() {
        expansion.add(entries.key().len())?;
    }
    Ok(())
}

/// All data blocks, in as many parts as there are threads; parts of small tables would not be worth
/// it.
fn contents(core: &Arc<Core>, threads: usize) -> Vec<Contents<'_>> {
    let end = core.footer.offset;
    let threads = (threads as u64).clamp(1, (end / MIN_PART).max(1));
    let start = |part: u64| match part == threads {
        // A handle may lie anywhere.
        true => u64::MAX,
        false => (u128::from(end) * u128::from(part) / u128::from(threads)) as u64,
    };
    let parts = (0..threads).map(|part| start(part)..start(part + 1));
    if threads == 1 {
        return parts.map(|part| Contents::new(core).read(&part)).collect();
    }
    thread::scope(|scope| {
        let readers: Vec<_> =
            parts.map(|part| scope.spawn(move || Contents::new(core).read(&part))).collect();
        let joined = readers.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Blocks must not overlap, and between them there may be padding, which is zeros.
fn check_gaps(core: &Core, mut blocks: Vec<(BlockKind, BlockHandle)>, found: &mut Verification) {
    // Those outside of the file have been reported, and have no gaps around them.
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
            check_zeros(core, end, handle.offset, found);
        }
        end = end.max(handle.end().unwrap_or(u64::MAX));
    }
    check_zeros(core, end, core.footer.offset, found);
}

/// Both within the file: the blocks before and after are.
fn check_zeros(core: &Core, mut start: u64, end: u64, found: &mut Verification) {
    while start < end {
        let length = (end - start).min(GAP_CHUNK);
        match read_exact(&*core.blocks.source, start, length as usize) {
            Ok(bytes) if bytes.iter().all(|&byte| byte == 0) => {}
            Ok(_) => {
                let what = format!("bytes {start} to {end} belong to no block and are not zero");
                found.add(core.blocks.in_file(Error::corrupt(what)));
                return;
            }
            Err(error) => {
                found.add(core.blocks.in_file(error));
                return;
            }
        }
        start += length;
    }
}
