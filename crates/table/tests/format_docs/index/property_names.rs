//! All properties that the library knows, as its own source describes them.

use std::fmt::Write;

use sstkit_table::raw::property_names::{ALL, PropertyEncoding};

/// Each property is a line of a macro there: constant, name, encoding, meaning.
const SOURCE: &str = include_str!("../../../src/raw/properties/names.rs");

/// The widest a line becomes.
const WIDTH: usize = 115;

pub(super) fn property_names() -> String {
    let mut out = String::new();
    for &(name, encoding) in ALL {
        let short = name.strip_prefix("rocksdb.").expect("a name of RocksDB");
        let encoding = match encoding {
            PropertyEncoding::Varint => "varint64",
            PropertyEncoding::Fixed32 => "fixed32",
            PropertyEncoding::Fixed64 => "fixed64",
            PropertyEncoding::Digit => "digit",
            PropertyEncoding::Text => "text",
            other => panic!("{other:?}"),
        };
        let mut line = format!("{short:<47}  {encoding:<8}  ");
        let indent = line.chars().count();
        let mut words = meaning(name).split(' ').peekable();
        while let Some(word) = words.next() {
            line.push_str(word);
            match words.peek() {
                Some(next) if line.chars().count() + next.len() >= WIDTH => {
                    let _ = writeln!(out, "{line}");
                    line = " ".repeat(indent);
                }
                Some(_) => line.push(' '),
                None => {}
            }
        }
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The text after the name and the encoding.
fn meaning(name: &str) -> &'static str {
    let quoted = format!("\"{name}\"");
    let after = SOURCE.split_once(&quoted).unwrap_or_else(|| panic!("{name} has no line")).1;
    after.split('"').nth(1).expect("a meaning")
}
