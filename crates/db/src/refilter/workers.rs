//! Several pieces of work at once, within a limit of memory.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{io, thread};

use crate::error::{Error, Result};

/// Memory that pieces of work share.
pub(super) struct MemoryLimit {
    limit: u64,
    used: Mutex<u64>,
    released: Condvar,
}

/// Memory in use, until it is dropped.
pub(super) struct InUse<'l> {
    limit: &'l MemoryLimit,
    bytes: u64,
}

impl MemoryLimit {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, used: Mutex::new(0), released: Condvar::new() }
    }

    /// Waits until there are this many bytes; for more than the limit, until there are all.
    pub(super) fn take(&self, bytes: u64) -> InUse<'_> {
        let bytes = bytes.min(self.limit);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used + bytes > self.limit {
            used = self.released.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        InUse { limit: self, bytes }
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut used = self.limit.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used -= self.bytes;
        self.limit.released.notify_all();
    }
}

/// Does `count` pieces of work on several threads, in the given order, and returns their results by
/// number. After an error no other piece is started, and `work` is signalled to stop.
pub(super) fn run<T: Send>(
    order: &[usize],
    threads: usize,
    work: impl Fn(usize, &AtomicBool) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let results: Vec<Mutex<Option<Result<T>>>> = order.iter().map(|_| Mutex::new(None)).collect();
    let run = || {
        while !has_failed.load(Ordering::Relaxed)
            && let Some(&number) = order.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let result = work(number, &has_failed);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *results[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    let others = threads.min(order.len()).saturating_sub(1);
    let panicked = thread::scope(|scope| {
        let threads: Vec<_> = (0..others).map(|_| scope.spawn(run)).collect();
        run();
        threads.into_iter().filter_map(|thread| thread.join().err()).count() > 0
    });
    if panicked {
        return Err(io::Error::other("a thread panicked").into());
    }
    let results =
        results.into_iter().map(|it| it.into_inner().unwrap_or_else(PoisonError::into_inner));
    let (done, failed): (Vec<_>, Vec<_>) = results.flatten().partition(Result::is_ok);
    // The others were stopped because of the first.
    let failed = failed.into_iter().filter_map(Result::err).collect::<Vec<_>>();
    let first = failed.iter().position(|error| !is_stopped(error)).unwrap_or(0);
    match failed.into_iter().nth(first) {
        Some(error) => Err(error),
        None => Ok(done.into_iter().filter_map(Result::ok).collect()),
    }
}

/// The error of work that stops because other work has failed.
pub(super) fn stopped() -> Error {
    io::Error::new(io::ErrorKind::Interrupted, STOPPED).into()
}

const STOPPED: &str = "stopped, as another table could not be written";

fn is_stopped(error: &Error) -> bool {
    error.to_string().contains(STOPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_numbers() {
        for threads in [1, 2, 7] {
            let order: Vec<usize> = (0..100).rev().collect();
            let squares = run(&order, threads, |number, _| Ok(number * number)).unwrap();
            assert!(squares.into_iter().eq((0..100).map(|number| number * number)));
        }
    }

    #[test]
    fn the_first_error_stops_all() {
        let order: Vec<usize> = (0..1000).collect();
        let started = AtomicUsize::new(0);
        let result = run(&order, 3, |number, has_failed| {
            started.fetch_add(1, Ordering::Relaxed);
            if number == 10 {
                return Err(Error::invalid_input("this one"));
            }
            match number > 10 && has_failed.load(Ordering::Relaxed) {
                true => Err(stopped()),
                false => Ok(()),
            }
        });
        assert!(result.unwrap_err().to_string().contains("this one"));
        assert!(started.into_inner() < 1000);
    }

    #[test]
    fn memory_is_shared() {
        let limit = MemoryLimit::new(100);
        let most = AtomicUsize::new(0);
        let now = AtomicUsize::new(0);
        run(&(0..200).collect::<Vec<_>>(), 8, |number, _| {
            let bytes = 10 + number as u64 % 30;
            let in_use = limit.take(bytes);
            let taken = now.fetch_add(bytes as usize, Ordering::SeqCst) + bytes as usize;
            most.fetch_max(taken, Ordering::SeqCst);
            thread::yield_now();
            now.fetch_sub(bytes as usize, Ordering::SeqCst);
            drop(in_use);
            Ok(())
        })
        .unwrap();
        assert!(most.into_inner() <= 100);
        // More than there is gets all of it.
        assert_eq!(limit.take(1000).bytes, 100);
    }
}
