"""What the tests share."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sstkit


@pytest.fixture(scope="session")
def testdata() -> Path:
    """The tables and databases that the engines wrote."""
    return Path(os.environ["TESTDATA"])


def sst(*arguments: object) -> list[Any]:
    """Run the command, and decode the lines of JSON that it prints."""
    command = [os.environ["SST"], *map(str, arguments), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A table of a thousand keys."""
    path = tmp_path / "small.sst"
    with sstkit.TableWriter(path) as writer:
        for number in range(1000):
            writer.put(b"key%06d" % number, b"value%d" % number)
    return path
