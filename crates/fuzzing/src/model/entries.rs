//! Entries of a table, drawn from the input, and what they amount to.

use std::collections::BTreeMap;
use std::ops::Bound;

use arbitrary::{Result, Unstructured};
use sstkit_table::Comparator;
use sstkit_table::raw::{
    ColumnValue, Engine, EntryKind, WideColumn, decode_wide_columns, encode_wide_columns,
    split_preferred_seqno,
};

use super::options::Settings;

/// More would take longer and show nothing else.
const MAX_ENTRIES: usize = 80;
const MAX_RANGES: usize = 4;

/// An entry as [`TableWriter::add`](sstkit_table::TableWriter::add) takes it.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// With its timestamp.
    pub(super) user_key: Vec<u8>,
    pub(super) sequence: u64,
    pub(super) kind: EntryKind,
    /// As stored.
    pub(super) value: Vec<u8>,
}

/// A range deletion.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) begin: Vec<u8>,
    pub(super) end: Vec<u8>,
    pub(super) timestamp: Vec<u8>,
    pub(super) sequence: u64,
}

/// What goes into a table.
pub(super) struct Contents {
    pub(super) points: Vec<Point>,
    pub(super) ranges: Vec<Range>,
    timestamp_size: usize,
    pub(super) is_reversed: bool,
}

/// What is visible of a table, by bytes.
pub(super) type Visible = BTreeMap<Vec<u8>, Vec<u8>>;

impl Contents {
    pub(super) fn draw(input: &mut Unstructured<'_>, settings: &Settings) -> Result<Self> {
        let comparator = &settings.comparator;
        let timestamp_size = comparator.timestamp_size();
        let mut points = BTreeMap::new();
        for _ in 0..input.int_in_range(0..=MAX_ENTRIES)? {
            let mut user_key = draw_key(input)?;
            let stamp = draw_timestamp(input, timestamp_size)?;
            user_key.extend_from_slice(&stamp);
            let kind = draw_kind(input, settings)?;
            let once = settings.external_file || settings.bare_keys;
            let sequence = if once { 0 } else { input.int_in_range(0u64..=6)? };
            let value = draw_value(input, kind)?;
            // Where each key or sequence number comes once, the last one drawn counts.
            let tail = match once || settings.embeds_blobs {
                true => (sequence, EntryKind::Value),
                false => (sequence, kind),
            };
            let point = Point { user_key: user_key.clone(), sequence, kind, value };
            points.insert((user_key, tail), point);
        }
        let mut points: Vec<Point> = points.into_values().collect();
        points.sort_by(|a, b| {
            let newest_first = (b.sequence, b.kind).cmp(&(a.sequence, a.kind));
            comparator.compare(&a.user_key, &b.user_key).then(newest_first)
        });
        let ranges = match settings.engine {
            Engine::RocksDb => draw_ranges(input, settings)?,
            Engine::LevelDb => Vec::new(),
        };
        let is_reversed = matches!(
            comparator,
            Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp
        );
        Ok(Self { points, ranges, timestamp_size, is_reversed })
    }

    /// The key of an entry without its timestamp.
    pub(super) fn bare<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        &user_key[..user_key.len() - self.timestamp_size]
    }

    /// What a reader of the table sees.
    pub(super) fn visible(&self) -> Visible {
        let mut visible = Visible::new();
        let mut rest = self.points.as_slice();
        while let [first, ..] = rest {
            let key = self.bare(&first.user_key);
            let same = rest.iter().take_while(|point| self.bare(&point.user_key) == key).count();
            let (versions, after) = rest.split_at(same);
            if let Some(value) = self.value_of(versions) {
                visible.insert(key.to_vec(), value);
            }
            rest = after;
        }
        visible
    }

    /// The value of a key, of all its versions, the newest first.
    fn value_of(&self, versions: &[Point]) -> Option<Vec<u8>> {
        let mut operands = Vec::new();
        let mut base = None;
        for point in versions {
            if self.is_covered(point) {
                break;
            }
            match point.kind {
                EntryKind::Merge => operands.push(point.value.as_slice()),
                EntryKind::Value => base = Some(point.value.as_slice()),
                EntryKind::ValuePreferredSeqno => {
                    base = split_preferred_seqno(&point.value).map(|it| it.0);
                }
                EntryKind::WideColumnEntity => base = Some(default_column(&point.value)),
                _ => {}
            }
            if point.kind != EntryKind::Merge {
                break;
            }
        }
        if base.is_none() && operands.is_empty() {
            return None;
        }
        let mut value = base.unwrap_or_default().to_vec();
        operands.iter().rev().for_each(|operand| value.extend_from_slice(operand));
        Some(value)
    }

    fn is_covered(&self, point: &Point) -> bool {
        let key = self.bare(&point.user_key);
        self.ranges.iter().any(|range| {
            let (low, high) = (range.begin.as_slice(), range.end.as_slice());
            let is_inside = match self.is_reversed {
                false => low <= key && key < high,
                true => low >= key && key > high,
            };
            // By sequence number alone, as in RocksDB, regardless of timestamps.
            is_inside && range.sequence > point.sequence
        })
    }

    /// The entries of `visible` between two bounds of the table's order, in that order.
    pub(super) fn between<'v>(
        &self,
        visible: &'v Visible,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Vec<(&'v [u8], &'v [u8])> {
        let (low, high) = if self.is_reversed { (bounds.1, bounds.0) } else { bounds };
        let is_inside = |key: &[u8]| {
            (match low {
                Bound::Included(bound) => key >= bound,
                Bound::Excluded(bound) => key > bound,
                Bound::Unbounded => true,
            }) && match high {
                Bound::Included(bound) => key <= bound,
                Bound::Excluded(bound) => key < bound,
                Bound::Unbounded => true,
            }
        };
        let inside = visible.iter().filter(|(key, _)| is_inside(key));
        let mut inside: Vec<_> = inside.map(|(key, value)| (&key[..], &value[..])).collect();
        if self.is_reversed {
            inside.reverse();
        }
        inside
    }
}

