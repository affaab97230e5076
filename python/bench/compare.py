"""Times of sstkit beside rocksdict, in one process, in turns, and docs/benchmarks/python.md from them.

Needs a release build: `pip install ./python pyarrow rocksdict`, then
`python python/bench/compare.py --wheel --page docs/benchmarks/python.md`. Every result is checked.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rocksdict import BlockBasedOptions, DBCompressionType, Options, Rdict, SstFileWriter

import sstkit

VALUE_SIZE = 100

# Times as fast as SstFileWriter per key.
GOAL = 5


def rows(count: int) -> pa.Table:
    """Sorted keys of 16 bytes and values of 100."""
    numbers = pc.utf8_lpad(pa.array(range(count), pa.int64()).cast(pa.string()), 16, "0")
    keys = numbers.cast(pa.binary())
    filler = pa.scalar(b"v" * (VALUE_SIZE - 16), pa.binary())
    values = pc.binary_join_element_wise(keys, filler, pa.scalar(b"", pa.binary()))
    return pa.table({"key": keys, "value": values})


def raw_options(bloom: bool = False) -> Options:
    """No compression; no filter, as is RocksDB's default, or one of 10 bits per key."""
    options = Options(raw_mode=True)
    options.set_compression_type(DBCompressionType.none())
    if bloom:
        table = BlockBasedOptions()
        table.set_bloom_filter(10.0, False)
        options.set_block_based_table_factory(table)
    return options


