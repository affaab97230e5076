"""Builds in parts."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import sst
from test_writing import KEYS, VALUES, ingested, rows

import sstkit


def test_parts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    plan = sstkit.plan(out, data=rows(), parts=4, key="k", value="v", compression="none")
    assert plan.parts == 4 and len(plan.splits) == 3
    assert [plan.part_of(key) for key in plan.splits] == [1, 2, 3]
    plan = pickle.loads(pickle.dumps(plan))
    assert plan.id == sstkit.Plan(out).id
    table = rows().sort_by("k")
    of_rows = pa.array([plan.part_of(key) for key in table["k"].to_pylist()])
    for part in range(plan.parts):
        for attempt in ("a", "b"):  # a retry
            with sstkit.PartWriter(plan, part, attempt) as writer:
                mine = table.filter(pa.compute.equal(of_rows, part))
                assert writer.write(mine, key="k", value="v") == mine.num_rows
    with pytest.raises(sstkit.InvalidInput, match="belongs to part"):
        sstkit.PartWriter(out, 0, "c").put(table["k"][-1].as_py(), b"")
    report = sstkit.commit(out, attempts={2: "b"}, entries=table.num_rows)
    assert report["manifest"]["entries"] == table.num_rows
    assert len(report["left_over"]) == 4
    assert report == sst("commit", out)[0], "a second commit finds the same"
    tables = sorted(out.glob("*.sst"))
    assert ingested(tmp_path / "db", *tables) == dict(zip(KEYS, VALUES))
    assert all(report["sound"] for report in sstkit.verify(out))
    assert pa.table(sstkit.scan(out)).num_rows == table.num_rows


def test_given_splits(tmp_path: Path) -> None:
    plan = sstkit.plan(tmp_path / "out", splits=[b"g", "p"], readable_by="9.8")
    assert plan.splits == [b"g", b"p"]
    with pytest.raises(sstkit.InvalidInput, match="plan already"):
        sstkit.plan(tmp_path / "out")
    with pytest.raises(sstkit.InvalidInput, match="splits, or data and parts"):
        sstkit.plan(tmp_path / "other", parts=3)
    writer = sstkit.PartWriter(tmp_path / "out", 1, "first", sorted=False)
    writer.put("h", "2")
    writer.delete("g")
    report = writer.finish()
    assert (report["part"], report["attempt"]) == (1, "first")
    assert report["manifest"]["entries"] == 2


def test_a_plan_is_discarded(tmp_path: Path) -> None:
    out = tmp_path / "out"
    plan = sstkit.plan(out, splits=["m"])
    sstkit.PartWriter(plan, 0, "a").finish()
    late = sstkit.PartWriter(plan, 1, "a")
    late.put("n", "1")
    plan.discard()
    assert list(out.iterdir()) == []
    with pytest.raises(sstkit.Error):
        late.finish()
    plan = sstkit.plan(out, splits=["m"])
    for part in range(2):
        sstkit.PartWriter(plan, part, "a").finish()
    sstkit.commit(out)
    with pytest.raises(sstkit.InvalidInput, match="has begun"):
        plan.discard()


def test_kinds_of_entries(tmp_path: Path) -> None:
    plan = sstkit.plan(tmp_path / "out", splits=[])
    with sstkit.PartWriter(plan, 0, "a") as writer:
        writer.put("a", "1")
        writer.delete("b")
        writer.merge("c", "+1")
        writer.single_delete("d")
    sstkit.commit(tmp_path / "out")
    rows = sstkit.scan(tmp_path / "out", ["key", "kind", "value"], versions=True)
    assert list(rows) == [
        (b"a", "put", b"1"),
        (b"b", "delete", b""),
        (b"c", "merge", b"+1"),
        (b"d", "single_delete", b""),
    ]
