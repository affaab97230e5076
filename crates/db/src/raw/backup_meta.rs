//! The file `meta/ID` of RocksDB's BackupEngine: which files a backup consists of.
//!
//! ```text
//! schema_version 2.0                                    from schema 2 on
//! 1794961573                                            time, in seconds since 1970
//! 304                                                   sequence number
//! metadata 6e6f7465                                     of the application, in hexadecimal; optional
//! 3                                                     number of files
//! shared_checksum/000018_sHWNEDYR3FFS8I6JCENXN_4222.sst crc32 440975942
//! private/1/MANIFEST-000037 crc32 3814412530
//! private/1/CURRENT crc32 1393830465
//! // FOOTER                                             schema 2 only; fields follow
//! ```
//!
//! In schema 1 each file has a checksum, the CRC-32C of all its bytes, not masked. In schema 2 a file
//! has any number of pairs of a name and a value: `crc32`, `size`, `temp`, `ni::excluded` and others.
//! Names that start with `ni::` must be understood, others are ignored.

use std::path::{Component, Path};

use crate::error::{Error, Result};

const SCHEMA_PREFIX: &str = "schema_version ";
const FOOTER: &str = "// FOOTER";
const METADATA: &str = "metadata";
const CHECKSUM: &str = "crc32";
const SIZE: &str = "size";
const EXCLUDED: &str = "ni::excluded";
/// Fields with this prefix must be understood.
const NOT_IGNORABLE: &str = "ni::";

/// The folders of a backup folder that have files of backups.
const FOLDERS: [&str; 3] = ["private", "shared", "shared_checksum"];

/// The contents of a meta file.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupMeta {
    /// When the backup was made, in seconds since 1970.
    pub timestamp: u64,
    /// The sequence number of the database then.
    pub sequence: u64,
    /// What the application has noted.
    pub app_metadata: Option<Vec<u8>>,
    /// Its files, in order.
    pub files: Vec<BackupMetaFile>,
}

sstkit_coding::debug_struct!(BackupMeta { timestamp, sequence, app_metadata: bytes, files });

/// A file of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupMetaFile {
    /// The path below the backup folder: `private`, `shared` or `shared_checksum`, and one or two
    /// further names.
    pub path: String,
    /// The CRC-32C of all its bytes, not masked.
    pub crc32c: Option<u32>,
    /// The size in bytes, if it is recorded.
    pub size: Option<u64>,
    /// The file is in another backup folder.
    pub excluded: bool,
}

impl BackupMeta {
    /// Parses a meta file.
    ///
    /// ```
    /// use sstkit_db::raw::BackupMeta;
    ///
    /// let meta = BackupMeta::parse(b"1794961573\n304\n1\nprivate/1/CURRENT crc32 1393830465\n")?;
    /// assert_eq!((meta.sequence, meta.files[0].crc32c), (304, Some(1_393_830_465)));
    /// # Ok::<(), sstkit_db::Error>(())
    /// ```
    pub fn parse(contents: &[u8]) -> Result<Self> {
        let Ok(text) = std::str::from_utf8(contents) else {
            return Err(Error::corrupt("the backup's meta file is not text"));
        };
        let mut lines = text.lines().peekable();
        let mut is_first_schema = true;
        if let Some(version) = lines.peek().and_then(|line| line.strip_prefix(SCHEMA_PREFIX)) {
            if version != "2" && !version.starts_with("2.") {
                let what = format!("version {version:?} of the backup's meta file");
                return Err(Error::unsupported(what));
            }
            is_first_schema = false;
            lines.next();
        }
        let mut meta = Self {
            timestamp: number(lines.next(), "time")?,
            sequence: number(lines.next(), "sequence number")?,
            ..Self::default()
        };
        let expected = loop {
            let line = lines.next();
            match line.and_then(|line| line.split_once(' ')) {
                None => break number(line, "number of files")?,
                Some((METADATA, hex)) => meta.app_metadata = Some(from_hex(hex)?),
                Some((name, _)) if is_first_schema => return Err(unknown(name)),
                Some((name, _)) => check_ignorable(name)?,
            }
        };
        for line in lines {
            if !is_first_schema && line == FOOTER {
                break;
            }
            meta.files.push(BackupMetaFile::parse(line, is_first_schema)?);
        }
        if meta.files.len() as u64 != expected {
            let what = "the number of files in the backup's meta file does not match";
            return Err(Error::mismatch(what, expected, meta.files.len()));
        }
        Ok(meta)
    }
}

