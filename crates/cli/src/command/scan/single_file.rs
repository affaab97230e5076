//! `sst scan --internal` of a single database file other than a table.

use sstkit_db::file_system;
use std::path::Path;

use anyhow::{Result, ensure};
use sstkit_inspect::{
    FileDumpOptions, FileKind, JsonRecord, VerifyStatus, scan_blob_file, scan_log,
};

use super::{Args, ScanFormat, show};
use crate::command::dump;
use crate::output::page::BAD;
use crate::output::{Page, print_message, records};
use crate::status::Status;
use crate::target::described;

/// The kind of a file that is not a table; `None` for everything else.
pub(super) fn kind_of(path: &Path) -> Option<FileKind> {
    if !file_system::is_file(path) {
        return None;
    }
    // An unreadable file is treated as a table, which reports the reason.
    match FileKind::of(path).ok()? {
        FileKind::Table | FileKind::Unknown | FileKind::InfoLog | FileKind::Other => None,
        kind => Some(kind),
    }
}

impl Args {
    /// Rejects options that have no effect on a file of this kind.
    pub(super) fn check_file(&self, kind: FileKind) -> Result<()> {
        let (path, what) = (self.path.display(), described(kind));
        ensure!(self.internal, "{path}: {what}; use --internal");
        ensure!(
            matches!(self.format(), ScanFormat::Text | ScanFormat::Json),
            "{path}: {what} is printed as text or JSON"
        );
        ensure!(
            !self.range.has_bounds() && !self.reverse && !self.snapshot.is_given(),
            "{path}: {what} is printed in file order, as a whole (use --prefix to select keys)"
        );
        let has_entries = matches!(kind, FileKind::Log | FileKind::BlobFile);
        ensure!(
            has_entries
                || self.limit.is_none() && !self.keys_only && !self.count && !self.range.is_given(),
            "{path}: {what} has no entries"
        );
        Ok(())
    }

    /// Prints the writes of a log or the values of a blob file; of another file, its records.
    pub(super) fn print_file(&self, kind: FileKind, page: &mut Page) -> Result<Status> {
        let options = FileDumpOptions {
            encoding: self.encoding(),
            max_log_memory: self.open.max_log_memory(),
        };
        if !matches!(kind, FileKind::Log | FileKind::BlobFile) {
            return dump::dump_file(&self.path, kind, &options, self.is_json(), page);
        }
        let progress = self.progress(None);
        let limit = self.limit.unwrap_or(u64::MAX);
        let (prefix, encoding) = (self.range.decoded(self.encoding)?.prefix, self.encoding());
        let is_selected = |record: &JsonRecord| {
            let key = encoding.decode(&record.key).unwrap_or_default();
            prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix))
        };
        let mut count = 0;
        let mut print = |mut record: JsonRecord| -> Result<bool> {
            if !is_selected(&record) {
                return Ok(true);
            }
            if count == limit {
                return Ok(false);
            }
            show(progress.as_ref(), count)?;
            count += 1;
            if !self.count {
                if self.keys_only {
                    record.remove_value();
                }
                self.print_result(page, &record, records::print)?;
            }
            Ok(true)
        };
        let report = match kind {
            FileKind::BlobFile => scan_blob_file(&self.path, &options, &mut print)?,
            _ => scan_log(&self.path, &options, &mut print)?,
        };
        drop(progress);
        if self.count {
            self.print_number(count, page)?;
        }
        for problem in &report.problems {
            match self.is_json() {
                true => print_message(&problem.message),
                false => page.styled_line(BAD, &problem.message)?,
            }
        }
        report.notes.iter().for_each(|note| print_message(note));
        Ok(match report.status {
            VerifyStatus::Sound => Status::Fine,
            VerifyStatus::Damaged => Status::Negative,
            _ => Status::Trouble,
        })
    }
}
