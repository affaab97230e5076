//! Every golden table, damaged in every way: all that is outside of the damage is saved, nothing is
//! invented, and the report names the loss.

use std::path::Path;

use sstkit_table::raw::{BlockHandle, BlockKind, EntryKind};
use sstkit_table::{Loss, SalvageReport};
use sstkit_testkit::cases;
use sstkit_testkit::goldens::{Golden, golden_tables};
use sstkit_testkit::random::Random;

use crate::whole::{Entry, Whole, salvage};

/// Whether everything is damaged: each block, and 100 cuts of each table. That takes minutes, so it is
/// for more than the usual number of cases (`SSTKIT_CASES`).
fn is_thorough() -> bool {
    cases() > 1
}

/// Data blocks of a table that are damaged, each in turn.
fn damaged_blocks() -> usize {
    if is_thorough() { usize::MAX } else { 3 }
}

/// Places at which the table of this number is cut.
fn cut_places(nth: usize) -> usize {
    if is_thorough() || nth.is_multiple_of(16) { 100 } else { 7 }
}

/// The goldens, split over a few tests so that they run on several cores.
fn share(part: usize, of: usize) -> impl Iterator<Item = (usize, Golden)> {
    golden_tables().into_iter().enumerate().filter(move |(nth, _)| nth % of == part)
}

fn range(handle: BlockHandle) -> std::ops::Range<usize> {
    handle.offset as usize..(handle.offset + handle.size + 5) as usize
}

/// Whether damage to a block cannot be found: there is no checksum.
fn is_unsealed(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().starts_with("checksum0")
}

fn damage(bytes: &mut [u8], random: &mut Random, zero: bool) {
    match zero {
        true => bytes.fill(0),
        false => bytes.copy_from_slice(&random.bytes(bytes.len() as u64)),
    }
}

/// What is wrong, in words.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }

    fn same(&mut self, found: &[Entry], expected: &[Entry], what: &str) {
        self.check(found == expected, || {
            let (found, expected) = (found.len(), expected.len());
            format!("{what}: {found} entries saved, {expected} expected")
        });
    }

    /// The loss must be exactly the block.
    fn loss(&mut self, losses: &[Loss], kind: BlockKind, handle: BlockHandle, what: &str) {
        let range = range(handle);
        let is_it = |loss: &Loss| {
            loss.offset == range.start as u64
                && loss.end() == range.end as u64
                && loss.kind.is_none_or(|it| it == kind)
        };
        let others = losses.iter().filter(|it| it.has_entries() && !is_it(it)).count();
        self.check(losses.iter().any(is_it) && others == 0, || format!("{what}: {losses:?}"));
    }

    #[track_caller]
    fn finish(self) {
        let count = self.0.len();
        let shown: Vec<_> = self
            .0
            .into_iter()
            .take(12)
            .map(|it| it.chars().take(400).collect::<String>())
            .collect();
        assert!(count == 0, "{count} failures:\n{}", shown.join("\n"));
    }
}

fn each_block(_: usize, golden: &Golden, failures: &mut Failures) {
    let what = golden.path.file_name().unwrap().to_str().unwrap();
    let whole = Whole::new(&golden.bytes);
    let all = whole.entries(|_| true);
    let (points, ranges, report) = salvage(&whole.bytes);
    failures.check(report.sound, || format!("{what}: {report:?}"));
    failures.same(&points, &all, what);
    failures.same(&ranges, &whole.ranges, what);

    let mut random = Random::new(7);
    let step = whole.data.len().div_ceil(damaged_blocks()).max(1);
    let mut kinds = std::collections::HashMap::new();
    for (nth, &(kind, handle)) in whole.blocks.iter().enumerate() {
        let seen = kinds.entry(kind).or_insert(0);
        *seen += 1;
        if kind == BlockKind::Data && (*seen - 1) % step != 0
            || kind != BlockKind::Data && *seen > 3
        {
            continue;
        }
        // Noise without checksums may be anything; zeros are never a block.
        let zeroed: &[bool] = match kind {
            _ if is_unsealed(&golden.path) => &[true],
            BlockKind::Data if nth % 2 == 0 => &[true],
            BlockKind::Data => &[false],
            _ => &[true, false],
        };
        for &zero in zeroed {
            let mut bytes = whole.bytes.clone();
            damage(&mut bytes[range(handle)], &mut random, zero);
            let how = if zero { "zeros" } else { "noise" };
            let what = format!("{what}: {kind} at {handle}, {how}");
            damaged_block(&whole, kind, handle, &bytes, &what, failures);
        }
    }
    for zero in [true, false] {
        let mut bytes = whole.bytes.clone();
        damage(&mut bytes[whole.footer..], &mut random, zero);
        let (points, ranges, report) = salvage(&bytes);
        let what = &format!("{what}: footer, {}", if zero { "zeros" } else { "noise" });
        failures.same(&points, &all, what);
        failures.same(&ranges, &whole.ranges, what);
        let is_named = report.losses.iter().any(|it| it.kind == Some(BlockKind::Footer));
        failures.check(!report.sound && is_named, || format!("{what}: {:?}", report.losses));
    }
}

