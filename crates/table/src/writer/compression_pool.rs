//! Compresses blocks on several threads, and returns them in order.
//!
//! ```text
//! submit ---> open batch --- full ---> jobs, one queue ---> thread 1, 2, …
//!                                                     '---> the caller's, instead of waiting
//! take   <--- oldest first <--- each job's own answer
//! ```
//!
//! The caller's thread builds blocks and writes them. It counts as one of the threads: if the others
//! do not keep up it compresses, too. The number of batches is limited, and with it memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use sstkit_coding::checksum::ChecksumType;

use super::batch::{Batch, BlockKeys};
use crate::error::{Error, Result};
use crate::raw::{CompressionRecipe, Compressor};

/// Batches per thread: one being compressed, one waiting, and one to be written.
const BATCHES_PER_THREAD: usize = 3;

struct Job {
    batch: Batch,
    answer: SyncSender<Result<Batch>>,
}

impl Job {
    fn work(mut self, compressor: &mut Compressor, checksum: ChecksumType) {
        let result = self.batch.compress(compressor, checksum).map(|()| self.batch);
        // If the writer was dropped, the batch is discarded.
        let _ = self.answer.send(result);
    }
}

/// Threads that compress blocks.
pub(crate) struct CompressionPool {
    checksum: ChecksumType,
    /// The caller's own.
    compressor: Compressor,
    /// `None` only while dropping.
    jobs: Option<Sender<Job>>,
    queue: Arc<Mutex<Receiver<Job>>>,
    /// The waiting batches are discarded.
    abandoned: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    open: Batch,
    on_the_way: VecDeque<Receiver<Result<Batch>>>,
    /// A batch that was written, to be reused.
    recycled: Vec<Batch>,
}

impl CompressionPool {
    /// A pool of `threads` threads, including the caller's.
    pub(crate) fn new(
        threads: usize,
        recipe: &CompressionRecipe,
        checksum: ChecksumType,
    ) -> Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let abandoned = Arc::new(AtomicBool::new(false));
        let mut pool = Self {
            checksum,
            compressor: Compressor::new(recipe.clone())?,
            jobs: Some(jobs),
            queue: Arc::clone(&queue),
            abandoned: Arc::clone(&abandoned),
            threads: Vec::new(),
            open: Batch::default(),
            on_the_way: VecDeque::new(),
            recycled: Vec::new(),
        };
        for _ in 1..threads {
            let compressor = Compressor::new(recipe.clone())?;
            let queue = Arc::clone(&queue);
            let abandoned = Arc::clone(&abandoned);
            let work = move || work(compressor, checksum, &queue, &abandoned);
            pool.threads.push(thread::Builder::new().name("sst compress".into()).spawn(work)?);
        }
        Ok(pool)
    }

    /// Adds a block. Batches must be [taken](Self::take) first while there are too many.
    pub(crate) fn submit(&mut self, contents: &[u8], keys: BlockKeys<'_>) -> Result<()> {
        self.open.push(contents, keys);
        if self.open.is_full() { self.submit_batch() } else { Ok(()) }
    }

    fn submit_batch(&mut self) -> Result<()> {
        let batch = std::mem::replace(&mut self.open, self.recycled.pop().unwrap_or_default());
        let (answer, receiver) = mpsc::sync_channel(1);
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(Job { batch, answer }).map_err(|_| gone())?;
        self.on_the_way.push_back(receiver);
        Ok(())
    }

    /// The oldest batch, if there are too many.
    pub(crate) fn take_if_full(&mut self) -> Result<Option<Batch>> {
        let threads = self.threads.len() + 1;
        if self.on_the_way.len() < threads * BATCHES_PER_THREAD { Ok(None) } else { self.take() }
    }

    /// The oldest batch of all that were submitted; `None` if there is none.
    pub(crate) fn take(&mut self) -> Result<Option<Batch>> {
        if self.on_the_way.is_empty() && !self.open.is_empty() {
            self.submit_batch()?;
        }
        let Some(receiver) = self.on_the_way.pop_front() else { return Ok(None) };
        loop {
            match receiver.try_recv() {
                Ok(batch) => return batch.map(Some),
                Err(TryRecvError::Disconnected) => return Err(gone()),
                Err(TryRecvError::Empty) => {}
            }
            match self.waiting_job() {
                Some(job) => job.work(&mut self.compressor, self.checksum),
                None => return receiver.recv().map_err(|_| gone())?.map(Some),
            }
        }
    }

    /// The oldest job that no thread has started. A thread that waits for one holds the lock.
    fn waiting_job(&self) -> Option<Job> {
        self.queue.try_lock().ok()?.try_recv().ok()
    }

    /// Returns a batch that was written.
    pub(crate) fn reuse(&mut self, mut batch: Batch) {
        batch.clear();
        self.recycled.push(batch);
    }
}

fn work(
    mut compressor: Compressor,
    checksum: ChecksumType,
    queue: &Mutex<Receiver<Job>>,
    abandoned: &AtomicBool,
) {
    loop {
        // The lock is held while waiting: the others wait for the lock instead of the queue.
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        if abandoned.load(Ordering::Relaxed) {
            return;
        }
        job.work(&mut compressor, checksum);
    }
}

fn gone() -> Error {
    Error::from(std::io::Error::other("a compression thread panicked"))
}

/// Stops the threads, each after its current batch. Waiting batches are dropped.
impl Drop for CompressionPool {
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

    fn batch() -> Batch {
        let mut batch = Batch::default();
        batch.push(&[0; 1000], BlockKeys { first: b"a", last: b"b", next: None });
        batch
    }

    fn pool(threads: usize) -> CompressionPool {
        let recipe = TableOptions::rocksdb().compression_recipe();
        CompressionPool::new(threads, &recipe, ChecksumType::Crc32c).unwrap()
    }

    #[test]
    fn waiting_batches_of_an_abandoned_table_are_left() {
        for (abandoned, answered) in [(false, 3), (true, 0)] {
            let (jobs, queue) = mpsc::channel();
            let answers: Vec<_> = (0..3)
                .map(|_| {
                    let (answer, receiver) = mpsc::sync_channel(1);
                    jobs.send(Job { batch: batch(), answer }).unwrap();
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
    fn the_caller_works_without_threads() {
        let mut pool = pool(1);
        for number in 0..4u8 {
            pool.open = batch();
            pool.open.push(&[number; 10], BlockKeys { first: &[number], last: b"", next: None });
            pool.submit_batch().unwrap();
        }
        assert!(pool.take_if_full().unwrap().is_some(), "three are enough for one thread");
        for number in 1..4u8 {
            let batch = pool.take().unwrap().unwrap();
            assert_eq!(batch.blocks().last().unwrap().0.first, [number], "oldest first");
        }
        assert!(pool.take().unwrap().is_none());
    }

    #[test]
    fn a_dropped_pool_ends_its_threads() {
        let mut pool = pool(3);
        for _ in 0..6 {
            pool.open = batch();
            pool.submit_batch().unwrap();
        }
        let abandoned = Arc::clone(&pool.abandoned);
        drop(pool);
        assert!(abandoned.load(Ordering::Relaxed));
        assert_eq!(Arc::strong_count(&abandoned), 1, "no thread is left to hold it");
    }
}
