//! Compressing blocks on several threads, and getting them back in order.
//!
//! ```text
//! submit --- jobs, one queue ---> thread 0
//!                           '---> thread 1 --- each job's own answer ---> take, oldest first
//! ```
//!
//! The caller's thread cuts blocks and writes them; these do what costs most in between. Blocks on
//! the way are limited, so memory is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use sstkit_coding::checksum::ChecksumType;

use crate::error::{Error, Result};
use crate::raw::{Attempt, CompressionRecipe, Compressor};

/// Blocks on the way for each thread: one in work, one waiting, and one to be written.
const BLOCKS_PER_THREAD: usize = 3;

/// A block ready to be written.
#[derive(Debug)]
pub(super) struct CompressedBlock {
    pub(super) stored: Vec<u8>,
    pub(super) attempt: Attempt,
    /// Without context: that depends on where the block will lie.
    pub(super) checksum: u32,
}

impl CompressedBlock {
    pub(super) fn make(
        compressor: &mut Compressor,
        checksum: ChecksumType,
        contents: Vec<u8>,
    ) -> Result<Self> {
        let mut compressed = Vec::new();
        let attempt = compressor.compress(&contents, &mut compressed)?;
        let stored = match attempt {
            Attempt::Compressed(_) => compressed,
            Attempt::Rejected | Attempt::Bypassed => contents,
        };
        let checksum = checksum.compute(&stored, attempt.codec_byte());
        Ok(Self { stored, attempt, checksum })
    }
}

struct Job {
    contents: Vec<u8>,
    answer: SyncSender<Result<CompressedBlock>>,
}

/// Threads that compress blocks; `T` is what the caller wants back with each.
pub(super) struct CompressionPool<T> {
    /// `None` only while dropping.
    jobs: Option<Sender<Job>>,
    /// Nobody wants the blocks that wait.
    abandoned: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    on_the_way: VecDeque<(T, Receiver<Result<CompressedBlock>>)>,
}

impl<T> CompressionPool<T> {
    pub(super) fn new(
        threads: usize,
        recipe: &CompressionRecipe,
        checksum: ChecksumType,
    ) -> Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let abandoned = Arc::new(AtomicBool::new(false));
        let mut pool = Self {
            jobs: Some(jobs),
            abandoned: Arc::clone(&abandoned),
            threads: Vec::new(),
            on_the_way: VecDeque::new(),
        };
        for _ in 0..threads {
            let compressor = Compressor::new(recipe.clone())?;
            let queue = Arc::clone(&queue);
            let abandoned = Arc::clone(&abandoned);
            let work = move || work(compressor, checksum, &queue, &abandoned);
            pool.threads.push(thread::Builder::new().name("sst compress".into()).spawn(work)?);
        }
        Ok(pool)
    }

    /// Hands a block over.
    pub(super) fn submit(&mut self, context: T, contents: Vec<u8>) -> Result<()> {
        let (answer, receiver) = mpsc::sync_channel(1);
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(Job { contents, answer }).map_err(|_| gone())?;
        self.on_the_way.push_back((context, receiver));
        Ok(())
    }

    /// Whether so many blocks are on the way that one must be taken before the next is submitted.
    pub(super) fn is_full(&self) -> bool {
        self.on_the_way.len() >= self.threads.len() * BLOCKS_PER_THREAD
    }

    /// The oldest block on the way, when it is ready; `None` if there is none.
    pub(super) fn take(&mut self) -> Result<Option<(T, CompressedBlock)>> {
        let Some((context, receiver)) = self.on_the_way.pop_front() else { return Ok(None) };
        let block = receiver.recv().map_err(|_| gone())??;
        Ok(Some((context, block)))
    }
}

fn work(
    mut compressor: Compressor,
    checksum: ChecksumType,
    queue: &Mutex<Receiver<Job>>,
    abandoned: &AtomicBool,
) {
    loop {
        // Waiting holds the lock: the others wait for it instead of for the queue.
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { contents, answer }) = job else { return };
        if abandoned.load(Ordering::Relaxed) {
            return;
        }
        // Nobody may be there to take it: the writer was dropped.
        let _ = answer.send(CompressedBlock::make(&mut compressor, checksum, contents));
    }
}

fn gone() -> Error {
    Error::from(std::io::Error::other("a compressing thread has ended"))
}

/// Ends the threads, each after the block it works on: those that wait are left.
impl<T> Drop for CompressionPool<T> {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.jobs = None;
        self.on_the_way.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TableOptions;

    #[test]
    fn waiting_blocks_of_an_abandoned_table_are_left() {
        for (abandoned, answered) in [(false, 3), (true, 0)] {
            let (jobs, queue) = mpsc::channel();
            let answers: Vec<_> = (0..3)
                .map(|_| {
                    let (answer, receiver) = mpsc::sync_channel(1);
                    jobs.send(Job { contents: vec![0; 1000], answer }).unwrap();
                    receiver
                })
                .collect();
            drop(jobs);
            let compressor = Compressor::new(TableOptions::rocksdb().compression_recipe()).unwrap();
            let queue = Mutex::new(queue);
            work(compressor, ChecksumType::Crc32c, &queue, &AtomicBool::new(abandoned));
            let found = answers.iter().filter(|answer| answer.try_recv().is_ok()).count();
            assert_eq!(found, answered);
        }
    }

    #[test]
    fn a_dropped_pool_ends_its_threads() {
        let recipe = TableOptions::rocksdb().compression_recipe();
        let mut pool = CompressionPool::new(2, &recipe, ChecksumType::Crc32c).unwrap();
        for number in 0..6 {
            pool.submit(number, vec![0; 1000]).unwrap();
        }
        assert!(pool.is_full());
        let abandoned = Arc::clone(&pool.abandoned);
        drop(pool);
        assert!(abandoned.load(Ordering::Relaxed));
        assert_eq!(Arc::strong_count(&abandoned), 1, "no thread is left to hold it");
    }
}
