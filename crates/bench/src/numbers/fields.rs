//! Fields of recorded runs. One that is missing is an error that names it.

use serde_json::Value;

pub(super) trait Fields {
    fn text(&self, name: &str) -> Result<&str, String>;
    fn number(&self, name: &str) -> Result<f64, String>;
    fn count(&self, name: &str) -> Result<u64, String>;
    fn list(&self, name: &str) -> Result<&[Value], String>;
}

impl Fields for Value {
    fn text(&self, name: &str) -> Result<&str, String> {
        self[name].as_str().ok_or_else(|| missing(name))
    }

    fn number(&self, name: &str) -> Result<f64, String> {
        self[name].as_f64().ok_or_else(|| missing(name))
    }

    fn count(&self, name: &str) -> Result<u64, String> {
        self[name].as_u64().ok_or_else(|| missing(name))
    }

    fn list(&self, name: &str) -> Result<&[Value], String> {
        self[name].as_array().map(Vec::as_slice).ok_or_else(|| missing(name))
    }
}

fn missing(name: &str) -> String {
    format!("a record has no {name}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_is_missing_or_of_another_type_is_named() {
        let record = json!({ "date": "2026-11-18", "bytes": 1.5, "rounds": [1] });
        assert_eq!(record.text("date"), Ok("2026-11-18"));
        assert_eq!(record.number("bytes"), Ok(1.5));
        assert_eq!(record.list("rounds").unwrap().len(), 1);
        assert_eq!(record.count("bytes").unwrap_err(), "a record has no bytes");
        assert_eq!(record.text("load").unwrap_err(), "a record has no load");
    }
}
