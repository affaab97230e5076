//! What the pages say about golden data, compared with what else is known about it.

use serde_json::Value;
use sstkit_db::Database;
use sstkit_inspect::{Advice, AdviceOptions};
use sstkit_table::Table;

use crate::client::{Running, testdata};

const DATABASE: &str = "databases/rocksdb-leveled-bloom";

#[test]
fn every_page_of_every_golden_answers() {
    let mut names = Vec::new();
    for folder in ["tables", "databases", "damaged"] {
        for entry in std::fs::read_dir(testdata(folder)).unwrap() {
            let path = entry.unwrap().path();
            let is_source =
                path.is_dir() || path.extension().is_some_and(|it| it == "sst" || it == "ldb");
            if is_source {
                names.push(format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap()));
            }
        }
    }
    names.sort();
    assert!(names.len() > 150);
    let server = Running::serve(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let sources = server.json("/index.json");
    for (at, source) in sources["sources"].as_array().unwrap().iter().enumerate() {
        let name = &names[at];
        let is_database = source["kind"] == "database";
        if source["kind"] == "failed" {
            assert!(name.starts_with("damaged/"), "{name}: {source}");
            continue;
        }
        let mut files = vec![None];
        if is_database {
            let map = server.json(&format!("/{at}/database.json"));
            let levels = map["levels"].as_array().unwrap().iter();
            let numbers = levels
                .flat_map(|it| it["files"].as_array().unwrap())
                .map(|it| it["number"].as_u64());
            files = numbers.take(2).collect();
            server.json(&format!("/{at}/files.json"));
            let history = server.get(&format!("/{at}/history.json"));
            assert!([200, 404].contains(&history.status), "{name}");
        }
        for file in files {
            let file = file.map(|number| format!("file={number}&")).unwrap_or_default();
            table_pages(&server, name, at, &file);
        }
        let key = server.get(&format!("/{at}/lookup.json?key=key00000010"));
        assert_eq!(key.status, 200, "{name}: {}", key.text());
        server.json(&format!("/{at}/health.json"));
    }
}

/// A damaged index hides only the blocks after the damage.
#[test]
fn a_table_with_a_damaged_index_is_shown() {
    let golden = testdata("tables/index-twolevel.sst");
    let sound = Running::serve(&["tables/index-twolevel.sst"]);
    let whole = sound.json("/0/blocks.json");
    assert!(whole["problem"].is_null());
    let blocks = whole["blocks"].as_array().unwrap();
    let mut partitions = blocks.iter().filter(|it| it[0] == "index_partition");
    let second = partitions.nth(1).unwrap();
    let mut bytes = std::fs::read(&golden).unwrap();
    let (start, length) = (second[1].as_u64().unwrap(), second[2].as_u64().unwrap());
    bytes[start as usize..(start + length) as usize].fill(0xff);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.sst");
    std::fs::write(&path, bytes).unwrap();
    let server = Running::serve(&[path.to_str().unwrap()]);
    let table = server.json("/0/table.json");
    let offset = &table["info"]["problems"][0]["offset"];
    assert_eq!(offset, start, "{}", table["info"]["problems"]);
    assert!(table["info"]["properties"]["rocksdb.num.entries"].as_u64() > Some(0));
    let damaged = server.json("/0/blocks.json");
    assert_eq!(damaged["problem"]["offset"], start);
    let count = |page: &Value, kind: &str| {
        page["blocks"].as_array().unwrap().iter().filter(|it| it[0] == kind).count()
    };
    assert!((1..count(&whole, "data")).contains(&count(&damaged, "data")));
    for kind in ["index_partition", "index", "properties", "footer"] {
        assert_eq!(count(&damaged, kind), count(&whole, kind), "{kind}");
    }
}

