//! Filters of each kind: building and probing.

use std::hint::black_box;

use super::HotPath;
use crate::candidate::{
    Candidate, FastLocalBloom, FullFilter, LegacyBloom, LevelDbBloom, Ribbon128,
};
use crate::keys::Keys;

const KEYS: usize = 10_000;
const BATCH: usize = 32;

pub(super) fn each(visit: &mut dyn FnMut(HotPath)) {
    kind::<LevelDbBloom>(visit);
    kind::<FullFilter<LegacyBloom>>(visit);
    kind::<FullFilter<FastLocalBloom>>(visit);
    kind::<FullFilter<Ribbon128>>(visit);
}

fn kind<C: Candidate + 'static>(visit: &mut dyn FnMut(HotPath)) {
    let name = C::NAME.replace('_', " ");
    let keys = Keys::present(KEYS);
    let filter = C::build(&keys);
    let built = keys.clone();
    visit(HotPath::new(format!("{name}, build"), "key", KEYS, move || {
        black_box(C::build(&built).length());
    }));
    for (presence, keys) in [("present", keys), ("absent", Keys::absent(KEYS))] {
        let filter = filter.clone();
        let is_expected = move |passed: usize| match presence {
            "present" => passed == KEYS,
            _ => passed < KEYS / 20,
        };
        let (one, asked) = (filter.clone(), keys.clone());
        visit(HotPath::new(format!("{name}, {presence} key"), "key", KEYS, move || {
            assert!(is_expected(asked.iter().filter(|key| one.may_contain(key)).count()));
        }));
        if C::BATCHES {
            visit(HotPath::new(
                format!("{name}, {presence} keys batched"),
                "key",
                KEYS,
                move || {
                    let mut passed = 0;
                    let mut batch: Vec<&[u8]> = Vec::with_capacity(BATCH);
                    let mut answers = [false; BATCH];
                    for start in (0..KEYS).step_by(BATCH) {
                        batch.clear();
                        batch.extend(
                            (start..(start + BATCH).min(KEYS)).map(|place| keys.get(place)),
                        );
                        filter.may_contain_batch(&batch, &mut answers[..batch.len()]);
                        passed += answers[..batch.len()].iter().filter(|&&answer| answer).count();
                    }
                    assert!(is_expected(passed));
                },
            ));
        }
    }
}
