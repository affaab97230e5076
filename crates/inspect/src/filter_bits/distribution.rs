//! The expected distribution of set bits in the lines of a Bloom filter.
//!
//! *n* keys fall into *L* lines at random, so a line has *m* keys with the probability
//! Poisson(*m*; *n/L*). Each sets *k* random bits of *w*. After *t* random bits, *s* different ones
//! are set with the probability
//!
//! ```text
//! P(t+1, s) = P(t, s) · s/w  +  P(t, s-1) · (w-s+1)/w
//! ```

/// More random bits than this in a line: all bits are set, and the sum takes too long.
const MAX_PROBES: f64 = 20_000.0;

/// The expected number of lines with each number of set bits, `0..=line_bits`. `None` if lines are so
/// full that it cannot be computed.
pub(super) fn expected(
    keys: f64,
    lines: usize,
    line_bits: usize,
    num_probes: u8,
) -> Option<Vec<f64>> {
    let (mean, probes) = (keys / lines as f64, usize::from(num_probes));
    // Ten deviations cover all but 1e-20 of the distribution.
    let most_keys = mean + 10.0 * mean.sqrt() + 10.0;
    let is_computable = mean.is_finite() && most_keys * probes as f64 <= MAX_PROBES;
    if !is_computable || lines == 0 || line_bits == 0 {
        return None;
    }
    let mut of_line = vec![0.0; line_bits + 1];
    of_line[0] = 1.0;
    let mut expected = vec![0.0; line_bits + 1];
    // The logarithm, because e^-mean may be too small.
    let mut log_poisson = -mean;
    for keys in 0..=most_keys as usize {
        let weight = log_poisson.exp() * lines as f64;
        for (sum, share) in expected.iter_mut().zip(&of_line) {
            *sum += weight * share;
        }
        for _ in 0..probes {
            set_a_bit(&mut of_line);
        }
        log_poisson += mean.ln() - (keys as f64 + 1.0).ln();
    }
    Some(expected)
}

fn set_a_bit(of_line: &mut [f64]) {
    let bits = (of_line.len() - 1) as f64;
    for set in (1..of_line.len()).rev() {
        let (same, fewer) = (set as f64 / bits, (bits - set as f64 + 1.0) / bits);
        of_line[set] = of_line[set] * same + of_line[set - 1] * fewer;
    }
    of_line[0] = 0.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_distribution_with_the_known_mean() {
        let (keys, lines, bits, probes) = (51_200.0, 1_000, 512, 6);
        let expected = expected(keys, lines, bits, probes).unwrap();
        let total: f64 = expected.iter().sum();
        assert!((total - 1_000.0).abs() < 1e-6, "{total}");
        let set: f64 = expected.iter().enumerate().map(|(set, lines)| set as f64 * lines).sum();
        // A bit is clear after m keys with the probability (1 - 1/w)^(k m); over Poisson(m; n/L) that
        // is e^(n/L ((1 - 1/w)^k - 1)).
        let mean = set / 1_000.0 / 512.0;
        let known = 1.0 - (51.2 * ((1.0 - 1.0 / 512.0f64).powi(6) - 1.0)).exp();
        assert!((mean - known).abs() < 1e-9, "{mean}, not {known}");
    }

    #[test]
    fn one_key_sets_up_to_as_many_bits_as_probes() {
        let expected = expected(1e-9, 1, 512, 3).unwrap();
        assert!((expected[0] - 1.0).abs() < 1e-6);
        assert!(expected[4..].iter().all(|&it| it < 1e-12));
    }

    #[test]
    fn what_cannot_be_computed_is_none() {
        assert_eq!(expected(1e9, 1, 512, 6), None);
        assert_eq!(expected(f64::NAN, 1, 512, 6), None);
        assert_eq!(expected(10.0, 0, 512, 6), None);
    }
}