/// All pages of a table, and all of its blocks: every byte of every block can be shown.
fn table_pages(server: &Running, name: &str, at: usize, file: &str) {
    let table = server.json(&format!("/{at}/table.json?{file}"));
    let size = table["info"]["size"].as_u64().unwrap();
    let list = server.json(&format!("/{at}/blocks.json?{file}"));
    assert_eq!(list["size"].as_u64(), Some(size), "{name}");
    let mut end = 0;
    let blocks = list["blocks"].as_array().unwrap();
    for block in blocks {
        let (kind, offset) = (block[0].as_str().unwrap(), block[1].as_u64().unwrap());
        assert!(offset >= end, "{name}: {block}");
        end = offset + block[2].as_u64().unwrap() + if kind == "footer" { 0 } else { 5 };
    }
    assert_eq!((end, blocks.last().unwrap()[0].as_str()), (size, Some("footer")), "{name}");
    // Enough to see each kind.
    for block in blocks.iter().take(3).chain(blocks.iter().rev().take(12)) {
        let offset = block[1].as_u64().unwrap();
        let page = server.json(&format!("/{at}/block.json?{file}offset={offset}&bytes=65536"));
        assert_eq!(page["kind"], block[0], "{name}");
        assert_fields(&page, name);
    }
    let filter = server.json(&format!("/{at}/filter.json?{file}"));
    if let Some(part) = filter["part"].as_object() {
        let histogram: u64 =
            part["histogram"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum();
        let lines = part["lines"].as_u64().unwrap();
        assert!(histogram == lines || lines <= 1, "{name}: {histogram} of {lines}");
    }
    server.json(&format!("/{at}/probe.json?{file}key=key00000010"));
    server.json(&format!("/{at}/scan.json?{file}"));
    server.json(&format!("/{at}/details.json?{file}"));
}

/// Fields are in order, inside of the bytes, and of a block of entries cover all of them.
fn assert_fields(page: &Value, name: &str) {
    if !page["problem"].is_null() {
        return;
    }
    let contents = &page["contents"];
    let length = contents["hex"].as_str().unwrap().len() as u64 / 2;
    let (mut end, mut covered) = (0, 0);
    for field in contents["fields"].as_array().unwrap() {
        let (from, to) = (field["start"].as_u64().unwrap(), field["end"].as_u64().unwrap());
        assert!(from < to && from >= end, "{name} {}: {field} before {end}", page["kind"]);
        covered += to - from;
        end = to;
    }
    let is_whole = length == page["uncompressed"].as_u64().unwrap_or(0);
    let kind = page["kind"].as_str().unwrap();
    let has_entries = page["entries"].as_u64().is_some() || kind == "footer";
    if is_whole && has_entries {
        assert_eq!(covered, length, "{name}: {kind} at {}", page["offset"]);
    }
}

#[test]
fn scans_go_both_ways_and_find_every_key() {
    let server = Running::serve(&[DATABASE]);
    let database = Database::open(testdata(DATABASE)).unwrap();
    let keys: Vec<String> =
        database.iter().map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect();
    let page = |query: &str| {
        let page = server.json(&format!("/0/scan.json?limit=100&{query}"));
        let rows = page["rows"].as_array().unwrap().iter();
        let keys: Vec<String> = rows.map(|it| it["key"].as_str().unwrap().to_owned()).collect();
        (keys, page["has_before"] == true, page["has_after"] == true)
    };
    let (mut seen, _, mut more) = page("");
    while more {
        let (next, before, after) = page(&format!("after={}", seen.last().unwrap()));
        assert!(before);
        seen.extend(next);
        more = after;
    }
    assert_eq!(seen, keys);
    let (last, before, after) = page("last=1");
    assert_eq!((last, before, after), (keys[keys.len() - 100..].to_vec(), true, false));
    let (middle, _, _) = page(&format!("before={}", keys[150]));
    assert_eq!(middle, keys[50..150]);
    let (from, _, _) = page(&format!("from={}", keys[150]));
    assert_eq!(from, keys[150..250]);
    let prefix = "user00003/";
    let with: Vec<&String> = keys.iter().filter(|key| key.starts_with(prefix)).collect();
    assert!(!with.is_empty());
    for direction in ["", "&last=1"] {
        let (found, ..) = page(&format!("prefix={prefix}{direction}"));
        assert_eq!(found.iter().collect::<Vec<_>>(), with, "{direction}");
    }
}

#[test]
fn lookups_and_versions_agree_with_the_database() {
    let server = Running::serve(&[DATABASE]);
    let database = Database::open(testdata(DATABASE)).unwrap();
    for entry in database.iter().step_by(97) {
        let (key, value) = entry.unwrap();
        let key = String::from_utf8(key).unwrap();
        let found = server.json(&format!("/0/lookup.json?key={key}"));
        assert_eq!(
            (found["found"].as_bool(), found["answer"].as_str()),
            (Some(true), Some("found"))
        );
        assert_eq!(found["value"].as_str().unwrap().as_bytes(), &value[..]);
        let versions = server.json(&format!("/0/versions.json?key={key}"));
        let versions = versions["versions"].as_array().unwrap();
        let sequences: Vec<u64> = versions.iter().map(|it| it["seq"].as_u64().unwrap()).collect();
        assert!(
            !sequences.is_empty() && sequences.is_sorted_by(|a, b| a >= b),
            "{key}: {sequences:?}"
        );
    }
    let missing = server.json("/0/lookup.json?key=user00003/nothing");
    assert_eq!((missing["found"].as_bool(), missing["value"].is_null()), (Some(false), true));
}

#[test]
fn the_history_adds_up_to_the_state_now() {
    let databases = [
        "rocksdb-leveled-bloom",
        "rocksdb-column-families",
        "leveldb-bloom-snappy",
        "rocksdb-universal-ribbon-partitioned",
    ];
    for name in databases {
        let server = Running::serve(&[&format!("databases/{name}")]);
        let map = server.json("/0/database.json");
        for family in map["column_families"].as_array().unwrap() {
            let cf = family["name"].as_str().unwrap();
            let map = server.json(&format!("/0/database.json?cf={cf}"));
            let mut live: Vec<(u64, u64)> = Vec::new();
            for level in map["levels"].as_array().unwrap() {
                for file in level["files"].as_array().unwrap() {
                    live.push((level["level"].as_u64().unwrap(), file["number"].as_u64().unwrap()));
                }
            }
            live.sort_unstable();
            for window in ["", "&limit=3", "&from=0", "&limit=1"] {
                let history = server.json(&format!("/0/history.json?cf={cf}{window}"));
                assert_eq!(replayed(&history), live, "{name} {cf} {window}");
            }
        }
    }
}

/// The files after all edits of a window.
fn replayed(history: &Value) -> Vec<(u64, u64)> {
    let pair = |it: &Value| (it[0].as_u64().unwrap(), it[1].as_u64().unwrap());
    let mut live: Vec<(u64, u64)> = history["base"].as_array().unwrap().iter().map(pair).collect();
    for edit in history["edits"].as_array().unwrap() {
        for deleted in edit["deleted"].as_array().unwrap() {
            live.retain(|file| *file != pair(deleted));
        }
        live.extend(edit["added"].as_array().unwrap().iter().map(pair));
    }
    live.sort_unstable();
    live
}

#[test]
fn tables_know_their_column_family() {
    let server = Running::serve(&["databases/rocksdb-column-families", "tables/one-entry.sst"]);
    let map = server.json("/0/database.json");
    for family in map["column_families"].as_array().unwrap() {
        let map = server.json(&format!("/0/database.json?cf={}", family["name"].as_str().unwrap()));
        for file in map["levels"].as_array().unwrap().iter().flat_map(|it| it["files"].as_array()) {
            for file in file {
                for page in ["table", "filter"] {
                    let page = server.json(&format!("/0/{page}.json?file={}", file["number"]));
                    assert_eq!(page["column_family"], family["name"]);
                }
            }
        }
    }
    assert!(server.json("/1/table.json")["column_family"].is_null());
}

/// An explanation is of the first lookup, and not of one after another that filled the cache.
#[test]
fn a_first_lookup_is_not_cached() {
    let server = Running::serve(&[DATABASE]);
    let cached = || {
        let found = server.json("/0/lookup.json?key=user00003/post0007");
        let blocks =
            found["steps"].as_array().unwrap().iter().filter_map(|it| it["blocks"].as_array());
        let searches = blocks.flatten().filter(|it| it["search"].is_object());
        searches.map(|it| it["search"]["cached"].as_bool().unwrap()).collect::<Vec<_>>()
    };
    let first = cached();
    assert!(!first.is_empty() && first.iter().all(|it| !it), "{first:?}");
    assert!(cached().iter().all(|it| *it));
}

#[test]
fn the_rate_is_measured_on_request() {
    let names =
        ["fv7-bloom10.sst", "leveldb-table-bloom10-c0.ldb", "partitioned-decoupled-bloom-fv7.sst"];
    for name in names {
        let server = Running::serve(&[&format!("tables/{name}")]);
        let report = server.json("/0/filter.json")["report"].take();
        assert!(report["measured_fpr"].is_null(), "{name}");
        let measured = server.json("/0/filter.json?measure=99999999")["report"].take();
        assert_eq!(measured["measured_keys"], 20_000, "{name}: bounded");
        let rate = |name: &str| measured[name].as_f64().unwrap();
        let (expected, found) = (rate("expected_fpr"), rate("measured_fpr"));
        assert!((found / expected - 1.0).abs() < 0.3, "{name}: {found} instead of {expected}");
    }
}

/// The what-if panel and `sst advise` have one implementation: its JSON is `Advice`.
#[test]
fn the_budget_is_that_of_sst_advise() {
    for name in [
        "rocksdb-leveled-bloom",
        "rocksdb-universal-ribbon-partitioned",
        "rocksdb-column-families",
        "leveldb-bloom-snappy",
        "leveldb-nofilter",
    ] {
        let path = testdata("databases").join(name);
        let server = Running::serve(&[path.to_str().unwrap()]);
        let database = Database::open(&path).unwrap();
        for bytes in [None, Some(0), Some(3_000), Some(1 << 20)] {
            let options = bytes.into_iter().fold(AdviceOptions::default(), AdviceOptions::budget);
            let advice = Advice::of(&database, name, &options).unwrap();
            let advice = serde_json::to_value(&advice).unwrap();
            let query = bytes.map(|bytes| format!("?bytes={bytes}")).unwrap_or_default();
            let budget = server.json(&format!("/0/budget.json{query}"));
            assert_eq!(budget.as_object().unwrap().len(), 3, "{name}");
            for part in ["now", "levels", "plan"] {
                assert_eq!(budget[part], advice[part], "{name} {query}: {part}");
            }
            assert!(!budget["levels"].as_array().unwrap().is_empty(), "{name}");
        }
    }
}

/// A Ribbon filter has the rate of a Ribbon filter, and not that of a Bloom filter of its size.
#[test]
fn the_budget_knows_ribbon_filters() {
    let server = Running::serve(&["databases/rocksdb-universal-ribbon-partitioned"]);
    let budget = server.json("/0/budget.json");
    let map = server.json("/0/database.json");
    let mut compared = 0;
    for (at, level) in map["levels"].as_array().unwrap().iter().enumerate() {
        let [file] = &level["files"].as_array().unwrap()[..] else { continue };
        let filter = server.json(&format!("/0/filter.json?file={}", file["number"]));
        let known = &budget["levels"][at];
        assert_eq!((&known["level"], &known["kinds"][0]), (&level["level"], &"ribbon128".into()));
        assert_eq!(known["fpr"], filter["report"]["expected_fpr"]);
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn probes_light_up_what_the_filter_probes() {
    for name in [
        "fv7-bloom10.sst",
        "fv2-bloom10.sst",
        "filter-ribbonfilter_10-fv7.sst",
        "leveldb-table-bloom10-c0.ldb",
        "partitioned-decoupled-bloom-fv7.sst",
    ] {
        let server = Running::serve(&[&format!("tables/{name}")]);
        let table = Table::open(testdata("tables").join(name)).unwrap();
        let key = table.entries().nth(20).unwrap().unwrap().user_key;
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let probe = server.json(&format!("/0/probe.json?encoding=hex&key={hex}"));
        assert_eq!(probe["in_table"], true, "{name}");
        let line = &probe["probes"][0];
        assert_eq!(line["answer"]["may_contain"], true, "{name}");
        if let Some(bytes) = line["line"].as_str() {
            for bit in line["answer"]["probes"].as_array().unwrap() {
                let position = bit["position"].as_u64().unwrap() as usize;
                let byte = u8::from_str_radix(&bytes[2 * (position / 8)..][..2], 16).unwrap();
                assert_eq!(byte >> (position % 8) & 1, 1, "{name}: bit {position}");
            }
        } else {
            let columns = line["answer"]["probes"].as_array().unwrap().len();
            assert_eq!(line["segments"].as_array().unwrap().len(), columns, "{name}");
        }
    }
}

#[test]
fn wrong_parameters_say_what_is_wrong() {
    let server = Running::serve(&[DATABASE, "tables/one-entry.sst"]);
    for (target, status, what) in [
        ("/0/table.json", 400, "file"),
        ("/0/table.json?file=999", 404, "999"),
        ("/0/table.json?file=x", 400, "file"),
        ("/0/database.json?cf=nothing", 404, "nothing"),
        ("/1/database.json", 404, "not a database"),
        ("/1/budget.json", 404, "not a database"),
        ("/0/budget.json?bytes=much", 400, "bytes"),
        ("/1/block.json", 400, "offset"),
        ("/1/block.json?offset=1", 404, "offset 1"),
        ("/1/filter.json?part=7", 404, "part"),
        ("/1/lookup.json", 400, "key"),
        ("/1/lookup.json?key=%5Cx0", 400, "key"),
        ("/1/lookup.json?key=zz&encoding=hex", 400, "key"),
        ("/1/scan.json?encoding=latin1", 400, "encoding"),
    ] {
        let response = server.get(target);
        assert_eq!(response.status, status, "{target}: {}", response.text());
        let error: Value = serde_json::from_slice(&response.body).unwrap();
        assert!(error["error"].as_str().unwrap().contains(what), "{target}: {error}");
    }
}

/// All keys with a prefix are found from both ends, whichever way they are compared.
#[test]
fn prefixes_are_found_in_each_order() {
    let names = ["tables/reverse-comparator.sst", "tables/fv7-bloom10.sst"];
    let server = Running::serve(&names);
    let hex = |key: &[u8]| key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (at, name) in names.iter().enumerate() {
        let table = Table::open(testdata(name)).unwrap();
        let keys: Vec<String> = table.iter().map(|entry| hex(&entry.unwrap().0)).collect();
        let middle = &keys[keys.len() / 2];
        let all = [&keys[0][..2], &middle[..2], &middle[..6], &middle[..middle.len() - 2], middle];
        for prefix in
            all.into_iter().chain(["", "6b", "6b6579", "6b657a", "61", "7f", "ff", "ffff"])
        {
            let with: Vec<&String> = keys.iter().filter(|key| key.starts_with(prefix)).collect();
            let page = |query: &str| {
                let target = format!("/{at}/scan.json?encoding=hex&limit=7&prefix={prefix}{query}");
                let page = server.json(&target);
                let rows = page["rows"].as_array().unwrap().iter();
                let keys: Vec<String> =
                    rows.map(|it| it["key"].as_str().unwrap().to_owned()).collect();
                (keys, page["has_after"] == true)
            };
            let (first, has_after) = page("");
            assert_eq!(
                first.iter().collect::<Vec<_>>(),
                with[..with.len().min(7)],
                "{name} {prefix}"
            );
            assert_eq!(has_after, with.len() > 7, "{name} {prefix}");
            let (last, _) = page("&last=1");
            let start = with.len().saturating_sub(7);
            assert_eq!(last.iter().collect::<Vec<_>>(), with[start..], "{name} {prefix}");
            if has_after {
                let (next, _) = page(&format!("&after={}", first[6]));
                assert_eq!(next.iter().collect::<Vec<_>>(), with[7..with.len().min(14)], "{name}");
            }
        }
    }
}

/// A value in a blob file is a step of its own, and its bytes are counted.
#[test]
fn blob_files_are_steps() {
    let server = Running::serve(&["databases/rocksdb-blobs"]);
    let rows = server.json("/0/scan.json?limit=1000")["rows"].take();
    let mut blobs = 0;
    for row in rows.as_array().unwrap() {
        let found = server.json(&format!("/0/lookup.json?key={}", row["key"].as_str().unwrap()));
        assert_eq!(found["answer"], "found");
        let steps = found["steps"].as_array().unwrap();
        let Some(blob) = steps.iter().find(|it| it["source"] == "blob_file") else { continue };
        blobs += 1;
        assert!(blob["file"].as_u64() > Some(0), "{blob}");
        let stored: u64 = steps
            .iter()
            .filter_map(|it| it["blocks"].as_array())
            .flatten()
            .filter(|block| block["search"].is_object())
            .map(|block| block["length"].as_u64().unwrap())
            .sum();
        assert_eq!(found["touched"]["blobs"], 1);
        let read = stored + blob["length"].as_u64().unwrap();
        assert!(found["touched"]["stored_bytes"].as_u64() >= Some(read), "{found}");
    }
    assert!(blobs > 0);
}

/// A database of which a table is missing: its tail says so, and a lookup has the steps before it.
#[test]
fn a_missing_table_is_a_problem_and_not_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let missing = crate::client::without_last_table(DATABASE, &path);
    let server = Running::serve(&[path.to_str().unwrap()]);
    let files = server.json("/0/files.json");
    let tails = files["files"].as_array().unwrap();
    for tail in tails {
        assert_eq!(tail["problem"].is_string(), tail["number"] == missing, "{tail}");
    }
    let sound = Running::serve(&[DATABASE]);
    let rows = sound.json("/0/scan.json?limit=1000")["rows"].take();
    let mut failed = 0;
    for row in rows.as_array().unwrap().iter().step_by(7) {
        let key = row["key"].as_str().unwrap();
        let found = server.json(&format!("/0/lookup.json?key={key}"));
        let whole = sound.json(&format!("/0/lookup.json?key={key}"));
        if found["answer"] == "found" {
            assert_eq!(found["value"], whole["value"], "{key}");
            continue;
        }
        failed += 1;
        assert_eq!((&found["answer"], &found["found"]), (&"failed".into(), &false.into()), "{key}");
        assert!(found["problem"].as_str().unwrap().contains(&format!("{missing:06}")), "{found}");
        // The steps are those of the whole database, up to the table.
        let steps = found["steps"].as_array().unwrap();
        let of = |steps: &[Value]| -> Vec<(Value, Value, Value)> {
            let step = |it: &Value| (it["source"].clone(), it["level"].clone(), it["file"].clone());
            steps.iter().map(step).collect()
        };
        let whole = of(whole["steps"].as_array().unwrap());
        assert!(!steps.is_empty() && whole.starts_with(&of(steps)), "{key}: {found}");
        assert!(whole.len() > steps.len(), "{key}: {found}");
    }
    assert!(failed > 0);
}

/// Versions have their timestamps; those in the log have their values.
#[test]
fn versions_have_what_was_written() {
    let server = Running::serve(&["databases/rocksdb-timestamps", "databases/rocksdb-wal-only"]);
    for source in 0..2 {
        let rows = server.json(&format!("/{source}/scan.json?encoding=hex"))["rows"].take();
        let mut seen = 0;
        for row in rows.as_array().unwrap() {
            let key = row["key"].as_str().unwrap();
            let target = format!("/{source}/versions.json?encoding=hex&key={key}");
            let versions = server.json(&target)["versions"].take();
            for version in versions.as_array().unwrap() {
                assert_eq!(version["timestamp"].is_string(), source == 0, "{version}");
                assert!(version["value"].is_string() && version["value_length"].is_u64());
                seen += usize::from(version["value_length"].as_u64() > Some(0));
            }
            // The newest version is what a scan shows.
            assert_eq!(versions[0]["timestamp"], row["timestamp"], "{key}");
            assert_eq!(versions[0]["value"], row["value"], "{key}");
        }
        assert!(seen > 0);
    }
}

/// The stored bytes of a compressed block are those of the file.
#[test]
fn compressed_blocks_have_their_stored_bytes() {
    let name = "databases/leveldb-bloom-snappy";
    let server = Running::serve(&[name]);
    let file = server.json("/0/database.json")["levels"][0]["files"][0]["number"].clone();
    let blocks = server.json(&format!("/0/blocks.json?file={file}"));
    let path = blocks["file"].as_str().unwrap().to_owned();
    let bytes = std::fs::read(path).unwrap();
    let mut compressed = 0;
    for block in blocks["blocks"].as_array().unwrap() {
        let (from, length) = (block[1].as_u64().unwrap(), block[2].as_u64().unwrap());
        let target = format!("/0/block.json?file={file}&offset={from}&bytes=65536&stored=1");
        let page = server.json(&target);
        let Some(stored) = page["stored"]["hex"].as_str() else { continue };
        compressed += 1;
        assert_ne!(page["compression"], "none");
        let expected: String = bytes[from as usize..(from + length) as usize]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(stored, expected, "{target}");
    }
    assert!(compressed > 0);
}
