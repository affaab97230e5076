//! The table of what is saved of damaged databases.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields as _;
use super::fuzzing::grouped;

pub(super) fn table(record: &Value) -> Result<String, Box<dyn Error>> {
    let results = record.list("results")?;
    let mut text = String::new();
    let mut engine = "";
    for result in results {
        if result.text("engine")? != engine {
            engine = result.text("engine")?;
            let before = result.count("before")?;
            let repair = result.text("repair_name")?;
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(
                text,
                "{gap}| {engine}, {} entries | `sst salvage`: right | wrong | missing | {repair}: right \
                 | wrong | missing |\n|---|--:|--:|--:|--:|--:|--:|",
                grouped(before)
            );
        }
        let _ = write!(text, "| {} |", result.text("damage")?);
        for side in ["salvage", "repair"] {
            for name in ["right", "wrong", "missing"] {
                let count = result[side].count(name)?;
                let _ = write!(text, " {} |", grouped(count));
            }
        }
        text.push('\n');
    }
    Ok(text)
}
