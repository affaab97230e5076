"""Damaged files give exceptions of this package, never a panic of its native part (which is a `BaseException`)."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sstkit

# What a stream fails with is an exception of its consumer.
EXPECTED = (sstkit.Error, pa.ArrowException, OSError)

ALL = ["key", "value", "timestamp", "columns", "merge"]


def read_all(path: Path) -> int:
    """Calls everything that reads; the number of calls that failed."""
    source = sstkit.open(path)
    names: dict[str, Any] = {} if isinstance(source, sstkit.Table) else {"column_family": None}
    calls: list[Callable[[], object]] = [
        lambda: source.get(b"key"),
        lambda: source.get_many([b"", b"key", b"\xff" * 20]),
        lambda: source.explain(b"key"),
        lambda: pa.table(source.scan(ALL, **names)),
        lambda: pa.table(source.scan(["key"], reverse=True, **names)),
        lambda: pa.table(source.scan([*ALL, "sequence", "kind", "file"], versions=True, **names)),
        lambda: pa.table(source.scan(key_types=[("a", "string"), ("b", "int64")], **names)),
        lambda: sum(1 for _ in source.scan(binary_layout="binary_view", threads=2, **names)),
        lambda: source.info(),
        lambda: source.filter_report(measure=10),
        lambda: source.verify(),
        lambda: source.stats(),
        lambda: source.split_keys(4),
        lambda: (source.size, source.comparator),
        lambda: sum(1 for _ in sstkit.diff(source, source)),
        lambda: sum(1 for _ in sstkit.diff(source, source, internal=True)),
    ]
    if isinstance(source, sstkit.Table):
        calls += [lambda: source.layout(), lambda: source.layout(blocks=True), lambda: source.info(full=True)]
    failed = 0
    for call in calls:
        try:
            call()
        except EXPECTED:
            failed += 1
    return failed


def damaged_copies(original: bytes, count: int) -> list[bytes]:
    generator = random.Random(7)
    copies = []
    for _ in range(count):
        copy = bytearray(original)
        for _ in range(generator.choice([1, 1, 3, 20])):
            copy[generator.randrange(len(copy))] ^= 1 << generator.randrange(8)
        if generator.randrange(4) == 0:
            del copy[generator.randrange(len(copy)) :]
        copies.append(bytes(copy))
    return copies


def test_files_of_the_repository(testdata: Path) -> None:
    read = 0
    for path in sorted((testdata / "damaged").rglob("*")):
        if path.is_file() and path.suffix != ".md":
            try:
                read_all(path)
            except EXPECTED:
                pass
            read += 1
    assert read >= 6


@pytest.mark.parametrize("verified", [True, False])
def test_flipped_bits(testdata: Path, tmp_path: Path, verified: bool) -> None:
    tables = sorted(testdata.glob("tables/**/*.sst")) + sorted(testdata.glob("tables/**/*.ldb"))
    assert len(tables) > 50
    failed = 0
    for path in tables[::9]:
        for copy in damaged_copies(path.read_bytes(), 6):
            (tmp_path / "table.sst").write_bytes(copy)
            try:
                if verified:
                    failed += read_all(tmp_path / "table.sst")
                else:
                    table = sstkit.Table(tmp_path / "table.sst", verify_checksums=False)
                    pa.table(table.scan(ALL))
            except EXPECTED:
                failed += 1
    assert failed > 20


def test_flipped_bits_in_databases(testdata: Path, tmp_path: Path) -> None:
    failed = 0
    for name in ["rocksdb-leveled-bloom", "leveldb-bloom-snappy"]:
        original = testdata / "databases" / name
        for file in sorted(path.name for path in original.iterdir() if path.is_file())[:8]:
            shutil.rmtree(tmp_path / "db", ignore_errors=True)
            shutil.copytree(original, tmp_path / "db")
            contents = (original / file).read_bytes()
            for copy in damaged_copies(contents, 3) if contents else []:
                (tmp_path / "db" / file).write_bytes(copy)
                try:
                    failed += read_all(tmp_path / "db")
                except EXPECTED:
                    failed += 1
    assert failed > 0


def test_any_bytes_are_a_filter() -> None:
    generator = random.Random(7)
    for length in range(80):
        filter = sstkit.Filter(generator.randbytes(length))
        assert filter.may_contain(b"key") in (True, False)
        assert len(filter.may_contain_many([b"a", b""])) == 2
        filter.stats()


def test_any_text_is_a_plan(tmp_path: Path) -> None:
    plan = sstkit.plan(tmp_path / "out", splits=["m"])
    path = tmp_path / "out" / "_sstkit" / "plan.json"
    original = path.read_bytes()
    for copy in [b"", b"{}", b"[]", *damaged_copies(original, 300)]:
        path.write_bytes(copy)
        try:
            sstkit.PartWriter(sstkit.Plan(tmp_path / "out"), 0, "x").abandon()
        except sstkit.Error:
            pass
    path.write_bytes(original)
    assert sstkit.Plan(tmp_path / "out").id == plan.id
