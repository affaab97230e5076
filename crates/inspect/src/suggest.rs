//! "Did you mean": finds the known name closest to a mistyped one.

/// The closest of `known`, if it is close enough.
pub fn nearest<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let typed = typed.to_ascii_lowercase();
    let distances =
        known.into_iter().map(|name| (distance(&typed, &name.to_ascii_lowercase()), name));
    let (distance, name) = distances.min_by_key(|&(distance, _)| distance)?;
    // A third of the letters may be wrong, or one letter of a short name.
    (distance <= (name.chars().count() / 3).max(1)).then_some(name)
}

/// A clause to append to a message, `; did you mean "zstd"?`, or nothing.
pub fn hint<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    nearest(typed, known).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// The edit distance: insertions, deletions, replacements and swaps of neighbours (optimal string
/// alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_close_names_are_suggested() {
        let known = ["none", "snappy", "zlib", "zstd", "lz4", "lz4hc"];
        for (typed, meant) in [
            ("ztsd", Some("zstd")),
            ("Snapy", Some("snappy")),
            ("lz", Some("lz4")),
            ("gzip", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "", 0), ("ab", "", 2), ("kitten", "sitting", 3), ("ab", "ba", 1)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
