//! Which files are alive right now, in a database that an engine may be writing to.

use std::fs;
use std::io::{BufReader, Read as _};

use sstkit_db::Database;
use sstkit_db::raw::{FileName, ManifestState, parse_current};
use sstkit_table::raw::regular_file;

/// How often a MANIFEST is read that is replaced meanwhile.
const ATTEMPTS: usize = 5;

/// CURRENT is not longer.
const MAX_CURRENT: u64 = 4 << 10;

/// The MANIFEST as it is when a file is asked for.
pub(super) struct Liveness<'d> {
    database: &'d Database,
    /// Its number, its size, and what it says.
    read: Option<(u64, u64, ManifestState)>,
}

impl<'d> Liveness<'d> {
    pub(super) fn new(database: &'d Database) -> Self {
        Self { database, read: None }
    }

    /// Whether the MANIFEST lists this table; `None` if it cannot be read.
    pub(super) fn has_table(&mut self, number: u64) -> Option<bool> {
        let mut families = self.state()?.column_families.values();
        Some(families.any(|family| family.level_of(number).is_some()))
    }

    /// Whether the MANIFEST lists this blob file as alive; `None` if it cannot be read.
    pub(super) fn has_blob_file(&mut self, number: u64) -> Option<bool> {
        let mut families = self.state()?.column_families.values();
        Some(families.any(|family| family.live_blob_files().any(|file| file.number == number)))
    }

    fn state(&mut self) -> Option<&ManifestState> {
        self.database.manifest()?;
        (0..ATTEMPTS).find(|_| self.read_again().is_some())?;
        self.read.as_ref().map(|(_, _, state)| state)
    }

    /// Reads the MANIFEST, unless it is as it was.
    fn read_again(&mut self) -> Option<()> {
        let folder = self.database.path();
        let mut current = Vec::new();
        let file = regular_file::open(&folder.join("CURRENT")).ok()?;
        file.take(MAX_CURRENT).read_to_end(&mut current).ok()?;
        let number = parse_current(&current).ok()?;
        let path = folder.join(FileName::Manifest(number).to_string());
        let size = fs::metadata(&path).ok()?.len();
        let is_known = self.read.as_ref().is_some_and(|read| (read.0, read.1) == (number, size));
        if !is_known {
            let file = BufReader::new(regular_file::open(&path).ok()?.take(size));
            let state = ManifestState::replay(file, self.database.engine()).ok()?;
            self.read = Some((number, size, state));
        }
        Some(())
    }
}
