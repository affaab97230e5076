"""Queries over scans, with the engines that people have."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import sstkit


def test_duckdb(small: Path) -> None:
    rows = sstkit.scan(small)
    query = "select count(*), min(key), max(value) from rows where key >= 'key000500'::blob"
    expected = [(500, b"key000500", b"value999")]
    assert duckdb.sql(query).fetchall() == expected  # type: ignore[union-attr]
    assert duckdb.sql(query).fetchall() == expected, "twice"  # type: ignore[union-attr]


def test_polars(small: Path) -> None:
    frame = pl.DataFrame(sstkit.scan(small, prefix=b"key0001"))
    assert frame.shape == (100, 2)
    counted = pl.SQLContext(rows=frame).execute("select count(*) as n from rows", eager=True)
    assert counted["n"].to_list() == [100]


def test_from_sql_to_a_table(tmp_path: Path) -> None:
    squares: Any = duckdb.sql("select i as id, i * i as square from range(1000) t(i) order by random()")
    sstkit.build(squares, tmp_path / "squares.sst", key="id", value="square")
    read = pa.table(sstkit.scan(tmp_path / "squares.sst", key_types=[("id", "int64")]))
    assert read["id"].to_pylist() == list(range(1000))
    assert int.from_bytes(read["value"][31].as_py(), "big") == 961
    assert pc.sum(read["id"]).as_py() == 499_500
