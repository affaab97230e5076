//! `sst refilter` beside `cp` of the same files.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields as _;

pub(super) fn table(records: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from(
        "| run | bytes | new filter | `cp` | `cp` and `sync` | `sst refilter` | speed relative to \
         `cp` | peak memory |\n|---|--:|---|--:|--:|--:|--:|--:|\n",
    );
    for record in records {
        let date = record.text("date")?;
        let filter = record.text("filter")?;
        let bytes = record.number("bytes")?;
        for round in record.list("rounds")? {
            let (cp, refilter) = (round.number("cp_seconds")?, round.number("refilter_seconds")?);
            writeln!(
                text,
                "| {date} | {:.1} GB | `{filter}` | {cp:.1} s | {:.1} s | {refilter:.1} s | {:.2} | \
                 {:.0} MiB |",
                bytes / 1e9,
                round.number("cp_and_sync_seconds")?,
                cp / refilter,
                round.number("refilter_peak_bytes")? / f64::from(1 << 20),
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
        let round = json!({
            "cp_seconds": 10.0,
            "cp_and_sync_seconds": 12.0,
            "refilter_seconds": 16.0,
            "refilter_peak_bytes": 100 << 20,
        });
        let record = json!({
            "date": "2026-11-18",
            "filter": "bloomfilter:10",
            "bytes": 10_000_000_000_u64,
            "rounds": [round],
        });
        let table = table(&[record]).unwrap();
        let line = "| 2026-11-18 | 10.0 GB | `bloomfilter:10` | 10.0 s | 12.0 s | 16.0 s | 0.62 | 100 MiB |";
        assert_eq!(table.lines().last(), Some(line));
    }
}
