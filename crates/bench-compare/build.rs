//! Compiles `src/shim`, which calls RocksDB as C++ programs do, and RocksDB's `sst_dump`, with the
//! flags that librocksdb-sys compiles RocksDB with.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SHIM: [&str; 5] = ["filter.cc", "options.cc", "read.cc", "sst_dump.cc", "write.cc"];

fn main() {
    let sys = env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR");
    let sources = PathBuf::from(sys.expect("librocksdb-sys says where it is")).join("rocksdb");

    let mut build = cc::Build::new();
    build.cpp(true).std("c++20").define("NDEBUG", "1");
    build.include(&sources).include(sources.join("include"));
    // Headers of the library are compiled as the library was: these change what is in them.
    for define in ["HAVE_ALIGNED_NEW", "HAVE_UINT128_EXTENSION"] {
        build.define(define, None);
    }
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        for define in [
            "OS_LINUX",
            "ROCKSDB_PLATFORM_POSIX",
            "ROCKSDB_LIB_IO_POSIX",
            "ROCKSDB_SCHED_GETCPU_PRESENT",
            "ROCKSDB_AUXV_GETAUXVAL_PRESENT",
            "ROCKSDB_FALLOCATE_PRESENT",
            "ROCKSDB_RANGESYNC_PRESENT",
        ] {
            build.define(define, None);
        }
    }
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64") {
        build.flag_if_supported("-march=x86-64-v3").flag_if_supported("-mpclmul");
    }
    // Warnings about RocksDB's headers are for RocksDB.
    build.flag("-include").flag("cstdint").warnings(false);

    for file in SHIM {
        let path = PathBuf::from("src/shim").join(file);
        println!("cargo:rerun-if-changed={}", path.display());
        build.file(path);
    }
    println!("cargo:rerun-if-changed=src/shim/shim.h");
    build.file(sources.join("tools/sst_dump_tool.cc"));
    build.compile("shim");

    println!("cargo:rustc-env=CXX_VERSION={}", first_line(&mut build.get_compiler().to_command()));
    let rustc = env::var_os("RUSTC").expect("cargo says which rustc");
    println!("cargo:rustc-env=RUSTC_VERSION={}", first_line(&mut Command::new(rustc)));
}

/// What a compiler says about itself.
fn first_line(command: &mut Command) -> String {
    let output = command.arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").to_string()
}
