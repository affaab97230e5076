"""Arrow data into tables, which the real RocksDB ingests."""

import datetime
import decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from rocksdict import Options, Rdict

import sstkit

ROWS = 5000
KEYS = [b"key%08d" % (number * 7919 % 100_003) for number in range(ROWS)]
VALUES = [b"value of " + key for key in KEYS]


def rows(binary: pa.DataType = pa.binary()) -> pa.Table:
    return pa.table({"k": pa.array(KEYS, binary), "v": pa.array(VALUES, binary)})


def ingested(folder: Path, *tables: Path) -> dict[bytes, bytes]:
    """What RocksDB reads after it has ingested the tables."""
    database = Rdict(str(folder), Options(raw_mode=True))
    try:
        database.ingest_external_file([str(path) for path in tables])
        items: Any = database.items()
        return dict(items)
    finally:
        database.close()


@pytest.mark.parametrize("binary", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.string()])
def test_build_is_ingested(tmp_path: Path, binary: pa.DataType) -> None:
    out = tmp_path / "out.sst"
    report = sstkit.build(rows(binary), out, key="k", value="v")
    assert report["entries_read"] == ROWS
    assert report["manifest"]["entries"] == ROWS
    assert ingested(tmp_path / "db", out) == dict(zip(KEYS, VALUES))
    assert dict(sstkit.Table(out).scan()) == dict(zip(KEYS, VALUES))


# This RocksDB is built without zlib: it writes blocks as they are instead.
@pytest.mark.parametrize("compression", ["none", "snappy", "bzip2", "lz4", "lz4hc", "zstd:3"])
@pytest.mark.parametrize("filter", ["bloomfilter:10", "ribbonfilter:10"])
def test_options_are_ingested(tmp_path: Path, compression: str, filter: str) -> None:
    out = tmp_path / "out.sst"
    sstkit.build(rows(), out, key="k", value="v", compression=compression, filter=filter)
    assert ingested(tmp_path / "db", out) == dict(zip(KEYS, VALUES))


def test_directories_are_ingested(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = sstkit.build(rows(), out, key="k", value="v", max_file_size=20_000, compression="none")
    tables = sorted(out.glob("*.sst"))
    assert len(tables) == len(report["manifest"]["files"]) > 3
    assert ingested(tmp_path / "db", *tables) == dict(zip(KEYS, VALUES))


def test_the_default_is_format_version_5(tmp_path: Path) -> None:
    for options, version in [({}, 5), ({"readable_by": "9.8"}, 6), ({"readable_by": 11}, 7)]:
        out = tmp_path / f"{version}.sst"
        given: Any = options
        sstkit.build(rows(), out, key="k", value="v", **given)
        assert sstkit.Table(out).info()["format_version"] == version
    with pytest.raises(sstkit.InvalidInput, match="7"):
        sstkit.build(rows(), tmp_path / "no", key="k", value="v", readable_by="8.0", format_version=7)


def test_sources_of_rows(tmp_path: Path) -> None:
    table = rows()
    sources = [
        table,
        table.to_batches()[0],
        table.to_reader(),
        pa.RecordBatchReader.from_batches(table.schema, (batch for batch in table.to_batches(100))),
        pl.from_arrow(table),
    ]
    for number, source in enumerate(sources):
        out = tmp_path / f"{number}.sst"
        sstkit.build(source, out, key="k", value="v")
        assert dict(sstkit.Table(out).scan()) == dict(zip(KEYS, VALUES)), type(source)
    with pytest.raises(TypeError, match="does not export Arrow"):
        sstkit.build([1, 2], tmp_path / "no")  # type: ignore[arg-type]


def test_errors_leave_nothing_behind(tmp_path: Path) -> None:
    def fails() -> Any:
        yield rows().to_batches()[0]
        raise RuntimeError("the source ended")

    reader = pa.RecordBatchReader.from_batches(rows().schema, fails())
    with pytest.raises(sstkit.Error, match="the source ended"):
        sstkit.build(reader, tmp_path / "out.sst", key="k", value="v")
    with pytest.raises(sstkit.InvalidInput, match="no column"):
        sstkit.build(rows(), tmp_path / "out.sst", key="k", value="x")
    with pytest.raises(sstkit.InvalidInput, match="no rows"):
        sstkit.build(rows()[:0], tmp_path / "out.sst", key="k", value="v")
    with pytest.raises(sstkit.InvalidInput, match="order"):
        sstkit.build(rows(), tmp_path / "out.sst", key="k", value="v", sorted=True)
    with pytest.raises(sstkit.InvalidInput, match="did you mean \"zstd\""):
        sstkit.build(rows(), tmp_path / "out.sst", key="k", value="v", compression="ztsd")
    with pytest.raises(TypeError, match="did you mean \"compression\""):
        sstkit.build(rows(), tmp_path / "out.sst", key="k", value="v", compresion="zstd")  # type: ignore[call-arg]
    assert list(tmp_path.iterdir()) == []


def test_writer(tmp_path: Path) -> None:
    out = tmp_path / "out.sst"
    writer = sstkit.TableWriter(out)
    writer.put("a", "1")
    with pytest.raises(sstkit.InvalidInput, match="order"):
        writer.put("a", "2")
    writer.delete("b")
    writer.merge("c", "+1")
    writer.put_entity("d", [("", "0"), ("city", "Paris")])
    writer.delete_range("x", "z")
    writer.write(pa.table({"key": ["e", "f"], "value": ["5", "6"]}))
    assert not out.exists()
    report = writer.finish()
    assert (report["entries"], report["range_deletions"]) == (7, 1)
    with pytest.raises(sstkit.InvalidInput, match="finished"):
        writer.put("g", "7")
    rows = list(sstkit.Table(out).scan(["key", "kind", "value"], versions=True))
    kinds = ["put", "delete", "merge", "put_entity", "put", "put", "range_delete"]
    assert [kind for _, kind, _ in rows] == kinds
    entity = list(sstkit.Table(out).scan(["key", "columns"], prefix="d"))
    assert entity == [(b"d", {b"": b"0", b"city": b"Paris"})]


def test_a_failed_block_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), sstkit.TableWriter(tmp_path / "out.sst") as writer:
        writer.put("a", "1")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_composite_keys(tmp_path: Path) -> None:
    table = pa.table(
        {
            "country": ["fr", "de", "fr"],
            "id": pa.array([-7, 3, 2], pa.int64()),
            "name": ["alice", "bob", "carol"],
            "age": ["1", "2", None],
        }
    )
    out = tmp_path / "out.sst"
    sstkit.build(table, out, key=["country", "id"], value=["name", "age"])
    types = [("country", "string"), ("id", "int64")]
    read = pa.table(sstkit.Table(out).scan(["key", "columns"], key_types=types))
    assert read["country"].to_pylist() == ["de", "fr", "fr"]
    assert read["id"].to_pylist() == [3, -7, 2]
    assert dict(read["columns"][2].as_py()) == {b"name": b"carol"}
    rows = list(sstkit.Table(out).scan(["key"], key_types=types))
    assert rows == [("de", 3), ("fr", -7), ("fr", 2)]


