"""Times of `sstkit.spark.write` by stage, in local mode, and the page docs/benchmarks/spark.md from them.

Needs a release build, pyspark and Java: `pip install ./python pyspark pyarrow`, then
`python python/bench/spark_write.py --page docs/benchmarks/spark.md`. The output is checked.

Each stage is the one before and one thing more, so that the difference is the cost of that thing:

    read     the rows from Parquet, into nothing
    route    and each to its part, by a shuffle
    sort     and sorted there: what Spark does for any sorted output
    hand     and handed to the Python workers as Arrow batches, which drop them: what Spark does for any
             writer in Python
    write    and written as tables, and committed
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import sstkit
import sstkit.spark
from sstkit.spark._routing import routed

STAGES = ["read", "route", "sort", "hand", "write"]


def processes() -> list[int]:
    """This process and all below it: the driver, the JVM and the workers."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(folder.name))
    found, todo = [], [os.getpid()]
    while todo:
        process = todo.pop()
        found.append(process)
        todo += children.get(process, [])
    return found


def cpu_seconds() -> float:
    """The processor time of all of them, also of those that have ended below one of them."""
    ticks = 0
    for process in processes():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and seconds of processor time."""
    start, cpu = time.perf_counter(), cpu_seconds()
    work()
    return time.perf_counter() - start, cpu_seconds() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--folder", help="for the data, in which a directory is created")
    parser.add_argument("--record", type=Path, help="a JSON file for the times of all rounds")
    parser.add_argument("--page", type=Path, help="the page to write")
    parser.add_argument("--runs", type=Path, nargs="+", help="print the page from these records; nothing is measured")
    arguments = parser.parse_args()
    if arguments.runs:
        finish(arguments.page, [json.loads(path.read_text()) for path in arguments.runs])
        return
    folder = Path(tempfile.mkdtemp(prefix="sstkit-spark-", dir=arguments.folder))
    try:
        record = run(arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.record:
        arguments.record.write_text(json.dumps(record, indent=1) + "\n")
    finish(arguments.page, [record])


def finish(path: Path | None, records: list[dict[str, Any]]) -> None:
    """Prints the page."""
    text = page(records)
    print(text)
    if path:
        path.write_text(text)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' too
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": arguments.memory,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    }
    builder = SparkSession.builder.master(f"local[{arguments.cores}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows, parts = arguments.rows, arguments.parts
    # Keys of 16 bytes in no order, values of 100 bytes that compress to about half.
    spark.range(0, rows, 1, parts).selectExpr(
        "substring(unhex(md5(string(id))), 1, 16) as key",
        "cast(rpad(concat(md5(string(-id)), string(id)), 100, 'v') as binary) as value",
    ).write.parquet(str(folder / "in"))
    df = spark.read.parquet(str(folder / "in"))
    splits = [(bytes([part * 256 // parts]) + bytes(15),) for part in range(1, parts)]

    def noop(frame: Any) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def write() -> None:
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        report = sstkit.spark.write(
            df, out, key="key", value="value", splits=[split for (split,) in splits], compression="none"
        )
        assert report["manifest"]["entries"] == rows

    ordered = routed(df, ["key"], splits)
    distributed = ordered._jdf.queryExecution()  # planned once, before the clock starts
    assert distributed is not None
    from sstkit.spark import _routing

    part = _routing.part_of(["key"], splits, 0, len(splits))
    shuffled = df.withColumn(_routing.PART, part).repartition(parts, _routing.PART)
    work = {
        "read": lambda: noop(df),
        "route": lambda: noop(shuffled),
        "sort": lambda: noop(ordered),
        "hand": lambda: hand(ordered, rows),
        "write": write,
    }
    noop(df.limit(1000))
    # The workers start, and stay.
    hand(spark.range(0, 1000, 1, arguments.cores), 1000)
    times: dict[str, list[tuple[float, float]]] = {stage: [] for stage in STAGES}
    for _ in range(arguments.rounds):
        for stage in STAGES:
            times[stage].append(measured(work[stage]))
            print(stage, times[stage][-1], os.getloadavg()[0], flush=True)
    verified = sum(1 for report in sstkit.verify(folder / "out") if report["sound"])
    tables = sorted((folder / "out").glob("*.sst"))
    assert verified >= len(tables)
    scan = measured(lambda: spark_count(spark, folder / "out", rows))
    spark.stop()
    import pyspark

    return {
        "rows": rows,
        "parts": parts,
        "cores": arguments.cores,
        "bytes": sum(path.stat().st_size for path in tables),
        "tables": len(tables),
        "spark": pyspark.__version__,
        "sstkit": sstkit.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d"),
        "load": os.getloadavg()[0],
        "times": times,
        "read_back": scan,
    }


def hand(frame: Any, rows: int) -> None:
    """Counts the rows in the Python workers."""

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})

    assert sum(row.rows for row in frame.mapInArrow(count, "rows long").collect()) == rows


def spark_count(spark: SparkSession, out: Path, rows: int) -> None:
    sstkit.spark.register(spark)
    assert spark.read.format("sst").load(str(out)).count() == rows


def page(records: list[dict[str, Any]]) -> str:
    """The page, with a section for each run."""
    sections = "\n".join(section(record) for record in records)
    return f"""# Writing tables from Spark

