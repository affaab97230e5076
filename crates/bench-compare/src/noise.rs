//! How much else the machine does: the same short work again and again takes the same time only if
//! nothing interrupts it.

use std::fmt;
use std::hint::black_box;

use crate::clock::Moment;
use crate::data::Random;

/// Turns of the work.
const TURNS: usize = 400;
/// Numbers drawn in each turn: some tenths of a millisecond, longer than an interrupt.
const WORK: u64 = 200_000;
/// More than this, and the numbers of a run mean little.
const LIMIT: f64 = 0.05;

/// By how much the slowest tenth of all turns is slower than the median, at least.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Noise(f64);

impl Noise {
    pub(crate) fn measure() -> Self {
        Self::of((0..TURNS).map(|_| turn()).collect())
    }

    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let (median, slow) = (times[times.len() / 2], times[times.len() * 9 / 10]);
        Self(slow / median - 1.0)
    }

    pub(crate) fn share(self) -> f64 {
        self.0
    }

    /// Whether the machine is too busy to measure on.
    pub(crate) fn is_too_much(self) -> bool {
        self.0 > LIMIT
    }
}

fn turn() -> f64 {
    let (mut random, start) = (Random::new(1), Moment::now());
    black_box((0..WORK).fold(0, |sum: u64, _| sum.wrapping_add(random.next())));
    start.elapsed().as_secs_f64()
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noise, limit) = (self.0 * 100.0, LIMIT * 100.0);
        write!(f, "{noise:.1}% (the slowest tenth of equal work, beside the median; limit {limit}%)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_tenth_is_noise() {
        let quiet = Noise::of(vec![1.0; 100]);
        assert_eq!((quiet.share(), quiet.is_too_much()), (0.0, false));
        let mut times = vec![1.0; 89];
        times.extend([1.5; 11]);
        let busy = Noise::of(times);
        assert_eq!((busy.share(), busy.is_too_much()), (0.5, true));
    }
}
