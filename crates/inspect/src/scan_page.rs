//! The visible keys of a table or column family, a page at a time and in both directions.

use serde::Serialize;
use sstkit_db::ColumnFamily;
use sstkit_table::{Comparator, RecordValue};

use crate::encoding::Encoding;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// Where a page of a scan starts and what it shows.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The first key of the page, or without it the first or last key there is.
    pub start: Option<Vec<u8>>,
    /// Whether a key equal to `start` is left out.
    pub is_after: bool,
    /// Only keys with this prefix. If the comparator compares keys neither by bytes nor backwards by bytes,
    /// all keys from the start on are read to find them.
    pub prefix: Vec<u8>,
    /// Whether the page goes from `start` to smaller keys. Its rows are still in key order.
    pub is_reverse: bool,
    /// The number of rows; at most [`ScanPage::MAX_ROWS`].
    pub limit: usize,
    /// Bytes of each value that are shown; at most [`ScanPage::MAX_VALUE`].
    pub value_bytes: usize,
}

/// A page of a scan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScanPage {
    /// The rows, in key order.
    pub rows: Vec<ScanRow>,
    /// Whether there are keys before the first row, as far as the scan has looked.
    pub has_before: bool,
    /// Whether there are keys after the last row, as far as the scan has looked.
    pub has_after: bool,
    /// Whether the page was ended early: it took too long, or its rows are large.
    pub is_cut: bool,
    /// The error that ended it.
    pub problem: Option<String>,
}

/// A visible key.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScanRow {
    /// The key; of a long one the first [`ScanPage::MAX_KEY`] bytes.
    pub key: String,
    /// The length of the key, if it is longer than what is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_length: Option<u64>,
    /// The timestamp, if keys have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The value, as far as it is shown; the default column of an entity. `None` if it is unresolved.
    /// A row that does not fit into a page alone has shorter values, or fewer of them.
    pub value: Option<String>,
    /// The length of the value.
    pub value_length: u64,
    /// The columns of an entity, with their values as far as they are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<(String, String)>>,
    /// Merge operands without an operator, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Vec<String>>,
}

/// The cursor of a table or of a column family.
trait VisibleCursor {
    fn seek(&mut self, key: &[u8]) -> Result<bool>;
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool>;
    fn seek_to_first(&mut self) -> Result<bool>;
    fn seek_to_last(&mut self) -> Result<bool>;
    fn next(&mut self) -> Result<bool>;
    fn prev(&mut self) -> Result<bool>;
    fn key(&self) -> &[u8];
    fn record(&self) -> Result<Option<sstkit_table::Record>>;
}

macro_rules! visible_cursor {
    ($($cursor:ty)+) => {$(
        impl VisibleCursor for $cursor {
            fn seek(&mut self, key: &[u8]) -> Result<bool> { Ok(self.seek(key)?) }
            fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> { Ok(self.seek_for_prev(key)?) }
            fn seek_to_first(&mut self) -> Result<bool> { Ok(self.seek_to_first()?) }
            fn seek_to_last(&mut self) -> Result<bool> { Ok(self.seek_to_last()?) }
            fn next(&mut self) -> Result<bool> { Ok(self.next()?) }
            fn prev(&mut self) -> Result<bool> { Ok(self.prev()?) }
            fn key(&self) -> &[u8] { self.key() }
            fn record(&self) -> Result<Option<sstkit_table::Record>> { Ok(self.record()?) }
        }
    )+};
}

visible_cursor! { sstkit_table::Cursor sstkit_db::DatabaseCursor }

impl ScanPage {
    /// The most rows of a page.
    pub const MAX_ROWS: usize = 1_000;
    /// The most bytes of a value that are shown.
    pub const MAX_VALUE: usize = 1 << 20;
    /// The most bytes of a key that are shown: addresses of pages have room for as many.
    pub const MAX_KEY: usize = 3 << 10;
    /// The most bytes of all rows, before they are encoded: rows that do not fit are on the next page.
    pub const MAX_BYTES: usize = 2 << 20;

    /// A page of a table. Ends early when `keep_going` returns false.
    pub fn of_table(
        file: &InspectedTable,
        request: &ScanRequest,
        encoding: Encoding,
        mut keep_going: impl FnMut() -> bool,
    ) -> Self {
        let order = PrefixOrder::of(file.table().comparator().ok());
        Self::scan(file.table().cursor(), order, request, encoding, &mut keep_going)
    }

