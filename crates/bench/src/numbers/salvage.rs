//! The table of what is saved of damaged databases.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fuzzing::grouped;

pub(super) fn table(record: &Value) -> Result<String, Box<dyn Error>> {
    let results = record["results"].as_array().ok_or("salvage.json has no results")?;
    let mut text = String::new();
    let mut engine = "";
    for result in results {
        let field = |name: &str| result[name].as_str().ok_or_else(|| format!("no {name}"));
        if field("engine")? != engine {
            engine = field("engine")?;
            let before = result["before"].as_u64().ok_or("no entries before")?;
            let repair = field("repair_name")?;
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(
                text,
                "{gap}| {engine}, {} entries | `sst salvage`: right | wrong | missing | {repair}: right \
                 | wrong | missing |\n|---|--:|--:|--:|--:|--:|--:|",
                grouped(before)
            );
        }
        let _ = write!(text, "| {} |", field("damage")?);
        for side in ["salvage", "repair"] {
            for name in ["right", "wrong", "missing"] {
                let count = result[side][name].as_u64().ok_or_else(|| format!("no {name}"))?;
                let _ = write!(text, " {} |", grouped(count));
            }
        }
        text.push('\n');
    }
    Ok(text)
}
