//! A blob file from its header to its footer.

use sstkit_db::raw::BlobFile;

use crate::dump::Dump;
use crate::golden;

const FOOTER_SIZE: usize = 32;

/// The header, the first record, and the footer.
pub(crate) fn blob_file() -> String {
    let bytes = golden("rocksdb-blobs/000011.blob");
    let file = BlobFile::open(bytes.clone(), 0).expect("a blob file");
    let first = file.records().next().expect("a record").expect("a sound one");
    let mut dump = Dump::new(&bytes);
    dump.bytes(4, "magic number");
    dump.fixed(4, |version| format!("version {version}"));
    dump.fixed(4, |family| format!("column family {family}"));
    dump.fixed(1, |flags| format!("flags {flags}"));
    let codec = dump.fixed(1, |codec| format!("codec {codec:02x}: LZ4"));
    assert_eq!(codec, u64::from(file.header().codec));
    dump.bytes(16, "expiration, from and to: none");

    assert_eq!(dump.position() as u64, first.offset);
    let key_length = dump.fixed(8, |length| format!("key: {length} bytes"));
    let value_length = dump.fixed(8, |length| format!("value: {length} bytes as stored"));
    dump.fixed(8, |expiration| format!("expiration {expiration}"));
    dump.fixed(4, |crc| format!("masked CRC-32C of the 24 bytes above {crc:#010x}"));
    dump.fixed(4, |crc| format!("masked CRC-32C of key and value {crc:#010x}"));
    let key = dump.bytes(key_length as usize, first.key.escape_ascii().to_string());
    assert_eq!(first.key, key);
    assert_eq!((dump.position() as u64, value_length), (first.value_offset, first.stored_size));
    let end = dump.position() + value_length as usize;
    dump.varint(|size| {
        assert_eq!(size, first.value.len() as u64);
        format!("size {size}, <- the blob index points here")
    });
    dump.skip_to(end, "an LZ4 block");

    dump.skip_to(bytes.len() - FOOTER_SIZE, "more records");
    dump.bytes(4, "magic number");
    let count = dump.fixed(8, |count| format!("{count} blobs"));
    assert_eq!(Some(count), file.blob_count());
    dump.bytes(16, "expiration, from and to: none");
    dump.fixed(4, |crc| format!("masked CRC-32C of the 28 bytes above {crc:#010x}"));
    dump.finish()
}
