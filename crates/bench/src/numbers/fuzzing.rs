//! The table of fuzz targets, from what `fuzz/run` recorded.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields as _;

pub(super) fn table(record: &Value) -> Result<String, Box<dyn Error>> {
    let targets = record["targets"].as_object().ok_or("fuzz.json has no targets")?;
    let mut text = String::from("| target | executions |\n|---|--:|\n");
    let mut total = 0;
    for (name, run) in targets {
        let executions = run.count("executions").map_err(|error| format!("{name}: {error}"))?;
        total += executions;
        let _ = writeln!(text, "| `{name}` | {} |", grouped(executions));
    }
    let _ = writeln!(text, "| total | {} |", grouped(total));
    Ok(text)
}

/// Digits in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
