//! Input that is compressed with gzip or zstd, recognized by its first bytes.

use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = 0xfd2f_b528u32.to_le_bytes();

/// Extensions of compressed files; the format is that of the name before it.
pub(super) const EXTENSIONS: [&str; 3] = ["gz", "zst", "zstd"];

/// The same input, decompressed if it is compressed. Several compressed parts one after another are
/// read as one.
pub(super) fn decompress<R: Read + 'static>(mut reader: R) -> io::Result<Box<dyn Read>> {
    let mut start = Vec::new();
    reader.by_ref().take(ZSTD.len() as u64).read_to_end(&mut start)?;
    let (is_gzip, is_zstd) = (start.starts_with(&GZIP), start == ZSTD);
    let whole: Chain<Cursor<Vec<u8>>, R> = Cursor::new(start).chain(reader);
    Ok(match (is_gzip, is_zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(BufReader::new(whole))),
        (_, true) => Box::new(zstd::stream::read::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        decompress(Cursor::new(bytes))?.read_to_end(&mut text)?;
        Ok(text)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn parts_are_read_as_one() {
        let zstd = |text: &[u8]| zstd::encode_all(text, 0).unwrap();
        assert_eq!(read([gzip(b"a\n"), gzip(b"b\n")].concat()).unwrap(), b"a\nb\n");
        assert_eq!(read([zstd(b"a\n"), zstd(b"b\n")].concat()).unwrap(), b"a\nb\n");
        for plain in [&b""[..], b"a", b"key,value\n", b"\x1f"] {
            assert_eq!(read(plain.to_vec()).unwrap(), plain);
        }
    }

    /// A part that is cut off is an error, not the end.
    #[test]
    fn truncation_is_an_error() {
        let text: Vec<u8> = (0..5000u32).flat_map(|i| (i * 7919).to_le_bytes()).collect();
        for whole in [gzip(&text), zstd::encode_all(&text[..], 0).unwrap()] {
            for length in [10, whole.len() / 2, whole.len() - 1] {
                assert!(read(whole[..length].to_vec()).is_err(), "{length}");
            }
            assert_eq!(read(whole).unwrap(), text);
        }
    }
}
