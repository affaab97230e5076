//! Settings that are only recorded in the properties.

use std::sync::Arc;

use sstkit_coding::{setters, with_defaults};

use super::check::refuse;
use super::{Identity, TableOptions};
use crate::error::Result;
use crate::raw::{Engine, property_names};
use crate::writer::PropertyCollectorFactory;

with_defaults! {
    #[derive(Clone)]
    pub(crate) struct PropertyOptions {
        pub(crate) merge_operator: Option<String>,
        pub(crate) column_family: Option<(u32, String)>,
        pub(crate) user_properties: Vec<(Vec<u8>, Vec<u8>)>,
        pub(crate) collectors: Vec<String>,
        pub(crate) factories: Vec<Arc<dyn PropertyCollectorFactory>>,
        pub(crate) external_file: bool = true,
        pub(crate) identity: Identity,
    }
}

sstkit_coding::debug_struct!(PropertyOptions {
    merge_operator,
    column_family,
    user_properties: bytes,
    collectors,
    factories,
    external_file,
    identity,
});

impl PropertyOptions {
    pub(super) fn check(&self, is_of_rocksdb6: bool) -> Result<()> {
        for (name, _) in &self.user_properties {
            check_name(name)?;
        }
        let session = &self.identity.session_id;
        // A UUID in RocksDB 6.20.
        let is_uuid = is_of_rocksdb6 && session.len() == 36;
        refuse(!session.is_empty() && session.len() != 20 && !is_uuid, || {
            format!("session_id = {session:?} does not have 20 digits")
        })
    }
}

impl PropertyOptions {
    /// Sets a user property, in place of earlier ones of the same name.
    pub(crate) fn set_user_property(&mut self, name: Vec<u8>, value: Vec<u8>) -> Result<()> {
        check_name(&name)?;
        self.user_properties.retain(|(earlier, _)| *earlier != name);
        self.user_properties.push((name, value));
        Ok(())
    }
}

fn check_name(name: &[u8]) -> Result<()> {
    refuse(property_names::encoding(name).is_some(), || {
        format!("user_property \"{}\" is a name reserved by RocksDB", name.escape_ascii())
    })
}

setters! {
    impl TableOptions:

    /// The name of the merge operator. Default: none. Nothing is merged here; the name tells RocksDB
    /// which operator the operands are for.
    pub fn merge_operator(mut self, name: impl Into<String>) {
        self.properties.merge_operator = Some(name.into());
    }

    /// The column family of the table. Default: unknown, which any column family accepts.
    pub fn column_family(mut self, id: u32, name: impl Into<String>) {
        self.properties.column_family = Some((id, name.into()));
    }

    /// Adds a user property; the last one of a name wins. Names that RocksDB uses itself are refused.
    pub fn user_property(mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.properties.user_properties.push((name.into(), value.into()));
    }

    /// Adds a name to `rocksdb.property.collectors`: the collectors of the user properties.
    pub fn property_collector(mut self, name: impl Into<String>) {
        self.properties.collectors.push(name.into());
    }

    /// Has user properties computed from the entries of each table. The name is added to
    /// `rocksdb.property.collectors`. Not with [`rewrite_tail`](crate::rewrite_tail), which keeps the
    /// properties.
    pub fn collect_properties(mut self, factory: Arc<dyn PropertyCollectorFactory>) {
        self.properties.collectors.push(factory.name().into());
        self.properties.factories.push(factory);
    }

    /// Whether the table is written outside of a database, to be ingested by RocksDB's
    /// `IngestExternalFile` (of a version that [reads it](Self::readable_by): by default 10.4 or
    /// later). Default: yes, as with `SstFileWriter`. All sequence numbers are then 0, and each user
    /// key occurs once. A table with other sequence numbers, or several entries of one key, needs
    /// `false`.
    pub fn external_file(mut self, external: bool) { self.properties.external_file = external; }

    /// Who created the table, and when. Default: [`Identity::default`].
    pub fn identity(mut self, identity: Identity) { self.properties.identity = identity; }

    /// The options of one of several tables that share their options: its [file
    /// number](Identity::file_number) is larger by `nth`, so that all numbers differ. LevelDB tables
    /// have no number.
    pub fn numbered(mut self, nth: u64) {
        if self.engine == Engine::RocksDb {
            self.properties.identity.file_number =
                self.properties.identity.file_number.wrapping_add(nth);
        }
    }
}
