"""The keys at which the data is split: given, or chosen from a sample of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import InvalidInput
from .._native import encode_keys

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Sampled rows for each part: the largest part is then rarely more than a third above the mean.
ROWS_OF_PART = 200

# Bytes of a part, if their number is not given.
BYTES_OF_PART = 256 << 20


class Splits(NamedTuple):
    """The first key of every part but the first."""

    # As values of the key columns, for Spark to compare with.
    rows: list[tuple[Any, ...]]
    # As bytes, for the plan.
    keys: list[bytes]
    # The number of all rows, if they were counted.
    counted: int | None


def find(
    df: DataFrame, key: list[str], value: list[str], splits: int | Sequence[Any] | None
) -> Splits:
    """The split keys: given ones, or those that make a number of parts of about the same size."""
    if isinstance(splits, (str, bytes)):
        raise InvalidInput("splits is a number or a list of keys")
    if splits is None or isinstance(splits, int):
        return sampled(df, key, value, splits)
    kinds = [df.schema[name].dataType.typeName() for name in key]
    rows = [typed(split if isinstance(split, tuple) else (split,), kinds) for split in splits]
    return Splits(rows, encoded(df, key, rows), None)


def typed(split: tuple[Any, ...], kinds: list[str]) -> tuple[Any, ...]:
    """A key of the caller as Spark has it: keys of bytes may be given as text, and vice versa."""
    if len(split) != len(kinds):
        raise InvalidInput(f"the split key {split!r} does not have {len(kinds)} columns")

    def one(value: Any, kind: str) -> Any:
        if kind == "binary" and isinstance(value, str):
            return value.encode()
        if kind == "string" and isinstance(value, bytes):
            return value.decode()
        # Equal for Spark, but not as bytes: the part begins with the smaller one.
        return -0.0 if kind in ("float", "double") and value == 0 else value

    return tuple(map(one, split, kinds))


def encoded(df: DataFrame, key: list[str], rows: list[tuple[Any, ...]]) -> list[bytes]:
    """Rows of the key columns, as the bytes that tables have."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(df.select(*key).schema)
    columns = zip(*rows) if rows else ((),) * len(key)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, schema)]
    return encode_keys(pa.Table.from_arrays(arrays, schema=schema), key)


def sampled(df: DataFrame, key: list[str], value: list[str], parts: int | None) -> Splits:
    """Reads the input twice: to count the rows, and to take some of them."""
    if parts is not None and parts < 1:
        raise InvalidInput("splits is 1 or more")
    cores = df.sparkSession.sparkContext.defaultParallelism
    count = df.count()
    wanted = ROWS_OF_PART * (parts or max(100, cores))
    rows = df.select(*key, size(df, [*key, *value]).alias("_sstkit_bytes"))
    if count > wanted:
        # Some more, as the number of sampled rows varies.
        rows = rows.sample(min(1.0, 1.2 * wanted / count), seed=1)
    sample = [(tuple(row)[:-1], row[-1]) for row in rows.collect()]
    keys = encoded(df, key, [row for row, _ in sample])
    total = sum(weight for _, weight in sample)
    if parts is None:
        bytes_of_all = total * count // max(len(sample), 1)
        parts = max(cores, -(-bytes_of_all // BYTES_OF_PART))
    return Splits(*chosen(sorted(zip(keys, sample), key=lambda it: it[0]), total, parts), count)


def chosen(
    ordered: list[tuple[bytes, tuple[tuple[Any, ...], int]]], total: int, parts: int
) -> tuple[list[tuple[Any, ...]], list[bytes]]:
    """The rows that begin the parts, of rows in the order of their keys with the bytes of each."""
    rows: list[tuple[Any, ...]] = []
    keys: list[bytes] = []
    before = 0
    last = ordered[0][0] if ordered else b""
    for key, (row, weight) in ordered:
        # All rows of a key are in one part.
        if key > last and len(keys) + 1 < parts and before * parts >= total * (len(keys) + 1):
            rows.append(row)
            keys.append(key)
        last = key
        before += weight
    return rows, keys


def size(df: DataFrame, names: list[str]) -> Column:
    """About the number of bytes of some columns."""
    from pyspark.sql import functions

    size = functions.lit(0)
    for name in names:
        is_text = df.schema[name].dataType.typeName() in ("binary", "string")
        size += functions.octet_length(functions.col(name)) if is_text else functions.lit(8)
    return size
