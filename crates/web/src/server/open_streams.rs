//! The connections that are open, so that closing the server ends them.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The streams by number, and the next number.
#[derive(Default)]
pub(super) struct OpenStreams(Mutex<(u64, HashMap<u64, Arc<TcpStream>>)>);

/// A stream of an open connection; dropping it closes the stream.
pub(super) struct OpenStream<'s> {
    streams: &'s OpenStreams,
    number: u64,
    stream: Arc<TcpStream>,
}

impl OpenStreams {
    pub(super) fn add(&self, stream: TcpStream) -> OpenStream<'_> {
        let stream = Arc::new(stream);
        let mut streams = self.lock();
        streams.0 += 1;
        let number = streams.0;
        streams.1.insert(number, Arc::clone(&stream));
        OpenStream { streams: self, number, stream }
    }

    /// Ends all connections, also those whose clients do not read.
    pub(super) fn shut_down(&self) {
        for stream in self.lock().1.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<u64, Arc<TcpStream>>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenStream<'_> {
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }
}

impl Drop for OpenStream<'_> {
    fn drop(&mut self) {
        self.streams.lock().1.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    /// Without an end of the connection, the write would wait forever.
    #[test]
    fn a_write_that_nobody_reads_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let deaf = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let streams = OpenStreams::default();
        let open = streams.add(listener.accept().unwrap().0);
        std::thread::scope(|scope| {
            let write = scope.spawn(|| {
                let mut stream = open.stream();
                while stream.write_all(&[0; 1 << 16]).is_ok() {}
            });
            streams.shut_down();
            write.join().unwrap();
        });
        drop((deaf, open));
        assert!(streams.lock().1.is_empty());
    }
}
