"""From a data frame of Spark to RocksDB and back, step by step.

Needs pyspark 4 and sstkit. Writes to the directory that is its argument, or to a temporary one.
"""

# %% A session.
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import sstkit
import sstkit.spark

spark = SparkSession.builder.appName("sstkit").getOrCreate()
sstkit.spark.register(spark)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

# %% The data: readings of sensors, in no order.
readings = spark.range(20_000).selectExpr(
    "concat('sensor-', lpad(string(id * 7919 % 100), 3, '0')) as sensor",
    "id * 104729 % 1000003 as time",
    "string(round(20 + 5 * sin(id), 1)) as celsius",
)

# %% Tables, sorted by sensor and time. The keys of a shard of the target system stay together: here one
# shard has the sensors up to 49, the other one the rest. RocksDB 8 and later ingest them.
report = sstkit.spark.write(
    readings,
    folder / "tables",
    key=["sensor", "time"],
    value="celsius",
    splits=[("sensor-025", 0), ("sensor-050", 0), ("sensor-075", 0)],
    filter="ribbonfilter:10",
    compression="zstd",
)
for file in report["manifest"]["files"]:
    print(f"{file['name']}: {file['entries']} entries, {file['bytes']} bytes")

# %% All of it is sound.
assert all(checked["sound"] for checked in sstkit.verify(folder / "tables"))

# %% One sensor, read by Spark: its keys start alike, so only their blocks are read.
[start, end] = [b"sensor-007\0", b"sensor-007\1"]
tables = spark.read.format("sst").load(str(folder / "tables"))
of_sensor = tables.where(f"key >= X'{start.hex()}' and key < X'{end.hex()}'")
print(of_sensor.count(), "readings of sensor-007")
assert of_sensor.count() == readings.where("sensor = 'sensor-007'").count()

# %% The same without Spark.
assert sum(1 for _ in sstkit.scan(folder / "tables", ["key"], prefix=start)) == of_sensor.count()
