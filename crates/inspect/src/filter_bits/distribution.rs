//! The expected distribution of set bits in the lines of a Bloom filter, and in the segments of a Ribbon
//! filter.
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

/// The expected number of segments of a Ribbon filter with each number of set bits, `0..=bits`. A bit of a
/// slot that belongs to a key is set or not with the same probability; of a free slot it is not set. Free slots
/// come in clusters, so segments differ a little more from each other than this says.
pub(super) fn expected_of_segments(segments: u64, bits: usize, used_slots: f64) -> Vec<f64> {
    let share = used_slots.clamp(0.0, 1.0) / 2.0;
    let mut of_segment = vec![0.0; bits + 1];
    of_segment[0] = 1.0;
    for _ in 0..bits {
        for set in (1..=bits).rev() {
            of_segment[set] = of_segment[set] * (1.0 - share) + of_segment[set - 1] * share;
        }
        of_segment[0] *= 1.0 - share;
    }
    of_segment.iter().map(|it| it * segments as f64).collect()
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
    fn segments_are_half_full_where_all_slots_are_used() {
        for used in [1.0, 0.9] {
            let expected = expected_of_segments(700, 128, used);
            let total: f64 = expected.iter().sum();
            let set: f64 = expected.iter().enumerate().map(|(set, it)| set as f64 * it).sum();
            assert!((total - 700.0).abs() < 1e-6, "{total}");
            assert!((set / 700.0 - 64.0 * used).abs() < 1e-6, "{set}");
            // The variance of a binomial distribution.
            let mean = 64.0 * used;
            let spread =
                expected.iter().enumerate().map(|(set, it)| (set as f64 - mean).powi(2) * it);
            let variance = spread.sum::<f64>() / 700.0;
            assert!((variance - mean * (1.0 - used / 2.0)).abs() < 1e-6, "{variance}");
        }
    }

    #[test]
    fn what_cannot_be_computed_is_none() {
        assert_eq!(expected(1e9, 1, 512, 6), None);
        assert_eq!(expected(f64::NAN, 1, 512, 6), None);
        assert_eq!(expected(10.0, 0, 512, 6), None);
    }
}
