"""Every row to the part of its key.

    part of a row    comparisons with the split keys, as a SQL expression: a binary search
    partition        repartition(n, salt of the part); the salts are chosen so that each part has a
                     partition of its own
    order            sortWithinPartitions(part, key columns)

Spark's own range partitioning is not used: it takes a sample when it runs, so that a second run of a stage
may split elsewhere. Here the keys are literals of the query.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PART = "_sstkit_part"


def routed(df: DataFrame, key: list[str], splits: list[tuple[Any, ...]]) -> DataFrame:
    """The rows with the number of their part, one part to a partition, sorted."""
    from pyspark.sql import functions

    part = part_of(key, splits, 0, len(splits))
    parts = len(splits) + 1
    salts = functions.array(*map(functions.lit, salts_of(df.sparkSession, parts)))
    return (
        df.withColumn(PART, part)
        .repartition(parts, functions.element_at(salts, functions.col(PART) + 1))
        .sortWithinPartitions(PART, *key)
    )


def part_of(key: list[str], splits: list[tuple[Any, ...]], low: int, high: int) -> Column:
    """The number of split keys that are not greater than the key, of those from low to high."""
    from pyspark.sql import functions

    if low == high:
        return functions.lit(low)
    middle = (low + high) // 2
    return functions.when(
        is_before(key, splits[middle]), part_of(key, splits, low, middle)
    ).otherwise(part_of(key, splits, middle + 1, high))


def is_before(key: list[str], split: tuple[Any, ...]) -> Column:
    """Whether the key columns are before the split key: by the first, then by the second, and so on."""
    from pyspark.sql import functions

    def step(rest: Column | None, pair: tuple[str, Any]) -> Column:
        column, value = functions.col(pair[0]), functions.lit(pair[1])
        return column < value if rest is None else (column < value) | ((column == value) & rest)

    before = reduce(step, reversed(list(zip(key, split))), None)
    assert before is not None
    return before


def salts_of(spark: SparkSession, parts: int) -> list[int]:
    """For each part a number that Spark's hash puts into a partition of its own."""
    found: dict[int, int] = {}
    first, width = 0, 8 * parts
    while len(found) < parts:
        numbers = spark.range(first, first + width, 1, 1).selectExpr(
            "int(id) as salt", f"pmod(hash(int(id)), {parts}) as partition"
        )
        for row in numbers.collect():
            found.setdefault(row.partition, row.salt)
        first += width
    return [found[part] for part in range(parts)]
