//! Reads a table in all ways, and compares the results with its known contents.

use sstkit_table::explain::LookupAnswer;
use sstkit_table::raw::EntryKind;
use sstkit_table::{Error, ErrorKind, Result, Table};
use sstkit_testkit::goldens::{Expected, Golden, Model, expected_entries};

/// The contents of a table, as lookups and as entries.
pub(crate) struct Known {
    pub(crate) model: Model,
    entries: Vec<Expected>,
    /// Keys to look up, existing and absent.
    keys: Vec<Vec<u8>>,
}

/// The result of reading everything. A wrong result is a panic.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) answers: u64,
    pub(crate) errors: Vec<Error>,
}

impl Outcome {
    fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(answer) => {
                self.answers += 1;
                Some(answer)
            }
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::InvalidInput, "nobody's fault: {error}");
                self.errors.push(error);
                None
            }
        }
    }
}

impl Known {
    pub(crate) fn of(golden: &Golden) -> Self {
        let model = Model::of(golden);
        let mut entries = expected_entries(&golden.path);
        entries.retain(|entry| !entry.is_range());
        let absent = model.absent_keys();
        let some = |keys: &[Vec<u8>]| {
            keys.iter().step_by((keys.len() / 5).max(1)).cloned().collect::<Vec<_>>()
        };
        let keys = [some(&model.keys), some(&absent)].concat();
        Self { model, entries, keys }
    }

    /// Reads everything.
    pub(crate) fn ask(&self, table: &Table, what: &str) -> Outcome {
        let mut outcome = Outcome::default();
        self.look_up(table, what, &mut outcome);
        self.scan(table, what, &mut outcome);
        let entries = table
            .entries()
            .map(|entry| entry.map(|entry| (entry.user_key, entry.kind, entry.value.into_bytes())));
        self.compare_entries(entries, what, &mut outcome);
        outcome.note(table.layout());
        if let Some(filter) = table.filter() {
            for (key, _) in self.model.visible.iter().step_by(50) {
                if let Some(may) = outcome.note(filter.may_contain(key)) {
                    assert!(may || !filter.whole_key_filtering(), "{what}: a key is denied");
                }
            }
        }
        outcome.note(table.verify().into_result());
        outcome
    }

    fn look_up(&self, table: &Table, what: &str, outcome: &mut Outcome) {
        for key in &self.keys {
            let expected = self.model.get(key);
            let what = || format!("{what}: {}", key.escape_ascii());
            if let Some(value) = outcome.note(table.get(key)) {
                assert_eq!(value.as_deref(), expected, "{}", what());
            }
            match outcome.note(table.explain(key)).map(|trace| trace.answer) {
                Some(LookupAnswer::Value(value)) => {
                    assert_eq!(Some(&value[..]), expected, "{}", what());
                }
                Some(LookupAnswer::Unresolved(why)) => panic!("{}: {why}", what()),
                Some(_) => assert_eq!(None, expected, "{}", what()),
                None => {}
            }
        }
        if let Some(values) = outcome.note(table.get_many(&self.keys)) {
            let expected = self.keys.iter().map(|key| self.model.get(key));
            assert!(values.iter().map(|it| it.as_deref()).eq(expected), "{what}: get_many");
        }
    }

    /// Before an error, iteration shows correct entries; without one, all of them.
    fn scan(&self, table: &Table, what: &str, outcome: &mut Outcome) {
        let visible = &self.model.visible;
        let mut expected = visible.iter();
        for entry in table {
            let Some((key, value)) = outcome.note(entry) else { break };
            let (k, v) = expected.next().unwrap_or_else(|| panic!("{what}: one too many"));
            assert_eq!((&key, &value[..]), (k, &v[..]), "{what}: forwards");
        }
        let done = expected.next().is_none() || !outcome.errors.is_empty();
        assert!(done, "{what}: ends too soon");
        let errors = outcome.errors.len();
        let mut expected = visible.iter().rev();
        for entry in table.iter().rev() {
            let Some((key, value)) = outcome.note(entry) else { break };
            let (k, v) = expected.next().unwrap_or_else(|| panic!("{what}: one too many"));
            assert_eq!((&key, &value[..]), (k, &v[..]), "{what}: backwards");
        }
        let done = expected.next().is_none() || outcome.errors.len() > errors;
        assert!(done, "{what}: ends too soon, backwards");
    }

    fn compare_entries(
        &self,
        entries: impl Iterator<Item = Result<(Vec<u8>, EntryKind, bytes::Bytes)>>,
        what: &str,
        outcome: &mut Outcome,
    ) {
        let errors = outcome.errors.len();
        let mut expected = self.entries.iter();
        for entry in entries {
            let Some((key, kind, _)) = outcome.note(entry) else { break };
            let it = expected.next().unwrap_or_else(|| panic!("{what}: one entry too many"));
            assert_eq!(key, [&it.key[..], &it.timestamp].concat(), "{what}: entries");
            if let Some(expected) = it.kind(!it.timestamp.is_empty()) {
                let is_blob = kind == EntryKind::BlobIndex;
                assert!(kind == expected || is_blob, "{what}: {kind:?}, not {expected:?}");
            }
        }
        let done = expected.next().is_none() || outcome.errors.len() > errors;
        assert!(done, "{what}: entries end too soon");
    }
}
