//! Scans and lookups: whole outputs.

use expect_test::expect;

use crate::run::{databases, run, tables};

#[test]
fn visible_and_stored() {
    let table = "tables/types-all.sst";
    expect![[r#"
        key00001694 => lorem-ipsum-565lorem-ipsum-627lorem-ipsum-949lo
        key00001701 => lorem-ipsum-126\x9alorem-ipsum-409lorem
        key00001708 => o+\xf5lorem-ipsum-137lorem-i
        key00001722 => 
        key00001729 => merge [lorem-ipsum-978\x1alorem-ipsum-8]
        key00001736 => \xablorem-ipsum-52lorem-ipsum-450lorem-ipsum-649lore
        --- status 0
    "#]]
    .assert_eq(&run(["scan", table, "--limit", "6"]).all());
    expect![[r#"
        key00005187 => merge [plorem-ipsum-171lorem-ipsum-840lorem-ipsum-750l]
        key00005173 => 
        key00005166 => lorem-ipsum-600lorem-ipsum-85l
        key00005159 => Y\xd4lorem-ipsum-986lorem-ipsum-646lorem
        key00005152 => lorem-ipsum-330\xd1lorem-ipsum-821\x90lorem-ipsum-983
        key00005145 => 'lorem-ipsum-978\x82lorem-ips
        --- status 0
    "#]]
    .assert_eq(&run(["scan", table, "--limit", "6", "--reverse"]).all());
    expect![[r#"
        put 0 key00001694 => lorem-ipsum-565lorem-ipsum-627lorem-ipsum-949lo
        put 0 key00001701 => lorem-ipsum-126\x9alorem-ipsum-409lorem
        put 0 key00001708 => o+\xf5lorem-ipsum-137lorem-i
        delete 0 key00001715
        put 0 key00001722 => 
        merge 0 key00001729 => lorem-ipsum-978\x1alorem-ipsum-8
        --- status 0
    "#]]
    .assert_eq(&run(["scan", table, "--limit", "6", "--internal"]).all());
    expect![[r#"
        key00005166
        key00005173
        --- status 0
    "#]]
    .assert_eq(
        &run(["scan", table, "--from", "key00005166", "--to", "key00005187", "--keys-only"]).all(),
    );
    expect![[r#"
        11
        --- status 0
    "#]]
    .assert_eq(&run(["scan", table, "--prefix", "key000051", "--count"]).all());
}

#[test]
fn values_of_all_sorts() {
    for (path, expected) in [
        (
            "tables/types-entities.sst",
            expect![[r#"
            {"type":"put","key":"key00001694","seq":0,"value":"lorem-ipsum-565lorem-ip"}
            {"type":"put_entity","key":"key00001701","seq":0,"value":"lorem-ipsum-126\\x9alorem-ipsum-409lo","columns":[["","lorem-ipsum-126\\x9alorem-ipsum-409lo"],["a","alpha"],["zed","lorem"]]}
            --- status 0
            key00001694 => lorem-ipsum-565lorem-ip
            key00001701 => lorem-ipsum-126\x9alorem-ipsum-409lo {a=alpha, zed=lorem}
            --- status 0
        "#]],
        ),
        (
            "tables/embedded-blobs.sst",
            expect![[r#"
            {"type":"blob_index","key":"key0000003","seq":0,"value":"value0mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm","blob":{"file":0,"offset":0,"size":606}}
            {"type":"put","key":"key0000008","seq":0,"value":"value1qqqqqqqqqqqqqqqqqqqq"}
            --- status 0
            key0000003 => value0mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm
            key0000008 => value1qqqqqqqqqqqqqqqqqqqq
            --- status 0
        "#]],
        ),
        (
            "tables/timestamps-u64.sst",
            expect![[r#"
            {"type":"put","key":"key0000003","timestamp":"\\xe8\\x03\\x00\\x00\\x00\\x00\\x00\\x00","seq":0,"value":"value0ggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg"}
            {"type":"put","key":"key0000008","timestamp":"\\xe9\\x03\\x00\\x00\\x00\\x00\\x00\\x00","seq":0,"value":"value1tttttttttttttttttttttttttttttttttttttttttttttttttttttttt"}
            --- status 0
            key0000003 @\xe8\x03\x00\x00\x00\x00\x00\x00 => value0ggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg
            key0000008 @\xe9\x03\x00\x00\x00\x00\x00\x00 => value1tttttttttttttttttttttttttttttttttttttttttttttttttttttttt
            --- status 0
        "#]],
        ),
        (
            "databases/rocksdb-blobs",
            expect![[r#"
            {"type":"put","key":"user00000/post0002","seq":0,"value":"v5521:ttttttttttttttttttttttttttttttttttttttttttttttt"}
            {"type":"put","key":"user00000/post0003","seq":0,"value":"v7806:wwwwwwwwwwwwwwwwwwwwwwwwwwwww"}
            --- status 0
            user00000/post0002 => v5521:ttttttttttttttttttttttttttttttttttttttttttttttt
            user00000/post0003 => v7806:wwwwwwwwwwwwwwwwwwwwwwwwwwwww
            --- status 0
        "#]],
        ),
    ] {
        let internal = run(["scan", path, "--internal", "--limit", "2", "--format", "json"]);
        let visible = run(["scan", path, "--limit", "2"]);
        expected.assert_eq(&format!("{}{}", internal.all(), visible.all()));
    }
}

#[test]
fn merges_are_combined_if_the_operator_is_known() {
    let table = "databases/rocksdb-merge-stringappend/000016.sst";
    expect![[r#"
        {"key":"user00000/post0001","value":"base4827"}
        {"key":"user00000/post0002","value":null,"merge":["m4779"]}
        {"key":"user00000/post0003","value":"base4003,m4007,m4321"}
        --- status 0
    "#]]
    .assert_eq(&run(["scan", table, "--limit", "3", "--format", "json"]).all());
    expect![[r#"
        user00000/post0001 => base4827
        user00000/post0002 => m4779
        user00000/post0003 => base4003,m4007,m4321
        --- status 0
    "#]]
    .assert_eq(&run(["scan", table, "--limit", "3", "--merge-operator", "stringappend"]).all());
}

#[test]
fn lookups() {
    let database = "databases/rocksdb-leveled-bloom";
    expect![[r#"
        v8948:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
        --- status 0
    "#]]
    .assert_eq(&run(["get", database, "user00000/post0001"]).all());
    expect![[r#"
        user00000/post0001 => v8948:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
        --- stderr
        sst: nobody: not found
        --- status 1
    "#]]
    .assert_eq(&run(["get", database, "user00000/post0001", "nobody"]).all());
    expect![[r#"
        {"key":"bm9ib2R5","found":false,"value":null}
        --- status 1
    "#]]
    .assert_eq(
        &run(["get", database, "--encoding", "base64", "bm9ib2R5", "--format", "json"]).all(),
    );
}

/// What is counted is one lookup, the first: nothing is in the cache yet.
#[test]
fn explaining_counts_one_lookup() {
    for path in tables().into_iter().chain(databases()) {
        for key in ["user00000/post0001", "user00007/post0017", "key00001694"] {
            let ran = run(["get", "--explain", "--format", "json", &path, key]);
            assert!(ran.status < 2, "{path}: {}", ran.stderr);
            let answer = &ran.json()[0];
            let count = |name: &str| answer["statistics"][name].as_u64().unwrap_or(0);
            assert_eq!(count("rocksdb.block.cache.data.hit"), 0, "{path} {key}: {answer}");
            let blocks = answer["steps"].as_array().expect("steps").iter();
            let blocks = blocks.flat_map(|step| step["blocks"].as_array().into_iter().flatten());
            let read = blocks.filter(|block| !block["search"].is_null()).count() as u64;
            assert_eq!(count("rocksdb.block.cache.data.miss"), read, "{path} {key}: {answer}");
            assert!(!ran.stdout.contains("\"cached\":true"), "{path} {key}: {answer}");
        }
    }
}

#[test]
fn lookups_explained() {
    let database = "databases/rocksdb-leveled-bloom";
    for (key, expected) in [
        (
            "user00000/post0001",
            expect![[r#"
                user00000/post0001 in column family default, as of sequence number 10864
                  memtable
                    entry: put, sequence number 10789
                  level 0, file 000046: key out of range
                  level 0, file 000044: key out of range
                  level 6, file 000042: skipped: already resolved
                  found: v8948:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
                --- status 0
            "#]],
        ),
        (
            "user00001/post0003",
            expect![[r#"
                user00001/post0003 in column family default, as of sequence number 10864
                  memtable: no entries
                  level 0, file 000046: filtered
                    filter: fast local bloom, whole-key probe, hash 0xf1438dd4170a27e0: no
                      line 1 of 13 (64 bytes), 7 probes: bits 482 not set
                  level 0, file 000044: filtered
                    filter: fast local bloom, whole-key probe, hash 0xf1438dd4170a27e0: no
                      line 1 of 13 (64 bytes), 7 probes: bits 482 not set
                  level 6, file 000042: filtered
                    filter: fast local bloom, whole-key probe, hash 0xf1438dd4170a27e0: no
                      line 4 of 52 (64 bytes), 7 probes: bits 482 not set
                  not found
                  statistics
                    rocksdb.bloom.filter.useful  3
                --- status 1
            "#]],
        ),
        (
            "user00000/post0001x",
            expect![[r#"
                user00000/post0001x in column family default, as of sequence number 10864
                  memtable: no entries
                  level 0, file 000046: key out of range
                  level 0, file 000044: key out of range
                  level 6, file 000042: filtered
                    filter: fast local bloom, whole-key probe, hash 0x252d6e048b2b555e: no
                      line 28 of 52 (64 bytes), 7 probes: bits 74 227 set, 474 not set
                  not found
                  statistics
                    rocksdb.bloom.filter.useful  1
                --- status 1
            "#]],
        ),
    ] {
        expected.assert_eq(&run(["get", "--explain", database, key]).all());
    }
    for (table, key, expected) in [
        (
            "tables/leveldb-table-bloom10-c1.ldb",
            "user00000/post0008",
            expect![[r#"
                user00000/post0008
                  table: found
                    filter: block filter, whole-key probe: one for each 2 KiB
                    index entry user00025/post0017: block at 0, 956 bytes
                      filter: leveldb bloom, hash 0xefd5a928: maybe
                        314 bytes, 6 probes: bits 328 290 252 214 176 138 set
                      4117 bytes uncompressed; by binary search: restart interval 0 of 6
                      entry: put, sequence number 0, value of 63 bytes
                  found: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                  statistics
                    rocksdb.block.cache.add                  1
                    rocksdb.block.cache.bytes.write          4,117
                    rocksdb.block.cache.data.add             1
                    rocksdb.block.cache.data.bytes.insert    4,117
                    rocksdb.block.cache.data.miss            1
                    rocksdb.block.cache.miss                 1
                    rocksdb.bloom.filter.full.positive       1
                    rocksdb.bloom.filter.full.true.positive  1
                --- status 0
            "#]],
        ),
        (
            "tables/partitioned-decoupled-ribbon-fv7.sst",
            "absent",
            expect![[r#"
                absent
                  table: filtered
                    filter: ribbon128, whole-key probe, hash 0xa9eb64c104b7d064: no
                      partition at 114104, 885 bytes, up to user0024/item000042
                      slots 98 to 225 of 1024, 6 columns: 0 does not fit
                  filtered
                  statistics
                    rocksdb.block.cache.add                  1
                    rocksdb.block.cache.bytes.write          885
                    rocksdb.block.cache.filter.add           1
                    rocksdb.block.cache.filter.bytes.insert  885
                    rocksdb.block.cache.filter.miss          1
                    rocksdb.block.cache.miss                 1
                    rocksdb.bloom.filter.useful              1
                --- status 1
            "#]],
        ),
        (
            "tables/types-all.sst",
            "key00001729",
            expect![[r#"
                key00001729
                  table: unresolved
                    a range tombstone spans the key, sequence number 0, but covers only older entries
                    filter: fast local bloom, whole-key probe, hash 0xc6eefe5a9202e06c: maybe
                      line 5 of 10 (64 bytes), 6 probes: bits 397 468 461 17 502 38 set
                    index entry key00002283: block at 0, 4052 bytes
                      4052 bytes uncompressed; by binary search: restart interval 0 of 6
                      entry: merge, sequence number 0, value of 29 bytes
                  found, but tables/types-all.sst: not supported: the value of "key00001729" has merge operands: provide a merge operator (written with an operator without a name)
                  statistics
                    rocksdb.block.cache.add                  1
                    rocksdb.block.cache.bytes.write          4,052
                    rocksdb.block.cache.data.add             1
                    rocksdb.block.cache.data.bytes.insert    4,052
                    rocksdb.block.cache.data.miss            1
                    rocksdb.block.cache.miss                 1
                    rocksdb.bloom.filter.full.positive       1
                    rocksdb.bloom.filter.full.true.positive  1
                --- status 0
            "#]],
        ),
    ] {
        expected.assert_eq(&run(["get", "--explain", table, key]).all());
    }
}