/// Short keys of few letters, so that they share beginnings, and a few of anything.
pub(super) fn draw_key(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let shape: u8 = input.arbitrary()?;
    Ok(match shape >> 6 {
        0 => format!("k{:04}", u32::from(shape & 0x3f) * 7).into_bytes(),
        1 => {
            let letters = input.bytes(usize::from(shape & 7).min(input.len()))?;
            letters
                .iter()
                .map(|byte| *b"ab\0\xff".get(usize::from(byte & 3)).unwrap_or(&0))
                .collect()
        }
        2 => [&b"prefix"[..], &[shape & 3; 3], &input.arbitrary::<[u8; 2]>()?].concat(),
        _ => input.bytes(usize::from(shape & 0x3f).min(input.len()))?.to_vec(),
    })
}

fn draw_timestamp(input: &mut Unstructured<'_>, size: usize) -> Result<Vec<u8>> {
    if size == 0 {
        return Ok(Vec::new());
    }
    let number = u64::from(input.arbitrary::<u8>()? % 5) << (input.arbitrary::<u8>()? % 3 * 8);
    Ok(number.to_le_bytes().to_vec())
}

fn draw_kind(input: &mut Unstructured<'_>, settings: &Settings) -> Result<EntryKind> {
    let kinds: &[EntryKind] = match (settings.engine, settings.bare_keys) {
        (Engine::LevelDb, true) => &[EntryKind::Value],
        (Engine::LevelDb, false) => &[EntryKind::Value, EntryKind::Value, EntryKind::Deletion],
        (Engine::RocksDb, _) => &[
            EntryKind::Value,
            EntryKind::Value,
            EntryKind::Value,
            EntryKind::Deletion,
            EntryKind::SingleDeletion,
            EntryKind::Merge,
            EntryKind::Merge,
            EntryKind::WideColumnEntity,
            EntryKind::ValuePreferredSeqno,
        ],
    };
    let kind = *input.choose(kinds)?;
    let has_timestamps = settings.comparator.timestamp_size() > 0;
    Ok(match kind {
        EntryKind::Deletion if has_timestamps => EntryKind::DeletionWithTimestamp,
        kind => kind,
    })
}

/// A value of the form that its kind wants.
fn draw_value(input: &mut Unstructured<'_>, kind: EntryKind) -> Result<Vec<u8>> {
    if matches!(
        kind,
        EntryKind::Deletion | EntryKind::SingleDeletion | EntryKind::DeletionWithTimestamp
    ) {
        return Ok(Vec::new());
    }
    let shape: u8 = input.arbitrary()?;
    let mut value = match shape >> 6 {
        0 => vec![shape; usize::from(shape) * 5],
        1 => b"a value that repeats a value that repeats".to_vec(),
        _ => input.bytes(usize::from(shape & 0x3f).min(input.len()))?.to_vec(),
    };
    match kind {
        EntryKind::ValuePreferredSeqno => value.extend_from_slice(&7u64.to_le_bytes()),
        EntryKind::WideColumnEntity => value = entity(shape, &value),
        _ => {}
    }
    Ok(value)
}

/// Up to three columns; the default one among them or not.
fn entity(shape: u8, value: &[u8]) -> Vec<u8> {
    let names: [&[u8]; 3] = [b"", b"name", b"other"];
    let columns: Vec<_> = names[usize::from(shape & 1)..]
        .iter()
        .map(|&name| WideColumn { name, value: ColumnValue::Inline(value) })
        .collect();
    let mut entity = Vec::new();
    encode_wide_columns(&columns, &mut entity).expect("names that ascend");
    entity
}

fn default_column(entity: &[u8]) -> &[u8] {
    match decode_wide_columns(entity).expect("made here").first() {
        Some(WideColumn { name: b"", value: ColumnValue::Inline(value) }) => value,
        _ => &[],
    }
}

fn draw_ranges(input: &mut Unstructured<'_>, settings: &Settings) -> Result<Vec<Range>> {
    let comparator = &settings.comparator;
    let mut ranges = Vec::new();
    for _ in 0..input.int_in_range(0..=MAX_RANGES)? {
        let (mut begin, mut end) = (draw_key(input)?, draw_key(input)?);
        if comparator.compare_without_timestamp(&begin, &end).is_gt() {
            std::mem::swap(&mut begin, &mut end);
        }
        let timestamp = draw_timestamp(input, comparator.timestamp_size())?;
        let sequence = if settings.external_file { 0 } else { input.int_in_range(0u64..=7)? };
        ranges.push(Range { begin, end, timestamp, sequence });
    }
    Ok(ranges)
}
