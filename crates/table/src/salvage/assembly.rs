//! From blocks to a table: which of them belong to it, and what is missing between them.
//!
//! Blocks that follow each other in the file and in the order of their keys are a *run*. Stale bytes, or
//! a table inside of a damaged value, make runs of their own whose keys do not fit those around them:
//! of all runs, the ones are kept that are in order and have the most blocks.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;

use super::contents::{BUILT_IN, Orders, follows};
use super::report::{Loss, Uncertainty};
use super::survey::{Saved, Survey};
use super::tail::lost;
use super::window::Window;
use crate::raw::{BlockKind, Footer, InternalKey};
use crate::visibility::UserKeys;

/// Why the bytes between blocks are lost.
pub(super) const NOTHING_FOUND: &str = "no block with a valid checksum was found here";

/// The smallest alignment of blocks that is assumed.
const MIN_ALIGNMENT: u64 = 64;

/// An alignment that is hardly met by accident.
const PAGE: u64 = 4096;

/// The largest alignment of blocks that is assumed.
const MAX_ALIGNMENT: u64 = 2 << 20;

impl Survey {
    /// The order of the keys: what is recorded, or else what fits them.
    pub(super) fn settle_order(&mut self) {
        if self.reading.rules.order.is_some() || self.unknown_order.is_some() {
            return;
        }
        let orders = self.saved.iter().fold(Orders::ALL, |all, it| all.and(it.summary.orders));
        let fits = |order: &UserKeys| {
            let in_order = |pair: &&[Saved]| {
                let [a, b] = [&pair[0].summary, &pair[1].summary];
                follows(&a.last, &b.first, a.internal, order)
            };
            self.saved.windows(2).filter(in_order).count()
        };
        let mut best: Option<(usize, UserKeys)> = None;
        for (holds, comparator) in orders.0.into_iter().zip(BUILT_IN) {
            let keys = UserKeys::new(comparator);
            let count = if holds { fits(&keys) } else { continue };
            // The first is the most common one.
            if best.as_ref().is_none_or(|(most, _)| count > *most) {
                best = Some((count, keys));
            }
        }
        match best {
            Some((_, keys)) => {
                // LevelDB's tables never say it.
                if self.properties.is_none() && self.engine != Some(crate::raw::Engine::LevelDb) {
                    let name = keys.comparator().name().into_owned();
                    self.uncertain.push(Uncertainty::AssumedOrder(name));
                }
                self.reading.rules.order = Some(keys);
            }
            None => self.unknown_order = Some("unknown".to_owned()),
        }
    }

    /// All keys are of one form: that of most blocks.
    pub(super) fn settle_form(&mut self) {
        let internal = self.reading.rules.internal.unwrap_or_else(|| {
            let internal = self.saved.iter().filter(|it| it.summary.internal).count();
            internal * 2 >= self.saved.len()
        });
        self.reading.rules.internal = Some(internal);
        let (kept, dropped): (Vec<_>, _) = std::mem::take(&mut self.saved)
            .into_iter()
            .partition(|it| it.summary.internal == internal);
        self.saved = kept;
        let reason = "its keys are of another form than those of the other blocks";
        self.losses.extend(dropped.iter().map(|it| lost(BlockKind::Data, it.handle, &reason)));
    }

    /// Leaves out blocks that do not belong to the table.
    pub(super) fn drop_misplaced(&mut self) {
        self.drop_overlapping();
        let Some(order) = &self.reading.rules.order else { return };
        let internal = self.reading.rules.internal == Some(true);
        let fits =
            |a: &Saved, b: &Saved| follows(&a.summary.last, &b.summary.first, internal, order);
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (place, block) in self.saved.iter().enumerate() {
            match runs.last_mut() {
                Some(run)
                    if (block.indexed || self.saved[place - 1].end() == block.handle.offset)
                        && fits(&self.saved[place - 1], block) =>
                {
                    run.end = place + 1;
                }
                _ => runs.push(place..place + 1),
            }
        }
        if runs.len() < 2 {
            return;
        }
        let mut is_kept = vec![false; self.saved.len()];
        let kept = heaviest(&self.ranked(runs, internal, order));
        kept.into_iter().for_each(|run| is_kept[run].fill(true));
        self.retain(
            |place| is_kept[place],
            "its keys contradict those of its neighbours: stale, or a part of a value",
        );
    }

