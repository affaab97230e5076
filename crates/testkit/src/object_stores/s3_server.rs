//! A real S3 server on loopback: moto, in a virtual environment below `target`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::environment::python_environment;

/// The server, and what it imports to serve S3.
const REQUIREMENTS: &str = "moto[s3]==5.2.5\nflask==3.1.3\nflask-cors==6.0.5\n";

/// Prints its port, and ends when standard input does: with this process, however that ends.
const PROGRAM: &str = "
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
";

/// A running server, stopped when dropped.
pub struct S3Server {
    process: Child,
    /// Where it listens, on loopback.
    pub port: u16,
}

impl S3Server {
    /// Installs the server if it is not installed yet, and starts it.
    ///
    /// # Panics
    ///
    /// If it cannot be installed or started.
    pub fn start() -> Self {
        let interpreter = python_environment("s3", REQUIREMENTS).unwrap_or_else(|problem| {
            panic!("cannot install moto (python3 with venv and PyPI are needed): {problem}")
        });
        let mut process = Command::new(interpreter)
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { process, port: line.trim().parse().expect("the port of the server") }
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Creates a bucket, which object_store does not do; moto accepts any credentials.
pub fn create_bucket(port: u16, name: &str) {
    use std::io::{Read, Write};
    let mut connection = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = "Host: 127.0.0.1\r\nAuthorization: AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/s3/aws4_request";
    write!(connection, "PUT /{name} HTTP/1.1\r\n{head}\r\nContent-Length: 0\r\n\r\n").unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    assert!(response.contains(" 200 "), "{response}");
}
