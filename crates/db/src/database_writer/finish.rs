//! The last files of a new database, and the rename that makes it appear.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use sstkit_table::raw::Engine;

use super::{DatabaseWriter, MAX_FILE_NUMBER, edits, levels, options_text};
use crate::error::{Error, Result};
use crate::raw::{FileName, LogWriter};

impl DatabaseWriter {
    /// Writes MANIFEST, OPTIONS, IDENTITY and CURRENT, makes everything durable, and renames the
    /// directory to its name.
    ///
    /// # Errors
    ///
    /// Fails if tables of a level above 0 overlap, if no numbers are left for new files, if a write fails,
    /// or if something has got the name meanwhile. If only the last step fails, which syncs the parent directory, the error says
    /// that the database is in place.
    pub fn finish(mut self) -> Result<()> {
        for family in self.families.values_mut() {
            let order = family.descriptor.order();
            levels::arrange(&mut family.files, order.as_ref(), self.options.engine)
                .map_err(|error| error.in_file(&self.target))?;
        }
        let (manifest, options) = (self.new_number(), self.new_number());
        if self.next_file_number > MAX_FILE_NUMBER {
            let what = "file numbers are used up: the engine could not make new files";
            return Err(Error::invalid_input(what).in_file(&self.target));
        }
        let manifest = FileName::Manifest(manifest).to_string();
        let failed = |error: io::Error| Error::from(error).in_file(&self.target);
        self.write_manifest(&manifest).map_err(failed)?;
        if self.options.engine == Engine::RocksDb {
            let text = options_text::options_file(&self.options, &self.families).to_string();
            self.write_file(&FileName::Options(options).to_string(), &text).map_err(failed)?;
            self.write_file("IDENTITY", &self.db_id).map_err(failed)?;
        }
        self.write_file("CURRENT", &format!("{manifest}\n")).map_err(failed)?;
        self.rename()
    }

    /// Makes the tables and blob files durable, and renames the directory to its name, without
    /// anything that makes it a database.
    ///
    /// # Errors
    ///
    /// Those of [`finish`](Self::finish).
    pub(crate) fn finish_without_manifest(self) -> Result<()> {
        self.rename()
    }

    fn rename(self) -> Result<()> {
        self.folder.commit(&self.target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::invalid_input("another process has created this path").in_file(&self.target)
            }
            _ => Error::from(error).in_file(&self.target),
        })
    }

    fn write_manifest(&self, name: &str) -> io::Result<()> {
        let file = File::create_new(self.folder.path().join(name))?;
        let mut log = LogWriter::new(BufWriter::new(&file));
        let mut record = Vec::new();
        for edit in edits::edits(self) {
            record.clear();
            edit.encode_to(&mut record, self.options.engine);
            log.add_record(&record)?;
        }
        log.into_inner().flush()?;
        file.sync_all()
    }

    fn write_file(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = File::create_new(self.folder.path().join(name))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}
