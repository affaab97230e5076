//! The size of the production code.
//!
//! A line counts if it is in `src/**/*.rs` of a product crate, is not blank, and is not test code: not
//! in a file `tests.rs`, nor in a directory `tests`, nor in a module under `#[cfg(test)]`. Comments and
//! documentation count.

use std::fs;
use std::path::Path;

use crate::files;

/// The crates that users depend on; all others are support.
pub const PRODUCT_CRATES: [&str; 10] =
    ["coding", "filter", "table", "db", "inspect", "arrow", "object-store", "web", "cli", "sstkit"];

/// A line for each product crate, and the total.
///
/// # Panics
///
/// If a file cannot be read.
pub fn report(root: &Path) -> String {
    let sources = files(&[".rs"]);
    let mut total = 0;
    let mut out = String::new();
    let crates = PRODUCT_CRATES.map(|name| (name, root.join("crates").join(name)));
    for (name, folder) in crates.into_iter().chain([("python", root.join("python"))]) {
        let source = folder.join("src");
        let of_crate = sources.iter().filter(|path| path.starts_with(&source));
        let count: usize = of_crate.filter(|path| !is_test(path)).map(|path| count(path)).sum();
        out.push_str(&format!("{name:<8} {count:>6}\n"));
        total += count;
    }
    out + &format!("total    {total:>6}\n")
}

fn is_test(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

fn count(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    production_lines(&text)
}

/// The lines outside of test modules that are not blank. Relies on the indentation of rustfmt.
fn production_lines(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let indent = line.len() - line.trim_start().len();
            let mut attributes = 1;
            let item = lines.by_ref().find(|next| {
                let is_attribute = next.trim_start().starts_with("#[");
                attributes += usize::from(is_attribute);
                !is_attribute
            });
            match item.map(|item| (item.trim_start().contains("mod "), item.ends_with('{'))) {
                Some((true, true)) => {
                    lines.by_ref().find(|next| next.trim_end() == format!("{:indent$}}}", ""));
                }
                Some((true, false)) => {}
                _ => count += attributes + 1,
            }
        } else if !line.trim().is_empty() {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_modules_and_blank_lines_do_not_count() {
        let text = "use a;\n\n/// Doc.\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {\n    }\n}\nfn h() {}\n";
        assert_eq!(production_lines(text), 4);
        assert_eq!(production_lines("#[cfg(test)]\nmod tests;\nfn f() {}\n"), 1);
        assert_eq!(production_lines("#[cfg(test)]\n#[inline]\nfn f() {}\n"), 3);
    }
}
