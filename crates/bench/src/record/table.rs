//! Times and ratios in tables, one for each task.

use std::fmt::Write;

use crate::lineup::{LINEUP, PEERS};
use crate::subject::{Mode, Presence};

use super::Measurements;

/// All tables for which there are measurements.
pub fn tables(measurements: &Measurements) -> String {
    let mut text = format!(
        "Each cell has nanoseconds and, in parentheses, the ratios to {} and to {} at the same work: below 1 is \
         faster than the peer.\n",
        PEERS[0], PEERS[1]
    );
    append(&mut text, measurements, "Building, per key", "build", "build");
    for presence in Presence::ALL {
        for mode in Mode::ALL {
            let title = match mode {
                Mode::Single => format!("Queries of {presence} keys"),
                Mode::Hashed => format!("Queries of {presence} keys, hashed before"),
                Mode::Batch => {
                    format!("Queries of {presence} keys, in batches (the peers: one by one)")
                }
            };
            // Peers have no batches of their own: batches start from the bytes of keys, like single queries.
            let peer_mode = if mode == Mode::Batch { Mode::Single } else { mode };
            let task = format!("query/{mode}/{presence}");
            append(
                &mut text,
                measurements,
                &title,
                &task,
                &format!("query/{peer_mode}/{presence}"),
            );
        }
    }
    text
}

/// Appends the table of a task, if there is anything in it.
fn append(
    text: &mut String,
    measurements: &Measurements,
    title: &str,
    task: &str,
    peer_task: &str,
) {
    let sizes = measurements.sizes(task);
    if sizes.is_empty() {
        return;
    }
    let _ = write!(text, "\n### {title}\n\n| filter |");
    for size in &sizes {
        let _ = write!(text, " {} |", words(size));
    }
    let _ = writeln!(text, "\n|---|{}", "--:|".repeat(sizes.len()));
    for filter in LINEUP.map(|entrant| entrant.name) {
        let cells: Vec<String> = sizes
            .iter()
            .map(|size| cell(measurements, task, peer_task, size, filter).unwrap_or_default())
            .collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(text, "| {filter} | {} |", cells.join(" | "));
        }
    }
}

/// `8.53 (0.41, 0.30)`; a dash for a peer that was not measured.
fn cell(
    measurements: &Measurements,
    task: &str,
    peer_task: &str,
    size: &str,
    filter: &str,
) -> Option<String> {
    let nanos = measurements.nanos(task, size, filter)?;
    let ratios = PEERS.map(|peer| match measurements.nanos(peer_task, size, peer) {
        Some(peer) => format!("{:.2}", nanos / peer),
        None => "–".to_owned(),
    });
    let digits = if nanos < 10.0 { 2 } else { 1 };
    Some(format!("{nanos:.digits$} ({})", ratios.join(", ")))
}

/// `10 million` for 10000000; a word as it is.
fn words(size: &str) -> String {
    match size.parse::<u64>() {
        Ok(keys) if keys >= 1_000_000 && keys % 1_000_000 == 0 => {
            format!("{} million", keys / 1_000_000)
        }
        Ok(keys) if keys >= 1000 && keys % 1000 == 0 => format!("{} thousand", keys / 1000),
        _ => size.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Measurement;

    #[test]
    fn cells_have_times_and_ratios() {
        let measurements: Measurements = [
            ("build", "1000", "fastbloom", 20.0),
            ("build", "1000", "fast_local_bloom", 8.527),
            ("build", "10000000", "fast_local_bloom", 12.34),
            ("query/single/absent", "many", "fastbloom", 50.0),
            ("query/single/absent", "many", "binary_fuse8", 40.0),
            ("query/batch/absent", "many", "ribbon128", 20.0),
        ]
        .map(|(task, size, filter, nanos)| Measurement {
            task: task.into(),
            size: size.into(),
            filter: filter.into(),
            nanos,
        })
        .into_iter()
        .collect();
        let tables = tables(&measurements);
        let (_, tables) = tables.split_once("\n\n").unwrap();
        assert_eq!(
            tables,
            "\
### Building, per key

| filter | 1 thousand | 10 million |
|---|--:|--:|
| fast_local_bloom | 8.53 (0.43, –) | 12.3 (–, –) |
| fastbloom | 20.0 (1.00, –) |  |

### Queries of absent keys

| filter | many |
|---|--:|
| fastbloom | 50.0 (1.00, 1.25) |
| binary_fuse8 | 40.0 (0.80, 1.00) |

### Queries of absent keys, in batches (the peers: one by one)

| filter | many |
|---|--:|
| ribbon128 | 20.0 (0.40, 0.50) |
"
        );
    }

    #[test]
    fn round_numbers_in_words() {
        for (size, expected) in [
            ("1000", "1 thousand"),
            ("100000", "100 thousand"),
            ("10000000", "10 million"),
            ("1500", "1500"),
            ("many", "many"),
        ] {
            assert_eq!(words(size), expected);
        }
    }
}
