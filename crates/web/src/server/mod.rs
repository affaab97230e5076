//! The server: a listener, a thread for each connection, and limits.
//!
//! ```text
//! accept ---> a free connection slot? ---> thread: head ---> guard ---> inspector ---> response
//!             no: 503                              |           |            |
//!                                                  limits      refusals     a work permit
//! ```
//!
//! Threads instead of an event loop: a page needs a handful of connections, and its work is reading
//! files. See `docs/decisions/0012-a-server-of-our-own.md`.

mod connection;
mod guard;
mod head;
mod limits;
mod open_streams;
mod response;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use self::connection::Connection;
use self::guard::Guard;
use self::limits::Slots;
use self::open_streams::OpenStreams;
use crate::inspector::Inspector;

/// Connections at once. A browser opens six.
const MAX_CONNECTIONS: usize = 128;
/// How long a request waits for a work permit.
const PERMIT_WAIT: Duration = Duration::from_secs(10);
/// How long connections may take to end when the server stops; then they are cut.
const CLOSE_TIME: Duration = Duration::from_millis(500);
/// How often the server looks whether it should stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    address: SocketAddr,
    needs_token: bool,
    hosts: Vec<String>,
}

/// This machine only, on a free port.
impl Default for ServerOptions {
    fn default() -> Self {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self { address, needs_token: false, hosts: Vec::new() }
    }
}

impl ServerOptions {
    /// The address to listen at; port 0 is a free one. Beyond this machine, every request needs a
    /// token.
    #[must_use]
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Whether requests need a token on this machine, too: others may use it.
    #[must_use]
    pub fn needs_token(mut self, needs_token: bool) -> Self {
        self.needs_token = needs_token;
        self
    }

    /// Allows requests to this host name, besides `localhost` and addresses.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }
}

/// The inspector over HTTP.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    inspector: Inspector,
    guard: Guard,
    connections: Slots,
    permits: Slots,
    /// Of verifications, which take longer than any page: they leave permits for pages.
    verify_permits: Slots,
    streams: OpenStreams,
    is_closing: AtomicBool,
}

impl Server {
    /// Listens. Requests are answered by [`run`](Self::run).
    pub fn bind(inspector: Inspector, options: &ServerOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address)?;
        let address = listener.local_addr()?;
        let guard = Guard::new(address, options.needs_token, &options.hosts)?;
        // Work is reading and decompressing; more threads than cores hide slow disks.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            listener,
            address,
            inspector,
            guard,
            connections: Slots::new(MAX_CONNECTIONS),
            permits: Slots::new(2 * cores + 2),
            verify_permits: Slots::new(cores),
            streams: OpenStreams::default(),
            is_closing: AtomicBool::new(false),
        })
    }

    /// The address to open in a browser, with the token if one is needed.
    pub fn url(&self) -> String {
        let address = self.reachable_address();
        match self.guard.token() {
            Some(token) => format!("http://{address}/?token={token}"),
            None => format!("http://{address}/"),
        }
    }

    /// An address of this machine that leads here.
    fn reachable_address(&self) -> SocketAddr {
        let ip = match self.address.ip() {
            // All addresses: the loopback address is always among them.
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        SocketAddr::new(ip, self.address.port())
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Answers requests until `stop` returns true, then ends all connections. Answers that are being written
    /// have half a second to arrive.
    pub fn run(&self, stop: impl Fn() -> bool) {
        thread::scope(|scope| {
            scope.spawn(|| self.accept(scope));
            while !stop() {
                thread::sleep(STOP_INTERVAL);
            }
            self.is_closing.store(true, Ordering::Relaxed);
            // Wakes the listener.
            drop(TcpStream::connect_timeout(&self.reachable_address(), Duration::from_secs(1)));
            let mut time = CLOSE_TIME;
            while !self.connections.are_free_within(time) {
                self.streams.shut_down();
                time = STOP_INTERVAL;
            }
        });
    }

    fn accept<'s>(&'s self, scope: &'s thread::Scope<'s, '_>) {
        for stream in self.listener.incoming() {
            if self.is_closing() {
                return;
            }
            // An aborted connection, or too many open files: others may succeed.
            let Ok(stream) = stream else {
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            let Some(slot) = self.connections.try_take() else {
                response::refuse_connection(&stream);
                continue;
            };
            let open = self.streams.add(stream);
            let serve = move || {
                // A panic ends this connection, and not the server: that would be at the end of the scope.
                let serve = || Connection::new(self, open.stream()).serve();
                let _ = catch_unwind(AssertUnwindSafe(serve));
                drop((open, slot));
            };
            // Without another thread the connection is closed.
            drop(thread::Builder::new().name("connection".into()).spawn_scoped(scope, serve));
        }
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }
}
