//! The text form of bytes, keys, lists, answers and rates.

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// A key as text, escaped if necessary.
pub(crate) fn key_text(key: &[u8]) -> String {
    std::str::from_utf8(key).map_or_else(|_| key.escape_ascii().to_string(), str::to_owned)
}

/// A list as text: `3, 5, 8`.
pub(crate) fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// Keys as a list.
pub(crate) fn key_list<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> String {
    list(keys.into_iter().map(|key| key_text(key.as_ref())))
}

/// The result of a probe.
pub(crate) fn answer(may_contain: bool) -> &'static str {
    if may_contain { "maybe" } else { "no" }
}

/// A rate in percent.
pub(crate) fn percent(rate: f64) -> String {
    let percent = 100.0 * rate;
    if percent < 0.0005 { "< 0.001 %".to_owned() } else { format!("{percent:.3} %") }
}
