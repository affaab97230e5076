//! Reading what Criterion measured.
//!
//! Criterion leaves a folder per bench, with two files of which these parts matter:
//!
//! ```text
//! …/new/benchmark.json   {"group_id":"build/1000", "function_id":"fastbloom", "throughput":{"Elements":1000}}
//! …/new/estimates.json   {"median":{"point_estimate":18650.3}}                  nanoseconds for all elements
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;

/// One run takes minutes. Results further apart come from several runs, and their ratios mean nothing.
const LONGEST_RUN: Duration = Duration::from_secs(3600);

/// The time of one filter at one task.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What was done: `build`, or `query/MODE/PRESENCE`.
    pub task: String,
    /// Number of keys, or `many`.
    pub size: String,
    /// Name of the filter.
    pub filter: String,
    /// Nanoseconds per key or query. The median: an interruption of the machine lengthens a few samples by much.
    pub nanos: f64,
}

impl Measurement {
    /// From the two files of a bench.
    ///
    /// # Errors
    ///
    /// If they are not what Criterion writes for the benches of this crate.
    pub fn parse(benchmark: &str, estimates: &str) -> Result<Self, Box<dyn Error>> {
        let benchmark: Value = serde_json::from_str(benchmark)?;
        let estimates: Value = serde_json::from_str(estimates)?;
        let text = |name: &str| {
            benchmark[name].as_str().ok_or_else(|| format!("benchmark.json has no {name}"))
        };
        let group = text("group_id")?;
        let (task, size) =
            group.rsplit_once('/').ok_or_else(|| format!("the group {group:?} has no size"))?;
        let elements = benchmark["throughput"]["Elements"]
            .as_f64()
            .ok_or("benchmark.json has no number of elements")?;
        let nanos =
            estimates["median"]["point_estimate"].as_f64().ok_or("estimates.json has no median")?;
        Ok(Self {
            task: task.to_owned(),
            size: size.to_owned(),
            filter: text("function_id")?.to_owned(),
            nanos: nanos / elements,
        })
    }
}

/// All that was measured.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    all: Vec<Measurement>,
    /// Whether they come from more than one run.
    mixed: bool,
}

impl Measurements {
    /// Reads everything below Criterion's folder.
    ///
    /// # Errors
    ///
    /// If the folder or a file in it cannot be read or is not Criterion's.
    pub fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut all = Vec::new();
        let mut times = Vec::new();
        visit(folder, &mut |new| {
            let estimates = new.join("estimates.json");
            times.push(fs::metadata(&estimates)?.modified()?);
            let benchmark = fs::read_to_string(new.join("benchmark.json"))?;
            let measurement = Measurement::parse(&benchmark, &fs::read_to_string(estimates)?)
                .map_err(|error| format!("{}: {error}", new.display()))?;
            all.push(measurement);
            Ok(())
        })
        .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { all, mixed: span(&times) > LONGEST_RUN })
    }

    /// Whether results are too far apart in time to be of one run.
    pub fn mixed(&self) -> bool {
        self.mixed
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The sizes at which a task was measured: numbers in ascending order, then words.
    pub fn sizes(&self, task: &str) -> Vec<&str> {
        let of_task = self.all.iter().filter(|measurement| measurement.task == task);
        let mut sizes: Vec<&str> = of_task.map(|measurement| measurement.size.as_str()).collect();
        sizes.sort_by_key(|size| (size.parse::<u64>().unwrap_or(u64::MAX), *size));
        sizes.dedup();
        sizes
    }

    /// Nanoseconds per key or query.
    pub fn nanos(&self, task: &str, size: &str, filter: &str) -> Option<f64> {
        let found = self.all.iter().find(|measurement| {
            measurement.task == task && measurement.size == size && measurement.filter == filter
        });
        found.map(|measurement| measurement.nanos)
    }
}

impl FromIterator<Measurement> for Measurements {
    fn from_iter<I: IntoIterator<Item = Measurement>>(iter: I) -> Self {
        Self { all: iter.into_iter().collect(), mixed: false }
    }
}

/// Calls `found` for every folder `new` that holds a result; `base` holds those of the run before.
fn visit(
    folder: &Path,
    found: &mut impl FnMut(&Path) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.ends_with("new") && path.join("benchmark.json").exists() {
            found(&path)?;
        } else if path.is_dir() {
            visit(&path, found)?;
        }
    }
    Ok(())
}

fn span(times: &[SystemTime]) -> Duration {
    match (times.iter().min(), times.iter().max()) {
        (Some(first), Some(last)) => last.duration_since(*first).unwrap_or_default(),
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCHMARK: &str = r#"{"group_id":"query/single/absent/many","function_id":"fastbloom",
        "value_str":null,"throughput":{"Elements":1000},"full_id":"…","directory_name":"…","title":"…"}"#;
    const ESTIMATES: &str = r#"{"mean":{"confidence_interval":{"confidence_level":0.95,"lower_bound":1.0,
        "upper_bound":2.0},"point_estimate":9999.0,"standard_error":1.0},
        "median":{"point_estimate":18650.0},"slope":null}"#;

    #[test]
    fn a_result() {
        let expected = Measurement {
            task: "query/single/absent".into(),
            size: "many".into(),
            filter: "fastbloom".into(),
            nanos: 18.65,
        };
        assert_eq!(Measurement::parse(BENCHMARK, ESTIMATES).unwrap(), expected);
    }

    #[test]
    fn not_a_result() {
        for (benchmark, estimates, expected) in [
            (BENCHMARK.replace("Elements", "Bytes").as_str(), ESTIMATES, "number of elements"),
            (&BENCHMARK.replace("function_id", "f"), ESTIMATES, "function_id"),
            (&BENCHMARK.replace("query/single/absent/many", "query"), ESTIMATES, "no size"),
            (BENCHMARK, "{}", "median"),
            (BENCHMARK, "{", "EOF"),
        ] {
            let error = Measurement::parse(benchmark, estimates).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_folder_of_results() {
        let folder = std::env::temp_dir().join(format!("sstkit-bench-{}", std::process::id()));
        for (place, benchmark) in [("g/a/new", BENCHMARK), ("g/a/base", "no result")] {
            fs::create_dir_all(folder.join(place)).unwrap();
            fs::write(folder.join(place).join("benchmark.json"), benchmark).unwrap();
            fs::write(folder.join(place).join("estimates.json"), ESTIMATES).unwrap();
        }
        let measurements = Measurements::read(&folder);
        fs::remove_dir_all(&folder).unwrap();
        let measurements = measurements.unwrap();
        assert_eq!(measurements.nanos("query/single/absent", "many", "fastbloom"), Some(18.65));
        assert_eq!(measurements.all.len(), 1);
        assert!(!measurements.mixed());
        assert!(Measurements::read(&folder).is_err(), "the folder is gone");
    }

    #[test]
    fn sizes_in_order() {
        let measurements: Measurements = ["many", "10000000", "1000", "100000", "1000"]
            .map(|size| Measurement {
                task: "build".into(),
                size: size.into(),
                filter: "x".into(),
                nanos: 1.0,
            })
            .into_iter()
            .collect();
        assert_eq!(measurements.sizes("build"), ["1000", "100000", "10000000", "many"]);
    }
}
