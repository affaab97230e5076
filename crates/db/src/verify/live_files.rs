//! Which files are live right now, in a database that an engine may be writing to.

use std::io::{BufReader, Read as _};

use crate::database::Database;
use crate::file_system;
use crate::raw::{FileName, ManifestState, parse_current};

/// How often a MANIFEST is read again if it is replaced.
const ATTEMPTS: usize = 5;

/// The largest CURRENT that is read.
const MAX_CURRENT: u64 = 4 << 10;

/// The MANIFEST, read again if it has changed.
pub(super) struct LiveFiles<'d> {
    database: &'d Database,
    /// Its number, its size, and the state it describes.
    read: Option<(u64, u64, ManifestState)>,
}

impl<'d> LiveFiles<'d> {
    pub(super) fn new(database: &'d Database) -> Self {
        Self { database, read: None }
    }

    /// Whether the MANIFEST lists this table; `None` if it cannot be read.
    pub(super) fn has_table(&mut self, number: u64) -> Option<bool> {
        let mut families = self.state()?.column_families.values();
        Some(families.any(|family| family.level_of(number).is_some()))
    }

    /// Whether the MANIFEST lists this blob file as live; `None` if it cannot be read.
    pub(super) fn has_blob_file(&mut self, number: u64) -> Option<bool> {
        let mut families = self.state()?.column_families.values();
        Some(families.any(|family| family.live_blob_files().any(|file| file.number == number)))
    }

    fn state(&mut self) -> Option<&ManifestState> {
        self.database.manifest()?;
        (0..ATTEMPTS).find(|_| self.refresh().is_some())?;
        self.read.as_ref().map(|(_, _, state)| state)
    }

    /// Reads the MANIFEST unless it is unchanged.
    fn refresh(&mut self) -> Option<()> {
        let folder = self.database.path();
        let current = file_system::read(&folder.join("CURRENT"), MAX_CURRENT).ok()??;
        let number = parse_current(&current).ok()?;
        let path = folder.join(FileName::Manifest(number).to_string());
        let size = file_system::status(&path).ok()?.size();
        let is_known = self.read.as_ref().is_some_and(|read| (read.0, read.1) == (number, size));
        if !is_known {
            let file = BufReader::new(file_system::open(&path).ok()?.take(size));
            let state = ManifestState::replay(file, self.database.engine()).ok()?;
            self.read = Some((number, size, state));
        }
        Some(())
    }
}
