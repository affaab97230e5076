//! Putting checksums right, as a forger would.

use sstkit_coding::checksum::{ChecksumType, context_modifier, mask_crc};
use sstkit_coding::fixed::decode_fixed32;

/// The blocks of a log.
const LOG_BLOCK: usize = 32 << 10;
/// Checksum, length, type.
const LOG_HEADER: usize = 4 + 2 + 1;

const BLOB_HEADER: usize = 30;
const BLOB_FOOTER: usize = 32;
const BLOB_LENGTHS: usize = 24;
/// Lengths, expiration and two checksums.
const BLOB_RECORD: usize = BLOB_LENGTHS + 4 + 4;

/// The footer of format versions 6 and later: checksum type, extended magic, checksum, base …
const FOOTER: usize = 53;
const EXTENDED_MAGIC: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

fn crc(bytes: &[u8]) -> [u8; 4] {
    mask_crc(crc32c::crc32c(bytes)).to_le_bytes()
}

/// The end of a table of this size, whose footer has the right checksum, where it has one. No
/// reader passes that over, and it depends on the size of the file, too.
pub(crate) fn seal_footer(tail: &[u8], file_size: u64) -> Vec<u8> {
    let mut sealed = tail.to_vec();
    if let Some(footer) = sealed.last_chunk_mut::<FOOTER>()
        && let &mut [kind, m0, m1, m2, m3, _, _, _, _, b0, b1, b2, b3, ..] = footer
        && [m0, m1, m2, m3] == EXTENDED_MAGIC
        && let Some(checksum) = ChecksumType::from_byte(kind)
    {
        footer[5..9].fill(0);
        let [covered @ .., last_byte] = &*footer;
        let base = decode_fixed32([b0, b1, b2, b3]);
        let modifier = context_modifier(base, file_size - FOOTER as u64);
        let sum = checksum.compute(covered, *last_byte).wrapping_add(modifier);
        footer[5..9].copy_from_slice(&sum.to_le_bytes());
    }
    sealed
}

/// A log whose physical records have valid checksums, up to the first invalid length.
pub(crate) fn seal_log(data: &[u8]) -> Vec<u8> {
    let mut sealed = data.to_vec();
    for block in sealed.chunks_mut(LOG_BLOCK) {
        let mut rest = block;
        while rest.len() >= LOG_HEADER {
            let mut length = usize::from(u16::from_le_bytes([rest[4], rest[5]]));
            // The log number of recyclable records is not counted.
            if matches!(rest[6], 5..=8 | 11 | 131) {
                length += 4;
            }
            let Some(end) = Some(LOG_HEADER + length).filter(|&end| end <= rest.len()) else {
                break;
            };
            let sum = crc(&rest[6..end]);
            rest[..4].copy_from_slice(&sum);
            rest = &mut rest[end..];
        }
    }
    sealed
}

/// A log of these records, whole.
pub(crate) fn log_of(records: &[&[u8]]) -> Vec<u8> {
    const FULL: u8 = 1;
    const FIRST: u8 = 2;
    const MIDDLE: u8 = 3;
    const LAST: u8 = 4;
    let mut log = Vec::new();
    for record in records {
        let (mut rest, mut is_first) = (*record, true);
        loop {
            let mut room = LOG_BLOCK - log.len() % LOG_BLOCK;
            if room < LOG_HEADER {
                log.resize(log.len() + room, 0);
                room = LOG_BLOCK;
            }
            let (fragment, after) = rest.split_at(rest.len().min(room - LOG_HEADER));
            let kind = match (is_first, after.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, false) => MIDDLE,
                (false, true) => LAST,
            };
            let start = log.len();
            log.extend_from_slice(&[0; 4]);
            log.extend_from_slice(&(fragment.len() as u16).to_le_bytes());
            log.push(kind);
            log.extend_from_slice(fragment);
            let sum = crc(&log[start + 6..]);
            log[start..start + 4].copy_from_slice(&sum);
            if after.is_empty() {
                break;
            }
            (rest, is_first) = (after, false);
        }
    }
    log
}

/// A blob file whose footer and records have valid checksums, up to the first invalid length.
pub(crate) fn seal_blob_file(data: &[u8]) -> Vec<u8> {
    let mut sealed = data.to_vec();
    let Some(end) = sealed.len().checked_sub(BLOB_FOOTER) else { return sealed };
    let (records, footer) = sealed.split_at_mut(end);
    let sum = crc(&footer[..BLOB_FOOTER - 4]);
    footer[BLOB_FOOTER - 4..].copy_from_slice(&sum);
    let mut rest = records.get_mut(BLOB_HEADER..).unwrap_or_default();
    while rest.len() >= BLOB_RECORD {
        let (header, blob) = rest.split_at_mut(BLOB_RECORD);
        let number = |at: usize| {
            let bytes = header[at..at + 8].first_chunk().expect("eight bytes");
            u64::from_le_bytes(*bytes)
        };
        let length = number(0).saturating_add(number(8)).min(blob.len() as u64) as usize;
        let (contents, after) = blob.split_at_mut(length);
        let sums = [crc(&header[..BLOB_LENGTHS]), crc(contents)];
        header[BLOB_LENGTHS..].copy_from_slice(sums.as_flattened());
        rest = after;
    }
    sealed
}
