//! What a record was made on, and with.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

/// Crates whose versions matter.
const CRATES: [&str; 5] = ["sstkit-filter", "fastbloom", "foldhash", "xorf", "criterion"];

const LOCK_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");

/// Processor, caches, compiler and crates, as a list. What cannot be found out is left out.
pub fn machine() -> String {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lock = fs::read_to_string(LOCK_FILE).unwrap_or_default();
    let versions: Vec<String> = CRATES
        .iter()
        .filter_map(|name| locked_version(&lock, name).map(|version| format!("{name} {version}")))
        .collect();
    let lines = [
        ("processor", processor(&cpu_info)),
        ("caches", caches(Path::new("/sys/devices/system/cpu/cpu0/cache"))),
        ("compiler", compiler().unwrap_or_default()),
        ("crates", versions.join(", ")),
    ];
    let known = lines.iter().filter(|(_, what)| !what.is_empty());
    known.map(|(name, what)| format!("* {name}: {what}\n")).collect()
}

fn processor(cpu_info: &str) -> String {
    let cores = available_parallelism().map_or(1, usize::from);
    let architecture = std::env::consts::ARCH;
    match cpu_model(cpu_info) {
        Some(model) => format!("{model}, {architecture}, {cores} cores"),
        None => format!("{architecture}, {cores} cores"),
    }
}

/// `model name : AMD EPYC 9R14` in the list of the first core.
fn cpu_model(cpu_info: &str) -> Option<&str> {
    cpu_info.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim())
    })
}

/// One folder per cache, with a file per property.
fn caches(folder: &Path) -> String {
    let cache = |index: usize| {
        let property = |name: &str| {
            let text = fs::read_to_string(folder.join(format!("index{index}")).join(name)).ok()?;
            Some(text.trim().to_owned())
        };
        let kind = match property("type")?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        Some(format!("L{}{kind} {}", property("level")?, property("size")?))
    };
    (0..).map_while(cache).collect::<Vec<_>>().join(", ")
}

fn compiler() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}

/// The version of a package in `Cargo.lock`: in the line after the name.
fn locked_version<'t>(lock: &'t str, package: &str) -> Option<&'t str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_packages() {
        let lock = "[[package]]\nname = \"xorf\"\nversion = \"0.13.0\"\n\n\
                    [[package]]\nname = \"xorf-extra\"\nversion = \"9.9.9\"\n";
        assert_eq!(locked_version(lock, "xorf"), Some("0.13.0"));
        assert_eq!(locked_version(lock, "xor"), None);
        let lock = fs::read_to_string(LOCK_FILE).unwrap();
        for package in CRATES {
            assert!(locked_version(&lock, package).is_some(), "{package}");
        }
    }

    #[test]
    fn model_of_the_processor() {
        let cpu_info =
            "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9R14\n\nprocessor\t: 1\n";
        assert_eq!(cpu_model(cpu_info), Some("AMD EPYC 9R14"));
        assert_eq!(cpu_model("Processor : rev 1\n"), None);
    }
}
