//! A proxy on loopback that counts requests, injects faults and adds latency; or, in its place, a server of one file.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

/// The time for which more than the bandwidth may be sent.
const BURST: Duration = Duration::from_millis(5);

/// Requests belong to one round until none has arrived for this time.
const QUIET: Duration = Duration::from_millis(200);

/// What happens to a request instead of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A response with this status and without a body.
    Status(u16),
    /// The connection is closed without a response.
    Reset,
    /// The connection is closed in the middle of the response.
    Truncated,
}

/// Where the responses come from.
pub enum Upstream {
    /// A server on this port of loopback.
    Port(u16),
    /// Every path is this file.
    File(Bytes),
    /// What this makes of the response of a server of this file.
    Changed(Bytes, Box<dyn Fn(Vec<u8>) -> Vec<u8> + Send + Sync>),
}

/// A running proxy.
pub struct Proxy {
    /// Where it listens, on loopback.
    pub port: u16,
    state: Arc<State>,
}

struct State {
    upstream: Upstream,
    settings: Mutex<Settings>,
    gate: Condvar,
}

#[derive(Default)]
struct Settings {
    /// Method, path and range of each request.
    log: Vec<String>,
    faults: VecDeque<Fault>,
    /// Requests of these methods fail with status 400.
    refused: Option<&'static str>,
    latency: Duration,
    /// Bytes per second, of all connections together.
    bandwidth: Option<f64>,
    busy_until: Option<Instant>,
    /// The number of requests that must be waiting before a response is sent.
    gate: usize,
    waiting: usize,
    /// The rounds that have ended, if they are counted.
    rounds: Option<usize>,
    arrivals: usize,
}

impl Proxy {
    /// Starts a proxy on a free port. It runs until the process ends.
    ///
    /// # Panics
    ///
    /// If no port of loopback is free.
    pub fn start(upstream: Upstream) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { upstream, settings: Mutex::default(), gate: Condvar::new() });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A client may close the connection at any time.
                thread::spawn(move || drop(serve(&state, connection)));
            }
        });
        Self { port, state }
    }

    /// The requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.settings.lock().unwrap().log)
    }

    /// The next requests fail like this.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.settings.lock().unwrap().faults.extend(faults);
    }

    /// No more failures are planned.
    pub fn clear_faults(&self) {
        self.state.settings.lock().unwrap().faults.clear();
    }

    /// Requests of a method fail from now on.
    pub fn refuse(&self, method: Option<&'static str>) {
        self.state.settings.lock().unwrap().refused = method;
    }

    /// Requests wait until this number of them has arrived.
    pub fn gate(&self, requests: usize) {
        self.state.settings.lock().unwrap().gate = requests;
    }

    /// What `work` returns, and the number of rounds of requests that it made: no request is answered before all of its
    /// round have arrived.
    pub fn count_rounds<T>(&self, work: impl FnOnce() -> T) -> (T, usize) {
        self.state.settings.lock().unwrap().rounds = Some(0);
        let result = work();
        let rounds = self.state.settings.lock().unwrap().rounds.take();
        (result, rounds.unwrap_or(0))
    }

    /// Delays each response by `latency`, and sends `bandwidth` bytes per second in all.
    pub fn slow_down(&self, latency: Duration, bandwidth: f64) {
        let mut settings = self.state.settings.lock().unwrap();
        (settings.latency, settings.bandwidth) = (latency, Some(bandwidth));
    }
}

