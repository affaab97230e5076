//! Options for the output format.

use std::io;

use anyhow::{Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum};
use serde::Serialize;
use sstkit_inspect::Encoding;

use crate::output::Page;

/// The output format.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormatArgs {
    /// Output format: text, or JSON with one object per result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

impl FormatArgs {
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints a result: as JSON, or as `text` does.
    pub(crate) fn print<T: Serialize>(
        self,
        page: &mut Page,
        result: &T,
        text: impl FnOnce(&mut Page, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_json() { page.json(result) } else { text(page, result) }
    }
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Human-readable text
    #[default]
    Text,
    /// JSON: one object per line for lists, one object for a single result
    Json,
}

/// The encoding of keys and values.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EncodingArgs {
    /// Encoding of keys and values in arguments, input and output: escape (printable ASCII, \xHH
    /// for the rest), hex or base64
    #[arg(long, default_value_t, value_name = "ENCODING", value_parser = encodings())]
    pub(crate) encoding: Encoding,
}

pub(crate) fn encodings() -> impl clap::builder::TypedValueParser<Value = Encoding> {
    PossibleValuesParser::new(Encoding::ALL.map(Encoding::name))
        .try_map(|name| name.parse::<Encoding>())
}

impl EncodingArgs {
    /// Decodes a key given as an argument.
    pub(crate) fn key(self, text: &str) -> Result<Vec<u8>> {
        self.encoding.decode(text).map_err(|error| anyhow!("the key {text:?}: {error}"))
    }
}
