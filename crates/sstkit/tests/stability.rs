//! Public enums, and structs without private fields, can be extended: they are `#[non_exhaustive]`. Those that are
//! not are listed here, each with the reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The crates that programs use.
const CRATES: [&str; 6] = ["coding", "filter", "table", "db", "inspect", "object-store"];

/// Fixed by a format, or closed by their meaning: programs may match all of them.
const CLOSED_ENUMS: &[(&str, &str)] = &[
    ("BlockBloom", "the two engines that write filter blocks"),
    ("CacheLine", "the sizes that legacy filters were built for"),
    ("Difference", "removed, added or changed"),
    ("DiffSide", "a table, a column family, nothing"),
    ("Direction", "forwards or backwards"),
    ("Encoding", "chosen by the caller, never read from a file"),
    ("Engine", "LevelDB or RocksDB: who matches it must handle both"),
    ("EntryUse", "each entry is visible, hidden in one of two ways, or a tombstone"),
    ("HashLookup", "the three meanings of a bucket"),
    ("InternalDifference", "an entry or a range tombstone"),
    ("MemtableOrRun", "not exported"),
    ("Reaction", "what a reader of a log can do"),
    ("Recency", "the order of sources is known or not"),
    ("RecordValue", "who exports records must handle every kind of value"),
];

/// Fixed by a format, or made by callers field by field.
const CLOSED_STRUCTS: &[(&str, &str)] = &[
    ("Base", "made by readers of several tables"),
    ("BlockHandle", "of the format"),
    ("BlockKey", "a key: caches may make their own"),
    ("BlockWindow", "made by callers"),
    ("Column", "a name and a value"),
    ("Compression", "a codec and a level"),
    ("FileDumpOptions", "made by callers"),
    ("Fragment", "made by readers of several tables"),
    ("FragmentGap", "made by readers of several tables"),
    ("InternalKey", "of the format"),
    ("PlannedKeys", "made by callers"),
    ("ReadView", "made by callers"),
    ("RocksDbVersion", "made by callers"),
    ("ScanRequest", "made by callers"),
    ("SeenEntry", "made by readers of several tables"),
    ("Trailer", "of the format"),
    ("WideColumn", "of the format"),
];

/// The public types of a file that cannot be extended, as (is an enum, name).
fn closed_types(text: &str) -> Vec<(bool, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut closed = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let declaration = line.trim_start();
        let (is_enum, rest) = match (
            declaration.strip_prefix("pub enum "),
            declaration.strip_prefix("pub struct "),
        ) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) if line.ends_with('{') => (false, rest),
            _ => continue,
        };
        let name: String =
            rest.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
        let attributes = lines[..at].iter().rev().map(|line| line.trim_start());
        let mut attributes =
            attributes.take_while(|it| it.starts_with('#') || it.starts_with("//"));
        if attributes.any(|it| it == "#[non_exhaustive]") {
            continue;
        }
        let members = lines[at + 1..].iter().map(|line| line.trim()).take_while(|it| *it != "}");
        let fields: Vec<&str> =
            members.filter(|it| !it.starts_with('#') && !it.starts_with("//")).collect();
        // Private fields keep others from making such a value, or from naming all of its fields.
        if is_enum || !fields.is_empty() && fields.iter().all(|it| it.starts_with("pub ")) {
            closed.push((is_enum, name));
        }
    }
    closed
}

fn visit(folder: &Path, found: &mut BTreeSet<(bool, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            _ if path.is_dir() => visit(&path, found),
            Some(extension) if extension == "rs" => {
                found.extend(closed_types(&fs::read_to_string(&path).unwrap()));
            }
            _ => {}
        }
    }
}

#[test]
fn types_that_grow_are_non_exhaustive() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for name in CRATES {
        visit(&crates.join(name).join("src"), &mut found);
    }
    for (is_enum, expected) in [(true, CLOSED_ENUMS), (false, CLOSED_STRUCTS)] {
        let found: BTreeSet<&str> =
            found.iter().filter(|it| it.0 == is_enum).map(|it| it.1.as_str()).collect();
        let expected: BTreeSet<&str> = expected.iter().map(|it| it.0).collect();
        assert_eq!(found, expected, "either #[non_exhaustive], or listed with a reason");
    }
}

#[test]
fn declarations_are_recognised() {
    let text = "\
/// Open.
#[derive(Debug)]
#[non_exhaustive]
pub enum Open {
    A,
}

    #[derive(Debug)]
    pub enum Closed {
        A => \"a\",
    }

pub struct Plain<'a> {
    /// A field.
    #[serde(default)]
    pub field: &'a str,
}

pub struct Partly {
    pub field: u32,
    other: u32,
}

pub struct Tuple(pub u32);
";
    let closed = closed_types(text);
    assert_eq!(closed, [(true, "Closed".to_owned()), (false, "Plain".to_owned())]);
}