/// One block of the table is damaged in `bytes`.
fn damaged_block(
    whole: &Whole,
    kind: BlockKind,
    handle: BlockHandle,
    bytes: &[u8],
    what: &str,
    failures: &mut Failures,
) {
    let all = whole.entries(|_| true);
    let (points, ranges, report) = salvage(bytes);
    failures.check(!report.sound, || format!("{what}: sound"));
    match kind {
        BlockKind::CompressionDictionary => {
            let is_lost = points.len() < all.len() && points.iter().all(|it| all.contains(it));
            failures.check(is_lost, || format!("{what}: not lost"));
            return;
        }
        BlockKind::EmbeddedBlob => {
            failures.check(points.len() + 1 == all.len(), || format!("{what}: not lost"));
        }
        BlockKind::Data => {
            failures.same(&points, &whole.entries(|it| it != handle), what);
            damaged_data(whole, handle, &report, what, failures);
        }
        _ => failures.same(&points, &all, what),
    }
    let says = |text: &str| report.uncertain.iter().any(|it| it.to_string().contains(text));
    match kind {
        BlockKind::RangeDeletion => failures.check(ranges.is_empty() && says("range"), || {
            format!("{what}: {:?}", report.uncertain)
        }),
        _ => failures.same(&ranges, &whole.ranges, what),
    }
    // A partition of a filter is named by the verification.
    match kind {
        BlockKind::FilterPartition => {
            failures.check(!report.problems.is_empty(), || format!("{what}: no problem"));
        }
        _ => failures.loss(&report.losses, kind, handle, what),
    }
}

/// All that follows the data blocks is gone, and one of them, too.
fn without_tail(_: usize, golden: &Golden, failures: &mut Failures) {
    let name = golden.path.file_name().unwrap().to_str().unwrap();
    let whole = Whole::new(&golden.bytes);
    let kept = |kind: BlockKind| whole.blocks.iter().any(|it| it.0 == kind);
    // Without its dictionary nothing can be read, and blobs may be the last thing before the tail.
    if kept(BlockKind::CompressionDictionary) || kept(BlockKind::EmbeddedBlob) {
        return;
    }
    let tail = whole.data.last().map_or(0, |(handle, _)| range(*handle).end);
    let middle = whole.data.get(whole.data.len() / 2).map(|(handle, _)| *handle);
    for damaged in [None, middle.filter(|_| whole.data.len() > 2)] {
        let mut bytes = whole.bytes.clone();
        bytes[tail..].fill(0);
        if let Some(handle) = damaged {
            bytes[range(handle)].fill(0);
        }
        let what = &format!("{name}: no tail, {damaged:?} damaged");
        let (points, ranges, report) = salvage(&bytes);
        failures.same(&points, &whole.entries(|it| Some(it) != damaged), what);
        failures.same(&ranges, &[], what);
        let is_named = |handle: BlockHandle| {
            let mut losses = report.losses.iter();
            losses.any(|it| it.offset <= handle.offset && it.end() >= handle.end().unwrap())
        };
        failures.check(damaged.is_none_or(is_named), || format!("{what}: {:?}", report.losses));
        failures.check(!report.sound, || format!("{what}: sound"));
    }
}