    /// Leaves out blocks that start in another: a forged index may name such.
    fn drop_overlapping(&mut self) {
        let mut end = 0;
        let is_free: Vec<bool> = self
            .saved
            .iter()
            .map(|block| {
                let is_free = end <= block.handle.offset;
                end = end.max(block.end());
                is_free
            })
            .collect();
        self.retain(|place| is_free[place], "it overlaps another block");
    }

    /// Drops the blocks at all other places as lost.
    fn retain(&mut self, is_kept: impl Fn(usize) -> bool, reason: &str) {
        let mut places = 0..;
        let losses = &mut self.losses;
        self.saved.retain(|block| {
            let kept = places.next().is_some_and(&is_kept);
            if !kept {
                losses.push(lost(BlockKind::Data, block.handle, &reason));
            }
            kept
        });
    }

    /// Runs with the ranks of their first and last keys among all of those. Equal keys have equal
    /// ranks.
    fn ranked(
        &self,
        runs: Vec<Range<usize>>,
        internal: bool,
        order: &UserKeys,
    ) -> Vec<(Range<usize>, Range<usize>)> {
        let key = |at: usize| {
            let run = &runs[at / 2];
            match at % 2 {
                0 => &self.saved[run.start].summary.first[..],
                _ => &self.saved[run.end - 1].summary.last[..],
            }
        };
        let compare = |a: usize, b: usize| match follows(key(a), key(b), internal, order) {
            true => Ordering::Less,
            false if follows(key(b), key(a), internal, order) => Ordering::Greater,
            false => Ordering::Equal,
        };
        let mut sorted: Vec<usize> = (0..runs.len() * 2).collect();
        sorted.sort_by(|&a, &b| compare(a, b));
        let mut ranks = vec![0; sorted.len()];
        let mut rank = 0;
        for pair in sorted.windows(2) {
            rank += usize::from(compare(pair[0], pair[1]).is_ne());
            ranks[pair[1]] = rank;
        }
        let ranks = |at: usize| ranks[2 * at]..ranks[2 * at + 1];
        runs.into_iter().enumerate().map(|(at, run)| (run, ranks(at))).collect()
    }

    /// What is missing in the regions that were carved.
    pub(super) fn find_gaps(&mut self, window: &mut Window<'_>) {
        let mut taken: Vec<Range<u64>> = std::mem::take(&mut self.found);
        taken.extend(self.losses.iter().filter(|it| it.length > 0).map(|it| it.offset..it.end()));
        taken.sort_by_key(|it| (it.start, it.end));
        let last_data = self.saved.last().map_or(0, |it| it.handle.offset);
        let alignment = alignment(&self.saved);
        for region in std::mem::take(&mut self.carved) {
            let mut at = region.start;
            // Those that overlap others start in order, but may not end so.
            let first = taken.partition_point(|it| it.start < region.start).saturating_sub(1);
            for range in taken[first..].iter().take_while(|it| it.start < region.end) {
                self.gap(window, at..range.start, last_data, alignment);
                at = at.max(range.end);
            }
            self.gap(window, at..region.end, last_data, alignment);
        }
    }

