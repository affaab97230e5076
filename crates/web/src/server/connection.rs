//! One connection: requests one after another, each within its limits.

use std::cell::Cell;
use std::io::{self, Read as _};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::head::Head;
use super::limits::{Slot, Slots};
use super::response::{ChunkedResponse, Refusal, Response};
use super::{PERMIT_WAIT, Server};
use crate::assets;
use crate::error::PageError;
use crate::inspector::Route;
use crate::pages::to_json;
use crate::query::Address;

/// The time for a head, from its first byte.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a connection may be idle; if there are many, not that long.
const IDLE_TIME: Duration = Duration::from_secs(30);
const CROWDED_IDLE_TIME: Duration = Duration::from_secs(1);
/// How often a wait looks whether the server is closing.
const POLL_TIME: Duration = Duration::from_millis(250);
/// The time for the work of one page.
const WORK_TIME: Duration = Duration::from_secs(10);
/// How often work looks whether its client is still there.
const GONE_INTERVAL: Duration = Duration::from_millis(50);
/// What is read of a refused request, so that its client sees the answer.
const LINGER_TIME: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 256 << 10;

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";

pub(super) struct Connection<'s> {
    server: &'s Server,
    stream: &'s TcpStream,
    /// Bytes that were read and not used.
    input: Vec<u8>,
}

/// Why there is no request.
enum NoRequest {
    /// The client has gone, or is idle for too long.
    Closed,
    Refused(Refusal),
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

impl<'s> Connection<'s> {
    pub(super) fn new(server: &'s Server, stream: &'s TcpStream) -> Self {
        Self { server, stream, input: Vec::new() }
    }

    /// Answers requests until either side closes.
    pub(super) fn serve(mut self) {
        // Answers are written whole, so waiting for more of them only costs time.
        let _ = self.stream.set_nodelay(true);
        loop {
            match self.next_head() {
                Ok(head) => match self.answer(&head) {
                    Ok(true) => {}
                    Ok(false) => return self.linger(),
                    Err(_) => return,
                },
                Err(NoRequest::Closed) => return,
                Err(NoRequest::Refused(refusal)) => {
                    let _ = self.refuse(refusal, false);
                    return self.linger();
                }
            }
        }
    }

