//! The file of counts: one line a hot path, so that a difference reads well.

use std::collections::BTreeMap;
use std::fmt;

use super::Counted;

/// How much more than in the file a path may take. Counts of the same program differ by less than one in a hundred;
/// what is left is for what changes without being meant to, as the layout of a structure.
pub const TOLERANCE: f64 = 0.05;

const HEADER: &str = "\
# Instructions per operation of the hot paths, counted by callgrind: see README.md.
# `cargo run --release -p sstkit-bench --bin counts -- check` compares, `-- update` writes.
";
const WITH: &str = "# with ";

/// Counts, and what they were counted with.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Compiler, target and valgrind.
    pub with: String,
    /// In the order of the file.
    pub counts: Vec<Counted>,
}

/// How a path differs from the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// It takes more, by the tolerance or more: before and now.
    Slower(Counted, f64),
    /// It takes less, by the tolerance or more: before and now.
    Faster(Counted, f64),
    /// The file does not have it.
    New(Counted),
    /// The file has it, and nothing else does.
    Gone(Counted),
}

impl Difference {
    /// Whether the check fails because of it.
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Faster(..))
    }
}

impl Record {
    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let with = text.lines().find_map(|line| line.strip_prefix(WITH)).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let counts = lines.map(parse_line).collect::<Result<_, _>>()?;
        Ok(Self { with: with.to_owned(), counts })
    }

    /// How `now` differs from this.
    pub fn differences(&self, now: &[Counted]) -> Vec<Difference> {
        let mut before: BTreeMap<&str, &Counted> =
            self.counts.iter().map(|counted| (counted.name.as_str(), counted)).collect();
        let mut differences = Vec::new();
        for counted in now {
            let Some(old) = before.remove(counted.name.as_str()) else {
                differences.push(Difference::New(counted.clone()));
                continue;
            };
            let ratio = counted.instructions / old.instructions;
            if ratio > 1.0 + TOLERANCE {
                differences.push(Difference::Slower(old.clone(), counted.instructions));
            } else if ratio < 1.0 - TOLERANCE {
                differences.push(Difference::Faster(old.clone(), counted.instructions));
            }
        }
        differences.extend(before.into_values().map(|counted| Difference::Gone(counted.clone())));
        differences
    }
}

/// `name: 123.4 per unit`
fn parse_line(line: &str) -> Result<Counted, String> {
    let wrong = || format!("{line:?} is not the line of a hot path");
    let (name, rest) = line.split_once(": ").ok_or_else(wrong)?;
    let (instructions, unit) = rest.trim().split_once(" per ").ok_or_else(wrong)?;
    let instructions = instructions.parse().map_err(|_| wrong())?;
    Ok(Counted { name: name.into(), unit: unit.into(), instructions })
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}{WITH}{}", self.with)?;
        let width = self.counts.iter().map(|counted| counted.name.len()).max().unwrap_or(0) + 1;
        for Counted { name, unit, instructions } in &self.counts {
            let name = format!("{name}:");
            writeln!(f, "{name:width$} {instructions:>9.1} per {unit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |before: &Counted, now: &f64| (now / before.instructions - 1.0) * 100.0;
        match self {
            Self::Slower(before, now) | Self::Faster(before, now) => {
                let Counted { name, unit, instructions } = before;
                let percent = percent(before, now);
                write!(f, "{name}: {instructions:.1} -> {now:.1} per {unit}, {percent:+.1} %")
            }
            Self::New(counted) => write!(f, "{}: not in the file", counted.name),
            Self::Gone(counted) => write!(f, "{}: in the file only", counted.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(name: &str, instructions: f64) -> Counted {
        Counted { name: name.into(), unit: "key".into(), instructions }
    }

    fn record() -> Record {
        let counts = vec![counted("a scan", 100.0), counted("get, absent", 20.5)];
        Record { with: "rustc 1.99.0, valgrind-3.19.0".into(), counts }
    }

    #[test]
    fn text_and_back() {
        let text = record().to_string();
        assert!(
            text.ends_with("a scan:          100.0 per key\nget, absent:      20.5 per key\n"),
            "{text}"
        );
        assert_eq!(Record::parse(&text), Ok(record()));
        assert!(Record::parse("a scan 100").is_err());
    }

    #[test]
    fn differences_beyond_the_tolerance_are_found() {
        let differences = |scan, get| {
            record().differences(&[counted("a scan", scan), counted("get, absent", get)])
        };
        assert_eq!(differences(104.9, 19.5), []);
        let slower = differences(105.1, 20.5);
        assert_eq!(slower, [Difference::Slower(counted("a scan", 100.0), 105.1)]);
        assert!(slower[0].is_failure());
        assert_eq!(slower[0].to_string(), "a scan: 100.0 -> 105.1 per key, +5.1 %");
        let faster = differences(100.0, 10.0);
        assert_eq!(faster, [Difference::Faster(counted("get, absent", 20.5), 10.0)]);
        assert!(!faster[0].is_failure());
        let other = record().differences(&[counted("a scan", 100.0), counted("open", 1.0)]);
        assert!(other.iter().all(Difference::is_failure) && other.len() == 2, "{other:?}");
    }
}