    fn gap(
        &mut self,
        window: &mut Window<'_>,
        gap: Range<u64>,
        last_data: u64,
        alignment: Option<u64>,
    ) {
        if gap.is_empty() {
            return;
        }
        let is_plain = self.saved.last().is_none_or(|it| it.codec == 0);
        let gap = without_padding(window, gap, alignment, is_plain);
        if gap.is_empty() {
            return;
        }
        let (offset, length) = (gap.start, gap.end - gap.start);
        let is_footer = [Footer::MIN_LENGTH, Footer::MAX_LENGTH].contains(&(length as usize));
        if is_footer
            && gap.end == window.size()
            && self.tail_ends.contains(&gap.start)
            && let Some(footer) = self.losses.iter_mut().find(|it| {
                it.kind == Some(BlockKind::Footer) && it.length == 0 && it.offset == gap.end
            })
        {
            (footer.offset, footer.length) = (offset, length);
            return;
        }
        let kind = (gap.start < last_data).then_some(BlockKind::Data);
        let reason = NOTHING_FOUND.to_owned();
        let (after, before, is_metadata) = (None, None, false);
        self.losses.push(Loss { kind, offset, length, after, before, is_metadata, reason });
    }

    /// Whether more data blocks may have followed: the footer is lost, and nothing of the tail is left
    /// behind the data blocks.
    pub(super) fn has_open_end(&self) -> bool {
        let is_footer = |it: &Loss| it.kind == Some(BlockKind::Footer);
        let last = self.saved.last().map_or(0, Saved::end);
        self.losses.iter().any(is_footer)
            && self.properties.is_none()
            && self.tail_ends.iter().all(|&end| end <= last)
    }

    /// Which keys are lost, and with them perhaps deletions.
    pub(super) fn bound_losses(&mut self) {
        self.losses.sort_by_key(|it| (it.offset, it.length));
        let internal = self.reading.rules.internal == Some(true);
        let is_bounded = |it: &Loss| it.has_entries() && it.kind != Some(BlockKind::RangeDeletion);
        let offsets: Vec<u64> =
            self.losses.iter().filter(|it| is_bounded(it)).map(|it| it.offset).collect();
        let losses = self.losses.iter_mut().filter(|it| is_bounded(it));
        for (nth, loss) in losses.enumerate() {
            let next = self.saved.partition_point(|it| it.handle.offset < loss.offset);
            let before = next.checked_sub(1).and_then(|it| self.saved.get(it));
            let after = self.saved.get(next);
            // If the neighbour is lost, too, an index tells more than a block further away.
            let (lost_before, lost_after) =
                (nth.checked_sub(1).and_then(|it| offsets.get(it)), offsets.get(nth + 1));
            if let Some(block) = before
                && (loss.after.is_none() || lost_before < Some(&block.handle.offset))
            {
                loss.after = Some(user_key(&block.summary.last, internal).to_vec());
            }
            if let Some(block) = after
                && (loss.before.is_none()
                    || lost_after.is_none_or(|lost| *lost > block.handle.offset))
            {
                loss.before = Some(user_key(&block.summary.first, internal).to_vec());
            }
        }
        self.detached();
    }

    /// Counts the blocks that have losses on both sides.
    fn detached(&mut self) {
        let starts: HashSet<u64> = self.losses.iter().map(|it| it.offset).collect();
        let ends: HashSet<u64> = self.losses.iter().map(Loss::end).collect();
        let mut blocks = 0;
        let mut run_start: Option<usize> = None;
        for (place, block) in self.saved.iter().enumerate() {
            let is_first = place == 0 || self.saved[place - 1].end() != block.handle.offset;
            if is_first {
                run_start =
                    (!block.indexed && ends.contains(&block.handle.offset)).then_some(place);
            }
            let is_last =
                self.saved.get(place + 1).is_none_or(|next| next.handle.offset != block.end());
            if let Some(start) = run_start
                && is_last
                && starts.contains(&block.end())
            {
                blocks += (place + 1 - start) as u64;
            }
        }
        if blocks > 0 {
            self.uncertain.push(Uncertainty::Detached(blocks));
        }
    }
}

/// The stored key without sequence number and kind.
pub(super) fn user_key(stored: &[u8], internal: bool) -> &[u8] {
    let tail = if internal { InternalKey::TAIL_LENGTH } else { 0 };
    &stored[..stored.len().saturating_sub(tail)]
}

