"""The format "sst" of PySpark 4: `spark.read.format("sst")` and `df.write.format("sst")`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from .. import _open
from .._errors import InvalidInput
from .._native import Database, Table, plan
from . import _checkpoint, _options, _tasks, _write
from ._key_columns import KeyColumns
from ._tasks import PartTask, Written

if TYPE_CHECKING:
    import pyarrow as pa

# Bytes of a partition of a read, unless their number is given.
BYTES_OF_PARTITION = 128 << 20

# The columns and their types in Spark.
TYPES = {
    "key": "binary",
    "value": "binary",
    "timestamp": "binary",
    "columns": "map<binary,binary>",
    "merge": "array<binary>",
    "column_family": "string",
    "sequence": "bigint",
    "kind": "string",
    "file": "string",
}

# Columns of stored versions.
OF_VERSIONS = {"sequence", "kind", "file"}

# Options that open a table or database.
OPENING = ("comparator", "merge_operator", "prefix_extractor")

# The order of bytes, which is that of Spark's binary columns.
BYTEWISE = "leveldb.BytewiseComparator"


class SstDataSource(DataSource):
    """Tables, directories of tables, databases and state stores."""

    @classmethod
    def name(cls) -> str:
        return "sst"

    def schema(self) -> str:
        columns = self.options.get("columns", "key,value").split(",")
        unknown = [name for name in columns if name not in TYPES]
        if unknown:
            raise InvalidInput(f"unknown column {unknown[0]!r} (expected {', '.join(TYPES)})")
        keys = key_columns(self.options)
        of_key = {"key": TYPES["key"]} if keys is None else keys.spark
        types = [of_key if name == "key" else {name: TYPES[name]} for name in columns]
        return ", ".join(f"{name} {of}" for some in types for name, of in some.items())

    def reader(self, schema: StructType) -> SstReader:
        return SstReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> SstWriter:
        return SstWriter(self.options, overwrite)


def key_columns(options: Mapping[str, str]) -> KeyColumns | None:
    """What keys are made of, if the options say it."""
    return KeyColumns(options["key_types"]) if "key_types" in options else None


@dataclass
class KeyRange(InputPartition):
    """Keys of one table, database or partition of a state store, without the last."""

    path: str
    is_state: bool
    start: bytes | None
    end: bytes | None


class SstReader(DataSourceReader):
    """Splits the keys by the indexes of the tables; a task reads one range of them."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        if not options.get("path"):
            raise InvalidInput("the format sst needs a path")
        self.path = options["path"]
        self.schema = schema
        self.keys = key_columns(options)
        self.column_family = options.get("column_family")
        self.opening = {name: options[name] for name in OPENING if name in options}
        self.state = (options.get("operator", "0"), options.get("store", "default"))
        version, parts = options.get("version"), options.get("partitions")
        self.version = None if version is None else _options.whole("version", version)
        self.parts = None if parts is None else _options.whole("partitions", parts)
        self.start: bytes | None = None
        self.end: bytes | None = None

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Takes the bounds of keys, if the order of the keys is that of Spark."""
        is_pushed = self.is_bytewise()
        for condition in filters:
            if not (is_pushed and self.take(condition)):
                yield condition

    def take(self, condition: Filter) -> bool:
        """Narrows the range of keys; false if that is not all that the condition says."""
        name = getattr(condition, "attribute", None)
        if name is None or name not in [(key,) for key in self.key_names()]:
            return False
        if isinstance(condition, IsNotNull):
            return True
        if not isinstance(
            condition, (EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)
        ):
            return False
        interval = self.interval(name[0], condition.value)
        if interval is None:
            return False
        key, after = interval
        if isinstance(condition, (EqualTo, GreaterThan, GreaterThanOrEqual)):
            start = after if isinstance(condition, GreaterThan) else key
            if start is None:
                return False
            self.start = start if self.start is None else max(self.start, start)
        if isinstance(condition, (EqualTo, LessThan, LessThanOrEqual)):
            end = key if isinstance(condition, LessThan) else after
            if end is not None:
                self.end = end if self.end is None else min(self.end, end)
        return True

    def key_names(self) -> list[str]:
        """The columns that are keys, or parts of them."""
        return ["key"] if self.keys is None else self.keys.names

    def interval(self, name: str, value: Any) -> tuple[bytes, bytes | None] | None:
        """The first key with a value, and the first one after all of these."""
        if self.keys is not None:
            return self.keys.interval(name, value)
        key = bytes(value)
        return key, key + b"\0"

    def is_bytewise(self) -> bool:
        """Whether keys are in the order of their bytes."""
        path, is_state = self.sources()[0]
        with self.opened(path, is_state) as source:
            if isinstance(source, Table):
                return source.comparator == BYTEWISE
            return source.comparator(column_family=self.column_family) == BYTEWISE

    def sources(self) -> list[tuple[str, bool]]:
        """What is read: state stores, or the path itself."""
        stores = _checkpoint.stores(self.path, *self.state)
        return [(store, True) for store in stores] or [(self.path, False)]

    @contextmanager
    def opened(self, path: str, is_state: bool) -> Iterator[Table | Database]:
        if is_state:
            with _checkpoint.opened(path, self.version) as database:
                yield database
            return
        with _open.open(path, **self.opening) as source:
            yield source

    def partitions(self) -> Sequence[InputPartition]:
        sources = self.sources()
        ranges: list[InputPartition] = []
        for path, is_state in sources:
            with self.opened(path, is_state) as source:
                parts = -(-(self.parts or 0) // len(sources)) or -(-source.size // BYTES_OF_PARTITION)
                splits = self.splits(source, max(1, parts))
            bounds = [self.start, *splits, self.end]
            for start, end in zip(bounds, bounds[1:]):
                ranges.append(KeyRange(path, is_state, start, end))
        return ranges

    def splits(self, source: Table | Database, parts: int) -> list[bytes]:
        """Split keys within the bounds."""
        if parts == 1:
            return []
        if isinstance(source, Table):
            splits = source.split_keys(parts)
        else:
            splits = source.split_keys(parts, column_family=self.column_family)
        start, end = self.start, self.end
        return [
            key for key in splits if (start is None or key > start) and (end is None or key < end)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        assert isinstance(partition, KeyRange)
        wanted = to_arrow_schema(self.schema)
        columns = ["key"] if set(self.key_names()) & set(wanted.names) else []
        columns += [name for name in wanted.names if name not in self.key_names()]
        with self.opened(partition.path, partition.is_state) as source:
            options: dict[str, Any] = {"start": partition.start, "end": partition.end}
            options["versions"] = not OF_VERSIONS.isdisjoint(columns)
            if self.keys is not None and "key" in columns:
                options["key_types"] = self.keys.types
            if isinstance(source, Table):
                scan = source.scan(columns, **options)
            else:
                scan = source.scan(columns, column_family=self.column_family, **options)
            for batch in pa.RecordBatchReader.from_stream(scan):
                batch = batch.select(wanted.names)
                yield batch if batch.schema.equals(wanted) else batch.cast(wanted)


@dataclass
class PartsWritten(WriterCommitMessage):
    """The report of a task."""

    report: Written


class SstWriter(DataSourceArrowWriter):
    """Writes the partitions of a data frame as sorted runs, which the driver merges.

    A data source cannot tell Spark how to distribute the rows. `sstkit.spark.write` distributes them, so that
    no row goes through the driver.
    """

    def __init__(self, options: Mapping[str, str], overwrite: bool) -> None:
        if overwrite:
            raise InvalidInput("the format sst does not overwrite: use mode(\"append\"), a new path")
        if not options.get("path"):
            raise InvalidInput("the format sst needs a path")
        self.out = _write.absolute(options["path"])
        arguments = _options.write_arguments(options)
        names = [name for name in ("key", "value", "values_as", "kind") if name in arguments]
        columns = {str(name): arguments.pop(name) for name in names}
        runs = _tasks.runs_of(plan(self.out, **arguments))
        try:
            self.task = PartTask(runs, plan(runs, **arguments).id, columns, sorted=False)
        except BaseException:
            _tasks.discard(self.out)
            raise

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartsWritten:
        return PartsWritten(self.task.run(iterator, _tasks.task_attempt()))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        reports = [message.report for message in messages if isinstance(message, PartsWritten)]
        try:
            _tasks.merge_runs(self.out, reports)
        except BaseException:
            _tasks.discard(self.out)
            raise

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        _tasks.discard(self.out)
