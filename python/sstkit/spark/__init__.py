"""Tables from Spark and into Spark.

    import sstkit.spark

    sstkit.spark.write(df, "/data/tables", key="id", value="payload", splits=64)

    sstkit.spark.register(spark)                    # PySpark 4 and later
    df = spark.read.format("sst").load("/data/tables")

`docs/spark.md` says how writing is exact under retries, and how much a cluster needs.

    _options.py      options of `spark.read` and `df.write`, which are text
    _splits.py       split keys, given or from a sample
    _routing.py      every row to the part of its key
    _tasks.py        what a task writes, and the commit of the driver
    _write.py        all of it together
    _source.py       the data source "sst" of PySpark 4
    _key_columns.py  the columns that keys are made of, for reading
    _checkpoint.py   state stores of Structured Streaming as databases
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._write import write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "write"]


def register(spark: SparkSession) -> None:
    """Add the format "sst" to a session of PySpark 4, and switch the push-down of filters on."""
    from ._source import SstDataSource

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(SstDataSource)
