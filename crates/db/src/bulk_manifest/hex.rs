//! Keys as hexadecimal digits.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&digits(key))
}

pub(super) fn digits(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn deserialize<'de, D>(deserializer: D) -> Result<Vec<u8>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    decode(text.as_bytes()).ok_or_else(|| D::Error::custom(format!("{text:?} is not hexadecimal")))
}

pub(super) fn decode(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    });
    pairs.collect()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Lists of keys.
#[cfg(feature = "write")]
pub(crate) mod hex_list {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{decode, digits};

    pub(crate) fn serialize<S: Serializer>(
        keys: &[Vec<u8>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(keys.iter().map(|key| digits(key)))
    }

    pub(crate) fn deserialize<'de, D>(deserializer: D) -> Result<Vec<Vec<u8>>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let key = |text: String| {
            decode(text.as_bytes())
                .ok_or_else(|| D::Error::custom(format!("{text:?} is not hexadecimal")))
        };
        texts.into_iter().map(key).collect()
    }
}
