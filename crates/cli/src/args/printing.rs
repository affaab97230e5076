//! How things are printed.

use anyhow::{Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum};
use sstkit_inspect::Encoding;

/// Text or JSON.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormatArgs {
    /// Text for people, or JSON: one object for a single answer, one a line for lists
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

impl FormatArgs {
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }
}

/// Text or JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// How bytes are written as text.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EncodingArgs {
    /// How keys and values are written, in arguments, input and output: printable ASCII as it is and
    /// \xHH for the rest, or hexadecimal, or base64
    #[arg(long, default_value_t, value_name = "ENCODING", value_parser = encodings())]
    pub(crate) encoding: Encoding,
}

pub(crate) fn encodings() -> impl clap::builder::TypedValueParser<Value = Encoding> {
    PossibleValuesParser::new(Encoding::ALL.map(Encoding::name))
        .try_map(|name| name.parse::<Encoding>())
}

impl EncodingArgs {
    /// The bytes of a key that was given as an argument.
    pub(crate) fn key(self, text: &str) -> Result<Vec<u8>> {
        self.encoding.decode(text).map_err(|error| anyhow!("the key {text:?}: {error}"))
    }
}
