//! `sst diff` of two tables beside `cat` of both.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields as _;

pub(super) fn table(records: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from(
        "| run | both tables | load | `cat` | `sst diff` | time relative to `cat` | peak memory |\n\
         |---|--:|---|--:|--:|--:|--:|\n",
    );
    for record in records {
        let date = record.text("date")?;
        let load = record.text("load")?;
        let bytes = record.number("bytes")?;
        for round in record.list("rounds")? {
            let (cat, diff) = (round.number("cat_seconds")?, round.number("diff_seconds")?);
            writeln!(
                text,
                "| {date} | {:.2} GB | {load} | {cat:.2} s | {diff:.2} s | {:.2} | {:.0} MiB |",
                bytes / 1e9,
                diff / cat,
                round.number("diff_peak_bytes")? / f64::from(1 << 20),
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
