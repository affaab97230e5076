"""Tables: lookups, scans, closing, pickling."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import sstkit


def test_lookups(small: Path) -> None:
    with sstkit.Table(small) as table:
        assert table.get(b"key000007") == b"value7"
        assert table.get("key000007") == b"value7"
        assert table.get(memoryview(b"key000007")) == b"value7"
        assert table.get(b"absent") is None
        keys = [b"key000001", b"absent", b"key000999"]
        assert table.get_many(keys) == [b"value1", None, b"value999"]
        assert table.get_many(pa.array(keys)) == [b"value1", None, b"value999"]
        assert table.get_many(pa.chunked_array([keys[:1], keys[1:]])) == table.get_many(keys)
    with pytest.raises(sstkit.InvalidInput, match="closed"):
        table.get(b"key000007")


def test_scans(small: Path) -> None:
    table = sstkit.Table(small)
    scan = table.scan()
    assert scan.columns == ["key", "value"]
    rows = pa.table(scan)
    assert rows.num_rows == 1000
    assert rows.schema == pa.schema([("key", pa.binary()), ("value", pa.binary())])
    assert pa.table(scan) == rows, "each stream starts again"
    assert rows["key"][999].as_py() == b"key000999"

    assert pa.table(table.scan(["key"], start=b"key000990")).column_names == ["key"]
    assert [key for key, in table.scan(["key"], start=b"key000998")] == [b"key000998", b"key000999"]
    assert len(list(table.scan(start="key000100", end="key000200"))) == 100
    assert len(list(table.scan(prefix="key0001"))) == 100
    assert [key for key, _ in table.scan(reverse=True, limit=2)] == [b"key000999", b"key000998"]
    assert pa.RecordBatchReader.from_stream(table.scan(batch_rows=300)).read_next_batch().num_rows == 300
    row = next(iter(table.scan(["key", "sequence", "kind", "file"], versions=True)))
    assert row == (b"key000000", 0, "put", "small.sst")
    assert pa.table(table.scan(binary_layout="large_binary"))["key"].type == pa.large_binary()
    assert pa.table(table.scan(binary_layout="binary_view"))["key"].type == pa.binary_view()


def test_options_that_open(tmp_path: Path) -> None:
    """`sstkit.scan` takes those of `open`, too."""
    path = tmp_path / "merged.sst"
    with sstkit.TableWriter(path) as writer:
        writer.merge("a", "1")
    with pytest.raises(pa.ArrowException, match="merge operator"):
        pa.table(sstkit.scan(path))
    rows = sstkit.scan(path, merge_operator="stringappend", limit=1)
    assert list(rows) == [(b"a", b"1")]
    with pytest.raises(sstkit.InvalidInput, match="no column families"):
        sstkit.scan(path, column_family="default")
    with pytest.raises(sstkit.InvalidInput, match="merge operator"):
        sstkit.verify(path, merge_operator="absent")


def test_pickles(small: Path) -> None:
    table = pickle.loads(pickle.dumps(sstkit.Table(small, cache_size=0)))
    assert table.get(b"key000007") == b"value7"
    scan = pickle.loads(pickle.dumps(table.scan(["key"], prefix=b"key0001")))
    assert pa.table(scan).num_rows == 100
    assert scan.columns == ["key"]


def test_errors(small: Path, tmp_path: Path) -> None:
    with pytest.raises(sstkit.NotFound, match="absent.sst") as missing:
        sstkit.Table(tmp_path / "absent.sst")
    assert isinstance(missing.value, (sstkit.Error, FileNotFoundError))
    error = pickle.loads(pickle.dumps(missing.value))
    assert isinstance(error, sstkit.NotFound) and str(error) == str(missing.value)
    (tmp_path / "text.sst").write_text("no table")
    with pytest.raises(sstkit.Corrupt):
        sstkit.Table(tmp_path / "text.sst")
    table = sstkit.Table(small)
    with pytest.raises(sstkit.InvalidInput, match="no column"):
        table.scan(["keys"])
    with pytest.raises(TypeError, match="did you mean \"prefix\""):
        table.scan(prefx=b"a")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="limit"):
        table.scan(limit="many")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected bytes or str, found int"):
        table.get(7)  # type: ignore[arg-type]


def test_split_keys(testdata: Path, tmp_path: Path) -> None:
    with sstkit.TableWriter(tmp_path / "table.sst", block_size=256) as writer:
        for number in range(1000):
            writer.put(b"key%06d" % number, b"value")
    with sstkit.Table(tmp_path / "table.sst") as table:
        splits = table.split_keys(2)
        assert len(splits) == 1
        halves = [table.scan(["key"], end=splits[0]), table.scan(["key"], start=splits[0])]
        sizes = [len(list(half)) for half in halves]
        assert sum(sizes) == 1000 and min(sizes) > 400
    with sstkit.Database(testdata / "databases" / "rocksdb-leveled-bloom") as database:
        assert len(database.split_keys(4, column_family="default")) == 3


def test_encoded_keys() -> None:
    rows = pa.table({"a": ["x", "y"], "b": pa.array([1, -1], pa.int16())})
    assert sstkit.encode_keys(rows, ["a", "b"]) == [b"x\0\1\x80\1", b"y\0\1\x7f\xff"]
    assert sstkit.encode_keys(rows, "a") == [b"x", b"y"]
    with pytest.raises(sstkit.InvalidInput, match="c"):
        sstkit.encode_keys(rows, "c")
