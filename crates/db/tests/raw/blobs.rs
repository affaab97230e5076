//! Blob files made by hand, whole and damaged.

use bytes::Bytes;
use sstkit_coding::checksum::{ChecksumType, mask_crc};
use sstkit_db::raw::BlobFile;
use sstkit_db::{ErrorKind, Result};
use sstkit_table::Value;
use sstkit_table::raw::BlobIndex;

const LZ4: u8 = 4;
const HEADER_SIZE: usize = 30;

fn crc(bytes: &[u8]) -> [u8; 4] {
    let crc = match bytes.split_last() {
        Some((last, contents)) => ChecksumType::Crc32c.compute(contents, *last),
        None => mask_crc(0),
    };
    crc.to_le_bytes()
}

/// A file of column family 2, and the indexes of its blobs.
fn blob_file(codec: u8, blobs: &[(&[u8], &[u8])]) -> (Vec<u8>, Vec<BlobIndex<'static>>) {
    let mut file = vec![0x37, 0x8f, 0x24, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, codec];
    file.extend([0; 16]);
    let mut indexes = Vec::new();
    for (key, value) in blobs {
        let mut header = Vec::new();
        header.extend((key.len() as u64).to_le_bytes());
        header.extend((value.len() as u64).to_le_bytes());
        header.extend([0; 8]);
        file.extend(&header);
        file.extend(crc(&header));
        file.extend(crc(&[*key, *value].concat()));
        file.extend(*key);
        let (offset, size) = (file.len() as u64, value.len() as u64);
        indexes.push(BlobIndex::Stored { expiration: None, file: 9, offset, size, codec });
        file.extend(*value);
    }
    let mut footer = vec![0x37, 0x8f, 0x24, 0];
    footer.extend((blobs.len() as u64).to_le_bytes());
    footer.extend([0; 16]);
    file.extend(&footer);
    file.extend(crc(&footer));
    (file, indexes)
}

fn open(bytes: &[u8]) -> Result<BlobFile<Bytes>> {
    BlobFile::open(Bytes::copy_from_slice(bytes), 2)
}

const BLOBS: [(&[u8], &[u8]); 3] = [(b"alice", b"large"), (b"", b""), (b"bob", b"larger")];

#[test]
fn blobs_are_found_and_listed() {
    let (bytes, indexes) = blob_file(0, &BLOBS);
    let file = open(&bytes).unwrap();
    assert_eq!((file.header().column_family, file.header().codec), (2, 0));
    assert_eq!((file.blob_count(), file.size()), (Some(3), bytes.len() as u64));
    for ((key, value), index) in BLOBS.iter().zip(&indexes) {
        assert_eq!(file.get(key, index).unwrap(), *value);
    }
    let listed: Vec<_> = file.records().map(Result::unwrap).collect();
    assert_eq!(listed.len(), 3);
    for (record, (index, (key, value))) in listed.iter().zip(indexes.iter().zip(BLOBS)) {
        let BlobIndex::Stored { offset, size, .. } = *index else { unreachable!() };
        assert_eq!((record.value_offset, record.stored_size), (offset, size));
        assert_eq!(
            (&record.key, &record.value),
            (&Value::from(key.to_vec()), &value.to_vec().into())
        );
    }
    assert_eq!(listed[0].offset, HEADER_SIZE as u64);
}

#[test]
fn values_are_decompressed() {
    // Size 9, then an LZ4 block of nine literals.
    let (bytes, indexes) = blob_file(LZ4, &[(b"k", b"\x09\x90123456789")]);
    assert_eq!(open(&bytes).unwrap().get(b"k", &indexes[0]).unwrap(), b"123456789");
    let (bytes, indexes) = blob_file(LZ4, &[(b"k", b"\xff\xff\xff\xff\x0f\x90123456789")]);
    let error = open(&bytes).unwrap().get(b"k", &indexes[0]).unwrap_err();
    assert_eq!(error.offset(), Some(HEADER_SIZE as u64));
}

#[test]
fn an_index_must_fit() {
    let (bytes, _) = blob_file(0, &BLOBS);
    let file = open(&bytes).unwrap();
    let at =
        |offset, size, codec| BlobIndex::Stored { expiration: None, file: 9, offset, size, codec };
    let offset = (HEADER_SIZE + 32 + 5) as u64;
    assert!(file.get(b"alice", &at(offset, 5, 0)).is_ok());
    let end = bytes.len() as u64;
    for index in [
        at(offset, 5, 1),
        at(offset, 4, 0),
        at(offset, 6, 0),
        at(offset + 1, 5, 0),
        at(offset - 1, 5, 0),
        at(0, 5, 0),
        at(end - 32, 5, 0),
        at(end, 0, 0),
        at(u64::MAX, 5, 0),
        at(offset, u64::MAX, 0),
        at(offset, u64::MAX - offset, 0),
    ] {
        assert_eq!(file.get(b"alice", &index).unwrap_err().kind(), ErrorKind::Corrupt, "{index:?}");
    }
    assert!(file.get(b"alicf", &at(offset, 5, 0)).is_err());
    assert!(file.get(b"al", &at(offset, 5, 0)).is_err());
    let expiring = BlobIndex::Stored { expiration: Some(1), file: 9, offset, size: 5, codec: 0 };
    assert_eq!(file.get(b"alice", &expiring).unwrap_err().kind(), ErrorKind::Unsupported);
    let inlined = BlobIndex::Inlined { expiration: 1, value: b"v" };
    assert_eq!(file.get(b"alice", &inlined).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let (bytes, _) = blob_file(0, &BLOBS);
    assert!(BlobFile::open(Bytes::from(bytes.clone()), 3).is_err(), "another column family");
    let mut version = bytes.clone();
    version[4] = 2;
    assert_eq!(open(&version).err().unwrap().kind(), ErrorKind::Unsupported);
    for at in [0, 12, 14, 22] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(open(&damaged).err().unwrap().kind(), ErrorKind::Corrupt, "{at}");
    }
    // A file that is still being written has no footer.
    assert!(open(&bytes[..bytes.len() - 32]).is_err());
}

#[test]
fn every_flipped_bit_and_every_cut_is_seen() {
    let (bytes, _) = blob_file(0, &BLOBS);
    let whole = |bytes: &[u8]| -> Result<Vec<_>> { open(bytes)?.records().collect() };
    let expected = whole(&bytes).unwrap();
    for end in 0..bytes.len() {
        assert!(whole(&bytes[..end]).is_err(), "cut at {end}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match whole(&damaged) {
            // The header has no checksum: flags and the codec 0 of empty values.
            Ok(read) => {
                assert!((12..14).contains(&(bit / 8)), "bit {bit}");
                assert_eq!(read.len(), expected.len());
            }
            Err(error) => assert_ne!(error.kind(), ErrorKind::InvalidInput),
        }
    }
}

#[test]
fn the_footer_counts_the_blobs() {
    let (bytes, _) = blob_file(0, &BLOBS);
    let (fewer, _) = blob_file(0, &BLOBS[..2]);
    let mut mixed = bytes[..bytes.len() - 32].to_vec();
    mixed.extend(&fewer[fewer.len() - 32..]);
    let records: Vec<_> = open(&mixed).unwrap().records().collect();
    assert_eq!(records.len(), 4);
    let error = records[3].as_ref().unwrap_err();
    assert_eq!((error.expected(), error.found()), (Some("2"), Some("3")));
}
