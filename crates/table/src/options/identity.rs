//! Who created a table, and when: what an engine takes from its environment.

use std::hash::{BuildHasher, RandomState};

use sstkit_coding::with_defaults;
use sstkit_coding::xxph3::xxph3_seeded;

use super::defaults::{DEFAULT_DB_ID, DEFAULT_FILE_NUMBER};

with_defaults! {
    /// Who created a table, and when.
    ///
    /// RocksDB takes these from the database, the machine and the clock. Here they are settings with
    /// fixed defaults, so that the same entries give the same bytes.
    ///
    /// # Session and file number
    ///
    /// RocksDB derives the cache keys of a table's blocks from both, if it has them: two tables with the
    /// same pair that are ingested into one database would get each other's blocks. Therefore the default
    /// is **no session**; RocksDB then uses its own. [`random`](Self::random) gives each table a session
    /// of its own. If you set a session, make the pair unique, with a
    /// [`file_number`](Self::file_number) for each [`TableWriter`](crate::TableWriter) of the session;
    /// builds of several files count up from that number.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Identity {
        /// `rocksdb.creating.db.identity`; not stored if empty. Default: [`DEFAULT_DB_ID`].
        pub db_id: String = DEFAULT_DB_ID.into(),
        /// `rocksdb.creating.session.identity`: 20 digits to the base 36. If empty, the default, it is
        /// not stored; that of a [random](Self::random) identity is drawn for each table instead.
        pub session_id: String,
        /// Whether each table gets a random session if none is set.
        pub(super) draws_session: bool,
        /// `rocksdb.creating.host.identity`; not stored if empty, the default.
        pub host_id: String,
        /// `rocksdb.original.file.number`. Default: [`DEFAULT_FILE_NUMBER`].
        pub file_number: u64 = DEFAULT_FILE_NUMBER,
        /// `rocksdb.creation.time`, in seconds since 1970. Default: 0, unknown.
        pub creation_time: u64,
        /// `rocksdb.oldest.key.time`. Default: 0, unknown.
        pub oldest_key_time: u64,
        /// `rocksdb.newest.key.time`. Default: 0, unknown.
        pub newest_key_time: u64,
        /// `rocksdb.file.creation.time`; not stored if 0, the default.
        pub file_creation_time: u64,
    }
}

impl Identity {
    /// The default, except that each table gets a random session. It then has a unique id, as tables
    /// of RocksDB's `SstFileWriter` have, and its bytes differ from one run to the next. A
    /// [`session_id`](Self::session_id) that is set takes precedence.
    pub fn random() -> Self {
        Self { draws_session: true, ..Self::default() }
    }

    /// Draws the random session of one table, if there is to be one.
    pub(crate) fn draw(&mut self) {
        if self.draws_session && self.session_id.is_empty() {
            self.session_id = random_session();
        }
    }

    /// A number that differs between files: 31 bits, not 0. It replaces the random number that
    /// RocksDB uses for each file of format version 6 and later.
    pub(crate) fn context_checksum(&self, seed: u64) -> u32 {
        let mut text = Vec::new();
        for part in [&self.db_id, &self.session_id, &self.host_id] {
            text.extend_from_slice(part.as_bytes());
            text.push(0);
        }
        text.extend_from_slice(&self.file_number.to_le_bytes());
        (xxph3_seeded(&text, seed) as u32 & (i32::MAX as u32)).max(1)
    }
}

/// 20 digits to the base 36.
fn random_session() -> String {
    // The keys of the standard library's hash maps come from the system's randomness.
    let random = |seed: u64| RandomState::new().hash_one(seed);
    let mut bits = u128::from(random(0)) << 64 | u128::from(random(1));
    std::iter::repeat_with(|| {
        let digit = (bits % 36) as u32;
        bits /= 36;
        char::from_digit(digit, 36).expect("a digit").to_ascii_uppercase()
    })
    .take(20)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(mut identity: Identity) -> String {
        identity.draw();
        identity.session_id
    }

    #[test]
    fn random_sessions_differ_and_are_well_formed() {
        let identity = Identity::random();
        let (a, b) = (drawn(identity.clone()), drawn(identity));
        assert_ne!(a, b);
        for session in [a, b] {
            assert_eq!(session.len(), 20);
            assert!(session.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()));
        }
    }

    #[test]
    fn a_session_that_is_given_is_kept_and_none_stays_none() {
        let given = Identity { session_id: "0123456789ABCDEFGHIJ".into(), ..Identity::random() };
        assert_eq!(drawn(given), "0123456789ABCDEFGHIJ");
        assert_eq!(drawn(Identity::default()), "");
    }

    #[test]
    fn the_context_depends_on_the_identity_and_the_seed() {
        let base = Identity::default();
        let other = Identity { file_number: 2, ..Identity::default() };
        assert_eq!(base.context_checksum(0), Identity::default().context_checksum(0));
        assert_ne!(base.context_checksum(0), other.context_checksum(0));
        assert_ne!(base.context_checksum(0), base.context_checksum(1));
        assert!(base.context_checksum(0) > 0 && base.context_checksum(0) <= i32::MAX as u32);
    }
}
