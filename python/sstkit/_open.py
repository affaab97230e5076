"""Functions for paths that may be tables or databases."""

from __future__ import annotations

import os
from typing import Any

from ._native import Database, Scan, Table, is_folder


def open(path: str | os.PathLike[str], **options: Any) -> Table | Database:
    """Open a table file, a database or a directory of tables.

    The path may be an address in an object store, as "s3://bucket/path", whose settings are variables
    of the environment (`AWS_REGION` and so on).
    """
    return Database(path, **options) if is_folder(path) else Table(path, **options)


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an address in an object store, as s3://bucket/path."""
    return "://" in os.fspath(path)


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
