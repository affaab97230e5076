//! The largest of many, in the memory of a few.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Keeps the greatest items, at most a given number.
#[derive(Clone, Debug)]
pub(super) struct Largest<T> {
    limit: usize,
    /// The smallest one on top.
    heap: BinaryHeap<Reverse<T>>,
}

impl<T: Ord> Largest<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    /// The item that the next one has to exceed; `None` if there is room.
    #[inline]
    pub(super) fn least(&self) -> Option<&T> {
        match self.heap.len() < self.limit {
            true => None,
            false => self.heap.peek().map(|Reverse(least)| least),
        }
    }

    pub(super) fn offer(&mut self, item: T) {
        if self.limit == 0 {
            return;
        }
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(item));
        } else if let Some(mut least) = self.heap.peek_mut()
            && item > least.0
        {
            *least = Reverse(item);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        other.heap.into_iter().for_each(|Reverse(item)| self.offer(item));
    }

    /// The greatest first.
    pub(super) fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_largest() {
        for limit in [0, 1, 3, 100] {
            let (mut a, mut b) = (Largest::new(limit), Largest::new(limit));
            for number in 0..20u32 {
                let mixed = number * 7 % 20;
                if number % 2 == 0 { a.offer(mixed) } else { b.offer(mixed) }
            }
            a.merge(b);
            let expected: Vec<u32> = (0..20).rev().take(limit).collect();
            assert_eq!(a.into_sorted(), expected);
        }
    }
}
