//! What a filter was asked, where it looked, and what it found.

use serde::Serialize;
use sstkit_filter::{FilterBlockTrace, FilterLayout, FilterTrace, Probe, ProbePlace, TracedHash};
use sstkit_table::explain::{FilterQuestion, FilterStep, NotAsked};

use super::PartitionVisit;
use crate::encoding::Encoding;

/// The answer of a filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterAnswer {
    /// What the filter is; `None` if it was not looked at.
    pub kind: Option<&'static str>,
    /// How it is laid out: `full`, `partitioned` or `block`.
    pub layout: &'static str,
    /// The name of its policy; `None` where that is said elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What it was asked for: `whole_key`, `prefix` or `nothing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<&'static str>,
    /// The prefix it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Why it was asked nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Of a partitioned filter, the part that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionVisit>,
    /// The hash of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Where it looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<ProbedPlace>,
    /// What it found there, up to the first probe that fails.
    pub probes: Vec<FilterProbe>,
    /// Why it could not be read; it lets everything pass then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the lookup went on.
    pub may_contain: bool,
}

/// The part of a filter that a key is looked for in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProbedPlace {
    /// A line of a Bloom filter.
    Line {
        /// Which.
        index: u64,
        /// Of how many.
        count: u64,
        /// Its bytes.
        length: u64,
        /// Bits that would be looked at, if none of them were 0.
        num_probes: u8,
    },
    /// Slots of a Ribbon filter.
    Slots {
        /// The first of 128.
        start: u32,
        /// Of how many.
        count: u32,
        /// The coefficients of the key's equation, in hexadecimal.
        row: String,
        /// Its right-hand side.
        result: u32,
        /// Columns that would be looked at, if the equation held in all of them.
        columns: u64,
    },
}

/// One look into a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FilterProbe {
    /// The bit within the line, or the column.
    pub position: u64,
    /// What a key of the filter would have left there.
    pub expected: u8,
    /// What is there.
    pub found: u8,
}

impl FilterAnswer {
    pub(super) fn of_step(step: &FilterStep, encoding: Encoding) -> Self {
        let (question, prefix, reason) = match &step.question {
            FilterQuestion::WholeKey => ("whole_key", None, None),
            FilterQuestion::Prefix(prefix) => ("prefix", Some(encoding.encode(prefix)), None),
            FilterQuestion::Nothing(why) => ("nothing", None, Some(reason(*why))),
            _ => ("nothing", None, None),
        };
        let partition = step.partition.as_ref();
        let mut answer = Self {
            policy: Some(step.policy.clone()),
            question: Some(question),
            prefix,
            reason,
            partition: partition.map(|partition| PartitionVisit::of(partition, encoding)),
            problem: step.problem.clone(),
            may_contain: step.may_contain,
            ..Self::unasked(match step.layout {
                FilterLayout::Partitioned => "partitioned",
                FilterLayout::Block => "block",
                _ => "full",
            })
        };
        if let Some(trace) = &step.trace {
            answer.look(trace);
        }
        answer
    }

    /// The answer of the filter of one data block.
    pub(super) fn of_block(trace: &FilterBlockTrace) -> Self {
        let mut answer = Self::unasked("block");
        answer.look(&trace.filter);
        answer
    }

    fn unasked(layout: &'static str) -> Self {
        Self {
            kind: None,
            layout,
            policy: None,
            question: None,
            prefix: None,
            reason: None,
            partition: None,
            hash: None,
            place: None,
            probes: Vec::new(),
            problem: None,
            may_contain: true,
        }
    }

    fn look(&mut self, trace: &FilterTrace) {
        self.kind = Some(trace.kind.name());
        self.may_contain = trace.may_contain;
        self.hash = match trace.hash {
            Some(TracedHash::Hash32(hash)) => Some(format!("{hash:#010x}")),
            Some(TracedHash::Hash64(hash)) => Some(format!("{hash:#018x}")),
            _ => None,
        };
        self.place = place(&trace.place);
        self.probes = trace.probes.iter().map(probe).collect();
    }
}

fn place(place: &ProbePlace) -> Option<ProbedPlace> {
    Some(match *place {
        ProbePlace::Line { index, count, length, num_probes } => {
            ProbedPlace::Line { index, count, length: length as u64, num_probes }
        }
        ProbePlace::Slots { start, count, row, result, columns, .. } => ProbedPlace::Slots {
            start,
            count,
            row: format!("{row:032x}"),
            result,
            columns: columns as u64,
        },
        _ => return None,
    })
}

fn probe(probe: &Probe) -> FilterProbe {
    let &Probe { position, expected, found, .. } = probe;
    FilterProbe { position, expected: expected.into(), found: found.into() }
}

/// Why a filter was asked nothing, as a sentence.
fn reason(why: NotAsked) -> &'static str {
    match why {
        NotAsked::FiltersOff => "filters are disabled",
        NotAsked::EqualKeysDiffer => "the comparator treats keys with different bytes as equal",
        NotAsked::NoSuitablePrefixes => "it contains neither whole keys nor usable prefixes",
        NotAsked::KeyWithoutPrefix => "it contains only prefixes, and the key has none",
        _ => "it cannot be probed",
    }
}
