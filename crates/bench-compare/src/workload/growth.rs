//! Tables that grow: what an entry costs when there are many more of them. Without compression,
//! with a cache of a tenth.

use anyhow::Result;

use super::write;
use crate::comparison::{Comparison, Family, timed};
use crate::data::Entries;
use crate::reader::{Scan, TableReader};
use crate::session::Session;
use crate::settings::{CacheSize, Codec, Settings};
use crate::{ours, rocks};

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let settings = Settings::new(Codec::None);
    for count in session.plan.growth.clone() {
        let (writing, scanning) = (format!("growth write/{count}"), format!("growth scan/{count}"));
        if !session.plan.wants(&writing) && !session.plan.wants(&scanning) {
            continue;
        }
        let entries = Entries::new(count);
        let path = session.path("growth.sst");
        let expected = entries.scanned(false);

        let mut comparison = Comparison::new(writing, count, expected);
        comparison.subject("sstkit", Family::Sstkit, || write::ours(&path, settings, &entries));
        comparison.subject("RocksDB", Family::RocksDb, || write::rocks(&path, settings, &entries));
        session.run(comparison)?;
        if !session.plan.wants(&scanning) {
            continue;
        }

        rocks::write(&path, settings, &entries)?;
        let cache = CacheSize::Tenth.bytes(entries.raw_bytes());
        let ours = ours::Reader::open(&path, cache)?;
        let rocks = rocks::Reader::open(&path, settings, cache)?;
        let mut comparison = Comparison::new(scanning, count, expected);
        for reader in [&ours as &dyn TableReader, &rocks] {
            let read_ahead = reader.read_aheads().last().copied().unwrap_or(0);
            let scan = Scan { read_ahead, ..Scan::forward() };
            comparison.subject(reader.name(), reader.family(), move || timed(|| reader.scan(scan)));
        }
        session.run(comparison)?;
        std::fs::remove_file(&path)?;
    }
    Ok(())
}
