//! `sst diff` of two tables beside `cat` of both.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

pub(super) fn table(records: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from(
        "| run | both tables | load | `cat` | `sst diff` | time relative to `cat` | peak memory |\n\
         |---|--:|---|--:|--:|--:|--:|\n",
    );
    for record in records {
        let date = record["date"].as_str().ok_or("a record has no date")?;
        let load = record["load"].as_str().ok_or("a record has no load")?;
        let bytes = record["bytes"].as_f64().ok_or("a record has no size")?;
        for round in record["rounds"].as_array().into_iter().flatten() {
            let number =
                |name: &str| round[name].as_f64().ok_or_else(|| format!("a round has no {name}"));
            let (cat, diff) = (number("cat_seconds")?, number("diff_seconds")?);
            writeln!(
                text,
                "| {date} | {:.2} GB | {load} | {cat:.2} s | {diff:.2} s | {:.2} | {:.0} MiB |",
                bytes / 1e9,
                diff / cat,
                number("diff_peak_bytes")? / f64::from(1 << 20),
            )?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_for_each_round() {
        let round = json!({ "cat_seconds": 0.5, "diff_seconds": 0.7, "diff_peak_bytes": 50 << 20 });
        let record = json!({
            "date": "2026-11-18",
            "load": "0.10 0.20 0.30",
            "bytes": 2_000_000_000_u64,
            "rounds": [round],
        });
        let table = table(&[record]).unwrap();
        let line = "| 2026-11-18 | 2.00 GB | 0.10 0.20 0.30 | 0.50 s | 0.70 s | 1.40 | 50 MiB |";
        assert_eq!(table.lines().last(), Some(line));
    }
}
