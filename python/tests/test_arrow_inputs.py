"""Arrow data in every layout that libraries export, and what is no data for a table."""

import datetime
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import sstkit

KEYS = ["", "a", "b\0", "country", "ünïcode"]
VALUES = ["1", "", "3", "a value that is too long to be in a view", "5"]
EXPECTED = sorted((key.encode(), value.encode()) for key, value in zip(KEYS, VALUES))

LAYOUTS = [
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_binary()),
]


def array(texts: list[str], of: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(of):
        return array(texts, of.value_type).dictionary_encode().cast(of)
    is_text = pa.types.is_string(of) or pa.types.is_large_string(of) or of == pa.string_view()
    return pa.array(texts if is_text else [text.encode() for text in texts], of)


def built(data: Any, path: Path, **options: Any) -> list[tuple[bytes, bytes]]:
    report = sstkit.build(data, path, key="k", value="v", replace=True, **options)
    found: list[tuple[bytes, bytes]] = list(sstkit.scan(path))
    assert report["manifest"]["entries"] == len(found)
    return found


@pytest.mark.parametrize("of", LAYOUTS, ids=str)
def test_layouts(tmp_path: Path, of: pa.DataType) -> None:
    path = tmp_path / "out.sst"
    keys, values = array(KEYS, of), array(VALUES, of)
    table = pa.table({"k": keys, "v": values})
    assert built(table, path) == EXPECTED
    assert built(table, path, sorted=True) == EXPECTED
    # One batch; many; and pieces of a longer array.
    assert built(table.to_batches()[0], path) == EXPECTED
    pieces = pa.concat_tables([table.slice(start, 1) for start in range(len(KEYS))])
    assert built(pieces, path) == EXPECTED
    around = pa.table({"k": pa.concat_arrays([keys, keys, keys]), "v": pa.concat_arrays([values] * 3)})
    assert built(around.slice(len(KEYS), len(KEYS)), path) == EXPECTED
    assert sstkit.encode_keys(table, "k") == [key.encode() for key in KEYS]
    assert sstkit.Table(path).get_many(keys) == [value.encode() for value in VALUES]


def test_fixed_width_and_streams(tmp_path: Path) -> None:
    path = tmp_path / "out.sst"
    table = pa.table({"k": pa.array([b"ab", b"aa"], pa.binary(2)), "v": ["2", "1"]})
    assert built(table, path) == [(b"aa", b"1"), (b"ab", b"2")]

    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches()
        yield table.to_batches()[0].slice(0, 0)

    assert len(built(pa.RecordBatchReader.from_batches(table.schema, batches()), path)) == 2


def test_categories_of_data_frames(tmp_path: Path) -> None:
    frame = pl.DataFrame({"k": ["b", "a", "b"], "n": [1, 2, 3], "v": ["x", "y", "x"]})
    frame = frame.with_columns(pl.col("k", "v").cast(pl.Categorical))
    sstkit.build(frame, tmp_path / "out.sst", key=["k", "n"], value="v")
    scan = sstkit.scan(tmp_path / "out.sst", key_types=[("k", "string"), ("n", "int64")])
    assert pa.table(scan).to_pylist() == [
        {"k": "a", "n": 2, "value": b"y"},
        {"k": "b", "n": 1, "value": b"x"},
        {"k": "b", "n": 3, "value": b"x"},
    ]


@pytest.mark.parametrize("of", LAYOUTS, ids=str)
def test_nulls(tmp_path: Path, of: pa.DataType) -> None:
    whole, holes = array(KEYS, of), array(KEYS, of).to_pylist()
    holes[3] = None
    for keys, values, what in [(holes, whole, "key is null"), (whole, holes, "value is null")]:
        data = pa.table({"k": pa.array(keys, of), "v": pa.array(values, of)})
        for source in (data, data.slice(1)):
            row = 3 if source is data else 2
            with pytest.raises(sstkit.InvalidInput, match=f"row {row}: the {what}"):
                sstkit.build(source, tmp_path / "out.sst", key="k", value="v")
    assert list(tmp_path.iterdir()) == []


def test_dictionaries_with_nulls_among_their_values(tmp_path: Path) -> None:
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", None]))
    with pytest.raises(sstkit.InvalidInput, match="row 1: the key is null"):
        sstkit.build(pa.table({"k": keys, "v": ["1", "2"]}), tmp_path / "out.sst", key="k", value="v")
    empty = pa.DictionaryArray.from_arrays(pa.array([None], pa.int32()), pa.array([], pa.string()))
    with pytest.raises(sstkit.InvalidInput, match="row 0: the key is null"):
        sstkit.build(pa.table({"k": empty, "v": ["1"]}), tmp_path / "out.sst", key="k", value="v")


DATA = pa.table({"k": ["a"], "v": ["1"], "list": [[1]], "struct": [{"x": 1}], "none": pa.nulls(1)})

REFUSED: list[tuple[Any, dict[str, Any], type[BaseException], str]] = [
    (DATA, {"key": "kk", "value": "v"}, sstkit.InvalidInput, r"no column \"kk\" \(found k, v, list"),
    (DATA, {"key": "k", "value": "w"}, sstkit.InvalidInput, "no column \"w\""),
    (DATA, {"key": "k"}, sstkit.InvalidInput, "both key and value"),
    (DATA, {"key": [], "value": "v"}, sstkit.InvalidInput, "both key and value"),
    (DATA, {"key": "list", "value": "v"}, sstkit.Unsupported, "\"list\".*no key encoding"),
    (DATA, {"key": "struct", "value": "v"}, sstkit.Unsupported, "\"struct\".*no key encoding"),
    (DATA, {"key": "none", "value": "v"}, sstkit.Unsupported, "\"none\".*no key encoding"),
    (DATA, {"key": "k", "value": "list"}, sstkit.Unsupported, "list"),
    (DATA, {"key": "k", "value": "v", "kind": "v"}, sstkit.InvalidInput, "\"1\" is not a kind"),
    (DATA, {"key": "k", "value": "v", "sequence": "v"}, sstkit.InvalidInput, "uint64"),
    (DATA, {"key": "k", "value": "v", "values_as": "xml"}, sstkit.InvalidInput, "expected entity, json"),
    (DATA, {"key": "k", "value": "v", "colour": 1}, TypeError, "colour"),
    (DATA, {"key": 1, "value": "v"}, TypeError, "key"),
    (DATA.slice(1), {"key": "k", "value": "v"}, sstkit.InvalidInput, "no rows"),
    (DATA.to_batches()[0].slice(1), {"key": "k", "value": "v"}, sstkit.InvalidInput, "no rows"),
    (pa.table({}), {"key": "k", "value": "v"}, sstkit.InvalidInput, "no column \"k\""),
    (pa.array([1, 2]), {"key": "k", "value": "v"}, sstkit.Error, "struct|columns"),
    (pa.chunked_array([[1], [2]]), {"key": "k", "value": "v"}, sstkit.Error, "(?i)struct|columns"),
    ({"k": ["a"]}, {"key": "k", "value": "v"}, TypeError, "dict does not export Arrow"),
    (None, {"key": "k", "value": "v"}, TypeError, "NoneType does not export Arrow"),
    (datetime.date(2026, 1, 1), {"key": "k", "value": "v"}, TypeError, "does not export Arrow"),
]


@pytest.mark.parametrize(("data", "options", "error", "message"), REFUSED)
def test_refused(
    tmp_path: Path, data: Any, options: dict[str, Any], error: type[BaseException], message: str
) -> None:
    with pytest.raises(error, match=message):
        sstkit.build(data, tmp_path / "out.sst", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_fails(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield DATA.select(["k", "v"]).to_batches()[0]
        raise RuntimeError("the source has ended early")

    reader = pa.RecordBatchReader.from_batches(DATA.select(["k", "v"]).schema, batches())
    with pytest.raises(sstkit.Error, match="ended early"):
        sstkit.build(reader, tmp_path / "out.sst", key="k", value="v")
    assert list(tmp_path.iterdir()) == []


def test_everything_pickles(small: Path, tmp_path: Path) -> None:
    table = sstkit.Table(small, cache_size=0)
    again = pickle.loads(pickle.dumps(table))
    assert again.path == small and again.get(b"key000001") == b"value1"
    scan = pickle.loads(pickle.dumps(table.scan(["key"], prefix="key00099", reverse=True)))
    assert [key for key, in scan] == [b"key%06d" % number for number in range(999, 989, -1)]
    plan = sstkit.plan(tmp_path / "out", splits=["m"])
    assert pickle.loads(pickle.dumps(plan)).id == plan.id
    answers = sstkit.Filter.build(["a", "b"]).may_contain_many(["a", "absent", "b"])
    again = pickle.loads(pickle.dumps(answers))
    assert list(again) == list(answers) and len(again) == 3
    error = pickle.loads(pickle.dumps(sstkit.NotFound("gone")))
    assert isinstance(error, FileNotFoundError) and str(error) == "gone"
