"""Ctrl-C ends long work, and other threads run meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pyarrow as pa

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
