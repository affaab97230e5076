//! What crates need before they can be published.

use xtask::{release, root};

#[test]
fn published_crates_have_what_a_registry_shows() {
    release::check_manifests(&root()).unwrap();
}

#[test]
fn the_document_has_the_order_of_the_crates() {
    let document = std::fs::read_to_string(root().join("docs/release.md")).unwrap();
    let order = release::CRATES.join(", ");
    assert!(document.contains(&order), "docs/release.md does not have: {order}");
}

/// Unit tests run from the packages, where the rest of the repository does not exist.
#[test]
fn sources_of_published_crates_stay_inside_of_their_package() {
    let outside = xtask::files(&[".rs"]).into_iter().filter(|path| {
        let path = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let mut parts = path.split('/');
        let (Some("crates"), Some(folder), Some("src")) =
            (parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let name = if folder == "sstkit" { folder.to_owned() } else { format!("sstkit-{folder}") };
        release::CRATES.contains(&&name[..])
    });
    let mut found = Vec::new();
    for path in outside {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let is_code = !line.trim_start().starts_with("//");
            if is_code && line.contains("../../") && line.contains("testdata") {
                found.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "these lines read files outside of their package: {found:#?}");
}