TYPED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [False, True]),
    (pa.int8(), [-128, -1, 127]),
    (pa.int16(), [-300, 0, 300]),
    (pa.int32(), [-(2**31), 0, 2**31 - 1]),
    (pa.int64(), [-(2**63), -1, 2**63 - 1]),
    (pa.uint8(), [0, 255]),
    (pa.uint16(), [0, 65535]),
    (pa.uint32(), [1, 2**32 - 1]),
    (pa.uint64(), [1, 2**64 - 1]),
    (pa.float32(), [float("-inf"), -1.5, 0.0, 2.5]),
    (pa.float64(), [-1e300, -1.5, 0.0, 1e-300, float("inf")]),
    (pa.date32(), [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(9999, 12, 31)]),
    (pa.string(), ["", "a", "ü"]),
    (pa.large_string(), ["a", "b"]),
    (pa.string_view(), ["a", "a value that is too long for a view"]),
    (pa.binary(), [b"", b"\0", b"\xff"]),
    (pa.large_binary(), [b"a", b"b"]),
    (pa.binary_view(), [b"a", b"b"]),
    (pa.timestamp("us"), [datetime.datetime(1969, 1, 1), datetime.datetime(2026, 1, 1, 12, 30)]),
    (pa.timestamp("ms", "UTC"), [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)]),
    (pa.time64("us"), [datetime.time(1, 2, 3)]),
    (pa.duration("s"), [datetime.timedelta(-1), datetime.timedelta(1)]),
    (pa.decimal128(10, 2), [decimal.Decimal("-1.25"), decimal.Decimal("3.50")]),
    (pa.binary(2), [b"aa", b"ab"]),
]

# Without an Arrow library there are no Python objects for them.
WITHOUT_ROWS = (pa.types.is_timestamp, pa.types.is_time, pa.types.is_duration, pa.types.is_decimal)


@pytest.mark.parametrize(("of", "values"), TYPED, ids=lambda it: str(it) if isinstance(it, pa.DataType) else "")
def test_typed_keys(tmp_path: Path, of: pa.DataType, values: list[Any]) -> None:
    """Values in any order go into keys, alone and before a string, and come back in their own order."""
    out = tmp_path / "out.sst"
    table = pa.table({"k": pa.array(values[::-1], of), "s": ["x"] * len(values), "v": ["1"] * len(values)})
    for key in (["k"], ["k", "s"]):
        sstkit.build(table, out, key=key, value="v", replace=True)
        types = [("k", str(of)), ("s", "string")][: len(key)]
        scan = sstkit.scan(out, ["key"], key_types=types)
        read = pa.table(scan)
        assert read["k"].type == of and read["k"].to_pylist() == values
        assert read.num_columns == len(key)
        assert sstkit.encode_keys(read, key) == [key for key, in sstkit.scan(out, ["key"])]
        if any(is_of(of) for is_of in WITHOUT_ROWS):
            with pytest.raises(sstkit.Unsupported, match="pyarrow"):
                iter(scan)
        else:
            assert [row[0] for row in scan] == values
    lookups = pa.array(values, of)
    sstkit.build(table, out, key="k", value="v", replace=True)
    assert sstkit.Table(out).get_many(lookups) == [b"1"] * len(values)


def test_a_scan_is_built_again(tmp_path: Path) -> None:
    first, second = tmp_path / "1.sst", tmp_path / "2.sst"
    with sstkit.TableWriter(first) as writer:
        writer.put("a", "1")
        writer.delete("b")
        writer.put_entity("c", [("x", "y")])
    columns = ["key", "value", "kind", "columns"]
    sstkit.build(sstkit.Table(first).scan(columns, versions=True), second)
    again = list(sstkit.Table(second).scan(columns, versions=True))
    assert again == list(sstkit.Table(first).scan(columns, versions=True))
