//! The value of an option: text, or an object with options of its own.

/// Objects within objects, deeper than any engine writes, are left as text.
const MAX_DEPTH: usize = 16;

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionValue {
    /// Text, without its escapes.
    Text(String),
    /// `{name=value;…}`
    Object(Vec<(String, OptionValue)>),
}

impl OptionValue {
    pub(super) fn parse(text: &str) -> Self {
        Self::parse_within(text.trim(), MAX_DEPTH)
    }

    fn parse_within(text: &str, depth: usize) -> Self {
        let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        // The first brace must belong to the last one: `{a=1}:{a=2}` is a list.
        let inside = inside.filter(|_| end_of_item(text, ':') == text.len());
        match (inside, depth) {
            (Some(inside), 1..) => Self::parse_object(inside, depth - 1)
                .unwrap_or_else(|| Self::Text(unescape(inside.trim()))),
            _ => Self::Text(unescape(text)),
        }
    }

    /// Text in braces that is no list of options is text that has semicolons.
    fn parse_object(inside: &str, depth: usize) -> Option<Self> {
        let mut options = Vec::new();
        let mut rest = inside;
        while !rest.is_empty() {
            let end = end_of_item(rest, ';');
            let (name, value) = rest[..end].split_once('=')?;
            options.push((name.trim().into(), Self::parse_within(value.trim(), depth)));
            rest = rest[end..].strip_prefix(';').unwrap_or_default().trim_start();
        }
        Some(Self::Object(options))
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Object(_) => None,
        }
    }

    /// The name of a thing: text other than `nullptr`, or what an object has for `id`.
    pub fn as_name(&self) -> Option<&str> {
        let name = match self {
            Self::Text(name) => name,
            Self::Object(_) => self.get("id")?.as_text()?,
        };
        Some(name).filter(|name| !name.is_empty() && *name != "nullptr")
    }

    /// The items of a list, which have colons between them.
    pub fn items(&self) -> Vec<Self> {
        let Self::Text(text) = self else { return vec![self.clone()] };
        let mut items = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = end_of_item(rest, ':');
            items.push(Self::parse(&rest[..end]));
            rest = rest[end..].strip_prefix(':').unwrap_or_default();
        }
        items
    }

    /// An option of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Text(_) => None,
            Self::Object(options) => find(options, name),
        }
    }
}

/// Of several options with a name the first counts, as in the engine.
pub(super) fn find<'a>(
    options: &'a [(String, OptionValue)],
    name: &str,
) -> Option<&'a OptionValue> {
    options.iter().find(|(option, _)| option == name).map(|(_, value)| value)
}

/// Where the first separator outside of braces is, or the end.
pub(super) fn end_of_item(text: &str, separator: char) -> usize {
    let mut depth = 0usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 && character == separator => return at,
            _ => {}
        }
    }
    text.len()
}

/// Undoes `\n`, `\r`, and a backslash before anything else.
pub(super) fn unescape(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            _ => character,
        });
    }
    plain
}
