//! Where most entries are tombstones.
//!
//! The key range is divided into windows with about the same number of entries. A part of the key
//! range starts with small ones; when it has too many, each two become one.

/// The smallest window, in entries.
const MIN_WINDOW: u64 = 64;
/// Windows of a part of the key range.
const MAX_WINDOWS: usize = 64;
/// How many windows the whole key range is divided into at least, if there are enough entries.
const ALL_WINDOWS: u64 = 1024;

/// A range of keys, and how many of its entries are tombstones.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DenseRange {
    /// The first key.
    pub from: Vec<u8>,
    /// The first key after the range; `None` for the last range.
    pub to: Option<Vec<u8>>,
    /// All entries.
    pub entries: u64,
    /// Tombstones.
    pub tombstones: u64,
}

sstkit_coding::debug_struct!(DenseRange { from: bytes, to: bytes, entries, tombstones });

impl DenseRange {
    /// The fraction of entries that are tombstones.
    pub fn density(&self) -> f64 {
        self.tombstones as f64 / self.entries.max(1) as f64
    }

    fn append(&mut self, next: &Self) {
        self.entries += next.entries;
        self.tombstones += next.tombstones;
    }
}

/// The windows of a part of the key range.
#[derive(Debug)]
pub(super) struct Density {
    windows: Vec<DenseRange>,
    /// Entries of a window.
    size: u64,
    /// Entries that the last window lacks.
    room: u64,
}

impl Density {
    pub(super) fn new() -> Self {
        Self { windows: Vec::new(), size: MIN_WINDOW, room: 0 }
    }

    #[inline]
    pub(super) fn add(&mut self, key: &[u8], is_tombstone: bool) {
        if self.room == 0 {
            self.start(key);
        }
        self.room -= 1;
        if is_tombstone && let Some(window) = self.windows.last_mut() {
            window.tombstones += 1;
        }
    }

    fn start(&mut self, key: &[u8]) {
        if let Some(last) = self.windows.last_mut() {
            last.entries = self.size;
        }
        if self.windows.len() == MAX_WINDOWS {
            self.windows = join(&self.windows, 2 * self.size);
            self.size *= 2;
        }
        self.windows.push(DenseRange { from: key.to_vec(), ..DenseRange::default() });
        self.room = self.size;
    }

    pub(super) fn finish(mut self) -> Vec<DenseRange> {
        if let Some(last) = self.windows.last_mut() {
            last.entries = self.size - self.room;
        }
        self.windows
    }
}

/// Joins neighbours until each has at least `size` entries; the last one at least half of that.
fn join(windows: &[DenseRange], size: u64) -> Vec<DenseRange> {
    let mut joined: Vec<DenseRange> = Vec::new();
    for window in windows {
        match joined.last_mut().filter(|last| last.entries < size) {
            Some(last) => last.append(window),
            None => joined.push(window.clone()),
        }
    }
    if let [.., before, last] = &mut joined[..]
        && last.entries < size / 2
    {
        before.append(last);
        joined.pop();
    }
    joined
}

/// The ranges with tombstones, the densest first. The windows are those of all parts, in order.
pub(super) fn densest(windows: &[DenseRange], limit: usize) -> Vec<DenseRange> {
    let entries: u64 = windows.iter().map(|window| window.entries).sum();
    let mut ranges = join(windows, (entries / ALL_WINDOWS).max(MIN_WINDOW));
    for at in 1..ranges.len() {
        ranges[at - 1].to = Some(ranges[at].from.clone());
    }
    ranges.retain(|range| range.tombstones > 0);
    ranges.sort_by(|a, b| {
        b.density().total_cmp(&a.density()).then_with(|| b.tombstones.cmp(&a.tombstones))
    });
    ranges.truncate(limit);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_densest_range_is_found() {
        let is_tombstone = |at: u32| (40_000..41_000).contains(&at) || at.is_multiple_of(50);
        let mut windows = Vec::new();
        for part in [0..10_000u32, 10_000..55_555, 55_555..100_000] {
            let mut density = Density::new();
            part.for_each(|at| density.add(&at.to_be_bytes(), is_tombstone(at)));
            let found = density.finish();
            assert!(found.len() <= MAX_WINDOWS);
            windows.extend(found);
        }
        assert_eq!(windows.iter().map(|it| it.entries).sum::<u64>(), 100_000);
        let tombstones = (0..100_000).filter(|&at| is_tombstone(at)).count() as u64;
        assert_eq!(windows.iter().map(|it| it.tombstones).sum::<u64>(), tombstones);
        let ranges = densest(&windows, 3);
        assert_eq!(ranges.len(), 3);
        let number = |key: &[u8]| u32::from_be_bytes(key.try_into().unwrap());
        assert!(ranges[0].density() > 0.3, "{ranges:?}");
        assert!((39_000..41_000).contains(&number(&ranges[0].from)), "{ranges:?}");
        assert!(number(ranges[0].to.as_ref().unwrap()) > 40_000);
        assert_eq!(densest(&windows[..0], 3), []);
    }

    #[test]
    fn few_entries_are_one_range() {
        let mut density = Density::new();
        (0..70u8).for_each(|at| density.add(&[at], at == 69));
        let range = DenseRange { from: vec![0], to: None, entries: 70, tombstones: 1 };
        assert_eq!(densest(&density.finish(), 9), [range]);
    }
}
