use super::*;
use crate::raw::RecoveryMode;

const EXAMPLE: &str = r#"# This is a RocksDB option file.
[Version]
  rocksdb_version=11.9.0   # with a comment
[DBOptions]
  wal_dir=/logs/\#1\:\\
  wal_recovery_mode=kAbsoluteConsistency
  allow_2pc=true
  wal_recovery_mode=kPointInTimeRecovery
[CFOptions "default"]
  comparator=leveldb.BytewiseComparator
  merge_operator={id=StringAppendOperator;delimiter={;};inner={a=1;b={c=2;}}}
  prefix_extractor=nullptr
  num_levels=7
  this line has no value
  from_the_future={{{
[Unknown/Section "default"]
  num_levels=9
[CFOptions "a \"quoted\" \#name"]
  comparator=rocksdb.ReverseBytewiseComparator
  num_levels=many
  optimize_filters_for_hits=true
[TableOptions/BlockBasedTable "default"]
  filter_policy={id=ribbonfilter:10:0;bloom_before_level=0;}
  whole_key_filtering=false
  format_version=7
"#;

fn text(text: &str) -> OptionValue {
    OptionValue::Text(text.into())
}

#[test]
fn every_read_has_a_result() {
    let options = OptionsFile::parse(EXAMPLE).unwrap();
    assert_eq!(options.rocksdb_version(), Some("11.9.0"));
    let database = options.database();
    assert_eq!(database.wal_dir(), Some("/logs/#1:\\"));
    assert_eq!(database.wal_recovery_mode(), Some(RecoveryMode::AbsoluteConsistency));
    assert_eq!(database.allow_2pc(), Some(true));

    let default = options.column_family("default");
    assert_eq!(default.comparator(), Some("leveldb.BytewiseComparator"));
    let operator = default.get("merge_operator").and_then(OptionValue::as_name);
    assert_eq!(operator, Some("StringAppendOperator"));
    assert_eq!(default.prefix_extractor(), None);
    assert_eq!(default.num_levels(), Some(7));
    assert_eq!(default.get("from_the_future"), Some(&text("{{{")));

    let quoted = options.column_family("a \"quoted\" #name");
    assert_eq!(quoted.comparator(), Some("rocksdb.ReverseBytewiseComparator"));
    assert_eq!(quoted.num_levels(), None);
    assert_eq!(quoted.optimize_filters_for_hits(), Some(true));

    let table = options.table("default");
    assert_eq!(table.filter_policy(), Some("ribbonfilter:10:0"));
    assert_eq!(table.whole_key_filtering(), Some(false));
    assert_eq!(table.get("format_version"), Some(&text("7")));
    assert_eq!(options.table("other").filter_policy(), None);
}

#[test]
fn objects_are_trees() {
    let options = OptionsFile::parse(EXAMPLE).unwrap();
    let operator = options.column_family("default").get("merge_operator").unwrap();
    assert_eq!(operator.get("delimiter"), Some(&text(";")));
    let inner = OptionValue::Object(vec![
        ("a".into(), text("1")),
        ("b".into(), OptionValue::Object(vec![("c".into(), text("2"))])),
    ]);
    assert_eq!(operator.get("inner"), Some(&inner));
}

#[test]
fn a_tower_of_braces_is_text() {
    let tower = format!("{}x=1{}", "{a=".repeat(100_000), "}".repeat(100_000));
    let mut value = &OptionValue::parse(&tower);
    let mut depth = 0;
    while let Some(inner) = value.get("a") {
        (value, depth) = (inner, depth + 1);
    }
    assert_eq!(depth, 16);
    assert!(value.as_text().is_some());
}

#[test]
fn lists_have_items() {
    let items = OptionValue::parse("{path=/a;target_size=5}:{path=/b}:c").items();
    assert_eq!(items[0].get("target_size"), Some(&text("5")));
    assert_eq!(items[1].get("path"), Some(&text("/b")));
    assert_eq!(items[2..], [text("c")]);
    assert!(text("").items().is_empty());
}

#[test]
fn another_file_is_refused() {
    assert!(OptionsFile::parse("").is_err());
    assert!(OptionsFile::parse("wal_dir=/logs\n[CFOptions \"default\"]\n").is_err());
}

#[test]
fn of_sections_with_one_title_the_first_counts() {
    let family = |name, levels| format!("[CFOptions \"{name}\"]\nnum_levels={levels}\n");
    let titles = [("b", 1), ("a", 2), ("c", 3), ("b", 4), ("a", 5)];
    let sections: String = titles.iter().map(|(name, levels)| family(name, levels)).collect();
    let options = OptionsFile::parse(&format!("{sections}[DBOptions]\nwal_dir=/logs\n")).unwrap();
    let levels = ["a", "b", "c", "d"].map(|name| options.column_family(name).num_levels());
    assert_eq!(levels, [Some(2), Some(1), Some(3), None]);
    assert_eq!(options.database().wal_dir(), Some("/logs"));
}
