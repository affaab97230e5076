//! What is compared: the size and the rate of each filter, measured afresh.

use std::fmt::Write;

use crate::keys::Keys;
use crate::lineup::LINEUP;
use crate::subject::{Mode, Queries};

const KEYS: usize = 100_000;
const QUERIES: usize = 1_000_000;

/// A table of bits per key and false positives. A faster filter that lets more pass, or takes more space, is not a
/// better one.
pub fn filters() -> String {
    let keys = Keys::present(KEYS);
    let queries = Queries::absent(QUERIES);
    let mut text = format!(
        "Sizes and rates of the filters of {KEYS} keys:\n\n\
         | filter | bits per key | false positives |\n|---|--:|--:|\n"
    );
    for entrant in &LINEUP {
        let subject = (entrant.build)(&keys);
        let found = subject.pass(Mode::Single, &queries)();
        queries.check(found, subject.expected_fpr());
        let bits = 8.0 * subject.length() as f64 / KEYS as f64;
        let percent = 100.0 * found as f64 / QUERIES as f64;
        let _ = writeln!(text, "| {} | {bits:.2} | {percent:.2} % |", entrant.name);
    }
    text
}
