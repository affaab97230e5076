//! Scans of tables on a server with latency, beside plain downloads of the same bytes.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields as _;

/// Of each measurement the median, as a bandwidth; of the scans also their share of the bandwidths of both downloads.
pub(super) fn table(records: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from(
        "| run | table | index | download | by 4 requests | `Table::iter` | `AsyncTable::iter` |\n\
         |---|--:|---|--:|--:|--:|--:|\n",
    );
    for record in records {
        let date = record.text("date")?;
        let load = record.text("load_average")?;
        for table in record.list("tables")? {
            let megabytes = table.number("bytes")? / 1e6;
            let bandwidth = |name: &str| -> Result<f64, Box<dyn Error>> {
                let seconds = table["seconds"].list(name)?;
                let mut seconds: Vec<f64> = seconds.iter().filter_map(Value::as_f64).collect();
                seconds.sort_by(f64::total_cmp);
                let median = seconds.get(seconds.len() / 2);
                Ok(megabytes / median.ok_or_else(|| format!("{name} was not measured"))?)
            };
            let (one, four) = (bandwidth("download")?, bandwidth("four downloads")?);
            let shares = |name: &str| -> Result<String, Box<dyn Error>> {
                let found = bandwidth(name)?;
                let (of_one, of_four) = (100.0 * found / one, 100.0 * found / four);
                Ok(format!("{found:.0} MB/s: {of_one:.0} %, {of_four:.0} %"))
            };
            writeln!(
                text,
                "| {date}, load {load} | {megabytes:.0} MB | {} | {one:.0} MB/s | {four:.0} MB/s | {} | {} |",
                table.text("index")?,
                shares("scan")?,
                shares("stream")?,
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
    fn a_line_for_each_table() {
        let record = json!({
            "date": "2026-11-18", "load_average": "1.5",
            "tables": [{
                "bytes": 20_000_000, "index": "partitions",
                "seconds": {
                    "download": [0.25, 0.2, 0.3], "four downloads": [0.2, 0.2, 0.1],
                    "scan": [0.25, 0.1, 0.9], "stream": [0.4],
                },
            }],
        });
        let line = "| 2026-11-18, load 1.5 | 20 MB | partitions | 80 MB/s | 100 MB/s | 80 MB/s: 100 %, 80 % | 50 MB/s: 62 %, 50 % |";
        assert_eq!(table(&[record]).unwrap().lines().last(), Some(line));
        assert!(table(&[json!({})]).is_err());
        assert!(
            table(&[json!({ "date": "", "load_average": "", "tables": [{ "bytes": 1 }] })])
                .is_err()
        );
    }
}
