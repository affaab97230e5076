//! A Ribbon filter with a few keys, and the fallback to a Bloom filter.

use std::collections::BTreeMap;
use std::fmt::Write;

use sstkit_coding::xxph3::xxph3;
use sstkit_filter::{BuildContext, Filter};

use super::ribbon_formulas::{Equation, Ribbon};
use crate::building::{build, numbers};
use crate::hex_dump::Dump;
use crate::runs::runs;
use crate::wording::{key_list, key_text, list};

/// With this number of bits per key, one block has one column and the other has two.
const POLICY: &str = "ribbonfilter:1.45:-1";
const KEYS: [&[u8]; 4] = [b"ant", b"bee", b"cow", b"tiger"];
const NOT_ADDED: [&[u8]; 2] = [b"dog", b"elk"];

pub(super) fn example() -> String {
    let bytes = build(POLICY, &BuildContext::default(), KEYS);
    let ribbon = Ribbon::new(&bytes);
    assert_eq!((ribbon.num_blocks, ribbon.columns, ribbon.first_later), (2, 2, 1));
    assert_eq!(ribbon.seed, xxph3(KEYS[0]) as u8, "the first seed tried");

    let mut dump = Dump::new(&bytes);
    dump.note(format!("{POLICY}: {}; {} slots", key_list(KEYS), 128 * ribbon.num_blocks));
    dump.note("        start  row, slot by slot              columns  result  row · solution");
    let mut starts: BTreeMap<usize, String> = BTreeMap::new();
    for key in KEYS.into_iter().chain(NOT_ADDED) {
        let equation = ribbon.equation(key);
        let in_filter = Filter::from_bytes(&bytes).may_contain(key);
        dump.note(equation_line(&ribbon, key, &equation, in_filter));
        if KEYS.contains(&key) {
            let other = starts.insert(equation.start, key_text(key));
            assert_eq!(other, None, "all keys have distinct starts, so there is no elimination");
        }
    }
    dump_solution(&mut dump, &ribbon, &starts);
    dump.note("trailer");
    dump.bytes(1, "Ribbon");
    dump.bytes(1, format!("seed {}", ribbon.seed));
    let columns = list((0..ribbon.num_blocks).map(|block| ribbon.columns(block)));
    dump.bytes(3, format!("blocks: {}, with {columns} columns", ribbon.num_blocks));
    dump.finish()
}

/// The equation of a key, and whether it holds, which must agree with the filter.
fn equation_line(ribbon: &Ribbon<'_>, key: &[u8], equation: &Equation, in_filter: bool) -> String {
    let (results, products): (Vec<_>, Vec<_>) = ribbon.sides(equation).into_iter().unzip();
    assert_eq!(in_filter, results == products);
    let row: String = (0..26).map(|t| char::from(b'0' + (equation.row >> t & 1) as u8)).collect();
    format!(
        "{:<6}  {:>5}  {row}...  {:>7}  {:<6}  {:<7} {}",
        key_text(key),
        equation.start,
        results.len(),
        list(&results),
        list(&products),
        if in_filter { "may contain" } else { "no" }
    )
}

/// Writes the blocks by column. Without elimination, only slots at which a key starts are set.
fn dump_solution(dump: &mut Dump<'_>, ribbon: &Ribbon<'_>, starts: &BTreeMap<usize, String>) {
    for block in 0..ribbon.num_blocks {
        let (first, last) = (128 * block, 128 * block + 127);
        for column in 0..ribbon.columns(block) {
            dump.note(format!("block {block}, column {column}: slots {first} to {last}"));
            let solution = ribbon.segment(block, column);
            let names = (0..128).filter(|t| solution >> t & 1 == 1).map(|t| {
                let slot = first + t;
                (t, format!("slot {slot}, where {} starts", starts[&slot]))
            });
            dump.bits(16, &names.collect());
        }
    }
}

/// The kind of filter for every number of keys.
pub(super) fn fallback() -> String {
    const END: u32 = 1200;

    let context = BuildContext::default();
    let mut out = String::new();
    for policy in ["ribbonfilter:5:-1", "ribbonfilter:10:-1", "ribbonfilter:20:-1"] {
        let _ = writeln!(out, "{policy}");
        let kind = |count| Filter::from_bytes(build(policy, &context, numbers(count))).kind();
        for run in runs(1..=END, kind) {
            let range = match run.last {
                END => format!("{} and more", run.first),
                last => format!("{} to {last}", run.first),
            };
            let _ = writeln!(out, "  {range:<12}  {}", run.value);
        }
    }
    out
}
