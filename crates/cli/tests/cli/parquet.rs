//! Parquet as input.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::run::run;

/// Two row groups of a number, a text and bytes; the text of the last row is missing.
pub(crate) fn write(path: &Path) {
    let schema =
        "message rows { required int64 id; optional binary name (UTF8); required binary payload; }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().build());
    let file = File::create(path).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, properties).expect("a writer");
    for (first, names) in [(0i64, [Some("alice"), Some("bob")]), (2, [Some("carol"), None])] {
        let mut group = writer.next_row_group().expect("a row group");
        let mut column = group.next_column().expect("a column").expect("id");
        column
            .typed::<Int64Type>()
            .write_batch(&[first + 255, first], None, None)
            .expect("written");
        column.close().expect("closed");
        let mut column = group.next_column().expect("a column").expect("name");
        let values: Vec<ByteArray> = names.iter().flatten().map(|&name| name.into()).collect();
        let levels: Vec<i16> = names.iter().map(|name| i16::from(name.is_some())).collect();
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).expect("written");
        column.close().expect("closed");
        let mut column = group.next_column().expect("a column").expect("payload");
        let values = [ByteArray::from(vec![0, first as u8]), ByteArray::from(vec![255])];
        column.typed::<ByteArrayType>().write_batch(&values, None, None).expect("written");
        column.close().expect("closed");
        group.close().expect("closed");
    }
    writer.close().expect("closed");
}

#[test]
fn integers_are_in_order_and_bytes_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, out) = (folder.path().join("in.parquet"), folder.path().join("out.sst"));
    write(&input);
    let (input, out) = (input.display().to_string(), out.display().to_string());
    let ran = run(["build", &input, "-o", &out, "--key", "id", "--value", "payload"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    expect![[r#"
        8000000000000000 => ff
        8000000000000002 => ff
        80000000000000ff => 0000
        8000000000000101 => 0002
    "#]]
    .assert_eq(&run(["scan", &out, "--encoding", "hex"]).stdout);
}

/// Keys sort as the numbers do, as docs/formats/key-encoding.md says.
#[test]
fn negative_integers_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (input, out) = (folder.path().join("in.parquet"), folder.path().join("out.sst"));
    let schema = "message rows { required int64 id; }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().build());
    let file = File::create(&input).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, properties).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    let mut column = group.next_column().expect("a column").expect("id");
    column.typed::<Int64Type>().write_batch(&[1, -1, i64::MIN], None, None).expect("written");
    column.close().expect("closed");
    group.close().expect("closed");
    writer.close().expect("closed");
    let (input, out) = (input.display().to_string(), out.display().to_string());
    let ran = run(["build", &input, "-o", &out, "--key", "id", "--value", "id"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    expect![[r#"
        0000000000000000 => 8000000000000000
        7fffffffffffffff => ffffffffffffffff
        8000000000000001 => 0000000000000001
    "#]]
    .assert_eq(&run(["scan", &out, "--hex"]).stdout);
}

/// Any file leads to a table, or to one line with the reason why not.
#[test]
fn malformed_files_are_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, out) = (path("in.parquet"), path("out.sst"));
    write(Path::new(&input));
    let sound = std::fs::read(&input).expect("a file");
    let mut refused = 0;
    for place in (4..sound.len()).step_by(5) {
        let mut bytes = sound.clone();
        bytes[place] = bytes[place].wrapping_add(0x7f);
        std::fs::write(&input, bytes).expect("written");
        let ran =
            run(["build", &input, "-o", &out, "--force", "--key", "id", "--value", "payload"]);
        assert!(ran.status == 0 || ran.status == 2, "{place}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{place}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), usize::from(ran.status == 2), "{}", ran.stderr);
        refused += usize::from(ran.status == 2);
    }
    assert!(refused > 0);
}

#[test]
fn errors_name_the_row_or_the_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.parquet");
    write(&input);
    std::fs::write(folder.path().join("no.parquet"), "nonsense").expect("written");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, no, out) = (path("in.parquet"), path("no.parquet"), path("out.sst"));
    let mut all = String::new();
    for arguments in [
        ["build", &input, "-o", &out, "--key", "name", "--value", "payload"],
        ["build", &input, "-o", &out, "--key", "di", "--value", "payload"],
        ["build", &no, "-o", &out, "--key", "id", "--value", "payload"],
    ] {
        let ran = run(arguments);
        all.push_str(&ran.all_in(folder.path()));
    }
    expect![[r#"
        --- stderr
        sst: TMP/in.parquet: invalid argument: row 3: the key is null
        --- status 2
        --- stderr
        sst: TMP/in.parquet: no column "di" (found id, name, payload): use --key and --value; did you mean "id"?
        --- status 2
        --- stderr
        sst: TMP/no.parquet: Parquet error: Invalid Parquet file. Corrupt footer
        --- status 2
    "#]].assert_eq(&all);
    assert_eq!(crate::run::names_in(folder.path()), ["in.parquet", "no.parquet"]);
}
