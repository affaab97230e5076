"""From data frames to tables, with everything going wrong that can."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import HAS_DATA_SOURCES, contents, numbers, rocksdb
from pyspark import TaskContext
from pyspark.sql import SparkSession

import sstkit
import sstkit.spark
from sstkit.spark._tasks import PartTask

ROWS = 4000


def check(spark: SparkSession, out: Path, expected: dict[bytes, bytes], report: Any) -> None:
    """The output is the rows and nothing else, for this library and for RocksDB."""
    manifest = report["manifest"]
    names = [file["name"] for file in manifest["files"]]
    assert sorted(os.listdir(out)) == sorted(["manifest.json", *names]), "nothing is left over"
    assert manifest["entries"] == len(expected)
    bounds = [(file["smallest"], file["largest"]) for file in manifest["files"]]
    assert all(a[1] < b[0] for a, b in zip(bounds, bounds[1:])), "no overlap"
    assert all(report["sound"] for report in sstkit.verify(out))
    assert dict(iter(sstkit.scan(out))) == expected
    assert rocksdb(spark, out.with_name("db"), [out / name for name in names]) == expected


def test_a_number_of_parts(spark: SparkSession, tmp_path: Path) -> None:
    df = numbers(spark, ROWS)
    out = tmp_path / "out"
    report = sstkit.spark.write(df, out, key="k", value="v", splits=5, compression="zstd")
    check(spark, out, contents(df), report)
    files = report["manifest"]["files"]
    assert len(files) == 5
    sizes = [file["entries"] for file in files]
    assert max(sizes) < 2 * ROWS / 5, "parts of about the same size"
    with pytest.raises(sstkit.InvalidInput, match="out"):
        sstkit.spark.write(df, out, key="k", value="v", splits=[])


def test_composite_keys_and_given_splits(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(1000).selectExpr(
        "case when id % 3 = 0 then 'de' else 'fr' end as country", "500 - id as n", "string(id) as v"
    )
    out = tmp_path / "out"
    splits: list[Any] = [("de", 0), ("fr", -100), ("zz", 0)]
    report = sstkit.spark.write(df, out, key=["country", "n"], value="v", splits=splits)
    scan = sstkit.scan(out, key_types=[("country", "string"), ("n", "int64")])
    rows = pa.table(scan).to_pylist()
    expected = sorted((row.country, row.n, row.v.encode()) for row in df.collect())
    assert [(row["country"], row["n"], row["value"]) for row in rows] == expected
    files = report["manifest"]["files"]
    assert [file["entries"] for file in files] == [
        sum(1 for row in expected if low <= row[:2] < high)
        for low, high in zip([("", 0), *splits], splits)
    ], "the last part is empty"


@pytest.mark.parametrize("splits", [None, 3, 8])
def test_shards(spark: SparkSession, tmp_path: Path, splits: int | None) -> None:
    """No table has keys of two shards."""
    df = spark.range(1000).selectExpr("if(id < 900, 'a', 'b') as shard", "1000 - id as n", "string(id) as v")
    out = tmp_path / "out"
    report = sstkit.spark.write(
        df, out, key=["shard", "n"], value="v", splits=splits, shards=[("a", 500), ("b", -1)]
    )
    assert report["manifest"]["entries"] == 1000
    tables = [
        list(sstkit.scan(out / file["name"], ["key"], key_types=[("shard", "string"), ("n", "int64")]))
        for file in report["manifest"]["files"]
    ]
    # The share of each shard is rounded, and the sample is drawn at random.
    assert abs(len(tables) - (splits or 3)) <= 1, len(tables)
    for keys in tables:
        assert len({(key >= ("a", 500), key >= ("b", -1)) for key in keys}) == 1
    sizes = [len(keys) for keys in tables]
    assert splits != 8 or max(sizes) < 250, sizes
    with pytest.raises(sstkit.InvalidInput, match="3 or more, the number of shards"):
        sstkit.spark.write(
            df, tmp_path / "2", key=["shard", "n"], value="v", splits=2, shards=[("a", 500), ("b", -1)]
        )
    with pytest.raises(sstkit.InvalidInput, match="not in order"):
        sstkit.spark.write(df, tmp_path / "2", key="shard", value="v", splits=3, shards=["b", "a"])
    with pytest.raises(sstkit.InvalidInput, match="as a number"):
        sstkit.spark.write(df, tmp_path / "2", key="shard", value="v", splits=["a"], shards=["b"])


def test_deletions(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(100).selectExpr(
        "string(id + 100) as k", "string(id) as v", "if(id % 2 = 0, 'put', 'delete') as op"
    )
    report = sstkit.spark.write(df, tmp_path / "out", key="k", value="v", kind="op", splits=["150"])
    assert report["manifest"]["entries"] == 100
    assert len(list(sstkit.scan(tmp_path / "out"))) == 50


class Accident:
    """What happens to the first attempt at part 1. It happens once."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.mark = kind, folder / "happened"

    def happens(self) -> bool:
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() != 1 or self.mark.exists():
            return False
        self.mark.touch()
        return True


