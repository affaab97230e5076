//! The probe of a filter: what was probed, where, and the result.

use serde::Serialize;
use sstkit_filter::{FilterBlockTrace, FilterTrace, Probe, ProbePlace, TracedHash};
use sstkit_table::explain::{FilterStep, NotProbed, ProbedFor};

use super::PartitionVisit;
use crate::encoding::Encoding;
use crate::names;

/// The result of a filter probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterAnswer {
    /// The kind of filter; `None` if it was not read.
    pub kind: Option<&'static str>,
    /// The layout: `full`, `partitioned` or `block`.
    pub layout: &'static str,
    /// The name of the policy; `None` if it is given elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The type of probe: `whole_key`, `prefix` or `nothing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<&'static str>,
    /// The probed prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The reason why it was not probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The probed partition of a partitioned filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionVisit>,
    /// The hash of the key or prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The probed part of the filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<ProbedPlace>,
    /// The probes, up to the first that fails.
    pub probes: Vec<ProbedBit>,
    /// Why it could not be read; it then matches everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the lookup continued.
    pub may_contain: bool,
}

/// The part of a filter where a key is probed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProbedPlace {
    /// A cache line of a Bloom filter.
    Line {
        /// The index of the line.
        index: u64,
        /// The number of lines.
        count: u64,
        /// The size in bytes.
        length: u64,
        /// The number of bits to probe if none of them is 0.
        num_probes: u8,
    },
    /// Slots of a Ribbon filter.
    Slots {
        /// The first of 128 slots.
        start: u32,
        /// The number of slots.
        count: u32,
        /// The coefficients of the key's equation, in hexadecimal.
        row: String,
        /// Its right-hand side.
        result: u32,
        /// The segment of 16 bytes that holds column 0 of the first slot.
        first_segment: u64,
        /// The number of columns to probe if the equation holds in all of them.
        columns: u64,
    },
}

/// One probe of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProbedBit {
    /// The bit within the line, or the column.
    pub position: u64,
    /// The value for a key in the filter.
    pub expected: u8,
    /// The value found.
    pub found: u8,
}

impl FilterAnswer {
    pub(super) fn of_step(step: &FilterStep, encoding: Encoding) -> Self {
        let (question, prefix, reason) = match &step.probed_for {
            ProbedFor::WholeKey => ("whole_key", None, None),
            ProbedFor::Prefix(prefix) => ("prefix", Some(encoding.encode(prefix)), None),
            ProbedFor::Nothing(why) => ("nothing", None, Some(reason(*why))),
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
            ..Self::not_probed(names::filter_layout(step.layout))
        };
        if let Some(trace) = &step.trace {
            answer.look(trace);
        }
        answer
    }

    pub(super) fn of_block(trace: &FilterBlockTrace) -> Self {
        let mut answer = Self::not_probed("block");
        answer.look(&trace.filter);
        answer
    }

    fn not_probed(layout: &'static str) -> Self {
        Self { layout, may_contain: true, ..Self::default() }
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
        ProbePlace::Slots { start, count, row, result, first_segment, columns } => {
            ProbedPlace::Slots {
                start,
                count,
                row: format!("{row:032x}"),
                result,
                first_segment: first_segment as u64,
                columns: columns as u64,
            }
        }
        _ => return None,
    })
}

fn probe(probe: &Probe) -> ProbedBit {
    let &Probe { position, expected, found, .. } = probe;
    ProbedBit { position, expected: expected.into(), found: found.into() }
}

/// The reason why a filter was not probed, as text.
fn reason(why: NotProbed) -> &'static str {
    match why {
        NotProbed::FiltersOff => "filters are disabled",
        NotProbed::EqualKeysDiffer => "the comparator treats keys with different bytes as equal",
        NotProbed::NoSuitablePrefixes => "it contains neither whole keys nor usable prefixes",
        NotProbed::KeyWithoutPrefix => "it contains only prefixes, and the key has none",
        _ => "it cannot be probed",
    }
}
