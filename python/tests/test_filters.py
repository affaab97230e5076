"""Filters on their own."""

import pickle

import pyarrow as pa
import pytest

import sstkit

KEYS = [b"key%d" % number for number in range(10_000)]
ABSENT = [b"absent%d" % number for number in range(10_000)]


@pytest.mark.parametrize(
    ("policy", "version", "kind", "rate"),
    [
        ("bloomfilter:10", 5, "fast_local_bloom", 0.0095),
        ("bloomfilter:10", 4, "legacy_bloom", 0.0122),
        ("ribbonfilter:10", 5, "ribbon128", 0.0095),
    ],
)
def test_filters(policy: str, version: int, kind: str, rate: float) -> None:
    filter = sstkit.Filter.build(KEYS, policy, format_version=version)
    assert filter.kind == kind
    assert all(filter.may_contain(key) for key in KEYS)
    assert all(filter.may_contain_many(KEYS))
    answers = filter.may_contain_many(pa.array(ABSENT))
    assert len(answers) == len(ABSENT)
    assert list(answers) == [filter.may_contain(key) for key in ABSENT]
    array = pa.array(answers)
    assert array.type == pa.bool_() and array.true_count < len(ABSENT) * rate * 2
    assert array.true_count > len(ABSENT) * rate / 2
    expected = sstkit.Filter.expected_fpr_of(policy, len(KEYS), format_version=version)
    assert expected == pytest.approx(rate, rel=0.2)
    assert filter.expected_fpr == pytest.approx(rate, rel=0.3)
    assert filter.stats()["bytes"] == len(filter) == len(bytes(filter))
    again = pickle.loads(pickle.dumps(filter))
    assert bytes(again) == bytes(filter) and again.kind == kind


def test_arrow_keys_are_the_same() -> None:
    listed = sstkit.Filter.build(KEYS)
    assert bytes(sstkit.Filter.build(pa.array(KEYS))) == bytes(listed)
    assert bytes(sstkit.Filter.build(pa.chunked_array([KEYS[:7], KEYS[7:]]))) == bytes(listed)


def test_unknown_policies() -> None:
    with pytest.raises(sstkit.InvalidInput, match="did you mean"):
        sstkit.Filter.build(KEYS, "blomfilter:10")
    with pytest.raises(sstkit.InvalidInput, match="builds no"):
        sstkit.Filter.build(KEYS, "none")
    assert sstkit.Filter(b"no filter").may_contain(b"anything")