    /// A page of a column family. Ends early when `keep_going` returns false.
    ///
    /// # Errors
    ///
    /// Fails if the order of its keys is not known.
    pub fn of_column_family(
        family: &ColumnFamily,
        request: &ScanRequest,
        encoding: Encoding,
        mut keep_going: impl FnMut() -> bool,
    ) -> Result<Self> {
        let order = PrefixOrder::of(family.comparator().ok());
        Ok(Self::scan(family.cursor()?, order, request, encoding, &mut keep_going))
    }

    fn scan(
        cursor: impl VisibleCursor,
        order: PrefixOrder,
        request: &ScanRequest,
        encoding: Encoding,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Self {
        let mut page = Self::default();
        let filled = page.fill(cursor, order, request, encoding, keep_going);
        page.problem = filled.err().map(|error| error.to_string());
        page.finish(request)
    }

    fn fill(
        &mut self,
        mut cursor: impl VisibleCursor,
        order: PrefixOrder,
        request: &ScanRequest,
        encoding: Encoding,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let limit = request.limit.clamp(1, Self::MAX_ROWS);
        let mut more = match (request.first_key(order), request.is_reverse) {
            (Some(key), false) => cursor.seek(&key)?,
            (Some(key), true) => cursor.seek_for_prev(&key)?,
            (None, false) => cursor.seek_to_first()?,
            (None, true) => cursor.seek_to_last()?,
        };
        if more && request.is_skipped(cursor.key(), order) {
            more = if request.is_reverse { cursor.prev()? } else { cursor.next()? };
        }
        let mut left = Self::MAX_BYTES;
        while more {
            let is_wanted = cursor.key().starts_with(&request.prefix);
            if !is_wanted && order != PrefixOrder::Other {
                break;
            }
            if is_wanted && self.rows.len() == limit {
                self.has_after = true;
                break;
            }
            if !keep_going() {
                (self.has_after, self.is_cut) = (true, true);
                break;
            }
            if !is_wanted {
                more = if request.is_reverse { cursor.prev()? } else { cursor.next()? };
                continue;
            }
            if let Some(record) = cursor.record()? {
                let mut budget = RowBudget { left, shown: request.shown(), is_exceeded: false };
                let row = ScanRow::of(
                    &record.key,
                    &record.timestamp,
                    &record.value,
                    encoding,
                    &mut budget,
                );
                // The first row is always shown, as far as it fits.
                if budget.is_exceeded && !self.rows.is_empty() {
                    (self.has_after, self.is_cut) = (true, true);
                    break;
                }
                self.is_cut |= budget.is_exceeded;
                left = budget.left;
                self.rows.push(row);
            }
            more = if request.is_reverse { cursor.prev()? } else { cursor.next()? };
        }
        Ok(())
    }

    /// Puts the rows in key order.
    fn finish(mut self, request: &ScanRequest) -> Self {
        let is_continued = request.start.is_some();
        if request.is_reverse {
            self.rows.reverse();
            (self.has_before, self.has_after) = (self.has_after, is_continued);
        } else {
            self.has_before = is_continued;
        }
        self
    }
}

/// The bytes that a row may take of its page.
struct RowBudget {
    left: usize,
    /// Bytes of a value that are shown.
    shown: usize,
    /// Whether something was left out.
    is_exceeded: bool,
}

impl RowBudget {
    /// What a text takes besides its bytes: many empty columns take memory, too.
    const OVERHEAD: usize = 16;

    /// Takes the bytes of a key that are shown.
    fn take(&mut self, length: usize) {
        let taken = length.saturating_add(Self::OVERHEAD);
        self.is_exceeded |= taken > self.left;
        self.left = self.left.saturating_sub(taken);
    }

