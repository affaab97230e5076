//! Writes logs as the engines do, and as they never would.

use sstkit_coding::checksum::ChecksumType;

pub(crate) const BLOCK_SIZE: usize = 32 * 1024;
const HEADER_SIZE: usize = 7;

/// Builds a log.
#[derive(Default)]
pub(crate) struct LogWriter {
    pub(crate) bytes: Vec<u8>,
    /// Of a recycled log.
    pub(crate) log_number: Option<u32>,
}

impl LogWriter {
    pub(crate) fn recycled(log_number: u32) -> Self {
        Self { log_number: Some(log_number), ..Self::default() }
    }

    /// One record, in as many fragments as it takes.
    pub(crate) fn record(&mut self, payload: &[u8]) {
        let mut rest = payload;
        let mut begins = true;
        loop {
            let header = HEADER_SIZE + self.log_number.map_or(0, |_| 4);
            let mut left = BLOCK_SIZE - self.bytes.len() % BLOCK_SIZE;
            if left < header {
                self.bytes.extend(std::iter::repeat_n(0, left));
                left = BLOCK_SIZE;
            }
            let (fragment, after) = rest.split_at(rest.len().min(left - header));
            rest = after;
            let part = match (begins, rest.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            self.physical(part + self.log_number.map_or(0, |_| 4), fragment);
            begins = false;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// One physical record of any type.
    pub(crate) fn physical(&mut self, kind: u8, payload: &[u8]) {
        let mut covered = vec![kind];
        if matches!(kind, 5..=8 | 11 | 131) {
            covered.extend(self.log_number.unwrap_or(0).to_le_bytes());
        }
        covered.extend(payload);
        let (last, contents) = covered.split_last().unwrap();
        let crc = ChecksumType::Crc32c.compute(contents, *last);
        self.bytes.extend(crc.to_le_bytes());
        self.bytes.extend(u16::try_from(payload.len()).unwrap().to_le_bytes());
        self.bytes.extend(covered);
    }
}
