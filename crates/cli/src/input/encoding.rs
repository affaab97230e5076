//! How keys and values are written in the input.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use sstkit_inspect::Encoding;

use crate::output::grid::shorten;

/// How keys and values are written in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputEncoding {
    /// The bytes are the key or the value; of JSON, the UTF-8 of its strings.
    Raw,
    /// As in the output of other commands.
    Text(Encoding),
}

impl InputEncoding {
    /// The names.
    pub(crate) const NAMES: [&str; 4] = ["raw", "escape", "hex", "base64"];

    /// The bytes of a key or a value; an error says of which.
    pub(super) fn decode(self, what: &str, text: &[u8]) -> Result<Vec<u8>> {
        let Self::Text(encoding) = self else { return Ok(text.to_vec()) };
        let text = std::str::from_utf8(text).map_err(|_| anyhow!("the {what} is not UTF-8"))?;
        encoding.decode(text).map_err(|error| {
            let text = shorten(text, SHOWN);
            anyhow!("the {what} {text:?} is not in the encoding {encoding}: {error}")
        })
    }
}

/// What is shown of a key or a value that cannot be decoded.
const SHOWN: usize = 100;

impl FromStr for InputEncoding {
    type Err = sstkit_inspect::DecodeError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "raw" => Ok(Self::Raw),
            _ => name.parse().map(Self::Text),
        }
    }
}
