"""Times of sstkit beside rocksdict, in one process, in turns.

Needs a release build: `pip install ./python pyarrow rocksdict`, then `python python/bench/compare.py`.
Every result is checked. Prints rows per second and the ratios; the best of several rounds counts.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rocksdict import DBCompressionType, Options, Rdict, SstFileWriter

import sstkit

VALUE_SIZE = 100


def rows(count: int) -> pa.Table:
    """Sorted keys of 16 bytes and values of 100."""
    numbers = pc.utf8_lpad(pa.array(range(count), pa.int64()).cast(pa.string()), 16, "0")
    keys = numbers.cast(pa.binary())
    filler = pa.scalar(b"v" * (VALUE_SIZE - 16), pa.binary())
    values = pc.binary_join_element_wise(keys, filler, pa.scalar(b"", pa.binary()))
    return pa.table({"key": keys, "value": values})


def raw_options() -> Options:
    options = Options(raw_mode=True)
    options.set_compression_type(DBCompressionType.none())
    return options


def build(table: pa.Table, path: Path) -> None:
    sstkit.build(table, path, sorted=True, compression="none", threads=1)


def build_per_key(keys: list[bytes], values: list[bytes], path: Path) -> None:
    writer = SstFileWriter(options=raw_options())
    writer.open(str(path))
    for key, value in zip(keys, values):
        writer[key] = value
    writer.finish()


def scan(path: Path) -> int:
    return int(pa.table(sstkit.Table(path, cache_size=0).scan()).num_rows)


def iterate(database: Rdict) -> int:
    return sum(1 for _ in database.items())


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def import_seconds() -> float:
    """The time of the import alone, in a process of its own."""
    code = (
        "import time; start = time.perf_counter(); import sstkit;"
        "print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    table = rows(arguments.rows)
    keys, values = table["key"].to_pylist(), table["value"].to_pylist()
    assert len(keys[0]) == 16 and len(values[0]) == VALUE_SIZE
    folder = Path(tempfile.mkdtemp(prefix="sstkit-bench-"))
    ours, theirs = folder / "ours.sst", folder / "theirs.sst"
    best = dict.fromkeys(["build", "SstFileWriter", "scan", "iterator"], float("inf"))
    database: Rdict | None = None
    try:
        for _ in range(arguments.rounds):
            for path in (ours, theirs):
                path.unlink(missing_ok=True)
            best["build"] = min(best["build"], seconds(lambda: build(table, ours)))
            best["SstFileWriter"] = min(
                best["SstFileWriter"], seconds(lambda: build_per_key(keys, values, theirs))
            )
            if database is None:
                database = Rdict(str(folder / "db"), raw_options())
                database.ingest_external_file([str(ours)])
                for key, value in list(zip(keys, values))[:: arguments.rows // 1000]:
                    assert database[key] == value
            assert list(sstkit.diff(sstkit.Table(ours), sstkit.Table(theirs))) == []
            best["scan"] = min(best["scan"], seconds(lambda: scan(ours)))
            best["iterator"] = min(best["iterator"], seconds(lambda: iterate(database)))
            assert scan(ours) == iterate(database) == arguments.rows
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name, time_taken in best.items():
        rate = arguments.rows / time_taken / 1e6
        print(f"{name:14} {time_taken:7.3f} s  {rate:6.2f} million rows/s")
    writing = best["SstFileWriter"] / best["build"]
    print(f"build is {writing:.1f} times as fast as SstFileWriter per key")
    print(f"scan is {best['iterator'] / best['scan']:.1f} times as fast as the iterator")
    print(f"import: {min(import_seconds() for _ in range(5)) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
