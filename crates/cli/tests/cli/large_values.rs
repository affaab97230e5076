//! Values that are larger than most, and what they may take.

use std::path::PathBuf;

use sstkit_table::raw::Codec;
use sstkit_table::{TableOptions, TableWriter};

use crate::run::{run, run_wide};

/// A table with one value of `length` bytes that compresses to nearly nothing.
fn table(folder: &tempfile::TempDir, length: usize) -> PathBuf {
    let path = folder.path().join("large.sst");
    let options = TableOptions::rocksdb().compression(Codec::Zstd);
    let mut writer = TableWriter::create(&path, &options).expect("created");
    writer.put(b"k", &vec![0; length]).expect("put");
    writer.finish().expect("finished");
    path
}

/// The text of a value is five times as long, and is not held in memory.
#[test]
#[cfg(target_os = "linux")]
fn a_large_value_is_printed_without_copies_of_it() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    const LENGTH: usize = 100 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let path = table(&folder, LENGTH);
    let database = folder.path().join("tables");
    std::fs::create_dir(&database).expect("a folder");
    std::fs::copy(&path, database.join("000011.sst")).expect("copied");
    for path in [path, database] {
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -v 600000; exec \"$0\" scan --format json \"$1\""])
            .args([env!("CARGO_BIN_EXE_sst").as_ref(), path.as_os_str()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("runs");
        let (mut length, mut start, mut buffer) = (0, Vec::new(), vec![0; 1 << 20]);
        let mut stdout = child.stdout.take().expect("piped");
        loop {
            let read = stdout.read(&mut buffer).expect("read");
            if read == 0 {
                break;
            }
            length += read;
            start.extend_from_slice(&buffer[..read.min(40_usize.saturating_sub(start.len()))]);
        }
        let ended = child.wait_with_output().expect("ended");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{}: {said}", path.display());
        assert_eq!(length, "{'key':'k','value':''}\n".len() + 5 * LENGTH, "{}", path.display());
        assert!(start.starts_with(br#"{"key":"k","value":"\\x00\\x00"#));
    }
}

/// What is printed in parts is what is printed at once.
#[test]
fn a_long_value_is_printed_as_a_short_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("long.sst");
    let value: Vec<u8> = (0..400_001u32).map(|i| (i % 256) as u8).collect();
    let mut writer = TableWriter::create(&path, &TableOptions::rocksdb()).expect("created");
    writer.put(b"\"k\\", &value).expect("put");
    writer.finish().expect("finished");
    let path = path.to_str().expect("UTF-8");
    for &encoding in sstkit_inspect::Encoding::ALL {
        let arguments = ["scan", path, "--encoding", encoding.name()];
        let (key, text) = (encoding.encode(b"\"k\\"), encoding.encode(&value));
        assert!(run(arguments).stdout == format!("{key} => {text}\n"), "{encoding}");
        let json = run(arguments.iter().chain(&["--format", "json"])).json();
        assert!(json == [serde_json::json!({"key": key, "value": text})], "{encoding}");
        let wide = run_wide(60, &arguments).stdout;
        assert!(wide.trim_end().ends_with(&text[text.len() - 10..]), "{wide}");
        assert_eq!(wide.trim_end().chars().count(), 60);
    }
}

#[test]
fn the_limit_on_blocks_is_named_with_the_option_that_raises_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = table(&folder, 2 << 20);
    let path = path.to_str().expect("UTF-8");
    assert_eq!(run(["get", path, "k", "--encoding", "hex"]).status, 2, "k is no hex");
    assert_eq!(run(["scan", path, "--keys-only"]).stdout, "k\n");
    for arguments in [vec!["scan", path], vec!["get", path, "k"], vec!["verify", path]] {
        let ran = run(arguments.iter().chain(&["--max-block-size", "1MiB"]));
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("--max-block-size") && ran.status != 0, "{said}");
        let ran = run(arguments.iter().chain(&["--max-block-size", "3MiB"]));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
}
