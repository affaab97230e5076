//! A filter of the caller's beside the built-in one: those of the example `own_filter`.

use super::HotPath;

#[expect(dead_code, reason = "its `main` is for the command line")]
#[path = "../../../sstkit/examples/own_filter.rs"]
mod example;

pub(super) fn each(visit: &mut dyn FnMut(HotPath)) {
    let tables = example::tables().expect("tables");
    for (name, table) in [("bloomfilter:10", tables.bloom), ("binary fuse of xorf", tables.fuse)] {
        let absent = example::absent_keys();
        let path = format!("get, absent, {name}");
        visit(HotPath::new(path, "key", absent.len(), move || {
            assert_eq!(example::lookups(&table, &absent).expect("sound"), 0);
        }));
    }
}
