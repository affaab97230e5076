"""The keys at which the data is split: given, or chosen from a sample of the rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import itemgetter
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
    df: DataFrame,
    key: list[str],
    value: list[str],
    splits: int | Sequence[Any] | None,
    shards: Sequence[Any],
) -> Splits:
    """The split keys: given ones, or those that make a number of parts of about the same size, the shard
    boundaries among them."""
    if isinstance(splits, (str, bytes)) or isinstance(shards, (str, bytes)):
        raise InvalidInput("splits is a number or a list of keys, shards a list of keys")
    if splits is None or isinstance(splits, int):
        return sampled(df, key, value, splits, given(df, key, shards))
    if shards:
        raise InvalidInput("give splits as a number with shards, or all split keys")
    rows, keys = given(df, key, splits)
    return Splits(rows, keys, None)


def given(
    df: DataFrame, key: list[str], splits: Sequence[Any]
) -> tuple[list[tuple[Any, ...]], list[bytes]]:
    """Keys of the caller, as Spark compares with them and as bytes."""
    kinds = [df.schema[name].dataType.typeName() for name in key]
    rows = [typed(split if isinstance(split, tuple) else (split,), kinds) for split in splits]
    return rows, encoded(df, key, rows)


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


# The bytes of a key, the row it was made of, and how many bytes of data it stands for.
Sample = tuple[bytes, tuple[Any, ...], int]


def sampled(
    df: DataFrame,
    key: list[str],
    value: list[str],
    parts: int | None,
    shards: tuple[list[tuple[Any, ...]], list[bytes]],
) -> Splits:
    """Reads the input twice: to count the rows, and to take some of them."""
    least = len(shards[1]) + 1
    if parts is not None and parts < least:
        raise InvalidInput(f"splits is {least} or more" + (", the number of shards" if shards[1] else ""))
    if any(a >= b for a, b in zip(shards[1], shards[1][1:])):
        raise InvalidInput("the shard boundaries are not in order")
    cores = df.sparkSession.sparkContext.defaultParallelism
    count = df.count()
    wanted = ROWS_OF_PART * (parts or max(100, cores, least))
    rows = df.select(*key, size(df, [*key, *value]).alias("_sstkit_bytes"))
    if count > wanted:
        # Some more, as the number of sampled rows varies.
        rows = rows.sample(min(1.0, 1.2 * wanted / count), seed=1)
    sample = [(tuple(row)[:-1], row[-1]) for row in rows.collect()]
    keys = encoded(df, key, [row for row, _ in sample])
    total = sum(weight for _, weight in sample)
    if parts is None:
        bytes_of_all = total * count // max(len(sample), 1)
        parts = max(cores, least, -(-bytes_of_all // BYTES_OF_PART))
    samples = [(key, *one) for key, one in zip(keys, sample)]
    return Splits(*chosen(sorted(samples, key=itemgetter(0)), parts, *shards), count)


def chosen(
    samples: list[Sample], parts: int, shard_rows: list[tuple[Any, ...]], shard_keys: list[bytes]
) -> tuple[list[tuple[Any, ...]], list[bytes]]:
    """The keys that begin the parts, of samples in the order of their keys. Each shard boundary is one of
    them, and a shard has parts by its share of the bytes."""
    total = sum(weight for _, _, weight in samples)
    rows: list[tuple[Any, ...]] = []
    keys: list[bytes] = []
    start = 0
    for number in range(len(shard_keys) + 1):
        end = len(samples)
        if number < len(shard_keys):
            end = bisect_left(samples, shard_keys[number], key=itemgetter(0))
        shard = samples[start:end]
        weight = sum(weight for _, _, weight in shard)
        share = (2 * parts * weight + total) // (2 * total) if total else 1
        for key, row in cuts(shard, weight, share):
            rows.append(row)
            keys.append(key)
        if number < len(shard_keys):
            rows.append(shard_rows[number])
            keys.append(shard_keys[number])
        start = end
    return rows, keys


def cuts(
    samples: list[Sample], total: int, parts: int
) -> Iterator[tuple[bytes, tuple[Any, ...]]]:
    """The keys that begin all parts of a shard but the first."""
    before, part = 0, 1
    last = samples[0][0] if samples else b""
    for key, row, weight in samples:
        # All rows of a key are in one part.
        if key > last and part < parts and before * parts >= total * part:
            yield key, row
            part += 1
        last = key
        before += weight


def size(df: DataFrame, names: list[str]) -> Column:
    """About the number of bytes of some columns."""
    from pyspark.sql import functions

    size = functions.lit(0)
    for name in names:
        is_text = df.schema[name].dataType.typeName() in ("binary", "string")
        size += functions.octet_length(functions.col(name)) if is_text else functions.lit(8)
    return size
