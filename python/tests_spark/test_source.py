"""The format "sst": reading tables, databases and state stores, and writing one table."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import contents, numbers, rocksdb
from pyspark.sql import SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, LessThanOrEqual, StringContains

import sstkit
from sstkit.spark._source import KeyRange, PartsWritten, SstReader, SstWriter


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.sst"
    with sstkit.TableWriter(path, block_size=256) as writer:
        for number in range(1000):
            writer.put(b"key%06d" % number, b"value%d" % number)
    return path


def rows(spark: SparkSession, path: Path, **options: Any) -> list[tuple[bytes, bytes]]:
    df = spark.read.format("sst").options(**options).load(str(path))
    return sorted((bytes(row.key), bytes(row.value)) for row in df.collect())


def test_a_table_in_several_partitions(spark: SparkSession, table: Path) -> None:
    df = spark.read.format("sst").option("partitions", 4).load(str(table))
    assert df.schema.simpleString() == "struct<key:binary,value:binary>"
    assert df.rdd.getNumPartitions() == 4
    assert rows(spark, table, partitions=4) == list(iter(sstkit.scan(table)))
    assert rows(spark, table) == list(iter(sstkit.scan(table)))


def test_bounds_of_keys_are_pushed_down(spark: SparkSession, table: Path) -> None:
    df = spark.read.format("sst").option("partitions", 4).load(str(table))
    found = df.where("key >= 'key000100' and key < 'key000110'").collect()
    assert sorted(bytes(row.value) for row in found) == [b"value%d" % n for n in range(100, 110)]
    assert df.where("key = 'key000007'").count() == 1
    assert df.where("key = 'key000007' and key > 'key000007'").count() == 0
    reader = SstReader({"path": str(table), "partitions": "4"}, df.schema)
    contains = StringContains(("key",), "7")
    bounds = [GreaterThan(("key",), b"key000100"), LessThanOrEqual(("key",), b"key000400"), contains]
    assert list(reader.pushFilters(bounds)) == [contains]
    assert (reader.start, reader.end) == (b"key000100\0", b"key000400\0")
    ranges = reader.partitions()
    assert len(ranges) == 2 or len(ranges) == 3
    first, last = ranges[0], ranges[-1]
    assert isinstance(first, KeyRange) and isinstance(last, KeyRange)
    assert (first.start, last.end) == (reader.start, reader.end)
    assert sum(batch.num_rows for it in ranges for batch in reader.read(it)) == 300
    assert list(reader.pushFilters([EqualTo(("value",), b"")])) != []


def test_bounds_are_not_pushed_down_in_another_order(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "reverse.sst"
    with sstkit.TableWriter(path, comparator="rocksdb.ReverseBytewiseComparator") as writer:
        for key in (b"c", b"b", b"a"):
            writer.put(key, b"")
    df = spark.read.format("sst").load(str(path)).where("key >= 'b'")
    assert sorted(bytes(row.key) for row in df.collect()) == [b"b", b"c"]


def test_columns(spark: SparkSession, table: Path) -> None:
    keys = spark.read.format("sst").schema("key binary").load(str(table))
    assert keys.columns == ["key"] and keys.count() == 1000
    versions = spark.read.format("sst").option("columns", "sequence,kind,key").load(str(table))
    first = versions.orderBy("key").first()
    assert first is not None
    assert (first.sequence, first.kind, bytes(first.key)) == (0, "put", b"key000000")
    with pytest.raises(Exception, match="unknown column 'keys'"):
        spark.read.format("sst").option("columns", "keys").load(str(table))


@pytest.mark.parametrize("name", ["rocksdb-leveled-bloom", "rocksdb-wal-plus-tables", "leveldb-bloom-snappy"])
def test_databases(spark: SparkSession, testdata: Path, name: str) -> None:
    path = testdata / "databases" / name
    found = rows(spark, path, partitions=3)
    assert found == list(iter(sstkit.scan(path))) != []


def test_column_families(spark: SparkSession, testdata: Path) -> None:
    path = testdata / "databases" / "rocksdb-column-families"
    for name in sstkit.Database(path).column_families:
        expected = list(iter(sstkit.scan(path, column_family=name)))
        assert rows(spark, path, column_family=name, partitions=2) == expected


def test_one_table_by_the_format(spark: SparkSession, tmp_path: Path) -> None:
    df = numbers(spark, 1000)
    out = tmp_path / "out"
    options = {"key": "k", "value": "v", "compression": "none", "block_size": "1024"}
    df.coalesce(1).write.format("sst").options(**options).mode("append").save(str(out))
    assert rows(spark, out) == sorted(contents(df).items())
    assert rocksdb(spark, tmp_path / "db", sorted(out.glob("*.sst"))) == contents(df)
    other = str(tmp_path / "other")
    with pytest.raises(Exception, match="does not overwrite"):
        df.write.format("sst").options(**options).mode("overwrite").save(other)
    with pytest.raises(Exception, match="unknown option 'colour'"):
        df.write.format("sst").option("colour", "red").mode("append").save(other)


def test_several_partitions_by_the_format(spark: SparkSession, tmp_path: Path) -> None:
    df = numbers(spark, 3000)
    assert df.rdd.getNumPartitions() == 4
    out = tmp_path / "out"
    options = {"key": "k", "value": "v", "compression": "none", "max_file_size": "20000"}
    df.write.format("sst").options(**options).mode("append").save(str(out))
    assert rows(spark, out) == sorted(contents(df).items())
    tables = sorted(out.glob("*.sst"))
    assert len(tables) > 2
    assert sorted(path.name for path in out.iterdir()) == [*(it.name for it in tables), "manifest.json"]
    assert rocksdb(spark, tmp_path / "db", tables) == contents(df)


def test_runs_are_no_attempts(tmp_path: Path) -> None:
    """A commit that another process starts does not take rows of one task for all of them."""
    out = tmp_path / "out"
    writer = SstWriter({"path": str(out), "key": "k", "value": "v"}, False)
    batches = [pa.record_batch({"k": ["a"], "v": ["1"]}), pa.record_batch({"k": ["b"], "v": ["2"]})]
    reports = [writer.task.run([batch], f"task-{number}") for number, batch in enumerate(batches)]
    with pytest.raises(sstkit.InvalidInput, match="no finished attempt"):
        sstkit.commit(out)
    writer.commit([PartsWritten(report) for report in reports])
    assert list(sstkit.scan(out)) == [(b"a", b"1"), (b"b", b"2")]
    assert sorted(path.suffix for path in out.iterdir()) == [".json", ".sst"]
    late = SstWriter({"path": str(tmp_path / "late"), "key": "k", "value": "v"}, False)
    late.abort([])
    with pytest.raises(sstkit.Error):
        late.task.run(batches, "task-2")
    assert list((tmp_path / "late").iterdir()) == []


def test_every_kind_of_entry_by_the_format(spark: SparkSession, tmp_path: Path) -> None:
    """What tasks have written is merged as it is."""
    df = spark.range(0, 90, 1, 3).selectExpr(
        "string(100 + id) as k", "string(id) as v", "element_at(array('put', 'delete', 'merge'), 1 + int(id % 3)) as op"
    )
    out = tmp_path / "out"
    df.write.format("sst").options(key="k", value="v", kind="op").mode("append").save(str(out))
    found = list(sstkit.scan(out, ["key", "kind", "value"], versions=True))
    expected = [(str(100 + n), ("put", "delete", "merge")[n % 3], str(n)) for n in range(90)]
    assert [(key.decode(), kind, value.decode()) for key, kind, value in found] == [
        (key, kind, "" if kind == "delete" else value) for key, kind, value in expected
    ]
    entities = tmp_path / "entities"
    pairs = spark.range(0, 20, 1, 2).selectExpr("string(100 + id) as k", "string(id) as a", "string(-id) as b")
    writing = pairs.write.format("sst").options(key="k", value="a,b", values_as="entity")
    writing.mode("append").save(str(entities))
    read = list(sstkit.scan(entities, ["key", "columns"]))
    assert read == [(b"%d" % (100 + n), {b"a": b"%d" % n, b"b": b"%d" % -n}) for n in range(20)]


def test_a_key_in_two_partitions_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(0, 20, 1, 2).selectExpr("string(id % 19) as k", "string(id) as v")
    out = tmp_path / "out"
    with pytest.raises(Exception, match="twice|duplicate"):
        df.write.format("sst").options(key="k", value="v").mode("append").save(str(out))
    assert list(out.iterdir()) == []


def test_key_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Composite keys come back as the columns that they were made of, and bounds of the first are pushed down."""
    df = spark.range(2000).selectExpr(
        "element_at(array('de', 'fr', 'd', 'fr\0'), 1 + int(id % 4)) as country",
        "500 - id as n",
        "cast(id / 8 as decimal(10, 2)) as price",
        "date_add(date'1970-01-01', int(id - 1000)) as day",
        "string(id) as v",
    )
    out = tmp_path / "out"
    key = ["country", "n", "price", "day"]
    sstkit.spark.write(df, out, key=key, value="v", splits=3)
    options = {"key_types": "country string, n bigint, price decimal(10, 2), day date", "partitions": "4"}
    read = spark.read.format("sst").options(**options).load(str(out))
    assert read.columns == [*key, "value"]
    expected = sorted(tuple(row)[:-1] for row in df.collect())
    assert sorted(tuple(row)[:-1] for row in read.collect()) == expected
    assert sorted(map(tuple, read.select("day", "n").collect())) == sorted((row[3], row[1]) for row in expected)
    for condition in [
        "country = 'fr'", "country > 'de' and n < 0", "country < 'fr'", "country <= 'fr'", "country >= 'd'",
        "country > 'd'", "n = 7", "country = 'fr' and n = -1",
    ]:
        wanted = sorted(tuple(row)[:-1] for row in df.where(condition).collect())
        assert sorted(tuple(row)[:-1] for row in read.where(condition).collect()) == wanted != [], condition
    narrow = spark.read.format("sst").options(**options).schema("n bigint").load(str(out))
    assert sorted(row.n for row in narrow.collect()) == sorted(row[1] for row in expected)
    reader = SstReader({"path": str(out), **options}, read.schema)
    assert list(reader.pushFilters([EqualTo(("country",), "fr"), EqualTo(("n",), 1)])) == [EqualTo(("n",), 1)]
    assert (reader.start, reader.end) == (b"fr\0\1", b"fr\0\2")
    with pytest.raises(Exception, match="keys are not made of"):
        spark.read.format("sst").option("key_types", "a array<int>").load(str(out))


