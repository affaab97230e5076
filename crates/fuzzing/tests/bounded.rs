//! Every target, over its seeds and a bounded number of mutations of them: on stable Rust, and
//! the same in every run.
//!
//! `SSTKIT_SEED` sets the first seed, `SSTKIT_CASES` the number of cases.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::{env, fs};

use sstkit_fuzzing::{Random, TARGETS, Target, mutate};

/// Mutations of a target that takes microseconds.
const CASES: u64 = 50_000;

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
        Err(_) => default,
    }
}

/// How many mutations a target gets, so that all take about as long.
fn cases(target: &Target) -> u64 {
    let share = match target.name {
        "database" | "salvage_database" | "salvage_table" => 50,
        "whole_table" | "model" => 10,
        _ => 1,
    };
    (number("SSTKIT_CASES", CASES) / share).max(1)
}

/// Runs a target over one input; a panic names the input and how to make it again.
fn run(target: &Target, input: &[u8], what: &str) {
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    if let Err(panic) = outcome {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{what}", target.name));
        fs::write(&path, input).expect("a folder for findings");
        panic!(
            "{}: {}\n  the input ({what}) is in {}\n  again: cargo run -p sstkit-fuzzing --bin \
             replay -- {} {}",
            target.name,
            message(&*panic),
            path.display(),
            target.name,
            path.display(),
        );
    }
}

fn message(panic: &dyn Any) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

fn bounded(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty(), "{name} has nothing to start from");
    for (i, seed) in seeds.iter().enumerate() {
        run(target, seed, &format!("seed-{i}"));
    }
    let first = number("SSTKIT_SEED", 1);
    for case in 0..cases(target) {
        // Each case has numbers of its own, so that it can be made again without those before it.
        let mut random = Random::new(first.wrapping_mul(1 << 32).wrapping_add(case));
        let seed = random.pick(&seeds);
        let other = random.pick(&seeds);
        let input = mutate(&mut random, seed, other);
        run(target, &input, &format!("seed-{first}-case-{case}"));
    }
}

macro_rules! tests {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                bounded(stringify!($name));
            }
        )+

        /// No target is forgotten, here or among the binaries of `fuzz/`.
        #[test]
        fn all_targets() {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
            let files = fs::read_dir(folder.join("fuzz_targets")).expect("a folder").count();
            assert_eq!(files, names.len());
            for name in names {
                let body = fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs")));
                assert!(body.is_ok_and(|body| body.contains(&format!("sstkit_fuzzing::{name}("))));
                assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
            }
        }
    };
}

tests! {
    footer block index filter_partitions properties metaindex wide_columns blob_index
    leveldb_filter_block rocksdb_filter_block legacy_bloom fast_local_bloom ribbon
    snappy zlib bzip2 lz4 zstd log write_batch manifest options_file blob_file
    backup_meta database whole_table salvage_table salvage_database model
}
