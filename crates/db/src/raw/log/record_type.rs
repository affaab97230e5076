//! The type byte of a physical record.

use sstkit_table::raw::Engine;

/// Which part of a record a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Full,
    First,
    Middle,
    Last,
}

/// What a physical record is for. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordType {
    Zero,
    Data(Part),
    SetCompression,
    TimestampSizes,
    Predecessor,
    /// Not known, but marked as safe to pass over.
    Ignorable,
    Unknown(u8),
}

impl RecordType {
    pub(super) fn of(byte: u8, engine: Engine) -> Self {
        use Part::{First, Full, Last, Middle};
        match byte {
            0 => Self::Zero,
            1 => Self::Data(Full),
            2 => Self::Data(First),
            3 => Self::Data(Middle),
            4 => Self::Data(Last),
            _ if engine == Engine::LevelDb => Self::Unknown(byte),
            5 => Self::Data(Full),
            6 => Self::Data(First),
            7 => Self::Data(Middle),
            8 => Self::Data(Last),
            9 => Self::SetCompression,
            10 | 11 => Self::TimestampSizes,
            130 | 131 => Self::Predecessor,
            0x80.. => Self::Ignorable,
            _ => Self::Unknown(byte),
        }
    }

    /// The byte of a fragment that both engines read: not recyclable.
    pub(super) fn byte_of(part: Part) -> u8 {
        match part {
            Part::Full => 1,
            Part::First => 2,
            Part::Middle => 3,
            Part::Last => 4,
        }
    }

    /// Whether the header of such a record has a log number.
    pub(super) fn is_recyclable(byte: u8, engine: Engine) -> bool {
        engine == Engine::RocksDb && matches!(byte, 5..=8 | 11 | 131)
    }
}
