//! How many bytes two keys share.

/// The number of bytes that two slices have in common at their start.
#[inline(always)] // a search in a block calls it for every other entry
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    // Eight bytes at a time: neighbouring keys share long prefixes.
    let mut same = 0;
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            // The first byte is the least significant one.
            return same + difference.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    let length = a.len().min(b.len());
    // The last eight bytes, some of which are known to be the same.
    if let (Some(a), Some(b)) = (a[..length].last_chunk(), b[..length].last_chunk()) {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        return length - 8 + difference.trailing_zeros() as usize / 8;
    }
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefixes() {
        let key: Vec<u8> = (0..30).collect();
        for length in 0..30 {
            let mut other = key.clone();
            other[length] ^= 0x80;
            assert_eq!(common_prefix(&key, &other), length);
            assert_eq!(common_prefix(&key, &key[..length]), length);
            other[length..].fill(0xff);
            assert_eq!(common_prefix(&other, &key), length);
        }
    }
}
