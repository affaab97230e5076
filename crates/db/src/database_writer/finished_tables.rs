//! Tables that were written in the working folder.

use sstkit_table::output;

use super::{CRC32C, DatabaseWriter};
use crate::error::{Error, Result};
use crate::output::FinishedTable;
use crate::raw::FileMetaData;

impl DatabaseWriter {
    /// Adds a table that was written in the working folder, and returns its name. One without
    /// entries is left out.
    pub(crate) fn add_finished(
        &mut self,
        column_family: u32,
        level: u32,
        table: FinishedTable,
    ) -> Result<Option<String>> {
        let number = self.new_number();
        let Some(metadata) = self.place_finished(table, number)? else { return Ok(None) };
        self.push(column_family, level, metadata)?;
        Ok(Some(self.table_name(number)))
    }

    /// Like [`add_finished`](Self::add_finished), under this number if it is free. Returns the
    /// number.
    pub(crate) fn add_finished_with_number(
        &mut self,
        column_family: u32,
        level: u32,
        table: FinishedTable,
        number: u64,
    ) -> Result<Option<u64>> {
        let number = match self.check_number(number) {
            Ok(()) => self.take_number(number),
            Err(_) => self.new_number(),
        };
        let Some(metadata) = self.place_finished(table, number)? else { return Ok(None) };
        self.push(column_family, level, metadata)?;
        Ok(Some(number))
    }

    /// Renames a table in the working folder; `None` if it has no entries.
    fn place_finished(&self, table: FinishedTable, number: u64) -> Result<Option<FileMetaData>> {
        let FinishedTable { file, entry, metadata, .. } = table;
        let Some(mut metadata) = metadata else { return Ok(None) };
        let path = self.table_path(number);
        let crc32c = file.crc32c();
        file.rename(&output::OutputPath::unresolved(&path, false))
            .map_err(|error| Error::from(error).in_file(&path))?;
        (metadata.number, metadata.size) = (number, entry.bytes);
        metadata.file_checksum = crc32c.map(|crc| (CRC32C.into(), crc.to_be_bytes().to_vec()));
        Ok(Some(metadata))
    }
}
