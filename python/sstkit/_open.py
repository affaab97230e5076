"""Functions for paths that may be tables or databases."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ._errors import InvalidInput
from ._native import Database, Scan, Table, is_folder
from ._types import DatabaseReadOptions, TableReadOptions

# The options that open a table or database.
OPENING = {*TableReadOptions.__annotations__, *DatabaseReadOptions.__annotations__}


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
    columns: Sequence[str] | None = None,
    *,
    column_family: str | None = None,
    **options: Any,
) -> Scan:
    """Scan a table file, a database or a directory of tables, as an Arrow stream.

    The options are those of `Table.scan`, and those of `open`, as `merge_operator`. The result can be queried:
    `rows = sstkit.scan("000011.sst"); duckdb.sql("select count(*) from rows")`.
    """
    opening = {name: options.pop(name) for name in list(options) if name in OPENING}
    source = open(path, **opening)
    if isinstance(source, Database):
        return source.scan(columns, column_family=column_family, **options)
    if column_family is not None:
        raise InvalidInput(f"{source.path}: a table has no column families")
    return source.scan(columns, **options)


def verify(path: str | os.PathLike[str], **options: Any) -> list[dict[str, Any]]:
    """Read all of a table, a database or a directory of tables and report every problem.

    The options are those of `open`. One dictionary for each file, as `sst verify --format json` prints
    them.
    """
    source = open(path, **options)
    return [source.verify()] if isinstance(source, Table) else source.verify()
