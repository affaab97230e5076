//! `sst serve` under load.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields as _;

pub(super) fn table(records: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from(
        "| run | requests/s | for | answered | median | 99 % | slowest | memory after 10 s | at the end |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for record in records {
        let date = record.text("date")?;
        let latency = &record["latency_ms"];
        let memory = record.list("memory_kb")?;
        let megabytes = |at: usize| {
            let kilobytes = memory.get(at).or(memory.last()).and_then(Value::as_f64);
            kilobytes.map(|kilobytes| kilobytes / 1024.0).ok_or("a record has no memory")
        };
        writeln!(
            text,
            "| {date} | {} | {} s | {} | {:.1} ms | {:.1} ms | {:.0} ms | {:.1} MiB | {:.1} MiB |",
            record.count("rate")?,
            record.count("seconds")?,
            record.count("requests")?,
            latency.number("median")?,
            latency.number("p99")?,
            latency.number("max")?,
            megabytes(9)?,
            megabytes(memory.len())?,
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_for_each_run() {
        let record = json!({
            "date": "2026-11-18", "rate": 1000, "seconds": 2, "requests": 2000,
            "latency_ms": { "median": 0.52, "p99": 2.0, "max": 9.6 },
            "memory_kb": [10_240, 11_264],
        });
        let line =
            "| 2026-11-18 | 1000 | 2 s | 2000 | 0.5 ms | 2.0 ms | 10 ms | 11.0 MiB | 11.0 MiB |";
        assert_eq!(table(&[record]).unwrap().lines().last(), Some(line));
        assert!(table(&[json!({})]).is_err());
    }
}
