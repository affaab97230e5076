//! Verdicts about the single files of a database: logs, pipes in their place, tables that name no order.

use std::fs;

use crate::verify::{copy_of, verdict, verify};

/// Nobody writes to the pipe, so that whoever opens it waits for ever.
#[cfg(unix)]
#[test]
fn pipes_in_a_database_are_unreadable_and_do_not_block() {
    for name in ["IDENTITY", "OPTIONS-000001", "000105.blob", "MANIFEST-000005", "000104.sst"] {
        let folder = copy_of("rocksdb-blobs");
        let path = folder.path().join(name);
        let _ = fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        assert_eq!(verdict(folder.path()), (2, "unreadable".into()), "{name}");
        let text = format!("{:?}", verify(folder.path()).1);
        assert!(text.contains(name) && text.contains("a named pipe"), "{text}");
    }
}

/// In a recycled log, a record that cannot be read is followed by stale bytes, which carry the number of
/// another log, or by records of this one.
#[test]
fn damage_in_a_recycled_log_is_told_from_stale_bytes() {
    let folder = copy_of("rocksdb-wal-recycled");
    for (log, is_directory) in [("000019.log", false), ("000022.log", true)] {
        let path = folder.path().join(log);
        let bytes = fs::read(&path).expect("a log");
        let of = |at: usize| {
            let length = usize::from(u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]));
            (bytes.get(at + 7..at + 11) == bytes.get(7..11)).then_some(at + 11 + length)
        };
        let (second, third) = (of(0).expect("a record"), of(of(0).expect("one")).expect("two"));
        // Its checksum, length, number and payload.
        for at in [0, 4, 5, 7, 11] {
            let mut damaged = bytes.clone();
            damaged[second + at] ^= 0x40;
            fs::write(&path, &damaged).expect("written");
            assert_eq!(verdict(&path), (1, "damaged".into()), "{log} {at}");
            if is_directory {
                assert_eq!(verdict(folder.path()), (1, "damaged".into()), "{log} {at}");
            }
            // Nothing of this log follows: that is how a crash leaves it.
            for byte in &mut damaged[third..] {
                *byte = 0x55;
            }
            fs::write(&path, &damaged).expect("written");
            let (status, reports) = verify(&path);
            let notes = reports[0]["notes"].to_string();
            assert_eq!((status, &reports[0]["status"]), (0, &"sound".into()), "{log} {at}");
            assert_eq!(reports[0]["entries"].as_u64(), Some(1), "{log} {at}");
            // A record with the number of another log is how a whole one ends.
            assert_eq!(notes.contains(log), at != 7, "{log} {at}: {notes}");
        }
        fs::write(&path, &bytes).expect("written");
        assert_eq!(verdict(&path), (0, "sound".into()), "{log}");
    }
}