def executor() -> int:
    """The process of the executor: the parent of the daemon that has started this worker."""
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(daemon.rsplit(")", 1)[1].split()[1])


@pytest.mark.parametrize("kind", ["before", "during", "after", "worker", "executor", "twin"])
def test_accidents(
    spark: SparkSession, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accident = Accident(kind, tmp_path)

    class Disturbed(PartTask):
        def run(self, batches: Iterable[Any], attempt: str) -> Any:
            if not accident.happens():
                return super().run(batches, attempt)
            if kind == "before":
                raise RuntimeError("before the first row")
            if kind == "after":
                super().run(batches, attempt)
                raise RuntimeError("after the attempt was finished")
            if kind == "twin":
                # What a speculative copy does: all of it, under a name of its own.
                rows = list(batches)
                super().run(rows, attempt + "-copy")
                return super().run(rows, attempt)
            return super().run(interrupted(batches), attempt)

    def interrupted(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if kind == "during":
                raise RuntimeError("in the middle of the rows")
            os.kill(os.getpid() if kind == "worker" else executor(), signal.SIGKILL)

    monkeypatch.setattr("sstkit.spark._write.PartTask", Disturbed)
    df = numbers(spark, ROWS)
    out = tmp_path / "out"
    report = sstkit.spark.write(df, out, key="k", value="v", splits=3)
    assert accident.mark.exists()
    check(spark, out, contents(df), report)


@pytest.mark.parametrize("kind", ["after", "worker", "twin"])
def test_accidents_in_an_object_store(
    spark: SparkSession, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accident = Accident(kind, tmp_path)

    class Disturbed(PartTask):
        def run(self, batches: Iterable[Any], attempt: str) -> Any:
            if not accident.happens():
                return super().run(batches, attempt)
            rows = list(batches)
            super().run(rows, attempt + "-copy" if kind == "twin" else attempt)
            if kind == "worker":
                os.kill(os.getpid(), signal.SIGKILL)
            if kind == "after":
                raise RuntimeError("after the attempt was uploaded")
            return super().run(rows, attempt)

    monkeypatch.setattr("sstkit.spark._write.PartTask", Disturbed)
    df = numbers(spark, ROWS)
    out = f"{os.environ['BUCKET']}/{tmp_path.name}"
    report = sstkit.spark.write(df, out, key="k", value="v", splits=3)
    assert accident.mark.exists()
    expected = contents(df)
    assert report["manifest"]["entries"] == len(expected)
    assert not sstkit._native.is_folder(f"{out}/_sstkit")
    assert all(checked["sound"] for checked in sstkit.verify(out))
    assert dict(iter(sstkit.scan(out))) == expected
    # All tables that are there are in the manifest.
    assert objects(out) == sorted(["manifest.json", *(it["name"] for it in report["manifest"]["files"])])
    if HAS_DATA_SOURCES:
        read = spark.read.format("sst").option("partitions", 4).load(out)
        assert {bytes(row.key): bytes(row.value) for row in read.collect()} == expected
    with pytest.raises(sstkit.InvalidInput, match="already exists"):
        sstkit.spark.write(df, out, key="k", value="v", splits=[])


def objects(address: str) -> list[str]:
    """The names of all objects below an address, from the server itself."""
    bucket, folder = address.removeprefix("s3://").split("/", 1)
    url = f"{os.environ['AWS_ENDPOINT_URL']}/{bucket}?list-type=2&prefix={folder}/"
    request = urllib.request.Request(url, headers={"Authorization": "AWS test:test"})
    with urllib.request.urlopen(request) as answer:
        found = re.findall("<Key>(.*?)</Key>", answer.read().decode())
    return sorted(name.removeprefix(f"{folder}/") for name in found)


def test_a_job_in_an_object_store_that_fails(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(PartTask):
        def run(self, batches: Iterable[Any], attempt: str) -> Any:
            super().run(batches, attempt)
            raise RuntimeError("every time")

    df = numbers(spark, 100)
    out = f"{os.environ['BUCKET']}/{tmp_path.name}"
    with monkeypatch.context() as patch, pytest.raises(Exception, match="every time"):
        patch.setattr("sstkit.spark._write.PartTask", Failing)
        sstkit.spark.write(df, out, key="k", value="v", splits=2)
    # Only what tells commits elsewhere that the plan is gone. Spark does not wait for the other tasks of a
    # job that has failed: each removes what it has uploaded when it sees that the plan is gone.
    deadline = time.monotonic() + 60
    while len(objects(out)) > 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    [left] = objects(out)
    assert left.startswith("_sstkit/") and left.endswith("/commit.json")
    sstkit.spark.write(df, out, key="k", value="v", splits=2)
    assert dict(iter(sstkit.scan(out))) == contents(df)
    assert not any("_sstkit" in name for name in objects(out))
    lost = f"{out}/lost"
    sstkit.plan(lost, splits=["a"])
    with pytest.raises(sstkit.InvalidInput, match="plan already"):
        sstkit.spark.write(df, lost, key="k", value="v", splits=[])
    report = sstkit.spark.write(df, lost, key="k", value="v", splits=[], restart=True)
    assert report["manifest"]["entries"] == 100


def test_a_job_that_fails_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(PartTask):
        def run(self, batches: Iterable[Any], attempt: str) -> Any:
            super().run(batches, attempt)
            raise RuntimeError("every time")

    df = numbers(spark, 100)
    out = tmp_path / "out"
    with monkeypatch.context() as patch, pytest.raises(Exception, match="every time"):
        patch.setattr("sstkit.spark._write.PartTask", Failing)
        sstkit.spark.write(df, out, key="k", value="v", splits=2)
    assert os.listdir(out) == []
    # The next one works.
    report = sstkit.spark.write(df, out, key="k", value="v", splits=2)
    check(spark, out, contents(df), report)


def test_a_lost_driver(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lost = "import sstkit, sys; p = sstkit.plan(sys.argv[1], splits=['a']); sstkit.PartWriter(p, 0, 'x').finish()"
    subprocess.run([sys.executable, "-c", lost, str(out)], check=True)
    df = numbers(spark, 100)
    with pytest.raises(sstkit.InvalidInput, match="plan already"):
        sstkit.spark.write(df, out, key="k", value="v", splits=[b"\0\1"])
    report = sstkit.spark.write(df, out, key="k", value="v", splits=[b"\0\1"], restart=True)
    check(spark, out, contents(df), report)


def test_duplicate_keys_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(10).selectExpr("string(id % 9) as k", "string(id) as v")
    with pytest.raises(Exception, match="twice|duplicate"):
        sstkit.spark.write(df, tmp_path / "out", key="k", value="v", splits=[])
    report = sstkit.spark.write(
        df, tmp_path / "out", key="k", value="v", splits=[], duplicates="last"
    )
    assert report["manifest"]["entries"] == 9
