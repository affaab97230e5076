//! How the pages write bytes, keys and handles.

use sstkit_table::raw::{BlockHandle, EntryKind, MAX_SEQUENCE_NUMBER};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// A key as a person would write it.
pub(crate) fn key_text(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}

/// The last eight bytes of an internal key.
pub(crate) fn tail_text(tail: u64) -> String {
    let (sequence, byte) = (tail >> 8, tail as u8);
    let kind = EntryKind::from_byte(byte).expect("a kind of tables");
    match sequence {
        MAX_SEQUENCE_NUMBER => format!("sequence number 2^56 - 1, kind {byte:02x} {kind:?}"),
        _ => format!("sequence number {sequence}, kind {byte:02x} {kind:?}"),
    }
}

/// A handle with its fields.
pub(crate) fn handle_text(handle: BlockHandle) -> String {
    format!("offset {:#x}, size {}", handle.offset, handle.size)
}

/// One of something, or several.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
