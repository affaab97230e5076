//! Differences as lines.
//!
//! ```text
//! - alice => 1              only A has it
//! + bob => 2                only B has it
//! - carol => 3              both have it, with other values
//! + carol => 4
//! ~ carol                   the same without values
//! + column family meta      only B has it; its keys follow
//! ```

use std::io;

use anstyle::Style;
use sstkit_db::Difference;
use sstkit_inspect::{DifferenceCounts, DifferenceRecord, DifferenceSummary, JsonRecord};

use crate::args::FormatArgs;
use crate::output::page::{ADDED, CHANGED, HEADING, REMOVED};
use crate::output::{Page, records, units};

/// Prints differences as text or JSON.
pub(super) struct Printer {
    is_json: bool,
    keys_only: bool,
    /// Several column families are compared.
    has_headings: bool,
    column_family: Option<String>,
    /// The heading of the column family has been printed.
    is_headed: bool,
}

impl Printer {
    pub(super) fn new(format: FormatArgs, keys_only: bool, pairs: usize) -> Self {
        let (is_json, has_headings) = (format.is_json(), pairs > 1);
        Self { is_json, keys_only, has_headings, column_family: None, is_headed: false }
    }

    /// The differences that follow are in this column family.
    pub(super) fn start(&mut self, column_family: Option<&str>) {
        self.column_family = column_family.map(str::to_owned);
        self.is_headed = !self.has_headings;
    }

    /// Prints that only one side has the column family.
    pub(super) fn print_column_family(
        &mut self,
        difference: &Difference<()>,
        name: &str,
        page: &mut Page,
    ) -> io::Result<()> {
        if self.is_json {
            return page.json(&DifferenceRecord::of_column_family(difference, name));
        }
        self.is_headed = true;
        let (mark, style) = mark(difference);
        page.styled_line(style, format!("{mark}column family {name}"))
    }

    pub(super) fn print(
        &mut self,
        mut difference: Difference<JsonRecord>,
        page: &mut Page,
    ) -> io::Result<()> {
        if self.keys_only {
            without_values(&mut difference);
        }
        if self.is_json {
            let name = self.column_family.as_deref();
            return page.json(&DifferenceRecord::new(difference, name));
        }
        if let (false, Some(name)) = (self.is_headed, &self.column_family) {
            page.styled_line(HEADING, format!("column family {name}"))?;
            self.is_headed = true;
        }
        let mut line = |(mark, style): (&str, Style), record: &JsonRecord| {
            records::print_marked(page, mark, style, record)
        };
        match &difference {
            Difference::Changed(a, b) if !self.keys_only => {
                line(mark(&Difference::Removed(())), a)?;
                line(mark(&Difference::Added(())), b)
            }
            Difference::Removed(record)
            | Difference::Added(record)
            | Difference::Changed(record, _) => line(mark(&difference), record),
        }
    }

    pub(super) fn print_summary(
        &self,
        summary: &DifferenceSummary,
        page: &mut Page,
    ) -> io::Result<()> {
        if self.is_json {
            return page.json(summary);
        }
        let families = summary.column_families.as_deref().unwrap_or_default();
        for counts in families.iter().filter(|it| self.has_headings || it.only_in.is_some()) {
            let name = counts.column_family.as_deref().unwrap_or_default();
            let only_in = match counts.only_in {
                Some("a") => "only in A, ",
                Some(_) => "only in B, ",
                None => "",
            };
            writeln!(
                page,
                "column family {name}: {only_in}{}",
                numbers(counts, counts.is_equal())
            )?;
        }
        let stopped = if summary.complete { "" } else { " (stopped at the limit)" };
        writeln!(page, "{}{stopped}", numbers(&summary.total, summary.equal))
    }
}

fn numbers(counts: &DifferenceCounts, is_equal: bool) -> String {
    if is_equal {
        return "equal".to_owned();
    }
    format!(
        "{} removed, {} added, {} changed",
        units::count(counts.removed),
        units::count(counts.added),
        units::count(counts.changed)
    )
}

fn mark<T>(difference: &Difference<T>) -> (&'static str, Style) {
    match difference {
        Difference::Removed(_) => ("- ", REMOVED),
        Difference::Added(_) => ("+ ", ADDED),
        Difference::Changed(..) => ("~ ", CHANGED),
    }
}

fn without_values(difference: &mut Difference<JsonRecord>) {
    match difference {
        Difference::Removed(record) | Difference::Added(record) => record.remove_value(),
        Difference::Changed(a, b) => {
            a.remove_value();
            b.remove_value();
        }
    }
}
