//! Phrases that do not belong in the texts of the project: archaic or literal where the field has a
//! word. The list is `xtask/banned-phrases.txt`; `CONTRIBUTING.md` has the rule.

use std::fs;
use std::path::Path;

/// A phrase and what to write instead.
#[derive(Debug)]
pub struct Phrase {
    /// In lower case.
    pub phrase: String,
    /// What to write instead.
    pub instead: String,
}

/// The list: `phrase: what to write instead` on each line, `#` for comments.
///
/// # Panics
///
/// If the file cannot be read.
pub fn list(root: &Path) -> Vec<Phrase> {
    let path = root.join("xtask/banned-phrases.txt");
    let text = fs::read_to_string(path).expect("the list of phrases");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (phrase, instead) = line.split_once(':').unwrap_or((line, ""));
            Phrase { phrase: phrase.trim().to_lowercase(), instead: instead.trim().to_owned() }
        })
        .collect()
}

/// The phrases in a text, each with the number of the line it starts on. A phrase may span lines of a
/// comment or paragraph.
pub fn find<'p>(text: &str, phrases: &'p [Phrase]) -> Vec<(usize, &'p Phrase)> {
    // The words of the text one after another, and where each line starts among them.
    let (mut words, mut starts) = (String::from(" "), Vec::new());
    for line in text.lines() {
        starts.push(words.len());
        let line = line.trim_start().trim_start_matches(['/', '!', '#', '*', '>']);
        for word in line.to_lowercase().split_whitespace() {
            words.push_str(word);
            words.push(' ');
        }
    }
    let mut found = Vec::new();
    for phrase in phrases {
        for (at, _) in words.match_indices(&phrase.phrase) {
            let end = at + phrase.phrase.len();
            let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let (before, after) = (words[..at].chars().last(), words[end..].chars().next());
            let open = phrase.phrase.ends_with('-');
            if !is_word(before) && (open || !is_word(after)) {
                found.push((starts.partition_point(|&start| start <= at), phrase));
            }
        }
    }
    found.sort_by_key(|(line, _)| *line);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_words_and_across_lines() {
        let phrase = |text: &str| Phrase { phrase: text.into(), instead: String::new() };
        let phrases = [phrase("so much"), phrase("use --"), phrase("thus")];
        let text = "/// Enthusiasm.\n/// It is So\n/// much; use --x.\n";
        let found: Vec<_> =
            find(text, &phrases).iter().map(|it| (it.0, &it.1.phrase[..])).collect();
        assert_eq!(found, [(2, "so much"), (3, "use --")]);
    }
}
