"""A data frame into tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._errors import InvalidInput
from .._native import Plan, is_folder, plan
from .._open import is_address
from . import _splits, _tasks
from ._routing import PART, routed
from ._tasks import PartTask, Written

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def write(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    key: str | Sequence[str],
    value: str | Sequence[str],
    splits: int | Sequence[Any] | None = None,
    shards: Sequence[Any] = (),
    restart: bool = False,
    verify: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Write a data frame as tables that do not overlap, sorted by key, with a `manifest.json`.

    `path` is a new or empty directory that all executors and the driver share, or such an address in
    an object store, as "s3://bucket/path", whose settings are variables of the environment of all of
    them. `key` and `value`,
    and `values_as` and `kind` among the options, are those of `sstkit.build`, and so are the options of
    tables. `splits` is the number of parts, whose split keys are then found by two passes over the
    data, which also check the number of rows; or a list of keys, in order: one part begins at each.
    By default parts have about 256 MiB. `shards` are keys at which the target system splits, in order: no
    part, and so no table, has keys of two shards. Each part is a task, and has one table or several
    (`max_file_size`).

    The output appears at once, when everything is written and checked; after an error there is none. If
    the driver is lost, `restart=True` removes what it has left. `verify` reads all tables once more on
    the driver. The result is that of `sstkit.commit`.
    """
    out = absolute(path)
    keys, values = names(key), names(value)
    if restart:
        restarted(out)
    row_columns: dict[str, Any] = {"key": key, "value": value}
    for name in ("values_as", "kind"):
        if options.get(name) is not None:
            row_columns[name] = options.pop(name)
    found = _splits.find(df, keys, values, splits, shards)
    made = plan(out, splits=found.keys, **options)
    task = PartTask(out, made.id, row_columns, sorted=not has_floats(df, keys))

    def write_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        report = task.run(batches, _tasks.task_attempt()).to_json()
        yield pa.RecordBatch.from_pydict({"report": [report]})

    try:
        wanted = list(dict.fromkeys([*keys, *values, *names(row_columns.get("kind"))]))
        rows = routed(df.select(*wanted), keys, found.rows)
        reports = rows.select(*wanted, PART).mapInArrow(write_partition, "report string").collect()
        return _tasks.commit_tasks(
            out,
            [Written.from_json(row.report) for row in reports],
            entries=found.counted,
            verify=verify,
        )
    except BaseException:
        _tasks.discard(out)
        raise


def names(given: str | Sequence[str] | None) -> list[str]:
    """One name or several."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def has_floats(df: DataFrame, key: list[str]) -> bool:
    """Spark sorts -0.0 and 0.0 as equal, so that the parts sort these again."""
    return any(df.schema[name].dataType.typeName() in ("float", "double") for name in key)


def absolute(path: str | os.PathLike[str]) -> str:
    """The output as all executors know it."""
    return os.fspath(path) if is_address(path) else os.path.abspath(path)


def restarted(out: str) -> None:
    """Removes the plan of a lost driver."""
    if not is_folder(f"{out.rstrip('/')}/_sstkit"):
        return
    try:
        found = Plan(out)
    except InvalidInput:
        # What a removal has left.
        if not is_address(out):
            raise
        return
    try:
        found.discard()
    except InvalidInput as error:
        raise InvalidInput(f"{error}; sstkit.commit({out!r}) completes it") from None
