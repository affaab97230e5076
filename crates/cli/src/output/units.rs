//! Numbers for people: sizes with units, counts with separators, rates, times.

use std::time::Duration;

const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// `812 B`, `4.0 KiB`, `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    // A value that would print as 1024.0 belongs to the next unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `2 files`, `3 entries`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let number_text = count(number);
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("{number_text} {noun}"),
        (_, Some(stem)) => format!("{number_text} {stem}ies"),
        (_, None) => format!("{number_text} {noun}s"),
    }
}

/// A fraction as a percentage with three significant digits: `0.952 %`, `12.3 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".into(),
        _ if percent >= 99.95 => format!("{percent:.0} %"),
        _ if percent >= 10.0 => format!("{percent:.1} %"),
        _ if percent >= 1.0 => format!("{percent:.2} %"),
        _ if percent >= 0.001 => format!("{percent:.3} %"),
        _ => format!("{percent:.1e} %"),
    }
}

/// `12.3 s`, `812 ms`.
pub(crate) fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

/// The date of a time in seconds since 1970, in UTC: `2026-11-17`.
pub(crate) fn date(seconds: u64) -> String {
    // Years of 365 days and a quarter, less the leap days that a century lacks, from March 1st of year 0.
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + next_year)
}

/// Parses a size: `4096`, `64K`, `64KB`, `64KiB`, `1.5 GiB`. All units are powers of 1024; letters
/// in any case.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim().to_ascii_lowercase();
    let power = match unit.as_str() {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(1),
        "m" | "mb" | "mib" => Some(2),
        "g" | "gb" | "gib" => Some(3),
        "t" | "tb" | "tib" => Some(4),
        _ => None,
    };
    let wanted = || format!("{text:?} is not a size (expected bytes, or a number with K, M or G)");
    let power = power.ok_or_else(wanted)?;
    let scale = 1u64 << (10 * power);
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale).ok_or_else(wanted);
    }
    match number.parse::<f64>() {
        Ok(value) if value * (scale as f64) < (1u64 << 53) as f64 => {
            Ok((value * scale as f64) as u64)
        }
        _ => Err(wanted()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"].map(String::from)
        );
        assert_eq!(
            [counted(1, "file"), counted(2, "file"), counted(1, "entry"), counted(0, "entry")],
            ["1 file", "2 files", "1 entry", "0 entries"].map(String::from)
        );
        assert_eq!(
            [0.0, 0.00952, 0.5, 1.0, 0.0000001].map(percent),
            ["0 %", "0.952 %", "50.0 %", "100 %", "1.0e-5 %"].map(String::from)
        );
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (86_399, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_735_603_200, "2024-12-31"),
            (4_107_456_000, "2100-02-28"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("64KiB", 65536),
            ("64 kib", 65536),
            ("64K", 65536),
            ("64kb", 65536),
            ("2M", 2 << 20),
            ("1.5 G", 3 << 29),
            ("1.5GiB", 3 << 29),
            ("7B", 7),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in
            ["", "KiB", "12X", "12KiBs", "12iB", "1..5MiB", "-1", "99999999999999GiB", "1e3"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
