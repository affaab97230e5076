"""The same calls on paths of an object store: a real S3 server of the tests."""

import os
import pickle
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import sst
from test_writing import KEYS, ROWS, VALUES, ingested, rows

import sstkit

EXPECTED = sorted(zip(KEYS, VALUES))


@pytest.fixture
def bucket(tmp_path: Path) -> str:
    """An address that no other test uses."""
    return f"{os.environ['BUCKET']}/{tmp_path.name}"


def test_a_table(bucket: str, tmp_path: Path) -> None:
    path = f"{bucket}/users.sst"
    report = sstkit.build(rows(), path, key="k", value="v")
    assert report["output"] == path and report["manifest"]["entries"] == ROWS
    table = sstkit.Table(path)
    assert table.path == path and table.comparator == "leveldb.BytewiseComparator"
    assert table.get(KEYS[7]) == VALUES[7] and table.get(b"absent") is None
    assert table.get_many(KEYS[:100]) == VALUES[:100]
    assert list(table.scan()) == EXPECTED
    assert pa.table(sstkit.scan(path, ["key"]))["key"].to_pylist() == [key for key, _ in EXPECTED]
    assert table.verify()["sound"]
    assert [table.info()] == sst("info", path)
    again = pickle.loads(pickle.dumps(table))
    assert again.path == path and again.get(KEYS[7]) == VALUES[7]
    scan = pickle.loads(pickle.dumps(table.scan(prefix=b"key0000")))
    assert list(scan) == [pair for pair in EXPECTED if pair[0].startswith(b"key0000")]
    # The bytes are those of a local table, so RocksDB ingests them.
    local = tmp_path / "local.sst"
    sstkit.build(rows(), local, key="k", value="v")
    assert list(sstkit.diff(table, sstkit.Table(local), internal=True)) == []
    with pytest.raises(sstkit.Error, match="already"):
        sstkit.build(rows(), path, key="k", value="v")
    sstkit.build(rows().slice(0, 3), path, key="k", value="v", replace=True)
    assert len(list(sstkit.Table(path).scan())) == 3


def test_a_directory(bucket: str) -> None:
    out = f"{bucket}/tables"
    report = sstkit.build(rows(), out, key="k", value="v", max_file_size=20_000, compression="none")
    assert len(report["manifest"]["files"]) > 3
    database = sstkit.open(out)
    assert isinstance(database, sstkit.Database) and database.path == out
    assert list(database.scan()) == EXPECTED
    assert database.size == report["manifest"]["bytes"]
    assert all(checked["sound"] for checked in sstkit.verify(out))
    with pytest.raises(sstkit.Error, match="objects already"):
        sstkit.build(rows(), out, key="k", value="v", max_file_size=20_000)


def test_what_is_not_there(bucket: str) -> None:
    with pytest.raises(sstkit.NotFound):
        sstkit.Table(f"{bucket}/absent.sst")
    with pytest.raises(sstkit.NotFound):
        sstkit.open(f"{bucket}/absent")
    with pytest.raises(sstkit.InvalidInput, match="path of this machine"):
        sstkit.TableWriter(f"{bucket}/users.sst")
    with pytest.raises(sstkit.InvalidInput, match="path of this machine"):
        sstkit.salvage(f"{bucket}/users.sst")
    with pytest.raises(sstkit.InvalidInput, match="there is no plan"):
        sstkit.Plan(f"{bucket}/absent")


def test_parts(bucket: str, tmp_path: Path) -> None:
    out = f"{bucket}/out"
    plan = sstkit.plan(out, data=rows(), parts=4, key="k", value="v", compression="none")
    assert plan.path == out
    with pytest.raises(sstkit.InvalidInput, match="plan already"):
        sstkit.plan(out)
    plan = pickle.loads(pickle.dumps(plan))
    table = rows().sort_by("k")
    of_rows = pa.array([plan.part_of(key) for key in table["k"].to_pylist()])
    for part in range(plan.parts):
        mine = table.filter(pa.compute.equal(of_rows, part))
        for attempt in ("a", "b"):  # a retry
            with sstkit.PartWriter(plan if part else out, part, attempt) as writer:
                writer.write(mine, key="k", value="v")
    with pytest.raises(sstkit.InvalidInput, match="already"):
        sstkit.PartWriter(plan, 0, "a").finish()
    with pytest.raises(sstkit.NotFound):
        sstkit.open(f"{out}/manifest.json")
    report = sstkit.commit(out, attempts={2: "b"}, entries=table.num_rows)
    assert len(report["left_over"]) == 4
    assert sstkit.commit(out)["manifest"] == report["manifest"], "a second commit finds the same"
    with pytest.raises(sstkit.InvalidInput, match="commit of this plan has begun"):
        plan.discard()
    cleaned = sstkit.commit(out, clean=True)
    assert cleaned["left_over"] == [] and cleaned["manifest"] == report["manifest"]
    assert not sstkit._native.is_folder(f"{out}/_sstkit")
    assert list(sstkit.scan(out)) == EXPECTED
    assert any("-000002-b-" in file["name"] for file in report["manifest"]["files"])
    # Tables as RocksDB gets them: copied to a disk.
    local = tmp_path / "tables"
    local.mkdir()
    for file in report["manifest"]["files"]:
        copied(f"{out}/{file['name']}", local / file["name"])
    assert ingested(tmp_path / "db", *sorted(local.iterdir())) == dict(EXPECTED)


def copied(address: str, path: Path) -> None:
    """A table, entry by entry."""
    with sstkit.Table(address) as table, sstkit.TableWriter(path, readable_by="9.8") as writer:
        writer.write(table.scan())


def test_a_plan_is_discarded(bucket: str) -> None:
    out = f"{bucket}/out"
    plan = sstkit.plan(out, splits=["m"])
    sstkit.PartWriter(plan, 0, "a").finish()
    plan.discard()
    with pytest.raises(sstkit.InvalidInput, match="there is no plan"):
        sstkit.commit(out)
    plan = sstkit.plan(out, splits=["m"])
    for part in range(2):
        with sstkit.PartWriter(plan, part, "a") as writer:
            writer.put("a" if part == 0 else "z", "1")
    assert sstkit.commit(out, clean=True)["manifest"]["entries"] == 2


def test_databases(bucket: str, testdata: Path, tmp_path: Path) -> None:
    """Of the engines, uploaded by another tool."""
    name = "rocksdb-column-families"
    shutil.copytree(testdata / "databases" / name, tmp_path / "db")
    upload(tmp_path / "db", f"{bucket}/db")
    local, remote = sstkit.Database(tmp_path / "db"), sstkit.Database(f"{bucket}/db")
    assert remote.column_families == local.column_families
    for family in local.column_families:
        assert list(remote.scan(column_family=family)) == list(local.scan(column_family=family))


def upload(folder: Path, address: str) -> None:
    import urllib.request

    for path in sorted(folder.iterdir()):
        if path.is_file():
            url = f"{os.environ['AWS_ENDPOINT_URL']}/{address.removeprefix('s3://')}/{path.name}"
            request = urllib.request.Request(url, data=path.read_bytes(), method="PUT")
            request.add_header("Authorization", "AWS test:test")
            request.add_header("Content-Type", "application/octet-stream")
            urllib.request.urlopen(request).close()
