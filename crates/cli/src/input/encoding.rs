//! The encoding of keys and values in the input.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use sstkit_inspect::Encoding;

use crate::output::grid::shorten;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputEncoding {
    /// The bytes themselves; in JSON, the UTF-8 of the strings.
    Raw,
    /// As in the output of other commands.
    Text(Encoding),
}

impl InputEncoding {
    pub(crate) const NAMES: [&str; 5] = ["raw", "escape", "utf8", "hex", "base64"];

    /// Decodes a key or value; `what` names it in errors.
    pub(super) fn decode(self, what: &str, text: &[u8]) -> Result<Vec<u8>> {
        let Self::Text(encoding) = self else { return Ok(text.to_vec()) };
        let text = std::str::from_utf8(text).map_err(|_| anyhow!("the {what} is not UTF-8"))?;
        encoding.decode(text).map_err(|error| {
            let text = shorten(text, SHOWN);
            anyhow!("the {what} {text:?} is not valid {encoding}: {error}")
        })
    }
}

/// Bytes of an undecodable key or value shown in errors.
const SHOWN: usize = 100;

impl FromStr for InputEncoding {
    type Err = sstkit_coding::UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "raw" => Ok(Self::Raw),
            _ => name.parse().map(Self::Text),
        }
    }
}
