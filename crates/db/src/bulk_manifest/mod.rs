//! `manifest.json`: which tables were written, and the proof that no two of them overlap.
//!
//! ```text
//! { "version": 1, "tool": "sstkit 0.1.0", "non_overlapping": true, "checksum_function": "crc32c",
//!   "comparator": …, "entries": …, "range_deletions": …, "bytes": …, "options": { … },
//!   "files": [ { "name": "000001.sst", "smallest": "6b30", "largest": "6b37",
//!                "largest_is_exclusive": false, "smallest_seq": 0, "largest_seq": 0,
//!                "entries": 8, "range_deletions": 0, "bytes": 1123, "checksum": "89abcdef" }, … ] }
//! ```
//!
//! `build.rs` makes one for new tables.

#[cfg(feature = "write")]
mod build;
#[cfg(feature = "json")]
mod hex;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sstkit_table::Comparator;

use crate::error::{Error, Result};
use crate::file_system;

#[cfg(feature = "write")]
pub(crate) use self::hex::hex_list;

/// The name of the file.
pub const MANIFEST_NAME: &str = "manifest.json";

/// The version that is written. It never changes its meaning; fields may be added.
const VERSION: u32 = 1;

/// The same as RocksDB's `FileChecksumCrc32c` of a whole file.
const CHECKSUM_FUNCTION: &str = "crc32c";

/// Settings of the tables, under RocksDB's names: of its options, as `filter_policy` and
/// `block_size`, and of its properties, as `rocksdb.filter.policy`.
pub type ManifestOptions = BTreeMap<String, String>;

/// The contents of a folder of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct BulkManifest {
    /// The version of this format: 1.
    pub version: u32,
    /// Name and version of the program that wrote the tables.
    pub tool: String,
    /// The name of the comparator.
    pub comparator: String,
    /// Whether the keys of each file come after those of the previous one; checked when it was
    /// written.
    pub non_overlapping: bool,
    /// The function of `checksum` of a file: `crc32c`, not masked, of all its bytes.
    pub checksum_function: String,
    /// Entries of all files, including range tombstones.
    pub entries: u64,
    /// Range tombstones of all files. One that spans several files counts in each.
    pub range_deletions: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// The id of the [plan](crate::Plan) that the tables were built by, if any.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub plan: Option<String>,
    /// The number of the part of that plan; only of an attempt.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub part: Option<u64>,
    /// The name of the attempt; only of an attempt.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub attempt: Option<String>,
    /// The settings of the tables, and properties of the first one.
    pub options: ManifestOptions,
    /// The files, in the order of their keys.
    pub files: Vec<ManifestFile>,
}

/// One table.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ManifestFile {
    /// Its name in the folder.
    pub name: String,
    /// The smallest user key, without timestamp, in hexadecimal digits.
    #[cfg_attr(feature = "json", serde(with = "hex"))]
    pub smallest: Vec<u8>,
    /// The largest one.
    #[cfg_attr(feature = "json", serde(with = "hex"))]
    pub largest: Vec<u8>,
    /// Whether the largest key is the end of a range tombstone, which is not deleted itself: the
    /// next file may start there.
    pub largest_is_exclusive: bool,
    /// The smallest sequence number; `None` without entries, and in manifests of older versions.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub smallest_seq: Option<u64>,
    /// The largest one.
    #[cfg_attr(feature = "json", serde(default, skip_serializing_if = "Option::is_none"))]
    pub largest_seq: Option<u64>,
    /// Entries, including range tombstones.
    pub entries: u64,
    /// Range tombstones.
    pub range_deletions: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Of all bytes, in eight hexadecimal digits.
    pub checksum: String,
}

sstkit_coding::debug_struct!(ManifestFile {
    name,
    smallest: bytes,
    largest: bytes,
    largest_is_exclusive,
    smallest_seq,
    largest_seq,
    entries,
    range_deletions,
    bytes,
    checksum,
});

