"""Ctrl-C ends long work, and other threads run meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import sstkit


def interrupted(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code that says "ready" before its long work, and send it SIGINT."""
    # It may be ignored where these tests were started, as in the background of a script.
    default = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code = default + "import sys, sstkit, pyarrow as pa\n" + textwrap.dedent(code)
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert time.monotonic() - started < 30
    return subprocess.CompletedProcess(code, process.returncode, out, errors)


def test_build(tmp_path: Path) -> None:
    done = interrupted(
        """
        def batches():
            number = 0
            while True:
                keys = [b"%012d" % (number + row) for row in range(1000)]
                number += 1000
                yield pa.record_batch({"key": keys, "value": keys})
        schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
        reader = pa.RecordBatchReader.from_batches(schema, batches())
        print("ready", flush=True)
        try:
            sstkit.build(reader, sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted")
        """,
        tmp_path / "out.sst",
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_scan(small: Path) -> None:
    done = interrupted(
        """
        table = sstkit.Table(sys.argv[1], cache_size=0)
        print("ready", flush=True)
        try:
            while True:
                pa.table(table.scan(batch_rows=1))
        except KeyboardInterrupt:
            print("interrupted")
        """,
        small,
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


ROWS = 3_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes a while to read."""
    path = tmp_path_factory.mktemp("large") / "large.sst"
    numbers = pa.array(range(ROWS), pa.int64())
    rows = pa.table({"key": numbers, "value": numbers})
    sstkit.build(rows, path, key="key", value="value", sorted=True, compression="none")
    return path


def other(table: sstkit.Table) -> Path:
    """The same rows in other blocks, so that no block is skipped."""
    path = Path(table.path).with_name("other.sst")
    if not path.exists():
        sstkit.build(table.scan(), path, sorted=True, compression="none", block_size=1000)
    return path


def interrupt(call: Callable[[], object]) -> None:
    """Makes the call twice, and interrupts it the second time: it ends soon after."""
    started = time.monotonic()
    call()
    whole = time.monotonic() - started
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # A thread that needs the interpreter's lock during the call.
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    took = None
    try:
        timer.start()
        try:
            call()
        except (OSError, pa.ArrowException):
            # A stream ends with an error of its consumer, and the exception follows.
            took = time.monotonic() - started
        for _ in range(20):
            time.sleep(0.1)
        pytest.fail("it was not interrupted")
    except KeyboardInterrupt:
        took = took or time.monotonic() - started
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert took < max(0.3, whole * 0.7), (took, whole)


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.verify(),
        lambda table: table.stats(),
        lambda table: table.info(full=True),
        lambda table: table.filter_report(measure=100_000),
        lambda table: table.get_many([b"%08d" % number for number in range(1000)] * 300),
        lambda table: pa.table(table.scan()),
        lambda table: pa.table(table.scan(threads=2)),
        lambda table: list(sstkit.diff(table, sstkit.Table(other(table)))),
        lambda table: list(sstkit.diff(table, sstkit.Table(other(table)), internal=True)),
        lambda table: sstkit.salvage(table.path),
    ],
    ids=[
        "verify", "stats", "info", "filter_report", "get_many", "scan", "scan with threads", "diff",
        "internal diff", "salvage",
    ],
)  # fmt: skip
def test_reading(large: Path, call: Callable[[sstkit.Table], object]) -> None:
    with sstkit.Table(large) as table:
        interrupt(lambda: call(table))


@pytest.mark.parametrize(
    "call",
    [
        lambda path, out: sstkit.refilter(path, out, "ribbonfilter:10", replace=True),
        lambda path, out: sstkit.salvage(path, out),
        lambda path, out: sstkit.build(sstkit.scan(path, reverse=True), out, memory=8 << 20, replace=True),
    ],
    ids=["refilter", "salvage", "build"],
)
def test_writing(large: Path, tmp_path: Path, call: Callable[[Path, Path], object]) -> None:
    def on_new_path() -> None:
        (tmp_path / "out.sst").unlink(missing_ok=True)
        call(large, tmp_path / "out.sst")

    interrupt(on_new_path)
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_a_part(large: Path, tmp_path: Path) -> None:
    """Which sorts what was written."""
    numbers = iter(range(2))

    def filled() -> sstkit.PartWriter:
        plan = sstkit.plan(tmp_path / f"out{next(numbers)}", compression="none", splits=[])
        writer = sstkit.PartWriter(plan, 0, "a", sorted=False, memory=8 << 20)
        writer.write(sstkit.scan(large, reverse=True))
        return writer

    writers = iter([filled(), filled()])
    interrupt(lambda: next(writers).finish())
    assert list((tmp_path / "out1" / "_sstkit").glob("*/part*")) == []


def endless() -> Iterator[pa.RecordBatch]:
    while True:
        yield pa.record_batch({"key": [b"a"] * 1000, "value": [b"b"] * 1000})


def test_endless_keys() -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary())])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            sstkit.encode_keys(pa.RecordBatchReader.from_batches(schema, endless()), "key")
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_other_threads_run(tmp_path: Path) -> None:
    keys = pa.array([b"%012d" % number for number in range(300_000)])
    rows = pa.table({"key": keys, "value": keys})
    ticks = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not ended.is_set():
            ticks += 1
            time.sleep(0.001)

    counting = threading.Thread(target=count)
    counting.start()
    before = ticks
    started = time.monotonic()
    sstkit.build(rows, tmp_path / "out.sst", compression="zstd:9")
    took = time.monotonic() - started
    during = ticks - before
    ended.set()
    counting.join()
    # A thread that had to wait for the lock would have counted to about one.
    assert during > took * 1000 / 50, (during, took)
    assert os.path.getsize(tmp_path / "out.sst") > 0
