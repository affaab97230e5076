//! Bounds, seeks and prefixes, case by case: `testdata/scan`.
//!
//! | command | meaning |
//! |---|---|
//! | `table` | writes and opens a table of these entries |
//! | `scan` | prints what an iterator shows, from both ends |
//! | `prefix KEY` | the same for a prefix |
//! | `cursor` | prints where each step of the input leads |
//!
//! Arguments of `table`: `comparator=NAME`, `prefix=LENGTH` (a prefix extractor, with a filter of
//! prefixes alone). Of `scan` and `cursor`: `from=KEY`, `after=KEY`, `to=KEY` (exclusive), `through=KEY`
//! (inclusive), `mode=total_order`, `auto` or `same_prefix`. Steps of a cursor: `first`, `last`,
//! `seek KEY`, `seek_for_prev KEY`, `next`, `prev`. `(filtered)`: the filter excluded
//! the table.

use std::ops::Bound;
use std::sync::Arc;

use sstkit_filter::PrefixExtractor;
use sstkit_table::{
    Comparator, Cursor, PrefixMode, ReadOptions, Table, TableOptions, Ticker, Tickers,
};
use sstkit_testkit::datadriven::{self, Case, escape, unescape};
use sstkit_testkit::{goldens, notation, orders};

struct Subject {
    table: Table,
    tickers: Arc<Tickers>,
}

fn comparator(case: &Case) -> Comparator {
    match case.value("comparator") {
        None => Comparator::Bytewise,
        Some("reverse") => Comparator::ReverseBytewise,
        Some("short_first") => orders::short_first(),
        Some("ignore_case") => orders::ignore_case(),
        Some(other) => panic!("unknown comparator {other}"),
    }
}

fn open(case: &Case) -> Subject {
    let comparator = comparator(case);
    // Every block has one or two entries, so that bounds and prefixes end at block borders and
    // inside.
    let mut options = TableOptions::rocksdb().comparator(comparator.clone()).block_size(40);
    if let Some(length) = case.parsed("prefix") {
        options = options
            .prefix_extractor(PrefixExtractor::Fixed(length))
            .whole_key_filtering(false)
            .filter("bloomfilter:20".parse().unwrap());
    }
    let tickers = Arc::new(Tickers::default());
    let read = goldens::options().comparator(comparator).tickers(&tickers);
    let bytes = notation::table_bytes(case.input(), &options);
    Subject { table: Table::from_source(bytes, &read).unwrap(), tickers }
}

fn scan_options(case: &Case) -> ReadOptions {
    let lower = match (case.bytes("from"), case.bytes("after")) {
        (Some(key), _) => Bound::Included(key),
        (_, Some(key)) => Bound::Excluded(key),
        _ => Bound::Unbounded,
    };
    let upper = match (case.bytes("to"), case.bytes("through")) {
        (Some(key), _) => Bound::Excluded(key),
        (_, Some(key)) => Bound::Included(key),
        _ => Bound::Unbounded,
    };
    let mode = match case.value("mode") {
        None | Some("auto") => PrefixMode::Auto,
        Some("total_order") => PrefixMode::TotalOrder,
        Some("same_prefix") => PrefixMode::SamePrefix,
        Some(other) => panic!("unknown mode {other}"),
    };
    ReadOptions::default().range((lower, upper)).prefix_mode(mode)
}

/// What a cursor shows from first to last; the way back must be the same.
fn all(mut cursor: Cursor) -> String {
    let mut forward = Vec::new();
    let mut valid = cursor.seek_to_first().unwrap();
    while valid {
        forward.push(current(&cursor));
        valid = cursor.next().unwrap();
    }
    let mut backward = Vec::new();
    let mut valid = cursor.seek_to_last().unwrap();
    while valid {
        backward.push(current(&cursor));
        valid = cursor.prev().unwrap();
    }
    backward.reverse();
    assert_eq!(forward, backward);
    forward.iter().map(|line| format!("{line}\n")).collect()
}

fn current(cursor: &Cursor) -> String {
    format!("{} = {}", escape(cursor.key()), escape(&cursor.value().unwrap()))
}

fn steps(case: &Case, subject: &Subject) -> String {
    let mut cursor = subject.table.cursor_with(&scan_options(case));
    let mut output = String::new();
    let filtered = || {
        let tickers = [Ticker::LastLevelSeekFiltered, Ticker::NonLastLevelSeekFiltered];
        tickers.map(|ticker| subject.tickers.get(ticker)).iter().sum::<u64>()
    };
    for line in case.input().lines() {
        let (step, key) = line.split_once(' ').unwrap_or((line, ""));
        let (key, before) = (unescape(key), filtered());
        let moved = match step {
            "first" => cursor.seek_to_first(),
            "last" => cursor.seek_to_last(),
            "seek" => cursor.seek(&key),
            "seek_for_prev" => cursor.seek_for_prev(&key),
            "next" => cursor.next(),
            "prev" => cursor.prev(),
            other => panic!("unknown step {other}"),
        };
        let found = match moved {
            Ok(true) => current(&cursor),
            Ok(false) => "end".to_owned(),
            Err(error) => format!("error: {error}"),
        };
        let note = if filtered() > before { " (filtered)" } else { "" };
        output.push_str(&format!("{line}: {found}{note}\n"));
    }
    output
}

#[test]
fn cases() {
    datadriven::run("testdata/scan", || {
        let mut subject = None;
        move |case| {
            if case.command() == "table" {
                subject = Some(open(case));
                return String::new();
            }
            let subject = subject.as_ref().expect("a table comes first");
            match case.command() {
                "scan" => all(subject.table.cursor_with(&scan_options(case))),
                "prefix" => {
                    let [prefix] = case.words()[..] else { panic!("a prefix is needed") };
                    let options = ReadOptions::default().prefix(unescape(prefix));
                    all(subject.table.cursor_with(&options))
                }
                "cursor" => steps(case, subject),
                other => panic!("unknown command {other}"),
            }
        }
    });
}
