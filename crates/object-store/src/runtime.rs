//! The thread that makes the requests of blocking callers.
//!
//! A runtime of its own: `block_on` panics in a thread of another one, and the client needs one that outlives a call.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

static RUNTIME: Mutex<Option<UnboundedSender<Work>>> = Mutex::new(None);

/// Waits for a future, which runs on the thread of the client.
pub(crate) fn run<T: Send + 'static>(
    future: impl Future<Output = io::Result<T>> + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let work: Work = Box::pin(async move { drop(sender.send(future.await)) });
    let has_ended = || io::Error::other("the thread of the object store has ended");
    runtime()?.send(work).map_err(|_| has_ended())?;
    receiver.recv().map_err(|_| has_ended())?
}

/// Where the thread gets its work. It is started on first use, and ends with the process.
fn runtime() -> io::Result<UnboundedSender<Work>> {
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*shared {
        return Ok(sender.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (sender, mut receiver) = unbounded_channel::<Work>();
    thread::Builder::new().name("sstkit-object-store".to_owned()).spawn(move || {
        runtime.block_on(async {
            while let Some(work) = receiver.recv().await {
                tokio::spawn(work);
            }
        });
    })?;
    *shared = Some(sender.clone());
    Ok(sender)
}
