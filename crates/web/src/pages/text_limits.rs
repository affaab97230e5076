//! What a page has of long texts: a key may have megabytes, and a table names its smallest key several
//! times.

use serde::Serialize;
use serde_json::Value;

/// Bytes of a block or of a line in hexadecimal digits: windows, whose size is limited elsewhere.
const WINDOWS: [&str; 2] = ["hex", "line"];

/// The most bytes of a text of a page.
const MAX_TEXT: usize = 4 << 10;

/// A text that is cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CutText {
    /// Where it is: a JSON pointer such as `/info/smallest_key`.
    at: String,
    /// How many bytes it has as a whole.
    length: u64,
}

/// Cuts long texts. They end in `…` then, and are returned.
pub(super) fn shorten_texts(page: &mut Value) -> Vec<CutText> {
    let mut cut = Vec::new();
    shorten(page, &mut String::new(), &mut cut);
    cut
}

fn shorten(value: &mut Value, at: &mut String, cut: &mut Vec<CutText>) {
    let parent = at.len();
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            cut.push(CutText { at: at.clone(), length: text.len() as u64 });
            text.truncate(end_of_start(text));
            text.push('…');
            text.shrink_to_fit();
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                at.push_str(&format!("/{index}"));
                shorten(value, at, cut);
                at.truncate(parent);
            }
        }
        Value::Object(fields) => {
            // A name is a text, too: that of a property.
            let is_long = |name: &&String| name.len() > MAX_TEXT;
            let names: Vec<String> = fields.keys().filter(is_long).cloned().collect();
            for name in names {
                cut.push(CutText { at: format!("{at}/…"), length: name.len() as u64 });
                let of = fields.remove(&name).unwrap_or_default();
                fields.insert(format!("{}…", &name[..end_of_start(&name)]), of);
            }
            for (name, value) in fields.iter_mut().filter(|(name, _)| !WINDOWS.contains(&&name[..]))
            {
                at.push_str(&format!("/{}", name.replace('~', "~0").replace('/', "~1")));
                shorten(value, at, cut);
                at.truncate(parent);
            }
        }
        _ => {}
    }
}

/// Where the start of a long text ends: not in a character, and not in an escape `\\xHH`.
fn end_of_start(text: &str) -> usize {
    let mut end = MAX_TEXT - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let escape = text[..end].bytes().rev().take(3).position(|byte| byte == b'\\');
    escape.map_or(end, |back| end - back - 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_and_named() {
        let long = "\\xff".repeat(10_000);
        let mut page = json!({
            "info": { "smallest_key": long, "size": 7, "file": "a" },
            "rows": [{ "a/b": "é".repeat(3_000) }],
        });
        page[&"x".repeat(5_000)] = json!(1);
        let window = json!({ "start": 0, "hex": "00".repeat(5_000) });
        page["contents"] = window.clone();
        let cut = shorten_texts(&mut page);
        let at: Vec<(&str, u64)> = cut.iter().map(|it| (&it.at[..], it.length)).collect();
        assert_eq!(at, [("/…", 5_000), ("/info/smallest_key", 40_000), ("/rows/0/a~1b", 6_000)]);
        let key = page["info"]["smallest_key"].as_str().unwrap();
        assert!(key.ends_with("\\xff…") && key.len() < MAX_TEXT + 4, "{key}");
        assert_eq!(page["contents"].take(), window);
        assert!(page.to_string().len() < 4 * MAX_TEXT);
        assert_eq!((&page["info"]["size"], &page["info"]["file"]), (&json!(7), &json!("a")));
        assert!(shorten_texts(&mut page).is_empty());
    }
}
