//! RocksDB's compression types.

use sstkit_coding::named_enum;

named_enum! {
    /// A codec, by the byte RocksDB stores in block trailers. LevelDB's bytes agree on 0 and 1 only.
    ///
    /// The numbers never change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    #[non_exhaustive]
    pub enum Codec {
        /// Not compressed.
        None = 0x00 => "NoCompression",
        /// Snappy.
        Snappy = 0x01 => "Snappy",
        /// Raw deflate, despite the name.
        Zlib = 0x02 => "Zlib",
        /// bzip2.
        Bzip2 = 0x03 => "BZip2",
        /// LZ4's block format.
        Lz4 = 0x04 => "LZ4",
        /// The same format, written by a slower encoder.
        Lz4hc = 0x05 => "LZ4HC",
        /// Windows only. Recognised, not read.
        Xpress = 0x06 => "Xpress",
        /// Zstandard.
        Zstd = 0x07 => "ZSTD",
        /// Zstandard, before its format was final; same bytes.
        ZstdNotFinal = 0x40 => "ZSTDNotFinal",
    }

    /// The name in the property `rocksdb.compression` (up to format version 6).
    fn name;
}

impl Codec {
    /// The codec stored as `byte` by RocksDB.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|&codec| codec as u8 == byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for &codec in Codec::ALL {
            let name = codec.to_string();
            assert_eq!(name.parse::<Codec>().unwrap(), codec);
            assert_eq!(name.to_lowercase().parse::<Codec>().unwrap(), codec);
        }
        assert_eq!("none".parse::<Codec>().unwrap(), Codec::None);
        assert!("gzip".parse::<Codec>().is_err());
    }
}
