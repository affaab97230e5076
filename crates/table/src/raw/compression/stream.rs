//! Reading all output of a streaming decoder: shared by deflate and bzip2.

use super::size;
use crate::error::{Error, Result};

pub(super) trait Decoder {
    /// For messages.
    const NAME: &'static str;

    /// Bytes of input consumed so far.
    fn total_in(&self) -> u64;

    /// Decodes into the unused capacity of `output`; true at the end of the stream.
    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<bool>;
}

/// Decodes all of `input`: to exactly `declared` bytes if that is known, else to at most `max_size`.
/// `first_guess` bounds the first allocation; later ones double it.
pub(super) fn drain<D: Decoder>(
    decoder: &mut D,
    input: &[u8],
    declared: Option<usize>,
    first_guess: usize,
    max_size: usize,
) -> Result<Vec<u8>> {
    let limit = declared.unwrap_or(max_size);
    // One byte more than the limit: to notice output that is too long, and to let a decoder with a full
    // buffer consume the end of its stream.
    let capacity = limit.saturating_add(1);
    let mut output = size::allocate(first_guess.min(capacity))?;
    loop {
        let taken = usize::try_from(decoder.total_in()).unwrap_or(usize::MAX);
        let before = output.len();
        let rest = input.get(taken..).unwrap_or_default();
        let ended = decoder.step(rest, &mut output)?;
        if output.len() > limit {
            return Err(match declared {
                Some(declared) => {
                    Error::mismatch("the decompressed contents are too long", declared, "more")
                }
                None => size::over_limit(output.len() as u64, max_size),
            });
        }
        if ended {
            break;
        }
        if output.len() < output.capacity() {
            // Neither input consumed nor output produced: the stream is truncated.
            if output.len() == before && decoder.total_in() == taken as u64 {
                return Err(Error::corrupt(format!("the {} stream is truncated", D::NAME)));
            }
            continue;
        }
        // The capacity doubles, so the work stays linear. The limit was checked above, so it can grow.
        let more = output.len().max(1024).min(capacity - output.len());
        size::reserve(&mut output, more)?;
    }
    if decoder.total_in() != input.len() as u64 {
        return Err(Error::mismatch(
            format!("bytes follow the end of the {} stream", D::NAME),
            input.len(),
            decoder.total_in(),
        ));
    }
    if let Some(declared) = declared {
        size::check_output(declared, output.len())?;
    }
    Ok(output)
}