class Comparison:
    """The same rows, written and read by both."""

    def __init__(self, count: int, folder: Path) -> None:
        self.count = count
        self.rows = rows(count)
        self.keys, self.values = (self.rows[name].to_pylist() for name in ("key", "value"))
        assert len(self.keys[0]) == 16 and len(self.values[0]) == VALUE_SIZE
        self.ours, self.theirs = folder / "ours.sst", folder / "theirs.sst"
        self.database = folder / "db"

    def build(self, filter: str) -> None:
        sstkit.build(
            self.rows, self.ours, sorted=True, compression="none", threads=1, filter=filter, replace=True
        )

    def build_per_key(self, bloom: bool) -> None:
        writer = SstFileWriter(options=raw_options(bloom))
        writer.open(str(self.theirs))
        for key, value in zip(self.keys, self.values):
            writer[key] = value
        writer.finish()

    def build_from_arrow(self, bloom: bool) -> None:
        """The same input as `build` has, a batch at a time."""
        writer = SstFileWriter(options=raw_options(bloom))
        writer.open(str(self.theirs))
        for batch in self.rows.to_batches(max_chunksize=10_000):
            for key, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist()):
                writer[key] = value
        writer.finish()

    def copy(self) -> None:
        """The bytes of the table into another file, in pieces of 256 KiB: the system's part of building."""
        view = memoryview(self.bytes)
        with open(self.ours.with_name("copy.sst"), "wb", buffering=0) as file:
            for start in range(0, len(self.bytes), 256 << 10):
                file.write(view[start : start + (256 << 10)])
            os.fsync(file.fileno())

    def put_per_key(self) -> None:
        with sstkit.TableWriter(self.ours.with_name("put.sst"), compression="none", threads=1) as writer:
            for key, value in zip(self.keys, self.values):
                writer.put(key, value)

    def scan(self, threads: int) -> None:
        read = pa.table(sstkit.Table(self.ours, cache_size=0).scan(threads=threads))
        assert read.num_rows == self.count

    def stream(self, threads: int) -> None:
        batches = pa.RecordBatchReader.from_stream(
            sstkit.Table(self.ours, cache_size=0).scan(threads=threads)
        )
        assert sum(batch.num_rows for batch in batches) == self.count

    def iterate(self) -> None:
        assert sum(1 for _ in self.opened.items()) == self.count

    def iterate_to_list(self) -> None:
        assert len(list(self.opened.items())) == self.count

    def check(self) -> None:
        """Both tables are equal, and the engine reads ours."""
        self.build("bloomfilter:10")
        self.bytes = memoryview(self.ours.read_bytes())
        assert list(sstkit.diff(sstkit.Table(self.ours), sstkit.Table(self.theirs))) == []
        self.opened = Rdict(str(self.database), raw_options())
        self.opened.ingest_external_file([str(self.ours)])
        self.iterate()
        for key, value in list(zip(self.keys, self.values))[:: max(1, self.count // 1000)]:
            assert self.opened[key] == value

    def work(self) -> dict[str, Callable[[], None]]:
        return {
            "build": lambda: self.build("none"),
            "build, Bloom filter": lambda: self.build("bloomfilter:10"),
            "SstFileWriter per key": lambda: self.build_per_key(False),
            "SstFileWriter per key, Bloom filter": lambda: self.build_per_key(True),
            "SstFileWriter per key, from Arrow": lambda: self.build_from_arrow(False),
            "SstFileWriter per key, from Arrow, Bloom filter": lambda: self.build_from_arrow(True),
            "TableWriter.put per key, Bloom filter": self.put_per_key,
            "the same bytes, written only": self.copy,
            "scan into a table, 1 thread": lambda: self.scan(1),
            "scan into a table, 2 threads": lambda: self.scan(2),
            "scan batch by batch, 1 thread": lambda: self.stream(1),
            "scan batch by batch, 2 threads": lambda: self.stream(2),
            "iterator": self.iterate,
            "iterator into a list": self.iterate_to_list,
        }


# What each is compared with.
RATIOS = [
    ("build", "SstFileWriter per key"),
    ("build, Bloom filter", "SstFileWriter per key, Bloom filter"),
    ("build", "SstFileWriter per key, from Arrow"),
    ("build, Bloom filter", "SstFileWriter per key, from Arrow, Bloom filter"),
    ("TableWriter.put per key, Bloom filter", "SstFileWriter per key, Bloom filter"),
    ("scan into a table, 1 thread", "iterator into a list"),
    ("scan into a table, 2 threads", "iterator into a list"),
    ("scan batch by batch, 1 thread", "iterator"),
    ("scan batch by batch, 2 threads", "iterator"),
]


def measured(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and seconds of processor time of all threads."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def import_seconds() -> float:
    """The time of the import alone, in a process of its own."""
    code = (
        "import time; start = time.perf_counter(); import sstkit;"
        "print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def wheel(folder: Path) -> dict[str, float]:
    """Builds the wheel with nothing built before, as `pip install ./python` does."""
    source = Path(__file__).parent.parent
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(source)]
    before, started = os.times(), time.perf_counter()
    subprocess.run(command, env={**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}, check=True)
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    [built] = folder.glob("*.whl")
    return {"bytes": built.stat().st_size, "seconds": time.perf_counter() - started, "cpu": cpu}


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    comparison = Comparison(arguments.rows, folder)
    comparison.build_per_key(False)
    comparison.check()
    work = comparison.work()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for _ in range(arguments.rounds):
        for name, one in work.items():
            times[name].append(measured(one))
    built: dict[str, float] | None = None
    if arguments.wheel:
        # Not where the files are, which is memory.
        with tempfile.TemporaryDirectory(prefix="sstkit-wheel-") as place:
            built = wheel(Path(place))
    return {
        "wheel": built,
        "rows": arguments.rows,
        "rounds": arguments.rounds,
        "folder": str(folder.parent),
        "date": time.strftime("%Y-%m-%d"),
        "load": os.getloadavg()[0],
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "pyarrow": pa.__version__,
        "import": min(import_seconds() for _ in range(5)),
        "times": times,
    }


def page(record: dict[str, Any]) -> str:
    """The page, with medians and the whole range."""

    def of(name: str, which: int) -> list[float]:
        return [time[which] for time in record["times"][name]]

    def shown(numbers: list[float]) -> str:
        low, middle, high = min(numbers), statistics.median(numbers), max(numbers)
        return f"{middle * 1000:.0f} ({low * 1000:.0f} to {high * 1000:.0f})"

    def rate(numbers: list[float]) -> str:
        return f"{record['rows'] / statistics.median(numbers) / 1e6:.1f}"

    def ratio(ours: str, theirs: str, which: int) -> str:
        return f"{statistics.median(of(theirs, which)) / statistics.median(of(ours, which)):.1f}"

    times = "\n".join(
        f"| {name} | {shown(of(name, 0))} | {shown(of(name, 1))} | {rate(of(name, 0))} | {rate(of(name, 1))} |"
        for name in record["times"]
    )
    ratios = "\n".join(
        f"| {ours} | {theirs} | {ratio(ours, theirs, 0)} | {ratio(ours, theirs, 1)} |"
        for ours, theirs in RATIOS
    )
    copied = statistics.median(of("the same bytes, written only", 1))
    build_outside = (statistics.median(of("build", 1)) - copied) * 1000
    fifth = statistics.median(of("SstFileWriter per key", 0)) * 200
    per_key_outside = (statistics.median(of("SstFileWriter per key", 1)) - copied) * 1000
    return f"""# The Python package beside rocksdict

Printed by `python/bench/compare.py` from a run on {record["date"]}: {record["rows"]:,} rows of 16 + 100 bytes, sorted, no compression, files in
`{record["folder"]}`; Python {record["python"]}, pyarrow {record["pyarrow"]}, rocksdict with RocksDB 9.8, {record["cores"]} cores, load average at the end
{record["load"]:.1f}. Medians of {record["rounds"]} rounds in turns, with the range, in milliseconds. Processor time is that of all threads of the process, and
depends less on what else the machine does.

| work | time | processor time | million rows/s | of processor time |
|---|---:|---:|---:|---:|
{times}

| | compared with | times as fast | in processor time |
|---|---|---:|---:|
{ratios}

* Both write blocks of 4 KiB with a checksum for each, and sync the file. RocksDB's default is no filter; `sstkit.build` makes a Bloom filter
  of 10 bits per key unless `filter="none"`. Both forms are here, each beside the same of the other. `build` with `threads=1` encodes in
  one thread and writes the file in another; `SstFileWriter` does both in the caller's.
* `build` takes the rows from pyarrow. `SstFileWriter` is called once per key: with `bytes` that exist already, whose making is not counted, and
  in the rows "from Arrow" with those of the same Arrow table, made by `to_pylist` in batches of 10,000 rows.
* All writers replace the file of the round before; freeing its memory is part of each time.
* "The same bytes, written only" is what the file system takes for a file of this size: no writer takes less. Beside it `build` takes
  {build_outside:.0f} ms of processor time, and `SstFileWriter` {per_key_outside:.0f} ms.
* The goal of {GOAL} times `SstFileWriter` is {fifth:.0f} ms here, less than these bytes take alone: no writer reaches it with files in this
  directory. The time of the bytes is that of the pages of memory that hold the file and of freeing those of the file before; it
  hardly depends on the length of the pieces (64 KiB to 4 MiB), and neither `fallocate` nor a memory map makes it shorter. `build` hides
  most of it behind encoding, in a second thread.
* A scan into a table keeps all rows, as the iterator into a list does; a scan batch by batch drops them, as the iterator does.
* The scans open the table again in each round, without a cache, and verify checksums; the iterator's database stays open, with its cache.
* Importing the package takes {record["import"] * 1000:.0f} ms.
{of_wheel(record.get("wheel"))}"""


def of_wheel(built: dict[str, float] | None) -> str:
    """A line about the wheel, if it was built."""
    if built is None:
        return ""
    return (
        f"* The wheel has {built['bytes'] / 1e6:.1f} MB. `pip install ./python` with nothing built before takes "
        f"{built['seconds']:.0f} s, {built['cpu']:.0f} s of\n  processor time.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", default="/dev/shm", help="where the files are")
    parser.add_argument("--record", type=Path, help="a JSON file for the times of all rounds")
    parser.add_argument("--page", type=Path, help="the page to write")
    parser.add_argument("--wheel", action="store_true", help="build the wheel, too, which takes minutes")
    parser.add_argument("--run", type=Path, help="print the page from this record; nothing is measured")
    arguments = parser.parse_args()
    if arguments.run:
        finish(arguments.page, json.loads(arguments.run.read_text()))
        return
    folder = Path(tempfile.mkdtemp(prefix="sstkit-bench-", dir=arguments.folder))
    try:
        record = run(arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.record:
        arguments.record.write_text(json.dumps(record, indent=1) + "\n")
    finish(arguments.page, record)


def finish(path: Path | None, record: dict[str, Any]) -> None:
    """Prints the page."""
    text = page(record)
    print(text)
    if path:
        path.write_text(text)


if __name__ == "__main__":
    main()
