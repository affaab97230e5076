//! Three tables with a prefix extractor, Ribbon filters, a zstd dictionary, a range tombstone and user
//! properties, read one by one and as one.
//!
//! ```text
//! cargo run --release --example three_tables
//! ```

use std::error::Error;

use sstkit::{
    Codec, EntryKind, FilterKind, InternalKey, MergedTables, PrefixExtractor, Recency, Table,
    TableOptions, TableWriter,
};

const USERS: u32 = 300;
const POSTS: u32 = 20;

fn key(user: u32, post: u32) -> String {
    format!("user{user:05}/post{post:04}")
}

fn options(name: &str) -> Result<TableOptions, Box<dyn Error>> {
    Ok(TableOptions::rocksdb()
        .external_file(false) // entries have sequence numbers
        .filter("ribbonfilter:10".parse()?)
        .prefix_extractor(PrefixExtractor::Fixed("user00000".len()))
        .compression(Codec::Zstd)
        .max_dict_bytes(4 << 10)
        .user_property("example.name", name))
}

/// All posts of every third user from the given one on.
fn posts(number: u32) -> Result<Table, Box<dyn Error>> {
    let mut writer = TableWriter::to_sink(Vec::new(), &options(&format!("posts {number}"))?)?;
    let mut count = 0_u64;
    for user in (number..USERS).step_by(3) {
        for post in 0..POSTS {
            let key = key(user, post);
            let value = format!("{{\"title\":\"Post {post}\",\"author\":\"user {user}\"}}");
            let key =
                InternalKey { user_key: key.as_bytes(), sequence: 10, kind: EntryKind::Value };
            writer.add(&key, value.as_bytes())?;
            count += 1;
        }
    }
    // Properties can be set until the end.
    writer.set_property("example.posts", count.to_string())?;
    let (_, bytes) = writer.finish_sink()?;
    Ok(Table::from_bytes(bytes)?)
}

/// Deletes the posts of users 100 to 199, and has a new one of user 150.
fn deletions() -> Result<Table, Box<dyn Error>> {
    let mut writer = TableWriter::to_sink(Vec::new(), &options("deletions")?)?;
    let again = key(150, 7);
    let put = InternalKey { user_key: again.as_bytes(), sequence: 30, kind: EntryKind::Value };
    writer.add(&put, b"back again")?;
    let begin = key(100, 0);
    let kind = EntryKind::RangeDeletion;
    writer.add(
        &InternalKey { user_key: begin.as_bytes(), sequence: 20, kind },
        key(200, 0).as_bytes(),
    )?;
    let (_, bytes) = writer.finish_sink()?;
    Ok(Table::from_bytes(bytes)?)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let tables = [deletions()?, posts(1)?, posts(0)?];
    for table in &tables {
        let name = table.properties().get("example.name").ok_or("a name")?;
        println!("{}: {} bytes", name.escape_ascii(), table.size());
        assert!(table.verify().is_sound());
    }
    // A filter of few keys is a Bloom filter, which is smaller then.
    for table in &tables[1..] {
        assert_eq!(table.filter().ok_or("a filter")?.kind()?, Some(FilterKind::Ribbon128));
    }
    assert_eq!(tables[1].properties().get("example.posts"), Some(&b"2000"[..]));
    assert_eq!(tables[0].range_deletions().len(), 1);

    // One table: a prefix probes its filter.
    let of_user =
        |table: &Table, user: u32| table.prefix(format!("user{user:05}").as_bytes()).count();
    assert_eq!(of_user(&tables[1], 4), POSTS as usize);
    assert_eq!(of_user(&tables[1], 5), 0);

    // All three as one, the newest first: the range tombstone hides posts of the older tables.
    let merged = MergedTables::new(&tables, Recency::BySequence)?;
    let mut visible = 0;
    for entry in &merged {
        let (key, value) = entry?;
        if key == key_of_return() {
            assert_eq!(value, "back again");
        }
        visible += 1;
    }
    // Two of three users, without those of the deleted hundred, and the one that is back.
    let users = (0..USERS).filter(|user| user % 3 != 2 && !(100..200).contains(user)).count();
    assert_eq!(visible, users * POSTS as usize + 1);
    assert_eq!(merged.range(key(100, 0)..key(200, 0)).count(), 1);
    println!("{visible} visible posts");
    Ok(())
}

fn key_of_return() -> Vec<u8> {
    key(150, 7).into_bytes()
}
