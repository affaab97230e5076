//! The byte-order mark that some programs write before UTF-8. It is not part of the data.

use std::io::{self, Chain, Cursor, Read};

const MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// The same input without a leading byte-order mark.
pub(super) fn skip<R: Read>(mut reader: R) -> io::Result<Chain<Cursor<Vec<u8>>, R>> {
    let mut start = Vec::new();
    reader.by_ref().take(MARK.len() as u64).read_to_end(&mut start)?;
    if start == MARK {
        start.clear();
    }
    Ok(Cursor::new(start).chain(reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_mark_at_the_start_is_skipped() {
        for (text, expected) in [
            ("", ""),
            ("a", "a"),
            ("\u{feff}", ""),
            ("\u{feff}abc", "abc"),
            ("\u{feff}\u{feff}a", "\u{feff}a"),
            ("a\u{feff}", "a\u{feff}"),
        ] {
            let mut rest = String::new();
            skip(text.as_bytes()).unwrap().read_to_string(&mut rest).unwrap();
            assert_eq!(rest, expected);
        }
    }
}
