//! The search for the choices with the fewest wasted reads.
//!
//! This is a multiple-choice knapsack problem. Its linear relaxation has a greedy solution: the
//! steps of the convex hulls of all levels in the order of their slopes, the last one in part
//! (Sinha, Zoltners: *The Multiple-Choice Knapsack Problem*, 1979). Where steps are small, the part
//! that is lost is small. Where they are not (LevelDB has whole bits per key, and no filter has less
//! than one), dynamic programming over some of the choices finds which steps to take (`table.rs`).
//! From both, the memory of each pair of levels is redistributed optimally, until nothing
//! improves.

use alloc::vec;
use alloc::vec::Vec;

use super::choices::Choice;
use super::table::best_of_some;

/// With more levels, as with many column families, each step is a small part of the budget.
const MAX_LEVELS: usize = 64;

/// For each level, the choice that it gets.
pub(super) fn best(choices: &[Vec<Choice>], weights: &[f64], budget: u64) -> Vec<Choice> {
    let search = Search { choices, weights, steps: steps(choices, weights), budget };
    let mut best = search.greedy();
    if choices.len() <= MAX_LEVELS {
        let other = search.improve_pairs(best_of_some(choices, weights, budget));
        best = search.improve_pairs(best);
        if search.wasted(&other) < search.wasted(&best) {
            best = other;
        }
    }
    choices.iter().zip(best).map(|(choices, chosen)| choices[chosen]).collect()
}

struct Search<'a> {
    choices: &'a [Vec<Choice>],
    weights: &'a [f64],
    steps: Vec<Step>,
    budget: u64,
}

impl Search<'_> {
    /// Takes steps while they fit.
    fn greedy(&self) -> Vec<usize> {
        let mut chosen = vec![0; self.choices.len()];
        let mut is_closed = vec![false; self.choices.len()];
        let mut left = self.budget;
        for &Step { level, to, .. } in &self.steps {
            if is_closed[level] || to <= chosen[level] {
                continue;
            }
            let more = self.more_bytes(level, chosen[level], to);
            if more <= left {
                chosen[level] = to;
                left -= more;
            } else {
                is_closed[level] = true;
                let fits = self.largest_that_fits(level, chosen[level], left);
                left -= self.more_bytes(level, chosen[level], fits);
                chosen[level] = fits;
            }
        }
        chosen
    }

    /// Redistributes the memory of each pair of levels, until nothing improves.
    fn improve_pairs(&self, mut chosen: Vec<usize>) -> Vec<usize> {
        let mut has_improved = true;
        while has_improved {
            has_improved = false;
            for a in 0..chosen.len() {
                for b in a + 1..chosen.len() {
                    has_improved |= self.improve_pair(&mut chosen, a, b);
                }
            }
        }
        chosen
    }

    /// Gives two levels the best that fits into their memory and what is left.
    fn improve_pair(&self, chosen: &mut [usize], a: usize, b: usize) -> bool {
        /// Less is a rounding error.
        const LEAST: f64 = 1e-12;
        let used = self.bytes(chosen);
        let (a_choices, b_choices) = (&self.choices[a], &self.choices[b]);
        let memory = (a_choices[chosen[a]].bytes + b_choices[chosen[b]].bytes)
            .saturating_add(self.budget.saturating_sub(used));
        let wasted = |i: usize, j: usize| {
            self.weights[a] * a_choices[i].fpr + self.weights[b] * b_choices[j].fpr
        };
        let before = wasted(chosen[a], chosen[b]);
        let mut fewest = before * (1.0 - LEAST);
        let mut has_improved = false;
        // The larger the one, the smaller the other.
        let mut j = b_choices.len() - 1;
        'pairs: for (i, choice) in a_choices.iter().enumerate() {
            let Some(left) = memory.checked_sub(choice.bytes) else { break };
            while b_choices[j].bytes > left {
                if j == 0 {
                    break 'pairs;
                }
                j -= 1;
            }
            if wasted(i, j) < fewest {
                fewest = wasted(i, j);
                (chosen[a], chosen[b]) = (i, j);
                has_improved = true;
            }
        }
        has_improved
    }

    fn more_bytes(&self, level: usize, from: usize, to: usize) -> u64 {
        self.choices[level][to].bytes - self.choices[level][from].bytes
    }

    fn largest_that_fits(&self, level: usize, from: usize, left: u64) -> usize {
        let choices = &self.choices[level];
        let most = choices[from].bytes.saturating_add(left);
        choices.partition_point(|choice| choice.bytes <= most) - 1
    }

    fn bytes(&self, chosen: &[usize]) -> u64 {
        self.choices.iter().zip(chosen).map(|(choices, &it)| choices[it].bytes).sum()
    }

    fn wasted(&self, chosen: &[usize]) -> f64 {
        let rates = self.choices.iter().zip(chosen).map(|(choices, &it)| choices[it].fpr);
        rates.zip(self.weights).map(|(fpr, weight)| weight * fpr).sum()
    }
}

/// A step of a level to the next choice on its hull.
struct Step {
    level: usize,
    to: usize,
    /// Reads saved per byte.
    gain: f64,
}

/// The steps of all hulls, the most reads per byte first.
fn steps(choices: &[Vec<Choice>], weights: &[f64]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (level, (choices, &weight)) in choices.iter().zip(weights).enumerate() {
        for pair in hull(choices).windows(2) {
            let gain = gain(weight, &choices[pair[0]], &choices[pair[1]]);
            if gain > 0.0 {
                steps.push(Step { level, to: pair[1], gain });
            }
        }
    }
    steps.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    steps
}

/// Reads saved per byte.
fn gain(weight: f64, from: &Choice, to: &Choice) -> f64 {
    weight * (from.fpr - to.fpr) / (to.bytes - from.bytes) as f64
}

/// The lower convex hull of rates over sizes, by Andrew's monotone chain. Points on its edges belong
/// to it: Ribbon's rates are linear between two whole numbers of columns.
fn hull(choices: &[Choice]) -> Vec<usize> {
    /// Rounding errors do not take points from an edge.
    const TOLERANCE: f64 = 1e-9;
    let mut hull: Vec<usize> = Vec::new();
    for (next, to) in choices.iter().enumerate() {
        while let [.., before, last] = hull[..] {
            let (from, middle) = (choices[before], choices[last]);
            let share = (middle.bytes - from.bytes) as f64 / (to.bytes - from.bytes) as f64;
            let on_the_line = from.fpr + share * (to.fpr - from.fpr);
            if middle.fpr <= on_the_line * (1.0 + TOLERANCE) {
                break;
            }
            hull.pop();
        }
        hull.push(next);
    }
    hull
}
