//! Keys and values in order, and the versions of a key.

use serde::Serialize;
use sstkit_inspect::{KeyVersion, ScanPage, ScanRequest};

use super::to_json;
use crate::error::{PageError, Result};
use crate::inspector::Request;
use crate::source::Opened;

const DEFAULT_ROWS: usize = 50;
const DEFAULT_VALUE: usize = 4 << 10;

/// A page of visible keys: parameters `cf` or `file`, `prefix`, one of `from`, `after`, `before` or
/// none, `last` for the last page, `limit`, `value_bytes`.
pub(super) fn scan(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let encoding = query.encoding()?;
    let (from, after, before) = (query.key("from")?, query.key("after")?, query.key("before")?);
    let is_after = from.is_none();
    let is_reverse = before.is_some() || query.has("last");
    let wanted = ScanRequest {
        start: from.or(after).or(before),
        is_after,
        prefix: query.key("prefix")?.unwrap_or_default(),
        is_reverse,
        limit: query.number("limit")?.unwrap_or(DEFAULT_ROWS),
        value_bytes: query.number("value_bytes")?.unwrap_or(DEFAULT_VALUE),
    };
    let number = query.number("file")?;
    let page = match (request.opened, number) {
        (Opened::Database(..), None) => {
            let family = request.opened.column_family(query.get("cf"))?;
            ScanPage::of_column_family(&family, &wanted, encoding, request.keep_going)?
        }
        _ => {
            let table = request.opened.find_table(request.name, number)?;
            ScanPage::of_table(table.file(), &wanted, encoding, request.keep_going)
        }
    };
    to_json(&page)
}

#[derive(Serialize)]
struct Versions {
    key: String,
    versions: Vec<KeyVersion>,
}

/// All versions of a key: parameters `key`, `cf` or `file`.
pub(super) fn versions(request: &Request<'_>) -> Result<Vec<u8>> {
    let query = request.query;
    let encoding = query.encoding()?;
    let key = query.key("key")?.ok_or_else(|| PageError::bad_request("key: which key?"))?;
    let number = query.number("file")?;
    let versions = match (request.opened, number) {
        (Opened::Database(..), None) => {
            let family = request.opened.column_family(query.get("cf"))?;
            KeyVersion::in_column_family(&family, &key, encoding, request.keep_going)?
        }
        _ => {
            let table = request.opened.find_table(request.name, number)?;
            KeyVersion::in_table(table.file(), &key, encoding)?
        }
    };
    to_json(&Versions { key: encoding.encode(&key), versions })
}
