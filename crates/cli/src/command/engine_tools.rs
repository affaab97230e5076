//! What to type instead of the commands and options of RocksDB's `ldb` and `sst_dump`, and of others that
//! one may expect. `docs/ldb.md` has all of them.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

/// Names, and the tip for each.
const TIPS: [(&str, &str); 41] = [
    ("approxsize", "use `sst stats --sample DB --from KEY --to KEY`"),
    ("backup", "only RocksDB makes backups; `sst info BACKUPS` lists them"),
    ("blob_dump", "use `sst dump FILE.blob`"),
    ("change_compaction_style", "use `sst compact DB --as database -o NEW`"),
    ("checkconsistency", "use `sst verify DB`"),
    (
        "checkpoint",
        "only RocksDB makes checkpoints; `sst compact DB --as database -o NEW` makes a copy",
    ),
    ("compaction_progress_dump", "use `sst dump FILE`"),
    ("count", "use `sst scan --count PATH`"),
    ("dump_live_files", "use `sst dump DB`"),
    ("dump_wal", "use `sst dump FILE.log`"),
    ("file_checksum_dump", "use `sst dump MANIFEST`"),
    ("get_entity", "use `sst get DB KEY`"),
    ("get_property", "use `sst info DB`"),
    ("identify", "use `sst info FILE`"),
    ("idump", "use `sst scan --internal DB`"),
    ("ingest_extern_sst", "use `sst ingest-check TABLE --into DB`"),
    ("list", "use `sst info PATH`"),
    ("list_column_families", "use `sst info DB`"),
    ("list_file_range_deletes", "use `sst stats DB`"),
    ("list_live_files_metadata", "use `sst info DB --files`"),
    ("load", "use `sst build INPUT --as database -o NEW`"),
    ("manifest_dump", "use `sst dump MANIFEST`"),
    ("multi_get", "use `sst get DB KEY...`"),
    ("multi_get_entity", "use `sst get DB KEY...`"),
    ("query", "use `sst get` and `sst scan` in a shell"),
    ("raw", "use `sst dump FILE`"),
    ("recompress", "use `sst compact FILE --compression all`"),
    ("reduce_levels", "use `sst compact DB --as database -o NEW`"),
    ("repair", "use `sst salvage DB -o NEW`"),
    ("restore", "use `sst compact BACKUPS --as database -o NEW`"),
    ("sst_dump", "use `sst verify`, `sst scan` and `sst dump`"),
    ("write_extern_sst", "use `sst build INPUT -o OUT.sst`"),
    ("--command", "use `sst verify` for check, `sst scan`, `sst dump` for raw"),
    ("--db", "the database is an argument, as in `sst scan DB`"),
    ("--file", "files are arguments, as in `sst info FILE`"),
    ("--input_key_hex", "use `--hex`"),
    ("--max_keys", "use `--limit N`"),
    ("--no_value", "use `--keys-only`"),
    ("--output_hex", "use `--hex`"),
    ("--show_properties", "use `sst info FILE`"),
    ("--walfile", "use `sst dump FILE.log`"),
];

/// Commands that change an existing database.
const WRITING: [&str; 10] = [
    "batchput",
    "create_column_family",
    "delete",
    "deleterange",
    "drop_column_family",
    "put",
    "put_entity",
    "singledelete",
    "unsafe_remove_sst_file",
    "update_manifest",
];

fn tip_for(typed: &str) -> Option<&'static str> {
    if WRITING.contains(&typed) {
        return Some("`sst` never changes a database: only its engine does");
    }
    TIPS.iter().find(|(name, _)| *name == typed).map(|&(_, tip)| tip)
}

/// Replaces the suggestion of the parser, which only knows similar names, if a command or option is one
/// of `ldb` or `sst_dump`.
pub(crate) fn suggest_command(error: &mut clap::Error) {
    let kinds = [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ];
    for (kind, similar) in kinds {
        let Some(ContextValue::String(typed)) = error.get(kind) else { continue };
        let Some(tip) = tip_for(typed) else { continue };
        let tip = StyledStr::from(tip);
        error.remove(similar);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}
