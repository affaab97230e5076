//! What changes from format version to format version, seen in tables.

use std::fmt::Write;

use sstkit_table::raw::{FormatVersion, property_names};

use crate::golden::with_table;

pub(super) fn versions() -> String {
    let mut out = String::from(
        "version  footer  index handle  index keys  index values  rocksdb.compression\n",
    );
    for &version in FormatVersion::ALL {
        let name = match version.number() {
            0 => "rocksdb6-fv0-full10-snappy.sst".to_owned(),
            1 => "rocksdb6-fv1-full7-zlib.sst".to_owned(),
            number @ (2 | 6 | 7) => format!("compress-lz4-fv{number}.sst"),
            number => format!("fv{number}-bloom10.sst"),
        };
        with_table(&name, |table| {
            let footer = table.footer();
            assert_eq!(footer.version, version);
            let length = table.file().len() as u64 - footer.offset;
            let handle = if footer.index.is_some() { "footer" } else { "metaindex" };
            let format = table.index_format();
            let keys = if format.user_keys { "user" } else { "internal" };
            let values = if format.delta_values { "delta" } else { "full" };
            let compression = table.properties().get(property_names::COMPRESSION);
            let compression = compression.unwrap_or_default().escape_ascii();
            let _ = writeln!(
                out,
                "{:>7}  {length:>6}  {handle:<12}  {keys:<10}  {values:<12}  {compression}",
                version.number()
            );
        });
    }
    out
}
