//! Keys of the tables of a database, distributed like its entries.

use sstkit_db::{ColumnFamily, Database};
use sstkit_table::raw::{BlockKind, InternalKey};

use super::FilteredFile;
use crate::database::open_level_file;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// A key, and the sorted run that it was found in.
pub(crate) struct SampledKey {
    pub(crate) key: Vec<u8>,
    pub(crate) run: usize,
}

/// About `wanted` keys of all column families, in proportion to their entries.
pub(crate) fn keys(
    database: &Database,
    files: &[FilteredFile],
    wanted: u64,
) -> Result<Vec<(ColumnFamily, Vec<SampledKey>)>> {
    let all = entries(files);
    let sample = |family: ColumnFamily| {
        let in_family = |file: &FilteredFile| file.column_family.as_deref() == Some(family.name());
        let own: Vec<FilteredFile> = files.iter().filter(|it| in_family(it)).cloned().collect();
        let wanted = (u128::from(wanted) * entries(&own)).div_ceil(all.max(1)) as u64;
        let keys = of_family(&family, &own, wanted)?;
        Ok((family, keys))
    };
    database.column_families().map(sample).collect()
}

/// About `wanted` keys of a column family, in proportion to the entries of its files; those of the
/// newest file first.
pub(crate) fn of_family(
    family: &ColumnFamily,
    files: &[FilteredFile],
    wanted: u64,
) -> Result<Vec<SampledKey>> {
    let all = entries(files);
    // How many keys come from the files so far.
    let share = |entries: u128| (u128::from(wanted) * entries / all.max(1)) as u64;
    let mut passed = 0;
    let mut keys = Vec::new();
    let own = family.levels().into_iter().flat_map(|level| level.files);
    for (file, described) in own.zip(files) {
        let before = share(passed);
        passed += u128::from(described.memory.entries);
        let of_file = share(passed) - before;
        if of_file > 0 {
            let of_file = sample(&open_level_file(&file)?, of_file)?;
            keys.extend(of_file.into_iter().map(|key| SampledKey { key, run: file.run() }));
        }
    }
    Ok(keys)
}

fn entries(files: &[FilteredFile]) -> u128 {
    files.iter().map(|file| u128::from(file.memory.entries)).sum()
}

/// This many keys of a table, at equal distances in the bytes of its data blocks: the last block may have
/// a single entry.
fn sample(table: &InspectedTable, wanted: u64) -> Result<Vec<Vec<u8>>> {
    let mut bytes = 0.0;
    let mut index = table.index()?;
    while index.advance()? {
        bytes += index.handle().size as f64;
    }
    let tail = if table.table().has_internal_keys() { InternalKey::TAIL_LENGTH } else { 0 };
    let place = |number: u64| (number as f64 + 0.5) / wanted as f64 * bytes;
    let mut keys = Vec::new();
    let mut index = table.index()?;
    let mut start = 0.0;
    while index.advance()? {
        let size = index.handle().size as f64;
        if place(keys.len() as u64) < start + size {
            let mut of_block = Vec::new();
            let mut entries = table.block(BlockKind::Data, index.handle())?.into_entries();
            while entries.advance()? {
                let key = entries.key();
                of_block.push(table.bare(&key[..key.len().saturating_sub(tail)]).to_vec());
            }
            while (keys.len() as u64) < wanted && place(keys.len() as u64) < start + size {
                let within = (place(keys.len() as u64) - start) / size * of_block.len() as f64;
                let last = of_block.len().saturating_sub(1);
                match of_block.get((within as usize).min(last)) {
                    Some(key) => keys.push(key.clone()),
                    None => break,
                }
            }
        }
        start += size;
    }
    Ok(keys)
}
