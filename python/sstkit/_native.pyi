"""Types of the native module. See the package for what users import."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, final

from typing_extensions import Self, Unpack

__version__: str

BytesLike: TypeAlias = bytes | bytearray | memoryview | str
StrPath: TypeAlias = str | os.PathLike[str]
Json: TypeAlias = dict[str, Any]

class ArrowArrayExportable(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class ArrowStreamExportable(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

ArrowData: TypeAlias = ArrowArrayExportable | ArrowStreamExportable
KeyList: TypeAlias = Iterable[BytesLike] | ArrowData

class TableReadOptions(TypedDict, total=False):
    comparator: str | Sequence[str]
    merge_operator: str
    prefix_extractor: str
    key_form: Literal["auto", "internal", "user"]
    max_block_size: int
    verify_checksums: bool
    cache_size: int

class DatabaseReadOptions(TypedDict, total=False):
    comparator: str | Sequence[str]
    merge_operator: str
    prefix_extractor: str
    max_block_size: int
    verify_checksums: bool
    cache_size: int
    replay_logs: bool
    max_log_memory: int
    log_folder: StrPath
    table_folders: Sequence[StrPath]
    backup: int
    ttl: bool
    tables_only: bool

class ScanOptions(TypedDict, total=False):
    start: BytesLike | None
    end: BytesLike | None
    prefix: BytesLike | None
    reverse: bool
    limit: int | None
    versions: bool
    sequence: int | None
    timestamp: BytesLike | None
    key_types: Sequence[tuple[str, str]] | None
    binary_layout: Literal["binary", "large_binary", "binary_view"]
    batch_rows: int
    batch_bytes: int

class StatsOptions(TypedDict, total=False):
    start: BytesLike | None
    end: BytesLike | None
    prefix: BytesLike | None
    by_prefix: int | None
    by_delimiter: BytesLike | None
    depth: int
    top: int
    sample: bool
    threads: int

class ColumnOptions(TypedDict, total=False):
    key: str | Sequence[str] | None
    value: str | Sequence[str] | None
    values_as: Literal["entity", "json"] | None
    kind: str | None
    timestamp: str | None
    sequence: str | None

class TableOptions(TypedDict, total=False):
    engine: Literal["rocksdb", "leveldb"]
    readable_by: str | float
    format_version: int
    filter: str
    partition_filters: bool
    prefix_extractor: str
    whole_key_filtering: bool
    optimize_filters_for_memory: bool
    compression: str
    max_dict_bytes: int
    zstd_max_train_bytes: int
    max_dict_buffer_bytes: int
    checksum: Literal["none", "crc32c", "xxhash", "xxhash64", "xxh3"]
    block_size: int
    restart_interval: int
    index: Literal["binary", "hash", "two-level", "first-key"]
    metadata_block_size: int
    data_block_hash_index: bool
    comparator: str
    level: int
    threads: int

class BuildOptions(ColumnOptions, TableOptions, total=False): ...

@final
class Table:
    def __new__(cls, path: StrPath, **options: Unpack[TableReadOptions]) -> Self: ...
    @property
    def path(self) -> Path: ...
    def get(self, key: BytesLike) -> bytes | None: ...
    def get_many(self, keys: KeyList) -> list[bytes | None]: ...
    def scan(
        self, columns: Sequence[str] | None = None, **options: Unpack[ScanOptions]
    ) -> Scan: ...
    def explain(self, key: BytesLike) -> Json: ...
    def info(self, *, full: bool = False) -> Json: ...
    def layout(self, *, blocks: bool = False) -> list[Json]: ...
    def filter_report(self, *, measure: int = 0) -> Json: ...
    def verify(self) -> Json: ...
    def stats(self, **options: Unpack[StatsOptions]) -> Json: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...

@final
class Database:
    def __new__(cls, path: StrPath, **options: Unpack[DatabaseReadOptions]) -> Self: ...
    @property
    def path(self) -> Path: ...
    @property
    def column_families(self) -> list[str]: ...
    @property
    def last_sequence(self) -> int: ...
    @property
    def caveats(self) -> list[str]: ...
    def get(self, key: BytesLike, *, column_family: str | None = None) -> bytes | None: ...
    def get_many(
        self, keys: KeyList, *, column_family: str | None = None
    ) -> list[bytes | None]: ...
    def scan(
        self,
        columns: Sequence[str] | None = None,
        *,
        column_family: str | None = None,
        **options: Unpack[ScanOptions],
    ) -> Scan: ...
    def explain(self, key: BytesLike, *, column_family: str | None = None) -> Json: ...
    def info(self) -> Json: ...
    def filter_report(
        self, *, column_family: str | None = None, measure: int = 0
    ) -> list[Json]: ...
    def verify(self) -> list[Json]: ...
    def stats(
        self, *, column_family: str | None = None, **options: Unpack[StatsOptions]
    ) -> Json: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...

@final
class Scan:
    @property
    def columns(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __iter__(self) -> ScanRows: ...

@final
class ScanRows:
    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[Any, ...]: ...

@final
class TableWriter:
    def __new__(cls, path: StrPath, **options: Unpack[TableOptions]) -> Self: ...
    def put(self, key: BytesLike, value: BytesLike) -> None: ...
    def delete(self, key: BytesLike) -> None: ...
    def single_delete(self, key: BytesLike) -> None: ...
    def merge(self, key: BytesLike, operand: BytesLike) -> None: ...
    def delete_range(self, start: BytesLike, end: BytesLike) -> None: ...
    def put_entity(
        self, key: BytesLike, columns: Sequence[tuple[BytesLike, BytesLike]]
    ) -> None: ...
    def write(self, data: ArrowData, **columns: Unpack[ColumnOptions]) -> int: ...
    def finish(self) -> Json: ...
    def abandon(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Plan:
    def __new__(cls, path: StrPath) -> Self: ...
    @property
    def path(self) -> Path: ...
    @property
    def id(self) -> str: ...
    @property
    def parts(self) -> int: ...
    @property
    def splits(self) -> list[bytes]: ...
    def part_of(self, key: BytesLike) -> int: ...

@final
class PartWriter:
    def __new__(
        cls,
        plan: Plan | StrPath,
        part: int,
        attempt: str,
        *,
        sorted: bool = True,
        memory: int | None = None,
        threads: int = 1,
    ) -> Self: ...
    def put(self, key: BytesLike, value: BytesLike) -> None: ...
    def delete(self, key: BytesLike) -> None: ...
    def write(self, data: ArrowData, **columns: Unpack[ColumnOptions]) -> int: ...
    def finish(self) -> Json: ...
    def abandon(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Filter:
    def __new__(cls, data: BytesLike) -> Self: ...
    @staticmethod
    def build(
        keys: KeyList, policy: str = "bloomfilter:10", *, format_version: int = 5
    ) -> Filter: ...
    @staticmethod
    def expected_fpr_of(policy: str, keys: int, *, format_version: int = 5) -> float | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def expected_fpr(self) -> float | None: ...
    def may_contain(self, key: BytesLike) -> bool: ...
    def may_contain_many(self, keys: KeyList) -> BooleanArray: ...
    def stats(self) -> Json: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...

@final
class BooleanArray:
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> bool: ...
    def __iter__(self) -> Iterator[bool]: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

@final
class Differences:
    def __iter__(self) -> Self: ...
    def __next__(self) -> Json: ...

def build(
    data: ArrowData,
    out: StrPath,
    *,
    sorted: bool = False,
    duplicates: Literal["last", "first", "error"] = "last",
    max_file_size: int | None = None,
    memory: int | None = None,
    replace: bool = False,
    **options: Unpack[BuildOptions],
) -> Json: ...
def plan(
    out: StrPath,
    *,
    splits: Sequence[BytesLike] | None = None,
    data: ArrowData | None = None,
    parts: int | None = None,
    shards: Sequence[BytesLike] | None = None,
    max_file_size: int | None = None,
    duplicates: Literal["last", "first", "error"] = "error",
    **options: Unpack[BuildOptions],
) -> Plan: ...
def commit(
    out: StrPath,
    *,
    attempts: Mapping[int, str] | None = None,
    entries: int | None = None,
    checksums: bool = True,
    clean: bool = False,
) -> Json: ...
def diff(
    a: Table | Database,
    b: Table | Database,
    *,
    start: BytesLike | None = None,
    end: BytesLike | None = None,
    prefix: BytesLike | None = None,
    column_family: str | None = None,
) -> Differences: ...
def refilter(
    path: StrPath,
    out: StrPath,
    filter: str | None = None,
    *,
    per_level: Mapping[int, str] | None = None,
    prefix_extractor: str | None = None,
    whole_key_filtering: bool | None = None,
    partition_filters: bool | None = None,
    optimize_filters_for_memory: bool = False,
    threads: int | None = None,
    memory: int | None = None,
    replace: bool = False,
) -> Json: ...
def salvage(
    path: StrPath,
    out: StrPath | None = None,
    *,
    output_kind: Literal["folder", "database"] | None = None,
    past_damage: bool = False,
    engine: Literal["rocksdb", "leveldb"] | None = None,
    comparator: str | None = None,
    threads: int | None = None,
) -> Json: ...
