//! Keys of a column family, distributed like its entries.

use sstkit_db::ColumnFamily;
use sstkit_table::raw::{BlockKind, InternalKey};

use crate::database::open_level_file;
use crate::error::Result;
use crate::inspected_table::InspectedTable;

/// Sampled keys of a column family, and at least of each file.
const KEYS: u64 = 4096;
const LEAST: u64 = 2;

/// Keys of the tables of a column family, each for the same number of entries.
pub(super) fn keys(family: &ColumnFamily) -> Result<Vec<Vec<u8>>> {
    let mut tables = Vec::new();
    for file in family.levels().into_iter().flat_map(|level| level.files) {
        tables.push(open_level_file(&file)?);
    }
    let sizes: Vec<u64> = tables.iter().map(|table| table.table().size()).collect();
    let all: u64 = sizes.iter().sum::<u64>().max(1);
    let mut keys = Vec::new();
    for (table, size) in tables.iter().zip(sizes) {
        let wanted = u128::from(KEYS) * u128::from(size) / u128::from(all);
        sample(table, (wanted as u64).max(LEAST), &mut keys)?;
    }
    Ok(keys)
}

/// Adds keys of a table, each from another data block while there are enough.
fn sample(table: &InspectedTable, wanted: u64, keys: &mut Vec<Vec<u8>>) -> Result<()> {
    let mut blocks = 0_u64;
    let mut index = table.index()?;
    while index.advance()? {
        blocks += 1;
    }
    let step = (blocks / wanted).max(1);
    let of_block = wanted.div_ceil(blocks.max(1)).max(1) as usize;
    let tail = if table.table().has_internal_keys() { InternalKey::TAIL_LENGTH } else { 0 };
    let mut index = table.index()?;
    let mut number = 0;
    while index.advance()? {
        if number % step == step / 2 {
            let mut of_this = Vec::new();
            let mut entries = table.block(BlockKind::Data, index.handle())?.into_entries();
            while entries.advance()? {
                let key = entries.key();
                of_this.push(table.bare(&key[..key.len().saturating_sub(tail)]).to_vec());
            }
            let every = of_this.len().div_ceil(of_block).max(1);
            keys.extend(of_this.into_iter().step_by(every));
        }
        number += 1;
    }
    Ok(())
}
