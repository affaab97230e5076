//! RocksDB's `sst_dump`, compiled from the sources that come with librocksdb-sys.

use std::env;
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt as _;

use librocksdb_sys as _; // RocksDB is linked through it

unsafe extern "C" {
    fn shim_sst_dump(argc: c_int, argv: *const *const c_char) -> c_int;
}

fn main() {
    let args: Vec<CString> = env::args_os()
        .map(|arg| CString::new(arg.into_vec()).expect("arguments have no zero bytes"))
        .collect();
    let pointers: Vec<*const c_char> = args.iter().map(|arg| arg.as_ptr()).collect();
    // SAFETY: as many pointers as said, to strings that end with a zero and outlive the call.
    let status = unsafe { shim_sst_dump(pointers.len() as c_int, pointers.as_ptr()) };
    std::process::exit(status);
}
