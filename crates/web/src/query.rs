//! The address of a page: path and query.

use std::collections::BTreeMap;
use std::str::FromStr;

use sstkit_inspect::Encoding;

use crate::error::{PageError, Result};

/// More parameters than any page has.
const MAX_PARAMETERS: usize = 32;

/// The decoded path of an address, and its query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) path: String,
    pub(crate) query: Query,
}

/// The parameters of an address. The first of several with the same name counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Address {
    /// Parses an origin-form target such as `/0/table?file=11`.
    pub(crate) fn parse(target: &str) -> Result<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if !path.starts_with('/') {
            return Err(PageError::bad_request("the address does not start with /"));
        }
        let mut parameters = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if parameters.len() == MAX_PARAMETERS {
                return Err(PageError::bad_request("too many parameters"));
            }
            parameters.entry(decode(name, true)?).or_insert(decode(value, true)?);
        }
        Ok(Self { path: decode(path, false)?, query: Query(parameters) })
    }
}

/// Decodes `%XX`, and in a query `+`.
fn decode(text: &str, is_query: bool) -> Result<String> {
    let bad = || PageError::bad_request("the address is not percent-encoded UTF-8");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' if is_query => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|it| char::from(it).to_digit(16));
                let (high, low) = digit().zip(digit()).ok_or_else(bad)?;
                (high << 4 | low) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

impl Query {
    /// A parameter; an empty one counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Removes a parameter.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A parameter that is a number.
    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.parse();
        number.map(Some).map_err(|_| PageError::bad_request(format!("{name}: not a number")))
    }

    /// The encoding of keys and values, in the query and in the answer.
    pub(crate) fn encoding(&self) -> Result<Encoding> {
        let Some(name) = self.get("encoding") else { return Ok(Encoding::default()) };
        name.parse().map_err(|error| PageError::bad_request(format!("encoding: {error}")))
    }

    /// A parameter that is a key. An empty key is a key, too.
    pub(crate) fn key(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let key = self.encoding()?.decode(text);
        key.map(Some).map_err(|error| PageError::bad_request(format!("{name}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_decoded() {
        let address = Address::parse("/0/lookup?key=a%20b+c&key=later&encoding=hex&x").unwrap();
        assert_eq!(address.path, "/0/lookup");
        assert_eq!(address.query.get("key"), Some("a b c"));
        assert_eq!(address.query.encoding().unwrap(), Encoding::Hex);
        assert!(address.query.has("x") && address.query.get("x").is_none());
        assert_eq!(Address::parse("/a+b").unwrap().path, "/a+b");
        assert!(address.query.number::<u64>("key").is_err());
    }

    #[test]
    fn wrong_ones_are_refused() {
        for wrong in ["", "x", "http://evil/", "/%", "/%0", "/%zz", "/%ff", "/?a=%80"] {
            assert_eq!(Address::parse(wrong).unwrap_err().status, 400, "{wrong}");
        }
        let many: String = (0..40).map(|i| format!("&p{i}=1")).collect();
        assert!(Address::parse(&format!("/?{many}")).is_err());
    }

    #[test]
    fn keys_are_in_the_encoding_of_the_query() {
        let key = |target: &str| Address::parse(target).unwrap().query.key("key");
        assert_eq!(key("/?key=%5Cx00a").unwrap(), Some(b"\0a".to_vec()));
        assert_eq!(key("/?key=00ff&encoding=hex").unwrap(), Some(vec![0, 0xff]));
        assert_eq!(key("/?key=").unwrap(), Some(Vec::new()));
        assert_eq!(key("/").unwrap(), None);
        assert!(key("/?key=0&encoding=hex").is_err());
        assert!(key("/?key=0&encoding=rot13").is_err());
    }
}
