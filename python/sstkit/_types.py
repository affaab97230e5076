"""Types of arguments, for annotations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Union

BytesLike: TypeAlias = Union[bytes, bytearray, memoryview, str]
StrPath: TypeAlias = Union[str, "os.PathLike[str]"]
Json: TypeAlias = dict[str, Any]

class ArrowArrayExportable(Protocol):
    """An array, batch or table."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class ArrowStreamExportable(Protocol):
    """A table, reader, data frame or chunked array."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

ArrowData: TypeAlias = Union[ArrowArrayExportable, ArrowStreamExportable]
KeyList: TypeAlias = Union[Iterable[BytesLike], ArrowData]

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
    threads: int

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
