//! The state of the data to read.

use anyhow::{Result, ensure};
use clap::Args;
use sstkit_db::ColumnFamily;
use sstkit_table::Comparator;
use sstkit_table::visibility::ReadView;

use super::EncodingArgs;

/// Which state is read: the newest by default.
#[derive(Args, Clone, Debug)]
pub(crate) struct SnapshotArgs {
    /// Read the state at a sequence number: later writes are left out. What a compaction has dropped
    /// since is missing, and entries whose number it set to 0 count as older
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,

    /// Read the state at a timestamp, if keys have them: later versions are left out. A decimal number
    /// for timestamps of 8 bytes, or bytes in the given --encoding
    #[arg(long, value_name = "TIMESTAMP")]
    timestamp: Option<String>,
}

impl SnapshotArgs {
    /// What is visible of keys in this order.
    pub(crate) fn view(
        &self,
        encoding: EncodingArgs,
        order: Option<&Comparator>,
    ) -> Result<ReadView> {
        let all = ReadView::default();
        let timestamp = self.timestamp.as_deref();
        let timestamp = timestamp.map(|text| decoded(text, encoding, order)).transpose()?;
        Ok(ReadView { sequence: self.at.unwrap_or(all.sequence), timestamp })
    }

    /// Whether it may not be the newest state.
    pub(crate) fn is_given(&self) -> bool {
        self.at.is_some() || self.timestamp.is_some()
    }

    /// The sequence number, if one is given.
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.at
    }

    /// A column family in this state.
    pub(crate) fn family(
        &self,
        family: &ColumnFamily,
        encoding: EncodingArgs,
    ) -> Result<ColumnFamily> {
        let view = self.view(encoding, family.comparator().ok())?;
        let family = self.at.map_or_else(|| family.clone(), |sequence| family.at(sequence));
        Ok(match &view.timestamp {
            Some(timestamp) => family.at_timestamp(timestamp)?,
            None => family,
        })
    }
}

/// A timestamp for keys in this order.
fn decoded(text: &str, encoding: EncodingArgs, order: Option<&Comparator>) -> Result<Vec<u8>> {
    let size = order.map_or(0, Comparator::timestamp_size);
    ensure!(size > 0, "--timestamp has no effect: the keys have no timestamps");
    let number = text.parse::<u64>().ok().filter(|_| encoding.given().is_none());
    let timestamp = match number {
        Some(number) => number.to_le_bytes().to_vec(),
        None => encoding.key(text)?,
    };
    let length = timestamp.len();
    ensure!(length == size, "--timestamp {text:?} has {length} bytes, but timestamps have {size}");
    Ok(timestamp)
}