    /// The head of the next request.
    fn next_head(&mut self) -> Result<Head, NoRequest> {
        let idle_since = Instant::now();
        let mut head_since = (!self.input.is_empty()).then(Instant::now);
        loop {
            match Head::parse(&self.input).map_err(NoRequest::Refused)? {
                Some((head, length)) => {
                    self.input.drain(..length);
                    return Ok(head);
                }
                None if self.server.is_closing() => return Err(NoRequest::Closed),
                None => {}
            }
            match head_since {
                Some(start) if start.elapsed() > HEAD_TIME => {
                    return Err(NoRequest::Refused(Refusal::new(408, "the request is too slow")));
                }
                None => {
                    let limit = match self.server.connections.is_crowded() {
                        true => CROWDED_IDLE_TIME,
                        false => IDLE_TIME,
                    };
                    if idle_since.elapsed() > limit {
                        return Err(NoRequest::Closed);
                    }
                }
                Some(_) => {}
            }
            if self.read()? > 0 {
                head_since.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Reads what is there, or waits a little for it.
    fn read(&mut self) -> Result<usize, NoRequest> {
        let mut buffer = [0; 4096];
        self.stream.set_read_timeout(Some(POLL_TIME))?;
        let mut stream = self.stream;
        match stream.read(&mut buffer) {
            Ok(0) => Err(NoRequest::Closed),
            Ok(length) => {
                self.input.extend_from_slice(&buffer[..length]);
                Ok(length)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(NoRequest::Closed),
            },
        }
    }

    /// Answers a request; false if the connection ends.
    fn answer(&self, head: &Head) -> io::Result<bool> {
        let server = self.server;
        let keep_alive =
            head.keep_alive && !server.is_closing() && !server.connections.is_crowded();
        let address = Address::parse(&head.target);
        let mut route = address.and_then(|address| {
            Ok((server.inspector.route(&address.path, head.prefers_json)?, address.query))
        });
        let is_page = matches!(route, Ok((Route::Shell, _)));
        if let Err(refusal) = server.guard.check(head, is_page) {
            self.refuse(refusal, head.is_head())?;
            return Ok(false);
        }
        // Errors, too, are only for those who may ask.
        let token = route.as_mut().ok().and_then(|(_, query)| query.take("token"));
        if !server.guard.has_token(head, token.as_deref()) {
            let refusal =
                Refusal::new(401, "open the address with the token that sst serve printed");
            self.refuse(refusal, head.is_head())?;
            return Ok(false);
        }
        let (route, query) = match route {
            Ok(found) => found,
            // The page says that there is nothing, and leads elsewhere.
            Err(error) if head.accepts_html => {
                let body = assets::SHELL.as_bytes();
                return self.respond(error.status, HTML, body, String::new(), head, keep_alive);
            }
            Err(error) => return self.fail(&error, head, keep_alive),
        };
        match route {
            Route::Shell => self.shell(head, token.as_deref(), keep_alive),
            Route::Asset(asset) => {
                let (content_type, body) = (asset.content_type, asset.text.as_bytes());
                self.respond(200, content_type, body, String::new(), head, keep_alive)
            }
            Route::Verify(_) if head.is_head() => {
                self.respond(200, "application/x-ndjson", b"", String::new(), head, keep_alive)
            }
            Route::Verify(index) => self.verify(index, head, keep_alive),
            Route::Index | Route::Json(..) => {
                let client = Client::new(server, self.stream);
                let Some(permit) = client.wait_for_permit(&server.permits) else {
                    return match client.is_there() {
                        true => self.fail(&PageError::timed_out(), head, keep_alive),
                        false => Err(io::ErrorKind::ConnectionAborted.into()),
                    };
                };
                let make = || server.inspector.json(route, &query, &|| client.waits());
                // What is behind a lock is whole after each step.
                let made = catch_unwind(AssertUnwindSafe(make))
                    .unwrap_or_else(|_| Err(PageError::internal()));
                // A client that reads slowly keeps nobody else waiting.
                drop(permit);
                match made {
                    Ok(body) => self.respond(200, JSON, &body, String::new(), head, keep_alive),
                    Err(error) => self.fail(&error, head, keep_alive),
                }
            }
        }
    }

    /// The HTML of a page. The token of its address becomes a cookie.
    fn shell(&self, head: &Head, token: Option<&str>, keep_alive: bool) -> io::Result<bool> {
        let headers = match (token, self.server.guard.token()) {
            (Some(_), Some(token)) => {
                let name = self.server.guard.cookie();
                format!("Set-Cookie: {name}={token}; Path=/; HttpOnly; SameSite=Strict\r\n")
            }
            _ => String::new(),
        };
        self.respond(200, HTML, assets::SHELL.as_bytes(), headers, head, keep_alive)
    }

    fn verify(&self, index: usize, head: &Head, keep_alive: bool) -> io::Result<bool> {
        let mut response = None;
        let client = Client::new(self.server, self.stream);
        let Some(_permit) = client.wait_for_permit(&self.server.verify_permits) else {
            return self.fail(&PageError::busy("too many verifications are running"), head, false);
        };
        let verified = self.server.inspector.verify(index, &mut |line| {
            if !client.is_there() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            if response.is_none() {
                response = Some(ChunkedResponse::start(self.stream, "application/x-ndjson")?);
            }
            response.as_mut().map_or(Ok(()), |response| response.write(line))
        });
        match (verified, response) {
            (Err(error), _) => self.fail(&error, head, keep_alive),
            (Ok(()), Some(response)) => response.finish().map(|()| false),
            (Ok(()), None) => Ok(false),
        }
    }

    fn fail(&self, error: &PageError, head: &Head, keep_alive: bool) -> io::Result<bool> {
        let body = to_json(error).unwrap_or_default();
        self.respond(error.status, JSON, &body, String::new(), head, keep_alive)
    }

    fn respond(
        &self,
        status: u16,
        content_type: &'static str,
        body: &[u8],
        headers: String,
        head: &Head,
        keep_alive: bool,
    ) -> io::Result<bool> {
        let response = Response { status, content_type, body, headers };
        response.write(self.stream, head.is_head(), keep_alive)?;
        Ok(keep_alive)
    }

    fn refuse(&self, refusal: Refusal, is_head: bool) -> io::Result<()> {
        let body = format!("{}\n", refusal.why);
        let response = Response {
            status: refusal.status,
            content_type: "text/plain; charset=utf-8",
            body: body.as_bytes(),
            headers: String::new(),
        };
        response.write(self.stream, is_head, false)
    }

    /// Ends a connection whose client may still be sending: closing at once would reset it, and the
    /// client would not see the answer.
    fn linger(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let end = Instant::now() + LINGER_TIME;
        let mut discarded = 0;
        while Instant::now() < end && discarded < LINGER_BYTES {
            self.input.clear();
            match self.read() {
                Ok(length) => discarded += length,
                Err(_) => return,
            }
        }
    }
}

/// The client of a request that is being worked on.
struct Client<'s> {
    server: &'s Server,
    stream: &'s TcpStream,
    end: Instant,
    next_look: Cell<Instant>,
}

impl<'s> Client<'s> {
    fn new(server: &'s Server, stream: &'s TcpStream) -> Self {
        let now = Instant::now();
        Self { server, stream, end: now + WORK_TIME, next_look: Cell::new(now + GONE_INTERVAL) }
    }

    /// A permit to work; `None` if none becomes free in time, or the client goes.
    fn wait_for_permit(&self, permits: &'s Slots) -> Option<Slot<'s>> {
        let end = Instant::now() + PERMIT_WAIT;
        loop {
            if let Some(permit) = permits.take_within(POLL_TIME) {
                return Some(permit);
            }
            if Instant::now() > end || !self.is_there() {
                return None;
            }
        }
    }

    /// Whether to continue: there is time, and someone waits.
    fn waits(&self) -> bool {
        let now = Instant::now();
        if now < self.next_look.get() {
            return true;
        }
        self.next_look.set(now + GONE_INTERVAL);
        now < self.end && self.is_there()
    }

    /// Whether the client has not closed the connection, nor is the server about to.
    fn is_there(&self) -> bool {
        if self.server.is_closing() || self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        let peeked = self.stream.peek(&mut [0]);
        let is_open = match peeked {
            Ok(length) => length > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        self.stream.set_nonblocking(false).is_ok() && is_open
    }
}