impl BackupMetaFile {
    fn parse(line: &str, is_first_schema: bool) -> Result<Self> {
        let mut words = line.split(' ');
        let path = words.next().unwrap_or_default();
        if !is_in_backup_folder(path) {
            let what =
                format!("the backup's meta file names {path:?}, which is not a file of backups");
            return Err(Error::corrupt(what));
        }
        let mut file = Self { path: path.to_owned(), ..Self::default() };
        while let Some(name) = words.next() {
            let Some(value) = words.next() else { return Err(unknown(name)) };
            match name {
                CHECKSUM => {
                    let checksum = number(Some(value), "checksum")?;
                    file.crc32c = Some(u32::try_from(checksum).map_err(|_| unknown(value))?);
                }
                SIZE if !is_first_schema => file.size = Some(number(Some(value), "size")?),
                EXCLUDED if !is_first_schema => file.excluded = value == "true",
                _ if is_first_schema => return Err(unknown(name)),
                _ => check_ignorable(name)?,
            }
        }
        if is_first_schema && file.crc32c.is_none() {
            return Err(Error::corrupt(format!(
                "the backup's meta file has no checksum of {path}"
            )));
        }
        Ok(file)
    }
}

/// Whether a path leads to a file of a backup and nowhere else: a forged one might.
fn is_in_backup_folder(path: &str) -> bool {
    let components: Vec<Component<'_>> = Path::new(path).components().collect();
    let is_plain = components.iter().all(|it| matches!(it, Component::Normal(_)));
    let first = path.split('/').next().unwrap_or_default();
    // `components` drops what is empty or `.`.
    let is_whole = path.split('/').count() == components.len() && !path.contains(['\\', '\0']);
    is_plain && is_whole && FOLDERS.contains(&first) && matches!(components.len(), 2 | 3)
}

fn check_ignorable(name: &str) -> Result<()> {
    match name.starts_with(NOT_IGNORABLE) {
        true => Err(Error::unsupported(format!("the field {name:?} of the backup's meta file"))),
        false => Ok(()),
    }
}

fn unknown(what: &str) -> Error {
    let excerpt: String = what.chars().take(64).collect();
    Error::corrupt(format!("the backup's meta file has the unexpected text {excerpt:?}"))
}

fn number(line: Option<&str>, what: &str) -> Result<u64> {
    let Some(line) = line else {
        return Err(Error::corrupt(format!("the backup's meta file ends before its {what}")));
    };
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| line.parse().ok()).flatten().ok_or_else(|| unknown(line))
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| unknown(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawn_example() {
        let text = "schema_version 2.0\n1794961573\n304\nmetadata 6e6f7465\n3\n\
                    shared_checksum/000018_sHWNEDYR3FFS8I6JCENXN_4222.sst crc32 440975942\n\
                    private/1/MANIFEST-000037 crc32 3814412530 size 7 temp kWarm\n\
                    shared/000012.sst ni::excluded true\n// FOOTER\nany thing\n";
        let meta = BackupMeta::parse(text.as_bytes()).unwrap();
        assert_eq!((meta.timestamp, meta.sequence), (1_794_961_573, 304));
        assert_eq!(meta.app_metadata.as_deref(), Some(&b"note"[..]));
        assert_eq!(meta.files[0].crc32c, Some(440_975_942));
        assert_eq!((meta.files[1].size, meta.files[1].excluded), (Some(7), false));
        assert_eq!((meta.files[2].crc32c, meta.files[2].excluded), (None, true));
    }

    #[test]
    fn damage_is_refused() {
        for text in [
            "",
            "1\n",
            "1\n2\n",
            "1\n2\n1\n",
            "1\n2\n0\nprivate/1/CURRENT crc32 1\n",
            "x\n2\n0\n",
            "1\n2\nother field\n0\n",
            "1\n2\nmetadata 6\n0\n",
            "1\n2\n1\nprivate/1/CURRENT\n",
            "1\n2\n1\nprivate/1/CURRENT crc32\n",
            "1\n2\n1\nprivate/1/CURRENT crc32 4294967296\n",
            "1\n2\n1\nprivate/1/CURRENT crc32 1 size 2\n",
            "1\n2\n1\n../1/CURRENT crc32 1\n",
            "1\n2\n1\nprivate/../CURRENT crc32 1\n",
            "1\n2\n1\nprivate/./CURRENT crc32 1\n",
            "1\n2\n1\n/private/1/CURRENT crc32 1\n",
            "1\n2\n1\nprivate crc32 1\n",
            "schema_version 3\n1\n2\n0\n",
            "schema_version 2\n1\n2\nni::new field\n0\n",
            "schema_version 2\n1\n2\n1\nprivate/1/CURRENT ni::new 1\n",
        ] {
            assert!(BackupMeta::parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(BackupMeta::parse(b"1\n2\n0\n").is_ok());
        assert!(BackupMeta::parse(b"\xff").is_err());
    }
}
