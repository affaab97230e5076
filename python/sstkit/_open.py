"""Functions for paths that may be tables or databases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._native import Database, Scan, Table


def open(path: str | os.PathLike[str], **options: Any) -> Table | Database:
    """Open a table file, a database or a directory of tables."""
    return Database(path, **options) if Path(path).is_dir() else Table(path, **options)


def scan(
    path: str | os.PathLike[str],
    columns: list[str] | None = None,
    *,
    column_family: str | None = None,
    **options: Any,
) -> Scan:
    """Scan a table file, a database or a directory of tables, as an Arrow stream.

    The options are those of `Table.scan`. The result can be queried:
    `rows = sstkit.scan("000011.sst"); duckdb.sql("select count(*) from rows")`.
    """
    source = open(path)
    if isinstance(source, Table):
        return source.scan(columns, **options)
    return source.scan(columns, column_family=column_family, **options)


def verify(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read all of a table, a database or a directory of tables and report every problem.

    One dictionary for each file, as `sst verify --format json` prints them.
    """
    source = open(path)
    return [source.verify()] if isinstance(source, Table) else source.verify()
