//! From blocks to a table: which of them belong to it, and what is missing between them.
//!
//! Blocks that follow each other in the file and in the order of their keys are a *run*. Stale bytes, or
//! a table inside of a damaged value, make runs of their own whose keys do not fit those around them:
//! of all runs, the ones are kept that are in order and have the most blocks.

use std::ops::Range;

use super::contents::{BUILT_IN, Orders, follows};
use super::report::{Loss, Uncertainty};
use super::survey::{Saved, Survey};
use super::tail::lost;
use super::window::Window;
use crate::raw::{BlockKind, Footer, InternalKey};
use crate::visibility::UserKeys;

/// Runs that are compared with each other; of more, only neighbours are.
const MAX_COMPARED: usize = 4096;

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

    /// Range tombstones cannot be sorted in an order that is not known.
    pub(super) fn drop_unordered_ranges(&mut self) {
        if self.unknown_order.is_some() && !self.range_deletions.is_empty() {
            self.range_deletions.clear();
            self.uncertain.push(Uncertainty::RangeTombstones);
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
        let Some(order) = &self.reading.rules.order else { return };
        let internal = self.reading.rules.internal == Some(true);
        let fits = |a: &Saved, b: &Saved| {
            a.end() <= b.handle.offset
                && follows(&a.summary.last, &b.summary.first, internal, order)
        };
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
        let kept = heaviest(&runs, |a, b| fits(&self.saved[a.end - 1], &self.saved[b.start]));
        let mut is_kept = vec![false; self.saved.len()];
        kept.iter().for_each(|run| is_kept[run.clone()].fill(true));
        let mut place = 0..;
        let reason = "its keys contradict those of its neighbours: stale, or a part of a value";
        let losses = &mut self.losses;
        self.saved.retain(|block| {
            let kept = place.next().is_some_and(|place| is_kept[place]);
            if !kept {
                losses.push(lost(BlockKind::Data, block.handle, &reason));
            }
            kept
        });
    }

    /// What is missing in the regions that were carved.
    pub(super) fn find_gaps(&mut self, window: &mut Window<'_>) {
        let mut taken: Vec<Range<u64>> = std::mem::take(&mut self.found);
        taken.extend(self.losses.iter().filter(|it| it.length > 0).map(|it| it.offset..it.end()));
        taken.sort_by_key(|it| (it.start, it.end));
        let last_data = self.saved.last().map_or(0, |it| it.handle.offset);
        for region in std::mem::take(&mut self.carved) {
            let mut at = region.start;
            for range in taken.iter().filter(|it| it.end > region.start && it.start < region.end) {
                self.gap(window, at..range.start, last_data);
                at = at.max(range.end);
            }
            self.gap(window, at..region.end, last_data);
        }
    }

    fn gap(&mut self, window: &mut Window<'_>, gap: Range<u64>, last_data: u64) {
        let gap = without_padding(window, gap);
        if gap.is_empty() {
            return;
        }
        let (offset, length) = (gap.start, gap.end - gap.start);
        let is_footer = [Footer::MIN_LENGTH, Footer::MAX_LENGTH].contains(&(length as usize));
        let lost_footer = self.losses.iter_mut().find(|it| {
            it.kind == Some(BlockKind::Footer) && it.length == 0 && it.offset == gap.end
        });
        if let Some(footer) = lost_footer
            && is_footer
            && self.tail_ends.contains(&gap.start)
        {
            (footer.offset, footer.length) = (offset, length);
            return;
        }
        let kind = (gap.start < last_data).then_some(BlockKind::Data);
        let reason = NOTHING_FOUND.to_owned();
        self.losses.push(Loss { kind, offset, length, after: None, before: None, reason });
    }

    /// Which keys are lost, and with them perhaps deletions.
    pub(super) fn bound_losses(&mut self) {
        self.losses.sort_by_key(|it| (it.offset, it.length));
        let internal = self.reading.rules.internal == Some(true);
        for loss in self.losses.iter_mut().filter(|it| it.has_entries()) {
            if loss.kind == Some(BlockKind::RangeDeletion) {
                continue;
            }
            let next = self.saved.partition_point(|it| it.handle.offset < loss.offset);
            if let Some(block) = next.checked_sub(1).and_then(|it| self.saved.get(it)) {
                loss.after = Some(user_key(&block.summary.last, internal).to_vec());
            }
            if let Some(block) = self.saved.get(next) {
                loss.before = Some(user_key(&block.summary.first, internal).to_vec());
            }
        }
        self.detached();
    }

    /// Counts the blocks that have losses on both sides.
    fn detached(&mut self) {
        let ends: Vec<_> = self.losses.iter().map(|it| (it.offset, it.end())).collect();
        let touches_end = |at: u64| ends.iter().any(|&(_, end)| end == at);
        let touches_start = |at: u64| ends.iter().any(|&(start, _)| start == at);
        let mut blocks = 0;
        let mut run_start: Option<usize> = None;
        for (place, block) in self.saved.iter().enumerate() {
            let is_first = place == 0 || self.saved[place - 1].end() != block.handle.offset;
            if is_first {
                run_start = (!block.indexed && touches_end(block.handle.offset)).then_some(place);
            }
            let is_last =
                self.saved.get(place + 1).is_none_or(|next| next.handle.offset != block.end());
            if let Some(start) = run_start
                && is_last
                && touches_start(block.end())
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

/// Of runs in file order, those that fit each other and have the most blocks.
fn heaviest(
    runs: &[Range<usize>],
    fits: impl Fn(&Range<usize>, &Range<usize>) -> bool,
) -> Vec<Range<usize>> {
    // (blocks up to here, the run before)
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(runs.len());
    for (place, run) in runs.iter().enumerate() {
        let earlier = place.saturating_sub(MAX_COMPARED)..place;
        let before = earlier
            .filter(|&before| fits(&runs[before], run))
            .max_by_key(|&before| (best[before].0, std::cmp::Reverse(before)));
        let weight = before.map_or(0, |before| best[before].0) + run.len();
        best.push((weight, before));
    }
    let mut kept = Vec::new();
    let mut next = (0..best.len()).rev().max_by_key(|&place| best[place].0);
    while let Some(place) = next {
        kept.push(runs[place].clone());
        next = best[place].1;
    }
    kept.reverse();
    kept
}

/// A gap without what alignment leaves at its start: zeros, up to a round offset where the gap ends, or
/// a block starts. One that is not compressed starts with another zero.
fn without_padding(window: &mut Window<'_>, gap: Range<u64>) -> Range<u64> {
    let start = window.range(gap.start..gap.end.min(gap.start.saturating_add(MAX_ALIGNMENT)));
    let zeros = start.iter().take_while(|&&byte| byte == 0).count() as u64;
    let zeros_end = gap.start + zeros;
    let mut alignment = MAX_ALIGNMENT;
    while alignment >= MIN_ALIGNMENT {
        let round = gap.start.next_multiple_of(alignment);
        let is_block_start = zeros_end == round + 1 || alignment >= PAGE && zeros_end == round;
        if round <= zeros_end && (round == gap.end || is_block_start) {
            return round..gap.end;
        }
        alignment /= 2;
    }
    gap
}
