//! Responses: a status, headers that keep browsers in bounds, and a body.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Nothing is loaded from elsewhere, nothing is framed, and no code is in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
/// The time for a whole response. A page is a few megabytes at most.
const WRITE_TIME: Duration = Duration::from_secs(60);
/// The time for a write that makes no progress.
const STALL_TIME: Duration = Duration::from_secs(10);
/// Bytes of a write.
const CHUNK: usize = 64 << 10;

/// A request that is not answered, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) why: &'static str,
}

impl Refusal {
    pub(super) const fn new(status: u16, why: &'static str) -> Self {
        Self { status, why }
    }
}

/// A response with a body of known length.
#[derive(Debug)]
pub(super) struct Response<'b> {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) body: &'b [u8],
    /// Further header lines.
    pub(super) headers: String,
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        414 => "URI Too Long",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

/// The first lines of a response, without the empty one at the end.
fn start(status: u16, content_type: &str, keep_alive: bool) -> String {
    let (reason, connection) = (reason(status), if keep_alive { "keep-alive" } else { "close" });
    format!(
        "HTTP/1.1 {status} {reason}\r\n\
         Content-Type: {content_type}\r\n\
         Connection: {connection}\r\n\
         Cache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\n\
         X-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n"
    )
}

impl Response<'_> {
    /// Writes it; to a `HEAD` without the body.
    pub(super) fn write(
        &self,
        stream: &TcpStream,
        is_head: bool,
        keep_alive: bool,
    ) -> io::Result<()> {
        let Self { status, content_type, body, headers } = self;
        let mut out = start(*status, content_type, keep_alive);
        if *status == 405 {
            out.push_str("Allow: GET, HEAD\r\n");
        }
        out.push_str(headers);
        out.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut out = out.into_bytes();
        let body = if is_head { &[] } else { *body };
        // Small bodies in the same packet.
        let (first, rest) = body.split_at(body.len().min(CHUNK - out.len().min(CHUNK)));
        out.extend_from_slice(first);
        let writer = DeadlineWriter::new(stream)?;
        writer.write(&out)?;
        rest.chunks(CHUNK).try_for_each(|chunk| writer.write(chunk))
    }
}

/// Writes to a client that must read now and then.
struct DeadlineWriter<'s> {
    stream: &'s TcpStream,
    end: Instant,
}

impl<'s> DeadlineWriter<'s> {
    fn new(stream: &'s TcpStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(STALL_TIME))?;
        Ok(Self { stream, end: Instant::now() + WRITE_TIME })
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if Instant::now() > self.end {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut stream = self.stream;
        stream.write_all(bytes)
    }
}

/// A response that is written in parts, each as soon as it is known.
pub(super) struct ChunkedResponse<'s> {
    stream: &'s TcpStream,
}

impl<'s> ChunkedResponse<'s> {
    /// Starts it. The connection is closed after it.
    pub(super) fn start(stream: &'s TcpStream, content_type: &str) -> io::Result<Self> {
        stream.set_write_timeout(Some(STALL_TIME))?;
        let mut out = stream;
        let head = start(200, content_type, false);
        out.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes())?;
        Ok(Self { stream })
    }

    pub(super) fn write(&mut self, part: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", part.len()).into_bytes();
        chunk.extend_from_slice(part);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }
}

/// Tells a client that there are too many of them, and does not wait for it.
pub(super) fn refuse_connection(mut stream: &TcpStream) {
    let head = start(503, "text/plain; charset=utf-8", false);
    let body = "too many connections\n";
    let text = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    if stream.set_nonblocking(true).is_ok() {
        // A client with a full buffer does not see it.
        let _ = stream.write_all(text.as_bytes());
    }
}
