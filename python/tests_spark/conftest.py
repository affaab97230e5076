"""One session for all tests: a driver and two executors, which are processes of their own.

The tests of the format "sst" need PySpark 4; all others also run with PySpark 3.5, whose jars have RocksDB 8.3:

    python -m venv env && env/bin/pip install 'pyspark==3.5.*' 'pandas<3' pyarrow pytest ./python
    cd python/tests_spark && TESTDATA=../../testdata ../../env/bin/python -m pytest .
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

import sstkit.spark

HERE = Path(__file__).parent

HAS_DATA_SOURCES = int(pyspark.__version__.split(".")[0]) >= 4

collect_ignore = [] if HAS_DATA_SOURCES else ["test_source.py"]

os.environ["PYSPARK_PYTHON"] = sys.executable


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "600m",
        "spark.local.dir": str(folder / "local"),
        # The package, and the accidents of the tests.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(HERE)]),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        # An executor that is killed comes back.
        "spark.deploy.maxExecutorRetries": "-1",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,600]").appName("sstkit")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    if HAS_DATA_SOURCES:
        sstkit.spark.register(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def testdata() -> Path:
    """The tables and databases that the engines wrote."""
    return Path(os.environ["TESTDATA"])


def numbers(spark: SparkSession, count: int) -> DataFrame:
    """Keys in no order, some of them with zero bytes, and values of several lengths."""
    return spark.range(0, count, 1, 4).selectExpr(
        "unhex(lpad(hex(id * 7919 % 1000003), 8, '0')) as k",
        "cast(repeat(cast(id as string), cast(1 + id % 5 as int)) as binary) as v",
        "id",
    )


def contents(df: DataFrame) -> dict[bytes, bytes]:
    return {bytes(row.k): bytes(row.v) for row in df.select("k", "v").collect()}


def rocksdb(spark: SparkSession, folder: Path, tables: list[Path]) -> dict[bytes, bytes]:
    """What the RocksDB in Spark's own jars reads after it has ingested the tables."""
    jvm: Any = spark.sparkContext._jvm
    assert jvm is not None
    jvm.org.rocksdb.RocksDB.loadLibrary()
    options = jvm.org.rocksdb.Options().setCreateIfMissing(True)
    database = jvm.org.rocksdb.RocksDB.open(options, str(folder))
    database.ingestExternalFile([str(path) for path in tables], jvm.org.rocksdb.IngestExternalFileOptions())
    found = {}
    entry = database.newIterator()
    entry.seekToFirst()
    while entry.isValid():
        found[bytes(entry.key())] = bytes(entry.value())
        entry.next()
    entry.close()
    database.close()
    return found
