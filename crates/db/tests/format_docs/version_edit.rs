//! The first records of a MANIFEST.

use sstkit_db::raw::{LogEvent, LogReader, VersionEdit};
use sstkit_table::raw::Engine;

use crate::dump::{Dump, record_header};
use crate::golden;

/// Three records of LevelDB's: the comparator, a new log, and the state after a log became a table.
pub(crate) fn version_edit() -> String {
    let bytes = golden("leveldb-nofilter/MANIFEST-000002");
    let mut dump = Dump::new(&bytes);
    let mut log = LogReader::new(bytes.as_slice(), Engine::LevelDb, 0);
    for _ in 0..3 {
        let Ok(Some(LogEvent::Record(record))) = log.next_record() else { panic!("a record") };
        assert_eq!(record.offset, dump.position() as u64);
        let edit = VersionEdit::decode_from(record.payload, Engine::LevelDb).expect("an edit");
        let (length, kind) = record_header(&mut dump);
        assert_eq!((length, kind), (record.payload.len() as u64, 1));
        show_edit(&mut dump, length as usize, &edit);
    }
    dump.finish()
}

fn show_edit(dump: &mut Dump<'_>, length: usize, edit: &VersionEdit) {
    let end = dump.position() + length;
    while dump.position() < end {
        match dump.peek(1)[0] {
            1 => {
                dump.bytes(1, "tag 1: Comparator");
                let name = dump.slice("name");
                assert_eq!(edit.comparator.as_deref().map(str::as_bytes), Some(name));
            }
            2 => assert_eq!(Some(scalar(dump, "2: LogNumber")), edit.log_number),
            3 => assert_eq!(Some(scalar(dump, "3: NextFileNumber")), edit.next_file_number),
            4 => assert_eq!(Some(scalar(dump, "4: LastSequence")), edit.last_sequence),
            9 => assert_eq!(Some(scalar(dump, "9: PrevLogNumber")), edit.prev_log_number),
            7 => show_file(dump, edit),
            tag => panic!("tag {tag}"),
        }
    }
    assert_eq!(dump.position(), end);
}

fn scalar(dump: &mut Dump<'_>, tag: &str) -> u64 {
    dump.bytes(1, format!("tag {tag}"));
    dump.varint(|number| number.to_string())
}

fn show_file(dump: &mut Dump<'_>, edit: &VersionEdit) {
    dump.bytes(1, "tag 7: NewFile");
    let level = dump.varint(|level| format!("level {level}"));
    let number = dump.varint(|number| format!("number {number}"));
    let size = dump.varint(|size| format!("{size} bytes"));
    let smallest = dump.slice("smallest internal key");
    let largest = dump.slice("largest internal key");
    let (edit_level, file) = &edit.new_files[0];
    assert_eq!((level, number, size), (u64::from(*edit_level), file.number, file.size));
    assert_eq!((smallest, largest), (&file.smallest[..], &file.largest[..]));
}
