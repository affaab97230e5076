//! User properties that are computed from the entries: RocksDB's `TablePropertiesCollector`.

use std::fmt;

use crate::options::TableOptions;
use crate::raw::InternalKey;

/// Makes a [`PropertyCollector`] for each table.
///
/// ```
/// use std::sync::Arc;
///
/// use sstkit_table::raw::InternalKey;
/// use sstkit_table::{
///     PropertyCollector, PropertyCollectorFactory, Table, TableOptions, TableWriter,
/// };
///
/// /// Counts the values that are empty.
/// #[derive(Debug)]
/// struct EmptyValues;
///
/// impl PropertyCollectorFactory for EmptyValues {
///     fn name(&self) -> &str {
///         "example.EmptyValues"
///     }
///
///     fn collector(&self) -> Box<dyn PropertyCollector> {
///         Box::new(Count(0))
///     }
/// }
///
/// struct Count(u64);
///
/// impl PropertyCollector for Count {
///     fn add(&mut self, _: &InternalKey<'_>, value: &[u8]) {
///         self.0 += u64::from(value.is_empty());
///     }
///
///     fn finish(self: Box<Self>) -> Vec<(Vec<u8>, Vec<u8>)> {
///         vec![(b"example.empty-values".into(), self.0.to_string().into())]
///     }
/// }
///
/// let options = TableOptions::rocksdb().collect_properties(Arc::new(EmptyValues));
/// let mut writer = TableWriter::to_sink(Vec::new(), &options)?;
/// writer.put(b"alice", b"1")?;
/// writer.put(b"bob", b"")?;
/// let (_, bytes) = writer.finish_sink()?;
/// let table = Table::from_bytes(bytes)?;
/// assert_eq!(table.properties().get("example.empty-values"), Some(&b"1"[..]));
/// # Ok::<(), sstkit_table::Error>(())
/// ```
pub trait PropertyCollectorFactory: fmt::Debug + Send + Sync {
    /// A stable name, recorded in the property `rocksdb.property.collectors`.
    fn name(&self) -> &str;

    /// A collector for one table.
    fn collector(&self) -> Box<dyn PropertyCollector>;
}

/// Computes properties of one table. See [`PropertyCollectorFactory`].
pub trait PropertyCollector: Send {
    /// Sees an entry that was added. `value` is as stored; for a range tombstone it is the end of the
    /// range.
    fn add(&mut self, key: &InternalKey<'_>, value: &[u8]);

    /// The names and values of the properties.
    fn finish(self: Box<Self>) -> Vec<(Vec<u8>, Vec<u8>)>;
}

/// The collectors of a table.
pub(crate) struct Collectors(Vec<Box<dyn PropertyCollector>>);

impl Collectors {
    pub(crate) fn new(options: &TableOptions) -> Self {
        let factories = options.properties.factories.iter();
        Self(factories.map(|factory| factory.collector()).collect())
    }

    #[inline]
    pub(crate) fn add(&mut self, key: &InternalKey<'_>, value: &[u8]) {
        for collector in &mut self.0 {
            collector.add(key, value);
        }
    }

    /// The properties of all, in order.
    pub(crate) fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.0.drain(..).flat_map(PropertyCollector::finish).collect()
    }
}