Printed by `python/bench/spark_write.py` from recorded runs: rows of 16 + 100 bytes from Parquet, no compression, Bloom filters of 10 bits per
key. Medians of rounds in turns, with the range. Every stage includes the ones before it; the processor time is that of the JVM and the
Python workers together, and depends less on what else the machine does than the clock.

* **read**: the rows from Parquet, into nothing. **route**: each row to its part, by a shuffle. **sort**: and sorted within its part.
  **hand**: and handed from the JVM to the Python workers as Arrow batches, which drop them. **write**: and written as tables, checked
  and committed.

{sections}"""


def section(record: dict[str, Any]) -> str:
    """One run, with medians and the whole range."""
    rows = record["rows"]

    def shown(numbers: list[float]) -> str:
        low, middle, high = min(numbers), statistics.median(numbers), max(numbers)
        return f"{middle:.1f} ({low:.1f} to {high:.1f})"

    lines = []
    before = (0.0, 0.0)
    for stage in STAGES:
        wall, cpu = ([time[which] for time in record["times"][stage]] for which in (0, 1))
        middle = statistics.median(wall), statistics.median(cpu)
        step = middle[0] - before[0], middle[1] - before[1]
        lines.append(
            f"| {stage} | {shown(wall)} | {shown(cpu)} | {step[0]:.1f} | {step[1]:.1f} | "
            f"{step[1] / rows * 1e6:.2f} |"
        )
        before = middle
    median = {
        stage: tuple(statistics.median(time[which] for time in record["times"][stage]) for which in (0, 1))
        for stage in STAGES
    }
    def share(before: str) -> str:
        """Writing beside Spark's own shuffle and sort, in processor time."""
        sort = median["sort"][1] - median["read"][1]
        return f"{(median['write'][1] - median[before][1]) / sort:.2f}"

    table = "\n".join(lines)
    rounds = len(record["times"]["read"])
    return f"""## {rows:,} rows, {rounds} round{"s" if rounds > 1 else ""}

{record["date"]}, Spark {record["spark"]}, `local[{record["cores"]}]`, {record["machine"]}, load average at the end {record["load"]:.1f};
{record["parts"]} parts, {record["tables"]} tables of {record["bytes"] / 1e9:.2f} GB together.

| stage | seconds | CPU seconds | more than before | CPU, more | microseconds CPU per row |
|---|---:|---:|---:|---:|---:|
{table}

* In processor time, writing the tables costs {share("hand")} of Spark's own shuffle and sort; with the transfer of the rows from the JVM to Python, which
  any writer in Python has, {share("sort")}.
* Reading the tables back and counting the rows took {record["read_back"][0]:.1f} s, {record["read_back"][1]:.1f} s of processor time.
"""


if __name__ == "__main__":
    main()
