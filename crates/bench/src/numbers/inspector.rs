//! The first view of the inspector, and its interactions in a browser.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::fields::Fields as _;

pub(super) fn table(records: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut text = String::from(
        "| run | | elapsed: median | longest | page's thread: median |\n|---|---|--:|--:|--:|\n",
    );
    for record in records {
        let date = record.text("date")?;
        let runs = record.list("runs")?;
        let bytes = record["database"].number("bytes")?;
        let views = runs.iter().filter_map(|run| run["views"].as_array()).flatten();
        let views: Vec<f64> = views.filter_map(|view| view["map_ms"].as_f64()).collect();
        let (median, longest) = median_and_longest(views).ok_or("a record has no views")?;
        let size = bytes / f64::from(1 << 30);
        writeln!(
            text,
            "| {date} | first view of {size:.1} GiB | {median:.0} ms | {longest:.0} ms | |"
        )?;
        let interactions = || runs.iter().filter_map(|run| run["interactions"].as_array());
        for first in interactions().next().ok_or("a record has no interactions")? {
            let name = first.text("interaction")?;
            let all = || interactions().flatten().filter(|it| it["interaction"] == name);
            let times = |field: &str| all().filter_map(|it| it[field].as_f64()).collect();
            let (median, longest) =
                median_and_longest(times("elapsed_ms")).ok_or("an interaction has no time")?;
            let (thread, _) =
                median_and_longest(times("processor_ms")).ok_or("an interaction has no time")?;
            writeln!(
                text,
                "| {date} | {name} | {median:.0} ms | {longest:.0} ms | {thread:.0} ms |"
            )?;
        }
    }
    Ok(text)
}

fn median_and_longest(mut times: Vec<f64>) -> Option<(f64, f64)> {
    times.sort_by(f64::total_cmp);
    Some((*times.get(times.len() / 2)?, *times.last()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_for_the_view_and_each_interaction() {
        let run = |view: f64, elapsed: f64| {
            json!({
                "views": [{ "map_ms": view }],
                "interactions": [
                    { "interaction": "zoom", "elapsed_ms": elapsed, "processor_ms": 7.0 },
                ],
            })
        };
        let runs = [run(174.0, 21.0), run(222.0, 30.0), run(144.0, 19.0)];
        let record =
            json!({ "date": "2026-11-18", "database": { "bytes": 5u64 << 31 }, "runs": runs });
        let text = table(&[record]).unwrap();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| 2026-11-18 | first view of 10.0 GiB | 174 ms | 222 ms | |",
                "| 2026-11-18 | zoom | 21 ms | 30 ms | 7 ms |",
            ]
        );
        assert!(table(&[json!({})]).is_err());
    }
}
