//! CSV and TSV: a field is what is in the file.

use std::fs;

use crate::run::{names_in, run, run_with};

/// Builds a table from a file of this name, and scans it; or the message.
fn built(name: &str, input: &[u8], options: &[&str]) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path(name), input).expect("written");
    let (input_path, out) = (path(name), path("out.sst"));
    let mut results = Vec::new();
    // From a file, and from standard input.
    let format = name.rsplit('.').next().expect("an ending");
    for start in [&["build", &input_path][..], &["build", "-", "--input-format", format]] {
        let arguments = [start, &["-o", &out, "--force"], options].concat();
        let ran = run_with(input, &arguments);
        if ran.status != 0 {
            assert_eq!((ran.status, names_in(folder.path())), (2, vec![name.to_owned()]));
            let message = ran.stderr.replace(&input_path, "IN").replace("standard input", "IN");
            results.push(Err(message));
            continue;
        }
        assert_eq!(ran.stderr, "");
        results.push(Ok(run(["scan", &out]).stdout));
        fs::remove_file(&out).expect("a table");
    }
    assert_eq!(results[0], results[1]);
    results.remove(0)
}

#[test]
fn a_backslash_in_csv_and_tsv_is_a_backslash() {
    for (name, input) in [
        ("in.csv", &b"key,value\nC:\\new,a\\\\b\\x00\xff\n"[..]),
        ("in.csv", b"key,value\r\n\"C:\\new\",\"a\\\\b\\x00\xff\"\r\n"),
        ("in.tsv", b"key\tvalue\nC:\\new\ta\\\\b\\x00\xff\n"),
    ] {
        let scanned = built(name, input, &[]).expect("a table");
        assert_eq!(scanned, "C:\\\\new => a\\\\\\\\b\\\\x00\\xff\n", "{name}");
        assert_eq!(
            built(name, input, &["--input-encoding", "raw", "--encoding", "hex"]),
            Ok(scanned)
        );
    }
}

#[test]
fn an_encoding_that_is_named_applies_to_the_input() {
    for (options, key, value) in [
        (&["--encoding", "escape"][..], "a\\x00", "\\t1"),
        (&["--encoding", "hex"], "6100", "0931"),
        (&["--input-encoding", "hex"], "6100", "0931"),
        (&["--encoding", "hex", "--input-encoding", "escape"], "a\\x00", "\\t1"),
        (&["--encoding", "base64"], "YQA=", "CTE="),
    ] {
        let csv = format!("key,value\n{key},{value}\n");
        assert_eq!(built("in.csv", csv.as_bytes(), options).as_deref(), Ok("a\\x00 => \\x091\n"));
        let tsv = format!("key\tvalue\n{key}\t{value}\n");
        assert_eq!(built("in.tsv", tsv.as_bytes(), options).as_deref(), Ok("a\\x00 => \\x091\n"));
    }
    // NDJSON is what `scan` prints, unless it is said to be raw.
    let ndjson = br#"{"key":"a\\x41","value":"\u00e4\n"}"#;
    assert_eq!(built("in.ndjson", ndjson, &[]).as_deref(), Ok("aA => \\xc3\\xa4\\x0a\n"));
    let raw = built("in.ndjson", ndjson, &["--input-encoding", "raw"]);
    assert_eq!(raw.as_deref(), Ok("a\\\\x41 => \\xc3\\xa4\\x0a\n"));
}

#[test]
fn rows_that_are_not_whole_are_errors_with_their_line() {
    for (name, input, expected) in [
        (
            "in.csv",
            "key,value\na,1\nb,\"2\nc,3\n",
            "IN: line 5: the quote opened in line 3 is never closed",
        ),
        ("in.csv", "key,value\na,1\nb\n", "IN: line 3: 1 fields, but the header has 2"),
        ("in.csv", "key,value\na,1,\n", "IN: line 2: 3 fields, but the header has 2"),
        ("in.csv", "key,value\n\"a\"b,1\n", "IN: line 2: text after a closing quote"),
        ("in.tsv", "key\tvalue\na\t1\tx\n", "IN: line 2: 3 fields, but the header has 2"),
        ("in.tsv", "key\tvalue\n\"a\n", "IN: line 2: 1 fields, but the header has 2"),
    ] {
        assert_eq!(built(name, input.as_bytes(), &[]), Err(format!("sst: {expected}\n")));
    }
}

#[test]
fn tsv_has_no_quotes() {
    let scanned = built("in.tsv", b"key\tvalue\n\"a\"\t\"b\n\"\"\t,\n", &[]);
    assert_eq!(scanned.as_deref(), Ok("\"\" => ,\n\"a\" => \"b\n"));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    for (name, input) in [
        ("in.csv", "\u{feff}key,value\na,1\n"),
        ("in.csv", "\u{feff}\"key\",value\na,1\n"),
        ("in.tsv", "\u{feff}key\tvalue\na\t1\n"),
        ("in.ndjson", "\u{feff}{\"key\":\"a\",\"value\":\"1\"}\n"),
    ] {
        assert_eq!(built(name, input.as_bytes(), &[]).as_deref(), Ok("a => 1\n"), "{name}");
    }
    // Nowhere but at the start.
    let scanned = built("in.csv", "key,value\n\u{feff}a,1\n".as_bytes(), &[]);
    assert_eq!(scanned.as_deref(), Ok("\\xef\\xbb\\xbfa => 1\n"));
}
