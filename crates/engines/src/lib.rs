//! The real engines, for tests: what they write, and what they make of our files.
//!
//! RocksDB and LevelDB come from PyPI (`requirements.txt` says which) and run in Python processes of
//! a virtual environment that is made on first use, below the folder that cargo builds in. A test
//! that needs them calls [`ask`]; if they cannot be had, it fails and says why.

#![forbid(unsafe_code)]

mod environment;
mod random;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

pub use random::{Random, seeds};

/// Asks the engines something: `request` names a function of `engines.py`.
///
/// # Panics
///
/// If the environment cannot be made, or the engine fails: the test fails with what it said.
pub fn ask(request: &str, arguments: &Value) -> Value {
    static INTERPRETER: OnceLock<std::path::PathBuf> = OnceLock::new();
    let interpreter = INTERPRETER.get_or_init(|| {
        environment::interpreter().unwrap_or_else(|problem| {
            panic!(
                "the engines cannot be installed (they need python3 with venv, and PyPI): {problem}"
            )
        })
    });
    let mut process = Command::new(interpreter)
        .args(["-c", include_str!("engines.py"), request])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the interpreter starts");
    let mut stdin = process.stdin.take().expect("piped");
    let input = arguments.to_string();
    // The program reads all of it before it writes anything.
    let sent = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = process.wait_with_output().expect("the interpreter ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{request} failed:\n{errors}");
    sent.expect("the request was read");
    serde_json::from_slice(&output.stdout).expect("the answer is JSON")
}

/// Keys and values as the requests have them.
pub fn entries<K: AsRef<[u8]>, V: AsRef<[u8]>>(entries: impl IntoIterator<Item = (K, V)>) -> Value {
    entries
        .into_iter()
        .map(|(key, value)| json!([hex(key.as_ref()), hex(value.as_ref())]))
        .collect()
}

/// Keys as the requests have them.
pub fn keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Value {
    keys.into_iter().map(|key| json!(hex(key.as_ref()))).collect()
}

/// What an answer says under `field`, a list of keys and values.
///
/// # Panics
///
/// If it is not one.
pub fn read_entries(answer: &Value, field: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let list = answer[field].as_array().expect("a list of entries");
    list.iter().map(|entry| (unhex(&entry[0]), unhex(&entry[1]))).collect()
}

/// What an answer says under `field`, a list of values or nulls.
///
/// # Panics
///
/// If it is not one.
pub fn read_values(answer: &Value, field: &str) -> Vec<Option<Vec<u8>>> {
    let list = answer[field].as_array().expect("a list of values");
    list.iter().map(|value| (!value.is_null()).then(|| unhex(value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that an answer gives as hexadecimal digits.
///
/// # Panics
///
/// If they are none.
pub fn unhex(text: &Value) -> Vec<u8> {
    let text = text.as_str().expect("hexadecimal text").as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit") as u8;
    text.as_chunks().0.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect()
}