fn serve(state: &State, connection: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut writer = connection;
    loop {
        let Some(request) = Request::read(&mut reader)? else { return Ok(()) };
        let (fault, refused, latency) = {
            let mut settings = state.settings.lock().unwrap();
            let range = request.header("range").unwrap_or_default();
            settings.log.push(format!("{} {} {range}", request.method, request.path));
            let refused = settings.refused == Some(request.method.as_str());
            (settings.faults.pop_front(), refused, settings.latency)
        };
        thread::sleep(latency);
        state.pass_gate();
        state.await_round();
        if refused || matches!(fault, Some(Fault::Status(_))) {
            let status = match fault {
                Some(Fault::Status(status)) if !refused => status,
                _ => 400,
            };
            write!(writer, "HTTP/1.1 {status} Fault\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        }
        if fault == Some(Fault::Reset) {
            return writer.shutdown(Shutdown::Both);
        }
        let response = match &state.upstream {
            Upstream::Port(port) => request.forward(*port)?,
            Upstream::File(bytes) => request.answer(bytes),
            Upstream::Changed(bytes, change) => change(request.answer(bytes)),
        };
        let is_truncated = fault == Some(Fault::Truncated);
        let sent = if is_truncated { &response[..response.len() / 2] } else { &response[..] };
        for chunk in sent.chunks(64 << 10) {
            state.wait_for_bandwidth(chunk.len());
            writer.write_all(chunk)?;
        }
        if is_truncated || !matches!(state.upstream, Upstream::File(_)) {
            return writer.shutdown(Shutdown::Both);
        }
    }
}

impl State {
    fn pass_gate(&self) {
        let mut settings = self.settings.lock().unwrap();
        if settings.gate == 0 {
            return;
        }
        settings.waiting += 1;
        if settings.waiting >= settings.gate {
            (settings.gate, settings.waiting) = (0, 0);
            self.gate.notify_all();
            return;
        }
        // The test fails later if this is not enough.
        let limit = Duration::from_secs(60);
        let _ = self.gate.wait_timeout_while(settings, limit, |it| it.gate > 0).unwrap();
    }

    /// Waits until the round is complete, if rounds are counted.
    fn await_round(&self) {
        let mut settings = self.settings.lock().unwrap();
        let Some(round) = settings.rounds else { return };
        settings.arrivals += 1;
        self.gate.notify_all();
        while settings.rounds == Some(round) {
            let arrivals = settings.arrivals;
            let (next, quiet) = self
                .gate
                .wait_timeout_while(settings, QUIET, |it| {
                    it.rounds == Some(round) && it.arrivals == arrivals
                })
                .unwrap();
            settings = next;
            if quiet.timed_out() && settings.rounds == Some(round) {
                settings.rounds = Some(round + 1);
                self.gate.notify_all();
            }
        }
    }

    fn wait_for_bandwidth(&self, bytes: usize) {
        let until = {
            let mut settings = self.settings.lock().unwrap();
            let Some(bandwidth) = settings.bandwidth else { return };
            let now = Instant::now();
            // A thread sleeps longer than it wants to: what is lost by that is sent faster.
            let earliest = now.checked_sub(BURST).unwrap_or(now);
            let start = settings.busy_until.map_or(now, |it| it.max(earliest));
            let until = start + Duration::from_secs_f64(bytes as f64 / bandwidth);
            settings.busy_until = Some(until);
            until
        };
        thread::sleep(until.saturating_duration_since(Instant::now()));
    }
}

struct Request {
    method: String,
    path: String,
    head: String,
    body: Vec<u8>,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(None);
            }
        }
        let mut words = head.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request = Self { method, path, head, body: Vec::new() };
        let length = request.header("content-length").and_then(|it| it.parse().ok());
        reader.take(length.unwrap_or(0)).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }

    fn header(&self, name: &str) -> Option<String> {
        let line = self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        line.filter(|it| !it.is_empty())
    }

    /// The response of another server, to the end of the connection.
    fn forward(&self, port: u16) -> io::Result<Vec<u8>> {
        let mut upstream = TcpStream::connect(("127.0.0.1", port))?;
        let head = self.head.trim_end_matches("\r\n");
        write!(upstream, "{head}\r\nConnection: close\r\n\r\n")?;
        upstream.write_all(&self.body)?;
        let mut response = Vec::new();
        upstream.read_to_end(&mut response)?;
        Ok(response)
    }

    /// The response of a server of one file.
    fn answer(&self, file: &Bytes) -> Vec<u8> {
        let size = file.len();
        let range = self.header("range").and_then(|range| {
            let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
            Some(match start {
                "" => size.saturating_sub(end.parse().ok()?)..size,
                _ => start.parse().ok()?..(end.parse::<usize>().ok()? + 1).min(size),
            })
        });
        let (status, range) = match range {
            Some(range) => ("206 Partial Content", range),
            None => ("200 OK", 0..size),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {}-{}/{size}\r\n\
             ETag: \"one\"\r\nLast-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n\r\n",
            range.len(),
            range.start,
            range.end.saturating_sub(1),
        );
        let body = if self.method == "HEAD" { &[][..] } else { &file[range] };
        [head.as_bytes(), body].concat()
    }
}
