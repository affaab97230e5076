//! Decoding the fields of a version edit; error messages name the field.

use sstkit_coding::varint::{get_length_prefixed_slice, get_varint32, get_varint64};
use sstkit_table::raw::{Engine, InternalKey, MAX_SEQUENCE_NUMBER};

use crate::error::{Error, Result};

const LEVELDB_LEVELS: u32 = 7;
/// RocksDB has as many as configured: seven by default, never a hundred.
const ROCKSDB_LEVELS: u32 = 1024;

/// Every level has a smaller number.
pub(crate) fn level_limit(engine: Engine) -> u32 {
    match engine {
        Engine::LevelDb => LEVELDB_LEVELS,
        Engine::RocksDb => ROCKSDB_LEVELS,
    }
}

pub(super) struct Fields<'a> {
    input: &'a [u8],
    dialect: Engine,
}

impl<'a> Fields<'a> {
    pub(super) fn new(input: &'a [u8], dialect: Engine) -> Self {
        Self { input, dialect }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.input.is_empty()
    }

    pub(super) fn varint32(&mut self, name: &str) -> Result<u32> {
        get_varint32(&mut self.input).ok_or_else(|| unreadable(name))
    }

    pub(super) fn varint64(&mut self, name: &str) -> Result<u64> {
        get_varint64(&mut self.input).ok_or_else(|| unreadable(name))
    }

    pub(super) fn slice(&mut self, name: &str) -> Result<&'a [u8]> {
        get_length_prefixed_slice(&mut self.input).ok_or_else(|| unreadable(name))
    }

    /// Names are bytes to the engines; what is not UTF-8 is replaced.
    pub(super) fn text(&mut self, name: &str) -> Result<String> {
        self.slice(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    pub(super) fn sequence(&mut self, name: &str) -> Result<u64> {
        let sequence = self.varint64(name)?;
        if sequence > MAX_SEQUENCE_NUMBER {
            return Err(Error::corrupt(format!(
                "the version edit's {name} is {sequence}, which is out of range"
            )));
        }
        Ok(sequence)
    }

    pub(super) fn level(&mut self) -> Result<u32> {
        let level = self.varint32("level")?;
        let levels = level_limit(self.dialect);
        if level >= levels {
            let expected = format!("below {levels}");
            return Err(Error::mismatch(
                "the version edit's level is out of range",
                expected,
                level,
            ));
        }
        Ok(level)
    }

    pub(super) fn internal_key(&mut self, name: &str) -> Result<Vec<u8>> {
        let key = self.slice(name)?;
        // Any kind: where a range deletion was cut at a file's end, RocksDB stores the
        // highest kind that it knows, which changes with each new kind.
        if key.len() < InternalKey::TAIL_LENGTH {
            return Err(unreadable(name));
        }
        Ok(key.to_vec())
    }

    /// Fields within a field.
    pub(super) fn inner(&mut self, name: &str) -> Result<Fields<'a>> {
        Ok(Fields { input: self.slice(name)?, dialect: self.dialect })
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.input
    }

    pub(super) fn rest_as_text(&self) -> String {
        String::from_utf8_lossy(self.input).into_owned()
    }

    /// The whole field is one byte.
    pub(super) fn single_byte(&self, name: &str) -> Result<u8> {
        match self.input {
            &[byte] => Ok(byte),
            _ => Err(unreadable(name)),
        }
    }

    /// The whole field has this number of bytes.
    pub(super) fn array<const N: usize>(&self, name: &str) -> Result<[u8; N]> {
        self.input.try_into().map_err(|_| unreadable(name))
    }
}

fn unreadable(name: &str) -> Error {
    Error::corrupt(format!("the version edit's {name} is unreadable"))
}
