//! RocksDB's own `filter_bench`, if the environment names one (`FILTER_BENCH`): its times are reported
//! beside ours. They are net of hashing and of a loop that does nothing, and so not to be compared to
//! the digit.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::session::Session;

/// Names here, and its numbers of them.
const IMPLS: [(&str, &str); 2] = [("bloom", "1"), ("ribbon", "2")];
const TIMES: [&str; 3] =
    ["Build avg ns/key: ", "Single filter net ns/op: ", "Random filter net ns/op: "];

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let Some(program) = std::env::var_os("FILTER_BENCH") else { return Ok(()) };
    for (name, number) in IMPLS {
        if !session.plan.wants(&format!("{name} filter_bench")) {
            continue;
        }
        let output = Command::new(&program)
            .arg(format!("-impl={number}"))
            .args(["-quick", "-average_keys_per_filter=100000", "-working_mem_size_mb=100"])
            .output()
            .context("FILTER_BENCH")?;
        ensure!(output.status.success(), "filter_bench: {}", output.status);
        let text = String::from_utf8_lossy(&output.stdout);
        session.note(format!("filter_bench, {name} of 100000 keys: {}", summary(&text)));
    }
    Ok(())
}

/// The first of each time that it prints.
fn summary(text: &str) -> String {
    let found = TIMES.iter().filter_map(|name| {
        let (_, rest) = text.split_once(name)?;
        Some(format!("{name}{}", rest.lines().next()?))
    });
    found.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_times_are_found() {
        let text = "Building...\nBuild avg ns/key: 33.1\nNumber of filters: 8\n\
                    Mixed inside/outside queries...\n  Single filter net ns/op: 15.2\n  \
                    Random filter net ns/op: 213\nInside\n  Random filter net ns/op: 9\n";
        assert_eq!(
            summary(text),
            "Build avg ns/key: 33.1, Single filter net ns/op: 15.2, Random filter net ns/op: 213"
        );
    }
}
