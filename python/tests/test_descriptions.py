"""Dictionaries have the fields of the command's JSON, and scans the rows of `sst scan`."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import sst

import sstkit


def tables(testdata: Path) -> list[Path]:
    found = [path for path in testdata.glob("**/*") if path.suffix in (".sst", ".ldb")]
    assert len(found) > 100
    return sorted(found)


def databases(testdata: Path) -> list[Path]:
    found = [path.parent for path in testdata.glob("**/CURRENT")]
    assert len(found) > 20
    return sorted(found)


COLUMNS = ["key", "value", "timestamp", "columns", "merge"]


def rows(scan: sstkit.Scan) -> list[dict[str, Any]]:
    """Rows with the fields that `sst scan --encoding hex` prints."""
    found = []
    for row in pa.table(scan).to_pylist():
        value = None if row["value"] is None else row["value"].hex()
        shown: dict[str, Any] = {"key": row["key"].hex(), "value": value}
        if row["timestamp"] is not None:
            shown["timestamp"] = row["timestamp"].hex()
        if row["columns"] is not None:
            shown["columns"] = [[name.hex(), of.hex()] for name, of in row["columns"]]
        if row["merge"] is not None:
            shown["merge"] = [operand.hex() for operand in row["merge"]]
        found.append(shown)
    return found


def printed(*arguments: object) -> list[dict[str, Any]] | None:
    """What `sst scan` prints, without what it derives from it; None if it fails."""
    try:
        lines = sst("scan", *arguments, "--encoding", "hex")
    except AssertionError:
        return None
    names = {"key", "value", "timestamp", "columns", "merge"}
    return [{name: of for name, of in line.items() if name in names} for line in lines]


def test_every_table_is_scanned_as_by_the_command(testdata: Path) -> None:
    read = 0
    for path in tables(testdata):
        expected = printed(path)
        if expected is None:
            with pytest.raises((sstkit.Error, pa.ArrowException, OSError)):
                rows(sstkit.Table(path).scan(COLUMNS))
            continue
        assert rows(sstkit.Table(path).scan(COLUMNS)) == expected, path
        read += 1
    assert read > 100


def test_every_database_is_scanned_as_by_the_command(testdata: Path) -> None:
    read = 0
    for path in databases(testdata):
        try:
            database = sstkit.Database(path)
        except sstkit.Error:
            assert sst_fails("scan", path), path
            continue
        for family in database.column_families:
            if "\0" in family:  # which no argument of a process can have
                continue
            expected = printed(path, "--column-family", family, "--ttl=off")
            if expected is None:
                with pytest.raises((sstkit.Error, pa.ArrowException, OSError)):
                    rows(database.scan(COLUMNS, column_family=family))
                continue
            assert rows(database.scan(COLUMNS, column_family=family)) == expected, (path, family)
            read += 1
    assert read > 20


def sst_fails(*arguments: object) -> bool:
    try:
        sst(*arguments)
    except AssertionError:
        return True
    return False


def test_descriptions_are_the_json_of_the_command(testdata: Path) -> None:
    described = 0
    for path in tables(testdata)[::7]:
        try:
            table = sstkit.Table(path)
        except sstkit.Error:
            continue
        assert [table.info()] == sst("info", path), path
        assert [table.info(full=True)] == sst("info", path, "--full"), path
        if not sst_fails("layout", path):
            assert table.layout() == sst("layout", path), path
            assert table.layout(blocks=True) == sst("layout", path, "--blocks"), path
        assert [table.verify()] == sst("verify", path), path
        if not sst_fails("filter", path):
            measured = sst("filter", path, "--measure", 1000)
            assert [table.filter_report(measure=1000)] == measured, path
            assert [table.stats(top=3)] == sst("stats", path, "--top", 3), path
        described += 1
    assert described > 10


def test_descriptions_of_databases(testdata: Path) -> None:
    described = 0
    for path in databases(testdata)[::3]:
        try:
            database = sstkit.Database(path)
        except sstkit.Error:
            continue
        assert [database.info()] == sst("info", path), path
        assert database.verify() == sst("verify", path), path
        if not sst_fails("filter", path):
            assert database.filter_report() == sst("filter", path), path
            for layout in database.layout():
                assert layout["blocks"] == sst("layout", layout["file"]), layout["file"]
            assert [database.stats(by_prefix=2)] == sst("stats", path, "--by-prefix", 2), path
        described += 1
    assert described > 5


def test_explanations(small: Path, testdata: Path) -> None:
    for key in ["key000007", "absent"]:
        expected = sst("get", "--explain", small, key)
        assert [sstkit.Table(small).explain(key)] == expected
    path = testdata / "databases" / "rocksdb-leveled-bloom"
    key = next(iter(sstkit.Database(path).scan(["key"], limit=1)))[0].decode()
    assert [sstkit.Database(path).explain(key)] == sst("get", "--explain", path, key)


def test_column_families(testdata: Path) -> None:
    path = testdata / "databases" / "rocksdb-column-families"
    database = sstkit.open(path)
    assert isinstance(database, sstkit.Database)
    assert len(database.column_families) > 1
    name = database.column_families[-1]
    key, value = next(iter(database.scan(column_family=name)))
    assert database.get(key, column_family=name) == value
    assert database.get_many([key], column_family=name) == [value]
    with pytest.raises(sstkit.InvalidInput, match="no column family"):
        database.get(key, column_family="absent")
