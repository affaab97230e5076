//! Values in blob files, of which some are lost.
//!
//! ```text
//! table          k1 -> blob 11   k2 -> blob 14   k3 -> blob 14
//! blob file 11   sound: taken over, and so are the references
//! blob file 14   damaged: what can still be read becomes an inline value,
//!                and the key of what cannot is deleted
//! ```
//!
//! A deletion in place of a lost value keeps older versions of the key hidden: they are not its value.
//!
//! A file without a fault may be another one than the tables refer to, such as a copy of an older state. So
//! each reference must lead to a record of its key.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

use sstkit_table::raw::{
    BlobIndex, ColumnValue, EntryKind, InternalKey, WideColumn, decode_wide_columns,
    encode_wide_columns,
};
use sstkit_table::visibility::UserKeys;

use super::inventory::Inventory;
use super::manifest_choice::without_path;
use super::table_entries::TableEntries;
use crate::database_writer::each_blob_reference;
use crate::error::{Error, Result};
use crate::raw::BlobFile;
use crate::regular_file;
use crate::verify::verify_blobs;

/// Blob files that are open at once.
const MAX_OPEN: usize = 64;

/// A blob file of a column family.
#[derive(Debug)]
pub(super) struct ExaminedBlobFile {
    /// `None` if it does not exist.
    pub(super) path: Option<PathBuf>,
    /// What is wrong with it.
    pub(super) damage: Option<String>,
    /// The number of its values, and the bytes of their records.
    pub(super) values: (u64, u64),
}

/// The blob files that tables refer to, by column family and number.
#[derive(Debug, Default)]
pub(super) struct BlobValues {
    pub(super) files: BTreeMap<(u32, u64), ExaminedBlobFile>,
}

/// What happens to an entry.
#[derive(Debug, PartialEq)]
pub(super) enum Resolved {
    /// It stays as it is.
    Unchanged,
    /// It has its value inline.
    Inline(EntryKind, Vec<u8>),
    /// Its value is lost with this blob file.
    Lost { blob_file: u64, size: u64, reason: String },
}

impl BlobValues {
    /// Reads a blob file that tables of a column family refer to.
    pub(super) fn examine(&mut self, inventory: &Inventory, family: u32, number: u64) {
        let path = inventory.blob_file(number).map(PathBuf::from);
        let checked = match &path {
            Some(path) => verify_blobs(path, Some(family)),
            None => Err(Error::corrupt("file not found")),
        };
        let values = *checked.as_ref().unwrap_or(&(0, 0));
        let damage = checked.err().map(|error| match path {
            Some(_) => without_path(&error),
            None => "file not found".into(),
        });
        self.files.insert((family, number), ExaminedBlobFile { path, damage, values });
    }

    /// Follows the references of a table into files without a fault. One where a reference leads to
    /// no record of its key is damaged, too.
    pub(super) fn check_references(
        &mut self,
        family: u32,
        entries: &TableEntries,
        keys: &UserKeys,
    ) -> Result<()> {
        let mut open: HashMap<u64, Option<BlobFile<File>>> = HashMap::new();
        let mut mismatches: BTreeMap<u64, String> = BTreeMap::new();
        entries.each_point(keys, |key, value| {
            // An entry that makes no sense is the engine's to report.
            let _ = each_blob_reference(key.kind, value, |number, index| {
                if self.is_damaged(family, number) || mismatches.contains_key(&number) {
                    return;
                }
                if open.len() >= MAX_OPEN && !open.contains_key(&number) {
                    open.clear();
                }
                let file = open.entry(number).or_insert_with(|| self.open(family, number));
                let error = match file {
                    Some(file) => file.check_reference(key.user_key, index).err(),
                    None => None,
                };
                if let Some(error) = error {
                    let reason = without_path(&error);
                    let damage = format!("not the file that the tables refer to: {reason}");
                    mismatches.insert(number, damage);
                }
            });
            Ok(())
        })?;
        for (number, damage) in mismatches {
            if let Some(file) = self.files.get_mut(&(family, number)) {
                file.damage = Some(damage);
            }
        }
        Ok(())
    }

    fn open(&self, family: u32, number: u64) -> Option<BlobFile<File>> {
        let path = self.files.get(&(family, number))?.path.as_ref()?;
        BlobFile::open(regular_file::open(path).ok()?, family).ok()
    }

