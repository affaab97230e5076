"""From a data frame to RocksDB and back, step by step.

Needs pyarrow, polars, duckdb and rocksdict. Writes to the current directory.
"""

# %% The data: readings of sensors, in no order.
import random

import duckdb
import polars as pl
import sstkit
from rocksdict import Options, Rdict

random.seed(1)
readings = pl.DataFrame(
    {
        "sensor": [f"sensor-{random.randrange(100):03}" for _ in range(50_000)],
        "time": [random.randrange(1_000_000_000) for _ in range(50_000)],
        "celsius": [round(random.gauss(20, 5), 1) for _ in range(50_000)],
    }
).unique(["sensor", "time"])

# %% A directory of tables, sorted by sensor and time, with Ribbon filters. RocksDB 8 and later read it.
report = sstkit.build(
    readings.with_columns(celsius=pl.col("celsius").cast(pl.String)),
    "tables",
    key=["sensor", "time"],
    value="celsius",
    filter="ribbonfilter:10",
    max_file_size=256 * 1024,
)
print(f"{report['manifest']['entries']} entries in {len(report['manifest']['files'])} tables")

# %% RocksDB ingests them.
database = Rdict("db", Options(raw_mode=True))
database.ingest_external_file(
    [f"tables/{file['name']}" for file in report["manifest"]["files"]]
)
database.close()

# %% What RocksDB has now, as SQL sees it.
rows = sstkit.scan("db", key_types=[("sensor", "string"), ("time", "int64")])
warmest = duckdb.sql(
    """select sensor, max(value::varchar::double) as celsius
       from rows group by sensor order by celsius desc limit 3"""
)
print(warmest)
expected = readings.group_by("sensor").agg(pl.col("celsius").max()).sort("celsius", descending=True)
assert warmest.fetchall()[0][1] == expected["celsius"][0]

# %% One sensor, without reading the others: keys of a sensor start alike.
first = next(iter(sstkit.scan("db", ["key"])))[0]
prefix = first[: first.index(b"\0")]
print(f"{sum(1 for _ in sstkit.scan('db', ['key'], prefix=prefix))} readings of {prefix.decode()}")

# %% Is all of it sound, and do the filters work?
assert all(report["sound"] for report in sstkit.verify("db"))
for table in sstkit.Database("db").filter_report(measure=10_000):
    assert table["false_negatives"] == 0
    print(f"{table['kind']}: {table['bits_per_key']:.1f} bits per key, "
          f"{table['measured_fpr']:.2%} false positives")