impl BulkManifest {
    /// Reads a manifest.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error: io::Error| Error::from(error).in_file(path);
        let mut text = String::new();
        let mut file = file_system::open(path).map_err(failed)?;
        file.read_to_string(&mut text).map_err(failed)?;
        Self::from_json(&text).map_err(|error| error.in_file(path))
    }

    /// The manifest of a text.
    #[cfg(feature = "json")]
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        let manifest: Self = serde_json::from_str(text)
            .map_err(|error| Error::corrupt("not a table manifest").with_source(error))?;
        match manifest.version {
            VERSION => Ok(manifest),
            other => Err(Error::unsupported(format!("manifest version {other}"))),
        }
    }

    #[cfg(not(feature = "json"))]
    pub(crate) fn from_json(_: &str) -> Result<Self> {
        let what = "this build reads no manifest.json (enable the feature \"json\" of sstkit-db)";
        Err(Error::unsupported(what))
    }

    /// The text of the file.
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        // Plain structs of strings and numbers can always be written as JSON.
        if let Ok(json) = serde_json::to_string_pretty(self) {
            text = json;
            text.push('\n');
        }
        text
    }

    /// Compares the files of a folder with the manifest: sizes, checksums, and what
    /// [`check`](Self::check) compares. Reads all bytes; the contents of the tables are verified by
    /// [`Table::verify`](sstkit_table::Table::verify).
    pub fn verify(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.check()?;
        self.files.iter().try_for_each(|file| file.verify(folder.as_ref()))
    }

    /// Checks the manifest itself: its sums, and the order of the keys if the comparator is built
    /// in. Reads no file.
    pub fn check(&self) -> Result<()> {
        if let Ok(comparator) = self.comparator.parse::<Comparator>() {
            self.check_order(&comparator)?;
        }
        if self.checksum_function != CHECKSUM_FUNCTION {
            let what = format!("unknown checksum {:?}", self.checksum_function);
            return Err(Error::unsupported(what));
        }
        let sum =
            |of: fn(&ManifestFile) -> u64| self.files.iter().map(of).fold(0, u64::saturating_add);
        for (name, stored, sum) in [
            ("entries", self.entries, sum(|file| file.entries)),
            ("range_deletions", self.range_deletions, sum(|file| file.range_deletions)),
            ("bytes", self.bytes, sum(|file| file.bytes)),
        ] {
            if sum != stored {
                return Err(Error::mismatch(format!("the total of {name} is wrong"), sum, stored));
            }
        }
        Ok(())
    }

    /// Whether the keys of each file come after those of the previous one.
    fn check_order(&self, comparator: &Comparator) -> Result<()> {
        let compare = |a: &[u8], b: &[u8]| comparator.compare_without_timestamp(a, b);
        for file in &self.files {
            if compare(&file.smallest, &file.largest) == Ordering::Greater {
                return Err(Error::corrupt(format!(
                    "the smallest key of {} is larger than its largest key",
                    file.name
                )));
            }
        }
        for pair in self.files.windows(2) {
            let overlaps = match compare(&pair[0].largest, &pair[1].smallest) {
                Ordering::Less => false,
                Ordering::Equal => !pair[0].largest_is_exclusive,
                Ordering::Greater => true,
            };
            if overlaps {
                let (one, other) = (&pair[0].name, &pair[1].name);
                return Err(Error::corrupt(format!("{one} and {other} overlap")));
            }
        }
        Ok(())
    }
}

impl ManifestFile {
    fn verify(&self, folder: &Path) -> Result<()> {
        let path = self.path(folder)?;
        let failed = |error: io::Error| Error::from(error).in_file(&path);
        let mut file = file_system::open(&path).map_err(failed)?;
        let differs = |what: &str, expected: &str, found: &str| {
            Err(Error::mismatch(what, expected, found).in_file(&path))
        };
        let size = file.size().map_err(failed)?;
        if size != self.bytes {
            return differs("its size", &self.bytes.to_string(), &size.to_string());
        }
        let mut buffer = vec![0; 256 << 10];
        let mut crc = 0;
        loop {
            let read = file.read(&mut buffer).map_err(failed)?;
            if read == 0 {
                break;
            }
            crc = crc32c::crc32c_append(crc, &buffer[..read]);
        }
        let crc = checksum_text(crc);
        if crc != self.checksum {
            return differs("its checksum", &self.checksum, &crc);
        }
        Ok(())
    }

    /// The path of the file. A manifest names only files in its own folder.
    pub(crate) fn path(&self, folder: &Path) -> Result<PathBuf> {
        let name = Path::new(&self.name);
        if name.file_name() != Some(name.as_os_str()) {
            return Err(Error::corrupt(format!("{:?} is not a file name", self.name)));
        }
        Ok(folder.join(name))
    }
}

/// A checksum as it is in manifests.
pub(crate) fn checksum_text(crc: u32) -> String {
    format!("{crc:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, smallest: &[u8], largest: &[u8], exclusive: bool) -> ManifestFile {
        ManifestFile {
            name: name.into(),
            smallest: smallest.to_vec(),
            largest: largest.to_vec(),
            largest_is_exclusive: exclusive,
            smallest_seq: Some(3),
            largest_seq: Some(5),
            entries: 1,
            range_deletions: 0,
            bytes: 100,
            checksum: checksum_text(7),
        }
    }

    #[test]
    fn what_overlaps_is_no_manifest() {
        let order = Comparator::Bytewise;
        let make = |end: &[u8], exclusive, start: &[u8]| {
            let files = vec![file("1", b"a", end, exclusive), file("2", start, b"z", false)];
            BulkManifest::new(files, &order)
        };
        assert!(make(b"c", false, b"d").is_ok());
        assert!(make(b"c", true, b"c").is_ok());
        assert!(make(b"c", false, b"c").is_err());
        assert!(make(b"d", true, b"c").is_err());
        assert!(BulkManifest::new(vec![file("1", b"b", b"a", false)], &order).is_err());
    }

    #[test]
    fn text_and_back() {
        let files = vec![file("000001.sst", b"\0\xff", b"k", false)];
        let manifest = BulkManifest::new(files, &Comparator::Bytewise).unwrap();
        let json = manifest.to_json();
        assert!(json.contains("\"smallest\": \"00ff\""), "{json}");
        assert_eq!(serde_json::from_str::<BulkManifest>(&json).unwrap(), manifest);
        let older = json.replace("\"smallest_seq\": 3,", "").replace("\"largest_seq\": 5,", "");
        let older = serde_json::from_str::<BulkManifest>(&older).unwrap();
        assert_eq!(older.files[0].smallest_seq, None);
        for bad in ["\"0\"", "\"0g\"", "\"é\""] {
            let json = json.replace("\"00ff\"", bad);
            assert!(serde_json::from_str::<BulkManifest>(&json).is_err(), "{bad}");
        }
    }

    #[test]
    fn files_elsewhere_are_not_touched() {
        for name in ["../x.sst", "/etc/passwd", "a/b", "..", ""] {
            assert!(file(name, b"a", b"b", false).path(Path::new("out")).is_err(), "{name}");
        }
    }
}
