//! The texts of the project are free of banned phrases.

use xtask::{files, phrases, root};

#[test]
fn no_banned_phrases() {
    let root = root();
    let banned = phrases::list(&root);
    assert!(banned.len() > 10);
    let mut found = Vec::new();
    for path in files(&[".rs", ".md", ".py", ".pyi", ".toml", ".txt", ".yml"]) {
        let name = path.strip_prefix(&root).unwrap_or(&path);
        if name.ends_with("xtask/banned-phrases.txt") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (line, phrase) in phrases::find(&text, &banned) {
            let (name, phrase, instead) = (name.display(), &phrase.phrase, &phrase.instead);
            found.push(format!("{name}:{line}: \"{phrase}\" (write: {instead})"));
        }
    }
    assert!(found.is_empty(), "banned phrases:\n{}\n", found.join("\n"));
}
