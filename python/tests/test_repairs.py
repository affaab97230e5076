"""Filters of existing tables, differences, and what is left of damaged files."""

from pathlib import Path
from typing import Any

import pytest
from conftest import sst
from test_writing import ingested

import sstkit


def without(report: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: of for name, of in report.items() if name not in names}


def test_refilter(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.sst"
    report = sstkit.refilter(small, out, "ribbonfilter:12")
    assert sstkit.Table(out).filter_report()["kind"] == "ribbon128"
    assert list(sstkit.diff(sstkit.Table(small), sstkit.Table(out))) == []
    expected = sst("refilter", small, "-o", tmp_path / "2.sst", "--filter", "ribbonfilter:12")[0]
    assert report.keys() == expected.keys()
    assert dict(sstkit.scan(out)) == ingested(tmp_path / "db", out)
    with pytest.raises(sstkit.InvalidInput, match="give filter"):
        sstkit.refilter(small, tmp_path / "3.sst")


def test_refilter_database(testdata: Path, tmp_path: Path) -> None:
    source = testdata / "databases" / "rocksdb-leveled-bloom"
    out = tmp_path / "db"
    sstkit.refilter(source, out, "bloomfilter:14", per_level={6: "none"})
    with sstkit.Database(source) as before, sstkit.Database(out) as after:
        assert list(sstkit.diff(before, after)) == []
        for report in after.filter_report():
            assert report["kind"] == ("none" if report["level"] == 6 else "fast_local_bloom")


def test_refilter_in_a_budget(testdata: Path, tmp_path: Path) -> None:
    source = testdata / "databases" / "rocksdb-leveled-bloom"
    budget = 4 * sum(report["bytes"] for report in sstkit.Database(source).filter_report()) // 5
    out = tmp_path / "db"
    report = sstkit.refilter(source, out, "ribbonfilter", budget=budget, hit_rate=0.5)
    options = ["--filter", "ribbonfilter", "--budget", budget, "--hit-rate", "0.5", "--dry-run"]
    planned = sst("refilter", source, *options)[0]["levels"]
    assert [it["policy"] for it in report["levels"]] == [it["policy"] for it in planned]
    reports = sstkit.Database(out).filter_report()
    assert 0 < sum(report["bytes"] for report in reports) <= 1.05 * budget
    with pytest.raises(sstkit.InvalidInput, match="budget determines"):
        sstkit.refilter(source, tmp_path / "2", "bloomfilter:10", budget=budget)
    with pytest.raises(sstkit.InvalidInput, match="hit_rate"):
        sstkit.refilter(source, tmp_path / "2", "bloomfilter:10", hit_rate=0.5)


def test_internal_diff(testdata: Path, small: Path, tmp_path: Path) -> None:
    path = testdata / "databases" / "rocksdb-range-deletes"
    with sstkit.Database(path) as database, sstkit.Table(small) as table:
        found = list(sstkit.diff(table, database, internal=True))
        assert found == sst("diff", small, path, "--internal")
        assert found[-1]["b"]["type"] == "range_delete"
        assert list(sstkit.diff(database, database, internal=True)) == []


def test_diff(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sst"
    with sstkit.TableWriter(other) as writer:
        writer.put(b"added", b"1")
        writer.put(b"key000007", b"changed")
    found = list(sstkit.diff(sstkit.Table(small), sstkit.Table(other), end=b"key000008"))
    changes = [difference["change"] for difference in found]
    assert changes == ["added"] + ["removed"] * 7 + ["changed"]
    assert found == sst("diff", small, other, "--to", "key000008")


def test_diff_of_a_database(testdata: Path, small: Path) -> None:
    path = testdata / "databases" / "rocksdb-leveled-bloom"
    found = list(sstkit.diff(sstkit.Table(small), sstkit.Database(path)))
    assert found == sst("diff", small, path)


def test_salvage(small: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sst"
    data = bytearray(small.read_bytes())
    data[100] ^= 1
    damaged.write_bytes(data)
    assert not sstkit.Table(damaged).verify()["sound"]
    dry = sstkit.salvage(damaged)
    assert without(dry, "seconds") == without(sst("salvage", damaged)[0], "seconds")
    out = tmp_path / "saved.sst"
    report = sstkit.salvage(damaged, out)
    saved: dict[bytes, bytes] = dict(sstkit.scan(out))
    assert 0 < len(saved) < 1000 and not report["complete"]
    assert saved.items() <= dict(sstkit.scan(small)).items()
    assert sstkit.Table(out).verify()["sound"]


def test_salvage_of_a_database(testdata: Path, tmp_path: Path) -> None:
    source = testdata / "databases" / "rocksdb-leveled-bloom"
    report = sstkit.salvage(source, tmp_path / "db")
    assert report["complete"]
    before, after = sstkit.Database(source), sstkit.Database(tmp_path / "db")
    assert list(sstkit.diff(before, after)) == []
