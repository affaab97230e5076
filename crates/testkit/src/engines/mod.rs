//! RocksDB and LevelDB themselves: they write files for our reader and read those of our writer.
//!
//! The versions in `requirements.txt` are installed from PyPI into a virtual environment below the
//! directory that cargo builds in, on first use, and run in Python processes; one more comes from npm
//! and runs in node. A test calls [`call`] or [`call_node`]; it fails with the reason if the engines
//! cannot be installed.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

pub use crate::environment::{node_environment, python_environment, target_folder};

/// The versions of the engines.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Calls a function of `engines.py` and returns its result.
///
/// # Panics
///
/// If the environment cannot be made, or the function fails, with its message.
pub fn call(request: &str, arguments: &Value) -> Value {
    static INTERPRETER: OnceLock<std::path::PathBuf> = OnceLock::new();
    let interpreter = INTERPRETER.get_or_init(|| {
        python_environment("engines", REQUIREMENTS).unwrap_or_else(|problem| {
            panic!("cannot install the engines (python3 with venv and PyPI are needed): {problem}")
        })
    });
    let mut command = Command::new(interpreter);
    command.args(["-c", include_str!("engines.py"), request]);
    answer(command, request, arguments)
}

/// RocksDB 10.5.
const NODE_PACKAGES: [&str; 1] = ["rocksdb-native@3.18.1"];

/// Calls a function of `engines.js` and returns its result.
///
/// # Panics
///
/// If the package cannot be installed, or the function fails, with its message.
pub fn call_node(request: &str, arguments: &Value) -> Value {
    static PACKAGES: OnceLock<std::path::PathBuf> = OnceLock::new();
    let packages = PACKAGES.get_or_init(|| {
        node_environment("node-engines", &NODE_PACKAGES)
            .unwrap_or_else(|problem| panic!("cannot install the engine of npm: {problem}"))
    });
    let mut command = Command::new("node");
    command.env("NODE_PATH", packages.join("node_modules")).args([
        "-e",
        include_str!("engines.js"),
        "--",
        "engines.js",
        request,
    ]);
    answer(command, request, arguments)
}

/// Sends the arguments to a process and reads the result.
fn answer(mut command: Command, request: &str, arguments: &Value) -> Value {
    let mut process = command
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
    serde_json::from_slice(&output.stdout).expect("the response is JSON")
}

/// Calls a function of `engines.py` with each of these arguments, in one process, which takes less time
/// than a process for each. Returns its results, or why it failed.
///
/// # Panics
///
/// If the environment cannot be made.
pub fn call_each(request: &str, arguments: &[Value]) -> Vec<Result<Value, String>> {
    let mut response = call("each", &json!({ "function": request, "requests": arguments }));
    let answers = response["answers"].as_array_mut().expect("a list of answers");
    let answer = |it: &mut Value| match it["failure"].as_str() {
        Some(failure) => Err(failure.to_owned()),
        None => Ok(it["answer"].take()),
    };
    answers.iter_mut().map(answer).collect()
}

/// Keys and values in the encoding of requests.
pub fn entries<K: AsRef<[u8]>, V: AsRef<[u8]>>(entries: impl IntoIterator<Item = (K, V)>) -> Value {
    entries
        .into_iter()
        .map(|(key, value)| json!([hex(key.as_ref()), hex(value.as_ref())]))
        .collect()
}

/// Keys in the encoding of requests.
pub fn keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Value {
    keys.into_iter().map(|key| json!(hex(key.as_ref()))).collect()
}

/// The list of keys and values in a field of a response.
///
/// # Panics
///
/// If the field is something else.
pub fn read_entries(response: &Value, field: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let list = response[field].as_array().expect("a list of entries");
    list.iter().map(|entry| (unhex(&entry[0]), unhex(&entry[1]))).collect()
}

/// The list of values or nulls in a field of a response.
///
/// # Panics
///
/// If the field is something else.
pub fn read_values(response: &Value, field: &str) -> Vec<Option<Vec<u8>>> {
    let list = response[field].as_array().expect("a list of values");
    list.iter().map(|value| (!value.is_null()).then(|| unhex(value))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes a string of hexadecimal digits.
///
/// # Panics
///
/// If it is something else.
pub fn unhex(digits: &Value) -> Vec<u8> {
    crate::unhex(digits.as_str().expect("hexadecimal text"))
}
