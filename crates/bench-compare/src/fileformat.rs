//! The `rocksdb-fileformat` crate: scans tables without compression, forward. It verifies no checksums,
//! keeps no cache and has no filters. Its handles of blocks count the trailer, so that it reads no
//! tables of RocksDB and gets one of its own; if it cannot read that, either, the report says so.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use rocksdb_fileformat::{
    CompressionType, SstFileWriter, SstIterator as _, SstReader, SstTableIterator, WriteOptions,
};

use crate::comparison::Family;
use crate::data::{Answer, Entries, Key};
use crate::reader::{Scan, TableReader};

pub(crate) struct Reader(PathBuf);

impl Reader {
    /// With a table of the same entries, if it finds them there again.
    pub(crate) fn make(folder: &Path, entries: &Entries) -> Result<Self> {
        let reader = Self(folder.join("fileformat.sst"));
        let mut writer = SstFileWriter::create(&WriteOptions::default());
        writer.open(&reader.0)?;
        for (key, value) in entries.iter() {
            writer.put(key, value)?;
        }
        writer.finish()?;
        let answer = reader.scan(Scan::forward())?;
        ensure!(answer == entries.scanned(false), "a scan finds {} entries", answer.count);
        Ok(reader)
    }
}

impl TableReader for Reader {
    fn name(&self) -> String {
        "rocksdb-fileformat".into()
    }

    fn family(&self) -> Family {
        Family::Other
    }

    fn can_scan(&self, backward: bool) -> bool {
        !backward
    }

    fn can_get(&self) -> bool {
        false
    }

    fn scan(&self, _: Scan) -> Result<Answer> {
        let mut it = SstTableIterator::new(SstReader::open(&self.0)?, CompressionType::None)?;
        let mut answer = Answer::default();
        it.seek_to_first()?;
        while let (Some(key), Some(value)) = (it.key(), it.value()) {
            // Sequence number and kind stay on the key.
            answer.entry(&key[..key.len().min(size_of::<Key>())], value);
            if !it.next()? {
                break;
            }
        }
        Ok(answer)
    }

    fn seek(&self, _: &[Key], _: usize) -> Result<Answer> {
        bail!("not measured");
    }

    fn get(&self, _: &[Key]) -> Result<Answer> {
        bail!("not measured");
    }

    fn get_many(&self, _: &[Key], _: usize) -> Result<Answer> {
        bail!("not measured");
    }
}
