//! The JSON of all pages against `docs/schemas/serve.schema.json`.

use serde_json::{Value, json};

use crate::client::Running;

/// The schema of one page: a reference into the file.
fn validator(page: &str) -> jsonschema::Validator {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/serve.schema.json");
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(schema["$defs"][page].is_object(), "{page} is not described");
    schema["$ref"] = json!(format!("#/$defs/{page}"));
    schema.as_object_mut().unwrap().remove("oneOf");
    jsonschema::validator_for(&schema).expect("a valid schema")
}

#[test]
fn pages_are_as_described() {
    let names = [
        "databases/rocksdb-leveled-bloom",
        "databases/rocksdb-universal-ribbon-partitioned",
        "databases/leveldb-bloom-snappy",
        "databases/rocksdb-blobs",
        "databases/rocksdb-entities",
        "databases/rocksdb-merge-stringappend",
        "databases/rocksdb-wal-plus-tables",
        "tables/types-all.sst",
        "tables/index-firstkey.sst",
        "tables/datahash.sst",
        "tables/leveldb-table-bloom10-c1.ldb",
        "tables/filter-ribbonfilter_10-fv7.sst",
        "tables/timestamps-u64.sst",
    ];
    let server = Running::serve(&names);
    let check = |page: &str, target: &str| {
        let answer = server.json(target);
        let errors: Vec<String> = validator(page)
            .iter_errors(&answer)
            .map(|it| format!("{}: {it}", it.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{target}: {errors:#?}");
        answer
    };
    check("index", "/index.json");
    for (at, name) in names.iter().enumerate() {
        let mut file = String::new();
        if name.starts_with("databases/") {
            let map = check("database", &format!("/{at}/database.json"));
            check("files", &format!("/{at}/files.json"));
            check("history", &format!("/{at}/history.json"));
            check("budget", &format!("/{at}/budget.json"));
            let first = &map["levels"][0]["files"][0]["number"];
            file = format!("file={first}&");
        }
        check("table", &format!("/{at}/table.json?{file}"));
        let blocks = check("blocks", &format!("/{at}/blocks.json?{file}"));
        check("details", &format!("/{at}/details.json?{file}"));
        for block in blocks["blocks"].as_array().unwrap().iter().rev().take(8) {
            check("block", &format!("/{at}/block.json?{file}offset={}", block[1]));
        }
        check("filter", &format!("/{at}/filter.json?{file}"));
        check("probe", &format!("/{at}/probe.json?{file}key=key00000010"));
        check("whatif", &format!("/{at}/whatif.json"));
        let scan = check("scan", &format!("/{at}/scan.json?{file}encoding=hex"));
        let key = scan["rows"][0]["key"].as_str().unwrap_or("00").to_owned();
        check("lookup", &format!("/{at}/lookup.json?encoding=hex&key={key}"));
        check("lookup", &format!("/{at}/lookup.json?key=nothing"));
        check("versions", &format!("/{at}/versions.json?{file}encoding=hex&key={key}"));
        check("health", &format!("/{at}/health.json"));
    }
}
