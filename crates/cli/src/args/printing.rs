//! Options for the output format.

use std::io::{self, IsTerminal as _};

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
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,

    /// Same as --format json
    #[arg(short, long, conflicts_with = "format")]
    json: bool,
}

impl FormatArgs {
    pub(crate) fn is_json(self) -> bool {
        self.json || self.format == Format::Json
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
enum Format {
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
    /// for the rest), utf8 (the same, with valid UTF-8 as it is), hex or base64 [default: escape; utf8
    /// for text on a terminal]
    #[arg(short, long, value_name = "ENCODING", value_parser = encodings())]
    encoding: Option<Encoding>,

    /// Same as --encoding hex
    #[arg(short = 'x', long, conflicts_with = "encoding")]
    hex: bool,
}

/// The format and the encoding of keys and values, for commands that print them.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PrintArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) encoding: EncodingArgs,
}

impl PrintArgs {
    /// The encoding for standard output.
    pub(crate) fn encoding(self) -> Encoding {
        self.encoding.shown(!self.format.is_json())
    }
}

fn encodings() -> impl clap::builder::TypedValueParser<Value = Encoding> {
    PossibleValuesParser::new(Encoding::ALL.iter().map(|encoding| encoding.name()))
        .try_map(|name| name.parse::<Encoding>())
}

impl EncodingArgs {
    /// The one that is given, if any.
    pub(crate) fn given(self) -> Option<Encoding> {
        if self.hex { Some(Encoding::Hex) } else { self.encoding }
    }

    /// The one for standard output, as text or in a form for programs.
    pub(crate) fn shown(self, is_text: bool) -> Encoding {
        let is_for_people = || is_text && io::stdout().is_terminal();
        let default = || if is_for_people() { Encoding::Utf8 } else { Encoding::Escape };
        self.given().unwrap_or_else(default)
    }

    /// Decodes a key given as an argument.
    pub(crate) fn key(self, text: &str) -> Result<Vec<u8>> {
        let encoding = self.given().unwrap_or_default();
        encoding.decode(text).map_err(|error| anyhow!("the key {text:?}: {error}"))
    }
}
