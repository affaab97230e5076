//! The tables of a directory: by their names in a database, by what they are elsewhere.
//!
//! ```text
//! 000018.sst                                        LevelDB and RocksDB
//! 000018_sHWNEDYR3FFS8I6JCENXN_4222.sst             a folder of backups
//! 000009-4673dc67-ba79-44bf-acdf-48accfff35dd.sst   Spark's state store
//! part-00000, users.sst                             anything else
//! ```
//!
//! A database has other files with tables in them only if someone has put them there. Where there is
//! no database, everything that ends as a table does is one, and what is called so but is damaged.

use std::collections::BTreeSet;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sstkit_table::raw::TableKind;

use crate::file_system;
use crate::raw::FileName;

/// Whether a directory with these files is, or was, that of a database.
pub(crate) fn is_of_database(listed: &[(FileName, PathBuf)]) -> bool {
    listed.iter().any(|(name, _)| {
        matches!(
            name,
            FileName::Current
                | FileName::Manifest(_)
                | FileName::Options(_)
                | FileName::Identity
                | FileName::Log(_)
        )
    })
}

/// The tables among the files of a directory, with their numbers: those that their names start with,
/// or others where there is none or another table has it.
pub(crate) fn tables(listed: &[(FileName, PathBuf)]) -> Vec<(u64, PathBuf)> {
    let mut tables: Vec<(u64, PathBuf)> = Vec::new();
    for (name, path) in listed {
        if let FileName::Table(number) = name {
            tables.push((*number, path.clone()));
        }
    }
    if is_of_database(listed) {
        return tables;
    }
    let mut taken: BTreeSet<u64> = tables.iter().map(|(number, _)| *number).collect();
    let mut unnumbered = Vec::new();
    for (name, path) in listed {
        if *name == FileName::Other && is_table(path) {
            match leading_number(path).filter(|&number| taken.insert(number)) {
                Some(number) => tables.push((number, path.clone())),
                None => unnumbered.push(path.clone()),
            }
        }
    }
    tables.extend((1..).filter(|number| !taken.contains(number)).zip(unnumbered));
    tables
}

fn leading_number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    name[..digits].parse().ok()
}

/// Whether a file ends as tables do, or has the extension of one.
fn is_table(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // Checksums that Hadoop puts beside its files.
    if name.starts_with('.') {
        return false;
    }
    let has_extension = path.extension().is_some_and(|it| it == "sst" || it == "ldb");
    has_extension && file_system::is_file(path) || ends_as_table(path).unwrap_or(false)
}

fn ends_as_table(path: &Path) -> std::io::Result<bool> {
    let mut file = file_system::open(path)?;
    let mut magic = [0; TableKind::MAGIC_LENGTH];
    file.seek(SeekFrom::End(-(magic.len() as i64)))?;
    file.read_exact(&mut magic)?;
    Ok(TableKind::from_magic(magic).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory;

    /// The files of a directory with these names, all of which are damaged tables.
    fn numbers(names: &[&str]) -> Vec<(u64, String)> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), b"damaged").unwrap();
        }
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let listed = directory::list(folder.path()).unwrap();
        tables(&listed).into_iter().map(|(number, path)| (number, name(&path))).collect()
    }

    #[test]
    fn numbers_of_names_that_are_taken_are_others() {
        let found =
            numbers(&["000018_sA_1.sst", "000018_sB_1.sst", "000007.sst", "users.sst", "x"]);
        let expected =
            [(7, "000007.sst"), (18, "000018_sA_1.sst"), (1, "000018_sB_1.sst"), (2, "users.sst")];
        assert_eq!(found, expected.map(|(number, name)| (number, name.to_owned())));
    }

    #[test]
    fn in_a_database_only_its_own_names_count() {
        let found = numbers(&["000018_sA_1.sst", "000007.sst", "OPTIONS-000009"]);
        assert_eq!(found, [(7, "000007.sst".to_owned())]);
        assert_eq!(numbers(&[".000009-4673.sst.crc", ".a.sst"]), []);
    }
}
