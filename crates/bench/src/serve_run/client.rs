//! One connection to the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

pub(super) struct Client {
    host: String,
    stream: BufReader<TcpStream>,
    answer: Vec<u8>,
}

impl Client {
    pub(super) fn connect(host: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(host).map_err(|error| format!("{host}: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Self { host: host.to_owned(), stream: BufReader::new(stream), answer: Vec::new() })
    }

    /// Requests an address, and returns the length of the answer. Connects again if the server has
    /// closed the connection.
    pub(super) fn get(&mut self, target: &str) -> Result<u64, String> {
        match self.request(target) {
            Ok(Some(length)) => return Ok(length),
            Ok(None) => {}
            Err(error) => return Err(format!("{target}: {error}")),
        }
        *self = Self::connect(&self.host)?;
        match self.request(target) {
            Ok(Some(length)) => Ok(length),
            Ok(None) => Err(format!("{target}: the server closed a new connection")),
            Err(error) => Err(format!("{target}: {error}")),
        }
    }

    /// `None` if the connection was closed before the answer.
    fn request(&mut self, target: &str) -> Result<Option<u64>, String> {
        let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        if self.stream.get_mut().write_all(request.as_bytes()).is_err() {
            return Ok(None);
        }
        let mut line = String::new();
        let mut length = None;
        let mut status = String::new();
        loop {
            line.clear();
            match self.stream.read_line(&mut line) {
                Ok(0) | Err(_) if status.is_empty() => return Ok(None),
                Ok(0) | Err(_) => return Err("the answer ends in its head".into()),
                Ok(_) if line == "\r\n" => break,
                Ok(_) if status.is_empty() => status = line.trim_end().to_owned(),
                Ok(_) => {
                    let field = line.split_once(':');
                    let field =
                        field.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
                    length = field.map_or(length, |(_, value)| value.trim().parse().ok());
                }
            }
        }
        if !status.contains(" 200 ") {
            return Err(status);
        }
        let length: u64 = length.ok_or("the answer has no length")?;
        self.answer.resize(usize::try_from(length).map_err(|error| error.to_string())?, 0);
        self.stream.read_exact(&mut self.answer).map_err(|error| error.to_string())?;
        Ok(Some(length))
    }
}
