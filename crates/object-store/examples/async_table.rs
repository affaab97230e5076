//! An asynchronous table in an object store: here one in memory, elsewhere `Store::parse("s3://bucket/users.sst")`.

use std::error::Error;
use std::sync::Arc;

use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use sstkit_object_store::{AsyncObject, Store, object_store};
use sstkit_table::{AsyncTable, TableOptions, TableReadOptions, TableWriter};

/// Any runtime will do. The requests of a real store need one of tokio.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().build()?.block_on(read())
}

async fn read() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(InMemory::new());
    let path = Path::from("users.sst");
    store.put(&path, users()?.into()).await?;

    let object = AsyncObject::new(&Store::new(store), path);
    let table = AsyncTable::from_source(object, &TableReadOptions::default()).await?;

    let alice = table.get(b"user00007").await?;
    assert_eq!(alice.as_deref(), Some(&b"7"[..]));

    // The blocks of all keys are read at the same time.
    let keys: Vec<_> = (0..64).map(|number| format!("user{:05}", 150 * number)).collect();
    let values = table.get_many(&keys).await?;
    assert_eq!(values.iter().flatten().count(), 64);

    // The next blocks are being read while these entries are used.
    let mut scan = table.range(b"user00100"..b"user00200");
    let mut count = 0;
    while let Some(entry) = scan.next().await {
        let (key, value) = entry?;
        assert_eq!(key, format!("user{:0>5}", std::str::from_utf8(&value)?).as_bytes());
        count += 1;
    }
    assert_eq!(count, 100);

    assert!(table.verify().await?.is_sound());
    Ok(())
}

/// A table of 10 000 users.
fn users() -> Result<Vec<u8>, sstkit_table::Error> {
    let options = TableOptions::rocksdb().filter("ribbonfilter:10".parse()?);
    let mut bytes = Vec::new();
    let mut writer = TableWriter::to_sink(&mut bytes, &options)?;
    for number in 0..10_000 {
        writer.put(format!("user{number:05}").as_bytes(), number.to_string().as_bytes())?;
    }
    writer.finish()?;
    Ok(bytes)
}
