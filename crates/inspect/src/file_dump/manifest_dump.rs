//! Dumps a MANIFEST, or the progress of a compaction.

use std::io;
use std::path::Path;

use sstkit_db::raw::VersionEdit;
use sstkit_db::{FileContents, FileKind, LogFile, LogStep};
use sstkit_table::raw::Engine;

use super::edit_record::EditRecord;
use super::state_record::StateRecord;
use super::{FileDumpOptions, FileRecord, Visitor};
use crate::verify::VerifyReport;

/// RocksDB's dialect contains LevelDB's. The state is that of the engine that wrote it.
const DIALECT: Engine = Engine::RocksDb;

/// Shows all edits that can be read, also behind damage, and the state if there is one.
pub(super) fn dump_manifest(
    path: &Path,
    kind: FileKind,
    options: &FileDumpOptions,
    visit: Visitor<'_>,
) -> io::Result<VerifyReport> {
    let mut shown = Vec::new();
    let mut problem = |error: sstkit_db::Error, visit: &mut Visitor<'_>| {
        let error = error.in_file(path);
        shown.push(error.to_string());
        visit(&FileRecord::Problem((&error).into()))
    };
    let mut visit = visit;
    match LogFile::open(path, kind, DIALECT, None) {
        Err(error) => problem(error, &mut visit)?,
        Ok(mut manifest) => {
            let mut index = 0;
            loop {
                match manifest.advance() {
                    Ok(None) => break,
                    Ok(Some(LogStep::Problem(problem))) => {
                        visit(&FileRecord::Problem(problem.into()))?;
                    }
                    Ok(Some(_)) => {
                        let record = manifest.record();
                        match VersionEdit::decode_from(record.payload, DIALECT) {
                            Ok(edit) => {
                                let edit = EditRecord::of(index, &record, &edit, options.encoding);
                                visit(&FileRecord::Edit(Box::new(edit)))?;
                            }
                            Err(error) => problem(error.at_offset(record.offset), &mut visit)?,
                        }
                        index += 1;
                    }
                    Err(error) => {
                        problem(error, &mut visit)?;
                        break;
                    }
                }
            }
        }
    }
    let (found, contents) = sstkit_db::verify_file(path, kind, None);
    let report = VerifyReport::from(found);
    match contents {
        Some(FileContents::Manifest(state)) => {
            let state = StateRecord::of(&state, options.encoding);
            visit(&FileRecord::State(Box::new(state)))?;
        }
        // Edits that contradict each other have not been shown as problems yet.
        _ => {
            for problem in report.problems.iter().filter(|it| !shown.contains(&it.message)) {
                visit(&problem.into())?;
            }
        }
    }
    Ok(report)
}
