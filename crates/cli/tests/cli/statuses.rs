//! The same damage has the same exit status for every command: 2, and 1 for `verify`.

use std::fs;
use std::path::Path;

use crate::run::{names_in, run, testdata};

fn copy(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let source = testdata(name);
    for name in names_in(&source) {
        fs::copy(source.join(&name), folder.path().join(&name)).expect("copied");
    }
    folder
}

fn files(folder: &Path, of: impl Fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    names_in(folder).iter().filter(|name| of(name)).map(|name| folder.join(name)).collect()
}

fn statuses(folder: &Path) -> Vec<(&'static str, i32)> {
    let (path, elsewhere) = (folder.display().to_string(), tempfile::tempdir().expect("a folder"));
    let out = elsewhere.path().join("out.sst").display().to_string();
    let key = run(["scan", &path, "--limit", "1", "--keys-only"]).stdout;
    let key = key.trim_end().to_owned();
    let reading = [
        ("info", &["info", &path][..]),
        ("scan", &["scan", &path, "--count"]),
        ("get", &["get", &path, &key]),
        ("filter", &["filter", &path]),
        ("compact", &["compact", &path, "-o", &out]),
        ("verify", &["verify", &path]),
    ];
    let statuses = reading.map(|(name, arguments)| (name, run(arguments).status));
    let compacted = statuses.contains(&("compact", 0));
    assert_eq!(Path::new(&out).exists(), compacted);
    statuses.to_vec()
}

const DAMAGED: [(&str, i32); 6] =
    [("info", 2), ("scan", 2), ("get", 2), ("filter", 2), ("compact", 2), ("verify", 1)];

#[test]
fn commands_agree_about_a_lost_or_damaged_manifest() {
    let is_manifest = |name: &str| name.starts_with("MANIFEST");
    for (what, change) in [
        ("no MANIFEST", (|path| fs::remove_file(path).expect("removed")) as fn(&Path)),
        ("garbage", |path| fs::write(path, [7; 100]).expect("written")),
    ] {
        let folder = copy("databases/rocksdb-leveled-bloom");
        files(folder.path(), is_manifest).iter().for_each(|path| change(path));
        assert_eq!(statuses(folder.path()), DAMAGED, "{what}");
    }
    let folder = copy("databases/rocksdb-leveled-bloom");
    fs::remove_file(folder.path().join("CURRENT")).expect("removed");
    assert_eq!(statuses(folder.path()), DAMAGED, "no CURRENT");
}

/// Engines take a log to end where it is damaged, and so do all commands, which say it.
#[test]
fn commands_agree_about_a_damaged_log() {
    for database in ["databases/rocksdb-wal-plus-tables", "databases/rocksdb-wal-recycled"] {
        let folder = copy(database);
        for path in files(folder.path(), |name| name.ends_with(".log")) {
            let mut bytes = fs::read(&path).expect("a log");
            if bytes.len() > 2000 {
                bytes[1000] ^= 0xff;
                fs::write(&path, bytes).expect("written");
            }
        }
        let fine = DAMAGED.map(|(name, _)| (name, i32::from(name == "verify")));
        assert_eq!(statuses(folder.path()), fine, "{database}");
    }
}
