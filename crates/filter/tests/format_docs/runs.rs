//! Runs of numbers with equal values.

use std::ops::RangeInclusive;

/// The first and last number of a run, and its value.
pub(crate) struct Run<T> {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) value: T,
}

pub(crate) fn runs<T: PartialEq>(
    numbers: RangeInclusive<u32>,
    value_of: impl Fn(u32) -> T,
) -> Vec<Run<T>> {
    let mut runs: Vec<Run<T>> = Vec::new();
    for number in numbers {
        let value = value_of(number);
        match runs.last_mut() {
            Some(run) if run.value == value => run.last = number,
            _ => runs.push(Run { first: number, last: number, value }),
        }
    }
    runs
}
