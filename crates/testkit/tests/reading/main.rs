//! Reads that fail, come back short, or change from one time to the next: an error or the right
//! answer, never another answer in silence and never a panic; and a failure that has passed leaves
//! nothing behind.

mod changing_files;
mod faulty_reads;
mod known_contents;
mod replaced;
