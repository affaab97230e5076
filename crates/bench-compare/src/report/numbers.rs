//! Numbers for people.

/// A time with three digits: `12.3 ns`, `4.56 µs`, `789 ms`.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        _ if ns < 1e3 => (ns, "ns"),
        _ if ns < 1e6 => (ns / 1e3, "µs"),
        _ if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Operations in a second: `2.60 M/s`.
pub(crate) fn rate(ns: f64) -> String {
    let per_second = 1e9 / ns;
    let (value, unit) = match per_second {
        _ if per_second >= 1e9 => (per_second / 1e9, "G/s"),
        _ if per_second >= 1e6 => (per_second / 1e6, "M/s"),
        _ if per_second >= 1e3 => (per_second / 1e3, "k/s"),
        _ => (per_second, "/s"),
    };
    format!("{} {unit}", digits(value))
}

/// Three digits.
pub(crate) fn digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(time(4.567), "4.57 ns");
        assert_eq!(time(45.67), "45.7 ns");
        assert_eq!(time(4567.0), "4.57 µs");
        assert_eq!(time(456_700_000.0), "457 ms");
        assert_eq!(rate(384.6), "2.60 M/s");
        assert_eq!(rate(2e9), "0.50 /s");
    }
}
