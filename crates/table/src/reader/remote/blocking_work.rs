//! Blocking work over an asynchronous source.
//!
//! ```text
//! thread    work ---> read ---> request ... waits ... reply ---> work ---> result
//! future                          '---> AsyncSource ---'                      '---> ready
//! ```
//!
//! The future makes the reads that the thread requests, so they run where the caller's runtime wants them to. If it
//! is dropped, all further reads of the thread fail.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

use bytes::Bytes;

use super::{AsyncSource, PreferredRead};
use crate::error::{Error, Result};
use crate::reader::open::source::Source;
use crate::reader::open::source_identity::SourceIdentity;

type Answer = io::Result<Vec<Bytes>>;
type Read = Pin<Box<dyn Future<Output = (u64, Answer)> + Send>>;

/// What the thread and the future share.
struct Exchange<T> {
    state: Mutex<State<T>>,
    /// An answer has arrived, or there will be none.
    answered: Condvar,
}

struct State<T> {
    requests: VecDeque<(u64, Vec<Range<u64>>)>,
    next_request: u64,
    answers: HashMap<u64, Answer>,
    /// The future has been dropped.
    is_dropped: bool,
    /// What the work has returned, or `None` if it panicked.
    result: Option<Option<T>>,
    waker: Option<Waker>,
}

/// The source of the work.
struct RequestingSource<T> {
    exchange: Arc<Exchange<T>>,
    size: u64,
    preferred: PreferredRead,
    identity: Option<SourceIdentity>,
}

impl<T> Exchange<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(state: &mut State<T>) {
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

impl<T: Send> Source for RequestingSource<T> {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let range = offset..offset.saturating_add(length as u64);
        let mut bytes = self.read_many(std::slice::from_ref(&range))?;
        bytes.pop().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let mut state = self.exchange.state();
        let request = state.next_request;
        state.next_request += 1;
        state.requests.push_back((request, ranges.to_vec()));
        Exchange::wake(&mut state);
        loop {
            if let Some(answer) = state.answers.remove(&request) {
                return answer;
            }
            if state.is_dropped {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled by the caller"));
            }
            let answered = self.exchange.answered.wait(state);
            state = answered.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn preferred_read(&self) -> Option<PreferredRead> {
        Some(self.preferred)
    }

    fn identity(&self) -> Option<SourceIdentity> {
        self.identity.clone()
    }
}

/// Runs `work` on a thread of its own, and reads for it until it ends.
pub(super) async fn run_blocking<S: AsyncSource, T: Send + 'static>(
    source: Arc<S>,
    size: u64,
    work: impl FnOnce(Box<dyn Source>) -> T + Send + 'static,
) -> Result<T> {
    /// Ends the thread if the future is dropped.
    struct Guard<T>(Arc<Exchange<T>>);
    impl<T> Drop for Guard<T> {
        fn drop(&mut self) {
            self.0.state().is_dropped = true;
            self.0.answered.notify_all();
        }
    }
    /// Leaves the result, also that of a panic.
    struct Outcome<T> {
        exchange: Arc<Exchange<T>>,
        result: Option<T>,
    }
    impl<T> Drop for Outcome<T> {
        fn drop(&mut self) {
            let mut state = self.exchange.state();
            state.result = Some(self.result.take());
            Exchange::wake(&mut state);
        }
    }

    let state = State {
        requests: VecDeque::new(),
        next_request: 0,
        answers: HashMap::new(),
        is_dropped: false,
        result: None,
        waker: None,
    };
    let exchange = Arc::new(Exchange { state: Mutex::new(state), answered: Condvar::new() });
    let (preferred, identity) = (source.preferred_read(), source.identity());
    let requesting =
        RequestingSource { exchange: Arc::clone(&exchange), size, preferred, identity };
    let outcome = Outcome { exchange: Arc::clone(&exchange), result: None };
    let thread = thread::Builder::new().name("sstkit-blocking".to_owned());
    thread.spawn(move || {
        let mut outcome = outcome;
        outcome.result = Some(work(Box::new(requesting)));
        drop(outcome);
    })?;

    let guard = Guard(exchange);
    let mut reads: Vec<Read> = Vec::new();
    let result = poll_fn(move |context| {
        let exchange = &guard.0;
        loop {
            let mut state = exchange.state();
            if let Some(result) = state.result.take() {
                return Poll::Ready(result);
            }
            state.waker = Some(context.waker().clone());
            let requests = std::mem::take(&mut state.requests);
            drop(state);
            for (request, ranges) in requests {
                let source = Arc::clone(&source);
                let read = async move { (request, source.read_many(&ranges).await) };
                reads.push(Box::pin(read));
            }
            let mut is_answered = false;
            reads.retain_mut(|read| match read.as_mut().poll(context) {
                Poll::Pending => true,
                Poll::Ready((request, answer)) => {
                    exchange.state().answers.insert(request, answer);
                    exchange.answered.notify_all();
                    is_answered = true;
                    false
                }
            });
            if !is_answered {
                return Poll::Pending;
            }
        }
    });
    result.await.ok_or_else(|| Error::from(io::Error::other("the blocking work panicked")))
}
