//! Probes a filter with every key and prefix of its table.

use sstkit_filter::FilterLayout;
use sstkit_table::{Result, TableFilter};

use super::sampling::Sampling;
use crate::inspected_table::InspectedTable;

/// The number of keys that are kept as patterns for absent ones.
const SAMPLES: usize = 1024;

#[derive(Default)]
pub(super) struct KeyProbes {
    /// The number of distinct keys of the table.
    pub(super) keys: u64,
    /// The number of keys and prefixes that the filter denied.
    pub(super) denied: u64,
    /// Some keys, spread over the table.
    pub(super) samples: Vec<Vec<u8>>,
}

impl KeyProbes {
    /// Probes with all keys; `None` if the order of the keys is unknown, since lookups fail then.
    pub(super) fn of_all_keys(
        file: &InspectedTable,
        filter: &TableFilter<'_>,
    ) -> Result<Option<Self>> {
        let mut probed = Self::default();
        if file.table().comparator().is_err() {
            return Ok(None);
        }
        let has_prefixes = filter.layout() != FilterLayout::Block;
        let extractor = filter.prefix_extractor().filter(|_| has_prefixes);
        let mut last_key: Option<Vec<u8>> = None;
        let mut last_prefix: Option<Vec<u8>> = None;
        let mut sampling = Sampling::new(SAMPLES, usize::MAX);
        let mut entries = file.table().entry_cursor();
        let mut more = entries.seek_to_first()?;
        while more {
            let key = file.bare(entries.user_key());
            if last_key.as_deref() != Some(key) {
                probed.denied += u64::from(!filter.may_contain(key)?);
                let prefix = extractor.and_then(|extractor| extractor.prefix(key));
                if let Some(prefix) = prefix
                    && last_prefix.as_deref() != Some(prefix)
                {
                    // If lookups make prefix probes, this probe was made above.
                    let counts = filter.whole_key_filtering();
                    probed.denied += u64::from(counts && !filter.may_contain_prefix(prefix)?);
                    replace(&mut last_prefix, prefix);
                }
                sampling.offer(key);
                probed.keys += 1;
                replace(&mut last_key, key);
            }
            more = entries.next()?;
        }
        probed.samples = sampling.keys;
        Ok(Some(probed))
    }
}

fn replace(last: &mut Option<Vec<u8>>, bytes: &[u8]) {
    let last = last.get_or_insert_default();
    last.clear();
    last.extend_from_slice(bytes);
}
