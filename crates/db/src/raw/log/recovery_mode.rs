//! What to do about a damaged log.

use sstkit_coding::named_enum;

use super::problem::{LogProblem, LogProblemKind};

named_enum! {
    /// How much damage of a write-ahead log is tolerated: RocksDB's `wal_recovery_mode`.
    ///
    /// The numbers are RocksDB's and never change.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[repr(u8)]
    #[non_exhaustive]
    pub enum RecoveryMode {
        /// A torn tail is tolerated; other damage is an error.
        TolerateCorruptedTailRecords = 0 => "kTolerateCorruptedTailRecords",
        /// No damage is tolerated.
        AbsoluteConsistency = 1 => "kAbsoluteConsistency",
        /// What precedes the first problem counts. RocksDB's default.
        #[default]
        PointInTimeRecovery = 2 => "kPointInTimeRecovery",
        /// Everything that can be read counts. LevelDB's way, unless its paranoid checks are on.
        SkipAnyCorruptedRecords = 3 => "kSkipAnyCorruptedRecords",
    }

    /// The name in OPTIONS files.
    fn name;
}

/// What a reader of a log does about a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Go on with the next record.
    Skip,
    /// The log ends here, as expected.
    End,
    /// The log ends here; later logs count only if their sequence numbers continue without a gap.
    Stop,
    /// Fail.
    Fail,
}

impl RecoveryMode {
    /// What this mode does about `problem`, in a log that is recycled or not.
    ///
    /// ```text
    ///                      tolerate tail   absolute   point in time   skip
    /// torn tail            End             Fail       Stop            Skip
    /// stale record         End             End        Stop            Skip
    /// length, checksum     Fail            Fail       Stop            Skip
    ///   in a recycled log  End             Fail       Stop            Skip
    /// anything else        Fail            Fail       Stop            Skip
    /// ```
    ///
    /// The records of a MANIFEST are read as with
    /// [`TolerateCorruptedTailRecords`](Self::TolerateCorruptedTailRecords).
    pub fn react(self, problem: &LogProblem, is_recycled: bool) -> Reaction {
        use LogProblemKind::{BadChecksum, BadLength, StaleRecord};
        let kind = problem.kind;
        match self {
            Self::SkipAnyCorruptedRecords => Reaction::Skip,
            Self::PointInTimeRecovery => Reaction::Stop,
            Self::AbsoluteConsistency if kind == StaleRecord => Reaction::End,
            Self::AbsoluteConsistency => Reaction::Fail,
            Self::TolerateCorruptedTailRecords => match kind {
                StaleRecord => Reaction::End,
                // Stale bytes need not start where a record does.
                BadLength | BadChecksum if is_recycled => Reaction::End,
                _ if kind.is_torn_tail() => Reaction::End,
                _ => Reaction::Fail,
            },
        }
    }
}
