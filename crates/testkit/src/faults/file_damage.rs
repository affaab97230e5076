//! Damage to one file of a database, whatever it is.

use std::fmt;
use std::fs;
use std::path::Path;

use sstkit_db::raw::FileName;

use super::database_damage::record_starts;
use crate::random::Random;

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Deleted,
    Overwritten,
    Cut,
}

/// Damage to one file.
#[derive(Clone, Debug)]
pub struct FileDamage {
    name: String,
    how: How,
}

impl FileDamage {
    /// Each file of the database in a folder deleted, overwritten in the middle, and cut to about half its
    /// size. Messages for people and locks are left out.
    ///
    /// # Panics
    ///
    /// If the folder cannot be read.
    pub fn of_each_file(folder: &Path) -> Vec<Self> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| !matches!(FileName::parse(name), FileName::InfoLog | FileName::Lock))
            .collect();
        names.sort();
        let ways = [How::Deleted, How::Overwritten, How::Cut];
        let damages =
            |name: String| ways.into_iter().map(move |how| Self { name: name.clone(), how });
        names.into_iter().flat_map(damages).collect()
    }

    /// The name of the file.
    pub fn file_name(&self) -> &str {
        &self.name
    }

    /// Damages the file in a copy of the database. Returns false if it is too short for that.
    ///
    /// # Panics
    ///
    /// If the file cannot be read or written.
    pub fn apply(&self, folder: &Path, random: &mut Random) -> bool {
        let path = folder.join(&self.name);
        let mut bytes = fs::read(&path).expect("read");
        let (quarter, middle) = (bytes.len() / 4, bytes.len() / 2);
        match self.how {
            How::Deleted => {
                fs::remove_file(path).expect("removed");
                return true;
            }
            How::Overwritten => {
                bytes[middle..middle + quarter].copy_from_slice(&random.bytes(quarter as u64));
            }
            // A log that ends between two records is whole.
            How::Cut => match record_starts(&path) {
                starts if starts.is_empty() => bytes.truncate(middle),
                starts => bytes.truncate(starts[starts.len() / 2] + 3),
            },
        }
        fs::write(path, bytes).expect("written");
        quarter > 0
    }
}

/// As in "000012.sst cut".
impl fmt::Display for FileDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            How::Deleted => "deleted",
            How::Overwritten => "overwritten",
            How::Cut => "cut",
        };
        write!(f, "{} {how}", self.name)
    }
}