    pub(super) fn is_damaged(&self, family: u32, number: u64) -> bool {
        self.files.get(&(family, number)).is_none_or(|file| file.damage.is_some())
    }

    /// Reads the values of a column family that are in damaged files.
    pub(super) fn reader(&self, family: u32) -> BlobReader<'_> {
        BlobReader { values: self, family, open: RefCell::default() }
    }
}

/// A blob file whose damaged parts are not read.
type DamagedFile = Option<Rc<BlobFile<File>>>;

/// Reads what is left of damaged blob files.
pub(super) struct BlobReader<'b> {
    values: &'b BlobValues,
    family: u32,
    /// By number and codec.
    open: RefCell<HashMap<(u64, u8), DamagedFile>>,
}

impl BlobReader<'_> {
    /// What happens to an entry.
    pub(super) fn resolve(&self, key: &InternalKey<'_>, value: &[u8]) -> Resolved {
        let resolved = match key.kind {
            EntryKind::BlobIndex => self.blob(key.user_key, value),
            EntryKind::WideColumnEntity => self.columns(key.user_key, value),
            _ => return Resolved::Unchanged,
        };
        // An entry that makes no sense is the engine's to report.
        resolved.unwrap_or(Resolved::Unchanged)
    }

    fn blob(&self, user_key: &[u8], value: &[u8]) -> Result<Resolved> {
        let index = BlobIndex::decode_from(value)?;
        let Some(number) = self.damaged(&index) else { return Ok(Resolved::Unchanged) };
        Ok(match self.get(number, user_key, &index) {
            Ok(value) => Resolved::Inline(EntryKind::Value, value),
            Err(reason) => Resolved::Lost { blob_file: number, size: stored_size(&index), reason },
        })
    }

    fn columns(&self, user_key: &[u8], value: &[u8]) -> Result<Resolved> {
        let columns = decode_wide_columns(value)?;
        let mut values = Vec::new();
        for column in &columns {
            let ColumnValue::Blob(index) = &column.value else { continue };
            let Some(number) = self.damaged(index) else { continue };
            match self.get(number, user_key, index) {
                Ok(value) => values.push(value),
                Err(reason) => {
                    let size = stored_size(index);
                    return Ok(Resolved::Lost { blob_file: number, size, reason });
                }
            }
        }
        if values.is_empty() {
            return Ok(Resolved::Unchanged);
        }
        let mut values = values.iter();
        let columns: Vec<_> = columns
            .into_iter()
            .map(|column| match &column.value {
                ColumnValue::Blob(index) if self.damaged(index).is_some() => match values.next() {
                    Some(value) => {
                        WideColumn { name: column.name, value: ColumnValue::Inline(value) }
                    }
                    None => column,
                },
                _ => column,
            })
            .collect();
        let mut entity = Vec::new();
        encode_wide_columns(&columns, &mut entity)?;
        Ok(Resolved::Inline(EntryKind::WideColumnEntity, entity))
    }

    /// The number of the file, if it is damaged.
    fn damaged(&self, index: &BlobIndex<'_>) -> Option<u64> {
        match *index {
            BlobIndex::Stored { file: file @ 1.., .. } => {
                self.values.is_damaged(self.family, file).then_some(file)
            }
            _ => None,
        }
    }

    fn get(&self, number: u64, user_key: &[u8], index: &BlobIndex<'_>) -> Result<Vec<u8>, String> {
        let &BlobIndex::Stored { codec, .. } = index else { return Err("not a blob".into()) };
        let mut open = self.open.borrow_mut();
        if open.len() >= MAX_OPEN && !open.contains_key(&(number, codec)) {
            open.clear();
        }
        let file = open.entry((number, codec)).or_insert_with(|| self.open(number, codec)).clone();
        drop(open);
        match file {
            Some(file) => {
                let value = file.get(user_key, index).map_err(|error| without_path(&error))?;
                Ok(value.to_vec())
            }
            None => Err("file not found".into()),
        }
    }

    fn open(&self, number: u64, codec: u8) -> DamagedFile {
        let path = self.values.files.get(&(self.family, number))?.path.as_ref()?;
        let file = BlobFile::open_damaged(regular_file::open(path).ok()?, codec).ok()?;
        Some(Rc::new(file))
    }
}

/// Bytes of a value in its blob file.
fn stored_size(index: &BlobIndex<'_>) -> u64 {
    match *index {
        BlobIndex::Stored { size, .. } => size,
        _ => 0,
    }
}
