//! Dynamic programming over some choices of each level.
//!
//! ```text
//!              bytes  0        …        budget     8192 cells
//! no level           [.]
//! level 0            [.][ ][.][ ][.]               in each cell the fewest wasted reads with at
//! levels 0 and 1     [.][.][.][.][.][ ][.][.]      most its bytes, and from which choice
//! …
//! ```
//!
//! A cell keeps the exact number of bytes, so the result fits into the budget. What is lost is at
//! most the difference between two states in one cell.

use alloc::vec;
use alloc::vec::Vec;

use super::choices::Choice;

const CELLS: usize = 8192;
/// Choices of a level that are tried.
const SOME: usize = 128;

/// The best state in a cell, after a level.
#[derive(Clone, Copy)]
struct State {
    bytes: u64,
    wasted: f64,
    choice: usize,
    /// The cell before the level.
    from: usize,
}

/// For each level, the index of its choice. The first choice of all levels together must fit.
pub(super) fn best_of_some(choices: &[Vec<Choice>], weights: &[f64], budget: u64) -> Vec<usize> {
    let start = State { bytes: 0, wasted: 0.0, choice: 0, from: 0 };
    let mut tables: Vec<Vec<Option<State>>> = vec![vec![Some(start)]];
    for (choices, weight) in choices.iter().zip(weights) {
        let mut next: Vec<Option<State>> = vec![None; CELLS];
        let last = tables.last().map_or(&[][..], Vec::as_slice);
        let states = last.iter().enumerate().filter_map(|(from, state)| Some((from, (*state)?)));
        for (from, state) in states {
            for choice in some(choices.len()) {
                let Some(bytes) = state.bytes.checked_add(choices[choice].bytes) else { break };
                if bytes > budget {
                    break;
                }
                let wasted = state.wasted + weight * choices[choice].fpr;
                let cell = &mut next[cell(bytes, budget)];
                let is_better = |it: State| (wasted, bytes) < (it.wasted, it.bytes);
                if cell.is_none_or(is_better) {
                    *cell = Some(State { bytes, wasted, choice, from });
                }
            }
        }
        tables.push(next);
    }
    trace_back(&tables)
}

fn trace_back(tables: &[Vec<Option<State>>]) -> Vec<usize> {
    let mut chosen = Vec::new();
    let states = tables.last().into_iter().flatten().copied().enumerate();
    let best = states
        .filter_map(|(cell, state)| Some((cell, state?)))
        .min_by(|(_, a), (_, b)| a.wasted.total_cmp(&b.wasted));
    let mut cell = best.map_or(0, |(cell, _)| cell);
    for table in tables[1..].iter().rev() {
        let Some(State { choice, from, .. }) = table[cell] else { break };
        chosen.push(choice);
        cell = from;
    }
    chosen.reverse();
    chosen
}

fn cell(bytes: u64, budget: u64) -> usize {
    let cell = u128::from(bytes) * CELLS as u128 / (u128::from(budget) + 1);
    (cell as usize).min(CELLS - 1)
}

/// The first choice, which is no filter, and others at equal distances, up to the last.
fn some(count: usize) -> impl Iterator<Item = usize> {
    let distance = count.div_ceil(SOME).max(1);
    let first = (count > 0).then_some(0);
    first.into_iter().chain((1..count).step_by(distance))
}