    /// The part of a value that is shown.
    fn cut<'v>(&mut self, value: &'v [u8]) -> &'v [u8] {
        let shown = &value[..value.len().min(self.shown)];
        let fits = self.left.saturating_sub(Self::OVERHEAD);
        let shown_here = &shown[..shown.len().min(fits)];
        self.take(shown.len());
        shown_here
    }

    fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl ScanRequest {
    fn shown(&self) -> usize {
        self.value_bytes.min(ScanPage::MAX_VALUE)
    }

    /// The key to seek to.
    fn first_key(&self, order: PrefixOrder) -> Option<Vec<u8>> {
        match &self.start {
            Some(start) => Some(start.clone()),
            None if self.prefix.is_empty() || order == PrefixOrder::Other => None,
            None if self.starts_after_prefix(order) => Some(after_prefix(&self.prefix)?),
            None => Some(self.prefix.clone()),
        }
    }

    /// Whether the first key of the page is next to what follows the prefix by bytes, and not next to the
    /// prefix itself.
    fn starts_after_prefix(&self, order: PrefixOrder) -> bool {
        self.is_reverse == (order == PrefixOrder::Forward)
    }

    /// Whether a key is before the page: the start itself, or between the prefix and the seek key.
    fn is_skipped(&self, key: &[u8], order: PrefixOrder) -> bool {
        match &self.start {
            Some(start) => self.is_after && key == &start[..],
            // The seek key is what follows the prefix, and may be found.
            None => {
                let is_sought = !self.prefix.is_empty() && order != PrefixOrder::Other;
                is_sought && self.starts_after_prefix(order) && {
                    let end = after_prefix(&self.prefix);
                    end.is_some_and(|end| key == &end[..])
                }
            }
        }
    }
}

/// Where the keys with a prefix are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrefixOrder {
    /// By bytes: from the prefix on.
    Forward,
    /// By bytes, backwards: up to the prefix.
    Backward,
    /// Anywhere.
    Other,
}

impl PrefixOrder {
    /// Of an unknown comparator it does not matter: no key is found.
    fn of(comparator: Option<&Comparator>) -> Self {
        match comparator.map(Comparator::order) {
            Some(Comparator::ReverseBytewise | Comparator::ReverseBytewiseWithTimestamp) => {
                Self::Backward
            }
            Some(Comparator::User(_)) => Self::Other,
            _ => Self::Forward,
        }
    }
}

/// The smallest key by bytes after all keys with this prefix; `None` if there is none.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

impl ScanRow {
    /// A row within the budget. If it is exceeded, the rest is left out.
    fn of(
        key: &[u8],
        timestamp: &[u8],
        record: &RecordValue,
        encoding: Encoding,
        budget: &mut RowBudget,
    ) -> Self {
        let shown_key = &key[..key.len().min(ScanPage::MAX_KEY)];
        budget.take(shown_key.len() + timestamp.len());
        let value = record.value();
        let shown = value.as_ref().map(|value| encoding.encode(budget.cut(value)));
        let (mut columns, mut merge) = (None, None);
        match record {
            RecordValue::Value(_) => {}
            RecordValue::Entity(all) => {
                let mut texts = Vec::new();
                for column in all {
                    if budget.is_empty() {
                        break;
                    }
                    let name = encoding.encode(budget.cut(&column.name));
                    texts.push((name, encoding.encode(budget.cut(&column.value))));
                }
                columns = Some(texts);
            }
            RecordValue::Unresolved { operands, .. } => {
                let mut texts = Vec::new();
                for operand in operands {
                    if budget.is_empty() {
                        break;
                    }
                    texts.push(encoding.encode(budget.cut(operand)));
                }
                merge = Some(texts);
            }
        }
        Self {
            key: encoding.encode(shown_key),
            key_length: (shown_key.len() < key.len()).then_some(key.len() as u64),
            timestamp: (!timestamp.is_empty()).then(|| encoding.encode(timestamp)),
            value_length: value.as_ref().map_or(0, |value| value.len() as u64),
            value: shown,
            columns,
            merge,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_no_more_than_its_page_has() {
        let columns = (0..100_000).map(|at| sstkit_table::Column {
            name: format!("{at}").into_bytes().into(),
            value: vec![7; 100].into(),
        });
        let value = RecordValue::Entity(columns.collect());
        let mut budget = RowBudget { left: 10_000, shown: 50, is_exceeded: false };
        let row = ScanRow::of(b"k", b"", &value, Encoding::Hex, &mut budget);
        assert!(budget.is_exceeded && budget.is_empty());
        // 50 bytes, a short name, and the overhead of both.
        let columns = row.columns.unwrap();
        assert!((100..150).contains(&columns.len()), "{}", columns.len());
        assert_eq!(columns[0].1.len(), 100);
    }

    #[test]
    fn the_end_of_a_prefix() {
        assert_eq!(after_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_prefix(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff\xff"), None);
        assert_eq!(after_prefix(b""), None);
    }
}