/// Of runs in file order, each with the ranks of its first and last key, those that are in order and
/// have the most blocks.
///
/// A run may follow all earlier ones whose last key has a smaller rank than its first. The best of
/// them is the maximum of a prefix of the ranks, which a tree of maxima finds in logarithmic time.
fn heaviest(runs: &[(Range<usize>, Range<usize>)]) -> Vec<Range<usize>> {
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(runs.len());
    let size = runs.iter().map(|(_, ranks)| ranks.end + 1).max().unwrap_or(0);
    // At each node the heaviest run so far of the ranks that it stands for.
    let mut maxima: Vec<Option<(usize, usize)>> = vec![None; size + 1];
    for (place, (blocks, ranks)) in runs.iter().enumerate() {
        let mut before: Option<(usize, usize)> = None;
        let mut node = ranks.start;
        while node > 0 {
            before = before.max(maxima[node]);
            node &= node - 1;
        }
        let weight = before.map_or(0, |(weight, _)| weight) + blocks.len();
        best.push((weight, before.map(|(_, place)| usize::MAX - place)));
        let mut node = ranks.end + 1;
        while node <= size {
            // Of equal ones the first: places are stored inverted.
            maxima[node] = maxima[node].max(Some((weight, usize::MAX - place)));
            node += node & node.wrapping_neg();
        }
    }
    let mut kept = Vec::new();
    let mut next = (0..best.len()).rev().max_by_key(|&place| best[place].0);
    while let Some(place) = next {
        kept.push(runs[place].0.clone());
        next = best[place].1;
    }
    kept.reverse();
    kept
}

/// A gap without what alignment leaves at its start: zeros, up to a multiple of the alignment. If that
/// is not known, the zeros must end at the start of a page; a block that is not compressed starts with
/// another zero.
fn without_padding(
    window: &mut Window<'_>,
    gap: Range<u64>,
    alignment: Option<u64>,
    is_plain: bool,
) -> Range<u64> {
    let Some(alignment) = alignment else {
        let start = window.range(gap.start..gap.end.min(gap.start + MAX_ALIGNMENT));
        let zeros = start.iter().take_while(|&&byte| byte == 0).count() as u64;
        let aligned = gap.start + zeros.saturating_sub(u64::from(is_plain));
        let is_padding = aligned.is_multiple_of(PAGE) && aligned < gap.end;
        return if is_padding { aligned..gap.end } else { gap };
    };
    let aligned = gap.start.next_multiple_of(alignment).min(gap.end);
    let padding = window.range(gap.start..aligned);
    if padding.iter().all(|&byte| byte == 0) { aligned..gap.end } else { gap }
}

/// To which multiples the offsets of blocks are padded: 1 if they are not, `None` if no gap tells.
///
/// RocksDB's `block_align` starts every data block at a multiple of the block size, and
/// `super_block_alignment_size` some of them, so that they do not cross such a multiple.
fn alignment(saved: &[Saved]) -> Option<u64> {
    let of = |offset: u64| (1 << offset.trailing_zeros().min(63)).min(MAX_ALIGNMENT);
    let all = saved.iter().map(|it| it.handle.offset).filter(|&offset| offset > 0);
    let every = all.clone().map(of).min().filter(|_| all.count() > 1);
    if every.is_some_and(|it| it >= MIN_ALIGNMENT) {
        return every;
    }
    let after_gap = saved.windows(2).filter(|pair| pair[0].end() < pair[1].handle.offset);
    let after_gap: Vec<u64> = after_gap.map(|pair| of(pair[1].handle.offset)).collect();
    let some = after_gap.iter().copied().min().filter(|&it| it >= MIN_ALIGNMENT);
    match after_gap.len() {
        0 => None,
        gaps => Some(some.filter(|&it| it >= PAGE || gaps > 1).unwrap_or(1)),
    }
}
