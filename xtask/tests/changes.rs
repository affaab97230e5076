//! The notes of unreleased changes can be joined into the changelog.

use xtask::{changelog, root};

#[test]
fn notes_have_a_known_kind_and_text() {
    let root = root();
    let unreleased = root.join("changes/unreleased");
    for entry in std::fs::read_dir(&unreleased).expect("changes/unreleased") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let is_kind = changelog::KINDS.iter().any(|(kind, _)| *kind == name);
        assert!(is_kind || name == "README.md", "{name}: not a kind of change");
    }
    for (kind, _) in changelog::KINDS {
        for (path, note) in changelog::notes(&root, kind) {
            let name = path.display();
            assert!(path.extension().is_some_and(|it| it == "md"), "{name}: not a .md file");
            assert!(!note.trim().is_empty(), "{name}: empty");
            let is_list = ["* ", "- ", "# "].iter().any(|mark| note.trim_start().starts_with(mark));
            assert!(!is_list, "{name}: must be a paragraph");
        }
    }
}