/// What the report says about a lost data block.
fn damaged_data(
    whole: &Whole,
    handle: BlockHandle,
    report: &SalvageReport,
    what: &str,
    failures: &mut Failures,
) {
    let lost = whole.entries(|it| it == handle);
    if report.expected_entries.is_some_and(|it| it > 0) {
        let count = report.entries_lost();
        failures.check(count == Some(lost.len() as u64), || format!("{what}: {count:?} lost"));
    }
    let has_deletions = lost.iter().any(|it| it.2 == EntryKind::Deletion);
    let said = report.uncertain.iter().any(|it| it.to_string().contains("may be back"));
    failures.check(said || !has_deletions, || format!("{what}: {:?}", report.uncertain));
    let Some(loss) = report.losses.iter().find(|it| it.offset == handle.offset) else { return };
    // Blocks before and after it are there, and their keys are the bounds.
    let place = whole.data.iter().position(|it| it.0 == handle).unwrap();
    let before = place.checked_sub(1).map(|it| &whole.data[it].1.last().unwrap().0);
    let after = whole.data.get(place + 1).map(|(_, next)| &next[0].0);
    failures
        .check(before.is_none() || loss.after.as_ref() == before, || format!("{what}: {loss:?}"));
    failures
        .check(after.is_none() || loss.before.as_ref() == after, || format!("{what}: {loss:?}"));
}

fn cuts(nth: usize, golden: &Golden, failures: &mut Failures) {
    let whole = Whole::new(&golden.bytes);
    let kept = |kind: BlockKind, cut: usize| {
        whole.blocks.iter().any(|it| it.0 == kind && range(it.1).end <= cut)
    };
    let has_dictionary = kept(BlockKind::CompressionDictionary, usize::MAX);
    let size = whole.bytes.len();
    let places = cut_places(nth);
    for place in 0..places {
        let cut = size * place / places;
        let (points, ranges, report) = salvage(&whole.bytes[..cut]);
        let name = golden.path.file_name().unwrap().to_str().unwrap();
        let what = &format!("{name}: cut at {cut} of {size}");
        let expected = whole.entries(|handle| range(handle).end <= cut);
        if has_dictionary && !kept(BlockKind::CompressionDictionary, cut) {
            let invented = points.iter().any(|it| !expected.contains(it));
            failures.check(!invented, || format!("{what}: invented"));
            continue;
        }
        failures.same(&points, &expected, what);
        let expected = if kept(BlockKind::RangeDeletion, cut) { &whole.ranges[..] } else { &[] };
        failures.same(&ranges, expected, what);
        failures.check(!report.sound, || format!("{what}: sound"));
        let cut_block = whole.data.iter().find(|it| range(it.0).contains(&cut));
        if let Some((handle, _)) = cut_block
            && handle.offset < cut as u64
        {
            // Blobs without the block that refers to them are of no use.
            let is_start = |offset: u64| match kept(BlockKind::EmbeddedBlob, usize::MAX) {
                true => offset <= handle.offset,
                false => offset == handle.offset,
            };
            let is_it =
                |it: &Loss| it.has_entries() && it.end() == cut as u64 && is_start(it.offset);
            failures
                .check(report.losses.iter().any(is_it), || format!("{what}: {:?}", report.losses));
        }
    }
}

fn over(part: usize, test: impl Fn(usize, &Golden, &mut Failures)) {
    let mut failures = Failures::default();
    share(part, 2).for_each(|(nth, golden)| test(nth, &golden, &mut failures));
    failures.finish();
}

#[test]
fn each_block_of_the_first_half() {
    over(0, each_block);
}

#[test]
fn each_block_of_the_second_half() {
    over(1, each_block);
}

#[test]
fn all_without_tails() {
    over(0, without_tail);
    over(1, without_tail);
}

#[test]
fn cuts_of_the_first_half() {
    over(0, cuts);
}

#[test]
fn cuts_of_the_second_half() {
    over(1, cuts);
}
