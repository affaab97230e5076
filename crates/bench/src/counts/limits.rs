//! What hot paths may take in relation to others, whatever either takes.

use std::fmt;

use super::Counted;

/// A hot path that takes at most `factor` times as many instructions as another.
struct Limit {
    path: &'static str,
    factor: f64,
    other: &'static str,
}

/// A filter of the caller's is worth having if it costs a lookup about what a built-in one does.
const LIMITS: [Limit; 1] = [Limit {
    path: "get, absent, binary fuse of xorf",
    factor: 3.0,
    other: "get, absent, bloomfilter:10",
}];

/// A limit that does not hold, as a line for people.
#[derive(Clone, Debug, PartialEq)]
pub struct ExceededLimit(String);

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The limits that the counts exceed, or that cannot be checked because a path is missing.
pub fn exceeded_limits(counts: &[Counted]) -> Vec<ExceededLimit> {
    LIMITS.iter().filter_map(|limit| limit.check(counts).err().map(ExceededLimit)).collect()
}

impl Limit {
    fn check(&self, counts: &[Counted]) -> Result<(), String> {
        let &Self { path, factor, other } = self;
        let of = |name: &str| {
            let counted = counts.iter().find(|counted| counted.name == name);
            counted.map(|it| it.instructions).ok_or_else(|| format!("{name}: not counted"))
        };
        let ratio = of(path)? / of(other)?;
        match ratio <= factor {
            true => Ok(()),
            false => Err(format!("{path}: {ratio:.2} times {other}, at most {factor} are allowed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Record;

    #[test]
    fn the_recorded_counts_are_within_the_limits() {
        let record = include_str!("../../../../docs/benchmarks/instruction-counts.txt");
        assert_eq!(exceeded_limits(&Record::parse(record).unwrap().counts), []);
    }

    #[test]
    fn more_than_the_factor_fails_and_so_does_a_path_that_is_missing() {
        let counted = |name: &str, instructions| Counted {
            name: name.into(),
            unit: "key".into(),
            instructions,
        };
        let [limit] = LIMITS;
        let counts = |ratio| [counted(limit.other, 200.0), counted(limit.path, 200.0 * ratio)];
        assert_eq!(exceeded_limits(&counts(3.0)), []);
        let [exceeded] = &exceeded_limits(&counts(3.01))[..] else { panic!("it is exceeded") };
        assert!(exceeded.to_string().contains("3.01 times"), "{exceeded}");
        assert_eq!(exceeded_limits(&counts(1.0)[..1]).len(), 1);
    }
}
