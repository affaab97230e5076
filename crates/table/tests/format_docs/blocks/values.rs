//! Values that are more than bytes of the user.

use sstkit_table::raw::{
    BlobIndex, ColumnValue, EntryKind, InternalKey, TableView, decode_wide_columns,
};

use crate::annotated::Dump;
use crate::golden::with_table;
use crate::trailer_dump::dump_trailer;
use crate::wording::{count, key_text};

/// User key and value of the first entry of a kind.
fn first_of(table: &TableView<'_>, kind: EntryKind) -> (String, Vec<u8>) {
    let mut entries = table.entries().expect("entries");
    while entries.advance().expect("an entry") {
        let key = InternalKey::decode_from(entries.key()).expect("an internal key");
        if key.kind == kind {
            return (key_text(key.user_key), entries.value().to_vec());
        }
    }
    panic!("no {kind:?}");
}

pub(super) fn entity() -> String {
    with_table("types-entities.sst", |table| {
        let (key, value) = first_of(table, EntryKind::WideColumnEntity);
        let columns = decode_wide_columns(&value).expect("columns");
        let mut dump = Dump::new(&value);
        dump.note(format!("the value of {key} in types-entities.sst"));
        let [version, number] =
            dump.varints(|[version, number]| format!("version {version}, {number} columns"));
        assert_eq!((version, number), (1, columns.len() as u64));
        let mut lengths = Vec::new();
        for column in &columns {
            let length = dump.peek(1)[0].into();
            dump.varints(|[length]| format!("name, {}", count(length as usize, "byte")));
            let name = dump.bytes(length, key_text(column.name));
            assert_eq!(name, column.name);
            let [length] =
                dump.varints(|[length]| format!("value, {}", count(length as usize, "byte")));
            lengths.push(length as usize);
        }
        for (column, length) in columns.iter().zip(lengths) {
            let name = match column.name {
                b"" => "the default column".to_owned(),
                name => key_text(name),
            };
            let value = dump.short(length, format!("value of {name}"));
            assert_eq!(column.value, ColumnValue::Inline(value));
        }
        dump.finish()
    })
}

pub(super) fn blob_index() -> String {
    with_table("embedded-blobs.sst", |table| {
        let (key, value) = first_of(table, EntryKind::BlobIndex);
        let mut dump = Dump::new(&value);
        dump.note(format!("the value of {key} in embedded-blobs.sst"));
        dump.bytes(1, "type 01: in a file, without expiration");
        let [file, offset, size] = dump.varints(|[file, offset, size]| {
            format!("file {file} (this one), offset {offset:#x}, size {size}")
        });
        let codec = dump.bytes(1, "codec: not compressed")[0];
        let expected = BlobIndex::Stored { expiration: None, file, offset, size, codec };
        assert_eq!(BlobIndex::decode_from(&value).expect("a blob index"), expected);
        let mut out = dump.finish();

        let end = (offset + size) as usize + 5;
        let mut dump = Dump::starting_at(&table.file()[..end], offset as usize);
        dump.note(format!("the record at {offset:#x} of the file"));
        let blob = dump.short(size as usize, format!("the value, {size} bytes"));
        assert_eq!(table.embedded_blob(&expected).expect("a blob"), blob);
        dump_trailer(&mut dump, table, offset as usize);
        out.push_str(&dump.finish());
        out
    })
}
