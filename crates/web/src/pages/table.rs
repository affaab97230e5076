//! A table: what it is, its blocks, and the bytes of one of them.

use std::sync::Arc;

use serde::Serialize;
use sstkit_inspect::{
    BlockBytes, BlockDescription, BlockList, BlockWindow, FileTail, JsonRecord, LayoutPage,
    TableInfo,
};

use super::{to_json, to_short_json};
use crate::error::{PageError, Result};
use crate::inspector::Request;
use crate::source::TableRef;

/// Blocks in an answer: places, and descriptions, each of which reads a block.
const MAX_PLACES: usize = 50_000;
const MAX_DETAILS: usize = 2_000;
/// Range tombstones in an answer.
const MAX_TOMBSTONES: usize = 500;

#[derive(Serialize)]
struct TablePage {
    /// The column family of a table of a database.
    column_family: Option<String>,
    /// The level of a table of a database.
    level: Option<u32>,
    /// The number of a table of a database.
    number: Option<u64>,
    info: TableInfo,
    tail: FileTail,
    /// The number of range tombstones.
    range_tombstone_count: u64,
    /// The first of them.
    range_tombstones: Vec<JsonRecord>,
}

/// What a table is: parameter `file`.
pub(super) fn table(request: &Request<'_>) -> Result<Vec<u8>> {
    let encoding = request.query.encoding()?;
    let table = request.opened.find_table(request.name, request.query.number("file")?)?;
    let tombstones = table.file().table().range_deletions();
    let shown = tombstones.iter().take(MAX_TOMBSTONES);
    to_short_json(&TablePage {
        column_family: table.place().map(|place| place.column_family.clone()),
        level: table.place().map(|place| place.level),
        number: table.place().map(|place| place.number),
        info: TableInfo::of_readable(table.name(), table.file(), encoding),
        tail: FileTail::of_table(table.file()),
        range_tombstone_count: tombstones.len() as u64,
        range_tombstones: shown.map(|it| JsonRecord::of_range_deletion(it, encoding)).collect(),
    })
}

/// The list of the blocks of a table.
fn list(
    request: &Request<'_>,
    number: Option<u64>,
    table: &TableRef<'_>,
) -> Result<Arc<BlockList>> {
    let lists = &request.inspector.block_lists;
    lists.get((request.index, number), table.file(), request.keep_going)
}

/// The places of blocks: parameters `file`, `from`, `limit`.
pub(super) fn blocks(request: &Request<'_>) -> Result<Vec<u8>> {
    let number = request.query.number("file")?;
    let table = request.opened.find_table(request.name, number)?;
    let list = list(request, number, &table)?;
    let from = request.query.number("from")?.unwrap_or(0);
    let limit = request.query.number("limit")?.unwrap_or(MAX_PLACES).min(MAX_PLACES);
    let page: LayoutPage = list.page(table.name(), table.file(), from, limit);
    to_json(&page)
}

#[derive(Serialize)]
struct Details {
    from: u64,
    blocks: Vec<BlockDescription>,
}

/// Descriptions of blocks: parameters `file`, `from`, `limit`. Has fewer if it takes long.
pub(super) fn details(request: &Request<'_>) -> Result<Vec<u8>> {
    let number = request.query.number("file")?;
    let table = request.opened.find_table(request.name, number)?;
    let list = list(request, number, &table)?;
    let from = request.query.number("from")?.unwrap_or(0);
    let limit = request.query.number("limit")?.unwrap_or(MAX_DETAILS).min(MAX_DETAILS);
    let mut blocks = Vec::new();
    for block in list.describe(table.file(), from, limit) {
        blocks.push(block);
        if !(request.keep_going)() {
            break;
        }
    }
    to_short_json(&Details { from: from as u64, blocks })
}

/// The bytes of a block: parameters `file`, `offset`, `bytes_from`, `bytes`, `entries_from`, `entries`,
/// and `stored` for those of a compressed block as they are in the file.
pub(super) fn block(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let number = query.number("file")?;
    let table = request.opened.find_table(request.name, number)?;
    let list = list(request, number, &table)?;
    let offset: Option<u64> = query.number("offset")?;
    let offset = offset.ok_or_else(|| PageError::bad_request("offset: which block?"))?;
    let default = BlockWindow::default();
    let window = BlockWindow {
        bytes_from: query.number("bytes_from")?.unwrap_or(default.bytes_from),
        bytes: query.number("bytes")?.unwrap_or(default.bytes),
        entries_from: query.number("entries_from")?.unwrap_or(default.entries_from),
        entries: query.number("entries")?.unwrap_or(default.entries),
        stored: query.has("stored"),
    };
    let encoding = query.encoding()?;
    match BlockBytes::of(table.name(), table.file(), &list, offset, &window, encoding)? {
        Some(block) => to_short_json(&block),
        None => Err(PageError::not_found(format!("no block starts at offset {offset}"))),
    }
}
