//! A name means one thing: types that several modules see, and modules of a crate, have names of their
//! own.

use std::collections::BTreeMap;
use std::path::Path;

use xtask::lines::PRODUCT_CRATES;
use xtask::{files, root};

/// Types that every crate, or every subcommand, has one of.
const ONE_EACH: [&str; 4] = ["Args", "Error", "ErrorKind", "Result"];

/// Modules that every kind of filter and block has one of, and unit tests.
const ONE_PER_KIND: [&str; 3] = ["builder", "reader", "tests"];

/// The name of the type that a line declares for other modules of the crate or for users. Declarations in
/// macros are indented.
fn declared_type(line: &str) -> Option<&str> {
    let line = line.strip_prefix("    ").unwrap_or(line);
    let rest = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub "))?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|it: char| !it.is_alphanumeric() && it != '_').next()
}

/// The name of the module in a file.
fn module(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    match stem {
        "mod" => path.parent()?.file_name()?.to_str(),
        _ => Some(stem),
    }
}

/// The names that more than `most` places have, as lines of a message.
fn repeated(names: BTreeMap<String, Vec<String>>, most: usize) -> Vec<String> {
    let too_many = names.into_iter().filter(|(_, places)| places.len() > most);
    too_many.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

#[test]
fn no_two_types_and_no_three_modules_have_one_name() {
    let root = root();
    let (mut types, mut modules) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
    for path in files(&[".rs"]) {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let is_product = |it: &&&str| name.starts_with(&format!("crates/{it}/src/"));
        let Some(product) = PRODUCT_CRATES.iter().find(is_product) else { continue };
        if let Some(module) = module(&path).filter(|it| !ONE_PER_KIND.contains(it)) {
            modules.entry(format!("{product}::{module}")).or_default().push(name.clone());
        }
        let text = std::fs::read_to_string(&path).expect("source is text");
        for declared in text.lines().filter_map(declared_type) {
            if !ONE_EACH.contains(&declared) {
                types.entry(declared.to_owned()).or_default().push(name.clone());
            }
        }
    }
    assert!(types.len() > 300 && modules.len() > 200, "the sources were not found");
    let found = [repeated(types, 1), repeated(modules, 2)].concat();
    assert!(found.is_empty(), "names with several meanings:\n{}\n", found.join("\n"));
}

#[test]
fn declarations_are_found() {
    assert_eq!(declared_type("pub(crate) struct Slot<T> {"), Some("Slot"));
    assert_eq!(declared_type("pub type Result<T, E = Error> = x;"), Some("Result"));
    assert_eq!(declared_type("    pub enum Shape {"), Some("Shape"));
    assert_eq!(declared_type("    type Item = u8;"), None);
    assert_eq!(module(Path::new("a/filter/mod.rs")), Some("filter"));
    assert_eq!(module(Path::new("a/filter/seek.rs")), Some("seek"));
}
