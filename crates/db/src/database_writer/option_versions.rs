//! Which versions of RocksDB know an option.
//!
//! RocksDB refuses an OPTIONS file with an option that it does not know. It never forgets one: what
//! has no effect any more can still be set.

use sstkit_table::RocksDbVersion;

use crate::raw::OptionsSection;

/// The first version whose MANIFEST has the form in which tables are written here.
pub(super) const FIRST_VERSION: RocksDbVersion = RocksDbVersion::new(4, 2);
/// The first version that skips fields of a MANIFEST which it does not know.
pub(super) const SKIPS_UNKNOWN_FIELDS: RocksDbVersion = RocksDbVersion::new(6, 0);
/// The first version in which a compression option is an object of named fields.
const NAMED_COMPRESSION_FIELDS: RocksDbVersion = RocksDbVersion::new(6, 12);
/// The first version that creates Ribbon filters by name.
const RIBBON: RocksDbVersion = RocksDbVersion::new(6, 22);

/// The structs among the options, whose fields are in the table as well. Fields of other objects
/// belong to classes that users may have written themselves.
const STRUCTS: [&str; 5] = [
    "compaction_options_fifo",
    "compaction_options_universal",
    "compression_opts",
    "bottommost_compression_opts",
    "blob_compression_opts",
];

/// A line for each version, with the options that it was the first to know.
const SINCE: &str = include_str!("option_versions.txt");

/// Fields with the name of an option that is older.
const YOUNGER_FIELDS: [(&str, RocksDbVersion); 1] = [("checksum", RocksDbVersion::new(8, 6))];

/// The first version that knows a field of one of the [`STRUCTS`].
fn field_since(name: &str) -> Option<RocksDbVersion> {
    let younger = YOUNGER_FIELDS.into_iter().find(|(field, _)| *field == name);
    younger.map(|(_, version)| version).or_else(|| since(name))
}

/// The first version that knows an option; `None` if none does, up to 11.9.
fn since(name: &str) -> Option<RocksDbVersion> {
    let lines = SINCE.lines().filter(|line| !line.starts_with('#'));
    let mut versions = lines.filter_map(|line| line.split_once(' '));
    let (version, _) = versions.find(|(_, names)| names.split(' ').any(|it| it == name))?;
    version.parse().ok()
}

/// Removes what `version` does not know. Of unknown options, those stay that a file
/// of that version, or an older one, has.
pub(super) fn restrict(
    section: &mut OptionsSection,
    version: RocksDbVersion,
    written_by: Option<RocksDbVersion>,
) {
    let is_newer = written_by.is_some_and(|written_by| version < written_by);
    let is_known = |since: Option<RocksDbVersion>| match since {
        Some(since) => since <= version,
        None => !is_newer,
    };
    section.retain(|parent, name, value| {
        let since = match parent {
            None => Some(since(name)),
            Some(parent) => STRUCTS.contains(&parent).then(|| field_since(name)),
        };
        let is_readable = match name {
            "compression_opts" | "bottommost_compression_opts" => {
                !value.starts_with('{') || version >= NAMED_COMPRESSION_FIELDS
            }
            "filter_policy" => !value.contains("ribbonfilter") || version >= RIBBON,
            _ => true,
        };
        since.is_none_or(is_known) && is_readable
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::OptionsFile;

    fn restricted(text: &str, version: &str) -> String {
        let file = OptionsFile::parse(&format!("[DBOptions]\n[CFOptions \"a\"]\n{text}")).unwrap();
        let mut section = file.section("CFOptions", Some("a")).unwrap().clone();
        let version = version.parse().unwrap();
        restrict(&mut section, version, Some(RocksDbVersion::new(11, 9)));
        let lines = section.stored().map(|(name, value)| format!("{name}={value}"));
        lines.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn all_versions_are_parsed() {
        let lines = SINCE.lines().filter(|line| !line.starts_with('#'));
        let versions: Vec<RocksDbVersion> =
            lines.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
        assert!(versions.is_sorted() && versions.len() > 50, "{versions:?}");
        assert_eq!(since("async_wal_precreate"), Some(RocksDbVersion::new(11, 3)));
        assert_eq!(since("num_levels"), Some(FIRST_VERSION));
        assert_eq!(since("num"), None);
    }

    #[test]
    fn newer_options_are_left_out() {
        let text = "num_levels=7\nuncache_aggressiveness=0\nttl=5\nnew=1";
        assert_eq!(restricted(text, "11.9"), "num_levels=7 uncache_aggressiveness=0 ttl=5 new=1");
        assert_eq!(restricted(text, "9.4"), "num_levels=7 uncache_aggressiveness=0 ttl=5");
        assert_eq!(restricted(text, "9.3"), "num_levels=7 ttl=5");
    }

    #[test]
    fn newer_fields_of_structs_are_left_out() {
        let text = "compaction_options_fifo={max_data_files_size=0;ttl=0;}\n\
                    merge_operator={id=Mine;max_data_files_size=1;}\n\
                    compression_opts={level=3;}\nfilter_policy=ribbonfilter:10:0";
        let old = restricted(text, "9.8");
        assert!(old.contains("compaction_options_fifo={ttl=0;}"), "{old}");
        assert!(old.contains("max_data_files_size=1"), "{old}");
        assert!(old.contains("compression_opts={level=3;}"), "{old}");
        let zstd = "compression_opts={level=3;checksum=false;}\nchecksum=kXXH3";
        assert_eq!(
            restricted(zstd, "8.6"),
            "compression_opts={level=3;checksum=false;} checksum=kXXH3"
        );
        assert_eq!(restricted(zstd, "8.5"), "compression_opts={level=3;} checksum=kXXH3");
        let older = restricted(text, "6.11");
        assert!(!older.contains("compression_opts") && !older.contains("ribbon"), "{older}");
    }
}
