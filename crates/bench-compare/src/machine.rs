//! Where and with what it was measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::args::Args;
use crate::noise::Noise;
use crate::rocks;

/// What a reader has to know to believe the numbers, or to repeat them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) command: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) caches: String,
    pub(crate) memory: String,
    pub(crate) system: String,
    /// Of the minutes before the start: an idle machine has about 0.
    pub(crate) load: String,
    pub(crate) noise: Noise,
    pub(crate) file_system: String,
    pub(crate) rustc: String,
    pub(crate) cxx: String,
    pub(crate) versions: Vec<(String, String)>,
}

/// The crates whose versions are reported.
const CRATES: [&str; 10] = [
    "sstkit",
    "rocksdb",
    "librocksdb-sys",
    "rusty-leveldb",
    "rocksdb-fileformat",
    "fastbloom",
    "foldhash",
    "xorf",
    "sbbf-rs-safe",
    "zstd-sys",
];

impl Machine {
    pub(crate) fn look(args: &Args, folder: &Path) -> Self {
        let lock = include_str!("../Cargo.lock");
        let mut versions = vec![("RocksDB".to_string(), rocks::version())];
        versions.extend(
            CRATES.iter().filter_map(|name| {
                Some((name.to_string(), locked_version(lock, name)?.to_string()))
            }),
        );
        let folder = folder.display().to_string();
        Self {
            date: args.date.clone().unwrap_or_else(|| said(&["date", "-u", "+%Y-%m-%d"])),
            command: command_line(std::env::args().skip(1)),
            processor: processor(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            caches: caches(),
            memory: memory(&read("/proc/meminfo")),
            system: said(&["uname", "-srm"]),
            load: read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
            noise: Noise::measure(),
            file_system: last_line(&said(&["stat", "--file-system", "--format=%T", &folder])),
            rustc: env!("RUSTC_VERSION").into(),
            cxx: env!("CXX_VERSION").into(),
            versions,
        }
    }

    /// The same as lines for people.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let versions: Vec<String> =
            self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        vec![
            ("processor", format!("{}, {} cores", self.processor, self.cores)),
            ("caches", self.caches.clone()),
            ("memory", self.memory.clone()),
            ("system", format!("{}, tables on {}", self.system, self.file_system)),
            ("load before the start", self.load.clone()),
            ("noise", self.noise.to_string()),
            (
                "compilers",
                format!("{}; {}; both for x86-64-v3 with pclmulqdq", self.rustc, self.cxx),
            ),
            ("versions", versions.join(", ")),
        ]
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// What a program prints; nothing if there is no such program.
fn said(words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_string()
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_string()
}

/// How to do it again; names of folders are for others to choose.
fn command_line(args: impl Iterator<Item = String>) -> String {
    let args: Vec<String> = args.collect();
    match args.is_empty() {
        true => "cargo run --release".into(),
        false => format!("cargo run --release -- {}", args.join(" ")),
    }
}

fn processor(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown", |(_, name)| name.trim());
    format!("{model}, {}", std::env::consts::ARCH)
}

fn caches() -> String {
    let mut found = Vec::new();
    for index in 0..8 {
        let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        let part = |name: &str| read(&format!("{folder}/{name}")).trim().to_string();
        let kind = match part("type").as_str() {
            "" => continue,
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        found.push(format!("L{}{kind} {}", part("level"), part("size")));
    }
    found.join(", ")
}

fn memory(meminfo: &str) -> String {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok());
    kib.map_or("unknown".into(), |kib| format!("{} GiB", kib >> 20))
}

/// The version of a crate in a `Cargo.lock`; the last one if there are several.
fn locked_version<'l>(lock: &'l str, name: &str) -> Option<&'l str> {
    let start = lock.rfind(&format!("name = \"{name}\"\n"))?;
    let (_, rest) = lock[start..].split_once("version = \"")?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2\"\n\n[[package]]\nname = \"ab\"\nversion = \"3\"\n";
        assert_eq!(locked_version(lock, "a"), Some("1.2"));
        assert_eq!(locked_version(lock, "ab"), Some("3"));
        assert_eq!(locked_version(lock, "b"), None);
    }

    #[test]
    fn what_the_system_says_is_understood() {
        assert!(processor("x\nmodel name\t: A B\n").starts_with("A B, "));
        assert_eq!(memory("MemTotal:       24000000 kB\n"), "22 GiB");
        assert_eq!(
            command_line(["--quick".to_string()].into_iter()),
            "cargo run --release -- --quick"
        );
    }
}
