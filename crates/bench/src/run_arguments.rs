//! Arguments of the programs that measure and record: `--NAME VALUE` in any order.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// Where the record goes, besides the terminal.
#[derive(Debug, Default)]
pub struct RecordFile(Option<PathBuf>);

impl RecordFile {
    /// Writes the record, if `--json` named a file.
    pub fn write(&self, record: &Value) -> Result<(), Box<dyn Error>> {
        match &self.0 {
            Some(path) => Ok(fs::write(path, serde_json::to_string_pretty(record)? + "\n")?),
            None => Ok(()),
        }
    }
}

/// Takes all arguments of the program: `--json FILE` itself, the others by `set`, which says whether it knows the name.
pub fn read_arguments(
    mut set: impl FnMut(&str, String) -> Result<bool, Box<dyn Error>>,
) -> Result<RecordFile, Box<dyn Error>> {
    let mut file = RecordFile::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
        match name.as_str() {
            "--json" => file.0 = Some(PathBuf::from(value)),
            _ if set(&name, value)? => {}
            _ => return Err(format!("{name}: unknown argument").into()),
        }
    }
    Ok(file)
}
