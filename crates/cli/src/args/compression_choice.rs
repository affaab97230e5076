//! Which codec a command writes.

use std::str::FromStr;

use sstkit_inspect::setting_names::Compression;

/// A codec, or all of them to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompressionChoice {
    One(Compression),
    All,
}

impl FromStr for CompressionChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}
