//! Damage that checksums must see.

use arbitrary::{Result, Unstructured};
use sstkit_coding::checksum::ChecksumType;
use sstkit_table::raw::Footer;

use super::options::Settings;

/// A damaged copy of a table. `Err` if nothing can be damaged that a checksum covers.
///
/// The damage is in one place, of four bytes at most, so that a CRC sees it for sure; or the file
/// is cut; or a run of bytes is lost to zeros, as with a hole in a disk.
pub(super) fn draw(
    bytes: &[u8],
    settings: &Settings,
    input: &mut Unstructured<'_>,
) -> Result<Vec<u8>> {
    let footer = Footer::read(bytes).expect("a table that was just read");
    // Footers have checksums of their own from version 6 on.
    let end = match settings.version.has_context_checksums() {
        true => bytes.len(),
        false => footer.offset as usize,
    };
    if settings.checksum == ChecksumType::None || end == 0 {
        return Err(arbitrary::Error::IncorrectFormat);
    }
    let at = input.int_in_range(0..=end - 1)?;
    let mut damaged = bytes.to_vec();
    match input.arbitrary::<u8>()? % 8 {
        0 => damaged.truncate(at),
        1 => {
            let length = usize::from(input.arbitrary::<u8>()?);
            damaged[at..(at + length).min(end)].fill(0);
        }
        _ => {
            let pattern: [u8; 4] = input.arbitrary()?;
            for (byte, mask) in damaged[at..end].iter_mut().zip(pattern) {
                *byte ^= mask;
            }
        }
    }
    Ok(damaged)
}