def test_numbers_as_keys(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(-500, 500).selectExpr("id", "string(id) as v", "cast(id as double) / 4 as x")
    sstkit.spark.write(df, tmp_path / "out", key="id", value="v", splits=2)
    read = spark.read.format("sst").option("key_types", "id bigint").load(str(tmp_path / "out"))
    for condition in ["id < -250", "id >= 499", "id = 0", "id > 499", "id between -3 and 3"]:
        found = sorted(row.id for row in read.where(condition).collect())
        assert found == sorted(row.id for row in df.where(condition).collect()), condition
    reader = SstReader({"path": str(tmp_path / "out"), "key_types": "id bigint"}, read.schema)
    assert list(reader.pushFilters([GreaterThan(("id",), 3)])) == []
    assert reader.start == b"\x80\0\0\0\0\0\0\3\0"
    # Spark has one zero, keys have two.
    sstkit.spark.write(df, tmp_path / "floats", key="x", value="v", splits=2)
    reader = SstReader({"path": str(tmp_path / "floats"), "key_types": "x double"}, read.schema)
    condition = EqualTo(("x",), 0.0)
    assert list(reader.pushFilters([condition])) == [condition]


def test_state_stores(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    for first in (0, 100):
        spark.range(first, first + 150).selectExpr("id", "string(id % 50) as g").coalesce(1).write.mode(
            "append"
        ).parquet(str(tmp_path / "in"))
    query = (
        spark.readStream.schema("id long, g string")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
        .groupBy("g")
        .count()
        .writeStream.outputMode("complete")
        .format("memory")
        .queryName("counts")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    state = rows(spark, checkpoint)
    assert len(state) == 50
    # A row of Spark: the bits of nulls, then 8 bytes for each column.
    counts = sum(int.from_bytes(value[-8:], "little") for _, value in state)
    assert counts == 300
    assert len(rows(spark, checkpoint, version=1)) == 50
    assert sum(int.from_bytes(value[-8:], "little") for _, value in rows(spark, checkpoint, version=1)) == 150
    with pytest.raises(Exception, match="version 9 not found"):
        rows(spark, checkpoint, version=9)
