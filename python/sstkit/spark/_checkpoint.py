"""State stores of Structured Streaming: the RocksDB databases that a checkpoint contains.

    checkpoint/state/0/3/17.zip            version 17 of partition 3 of operator 0: CURRENT, MANIFEST, OPTIONS
                                           and `metadata`, which says which tables it has
    checkpoint/state/0/3/SSTs/000008-….sst the tables, which several versions share
    checkpoint/state/0/3/17.changelog      only what has changed since version 16
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._errors import Corrupt, InvalidInput, Unsupported
from .._native import Database, is_folder
from .._open import is_address

VERSION = re.compile(r"(\d+)(?:_[0-9a-f-]+)?\.(zip|changelog)")

# A zip contains small files: names, a MANIFEST, settings.
MAX_MEMBER = 256 << 20


def stores(path: str, operator: str, store: str) -> list[str]:
    """The directories of all partitions of a state store; none if the path is something else."""
    if is_address(path):
        if is_folder(f"{path.rstrip('/')}/state"):
            raise Unsupported(f"{path}: checkpoints in object stores are not supported; copy it to a disk")
        return []
    root = Path(path)
    if (root / "SSTs").is_dir():
        return [path]
    folder = root / "state" / operator
    if not folder.is_dir():
        return []
    numbers = sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdigit())
    name = "" if store == "default" else store
    found = [os.path.join(folder, str(number), name) for number in numbers]
    if not found or not all(os.path.isdir(os.path.join(it, "SSTs")) for it in found):
        raise InvalidInput(f"{folder}: no RocksDB state store {store!r} in every partition")
    return found


def snapshot(store: str, version: int | None) -> Path:
    """The zip of a version, by default of the last one."""
    versions: dict[int, dict[str, Path]] = {}
    for entry in Path(store).iterdir():
        if match := VERSION.fullmatch(entry.name):
            versions.setdefault(int(match[1]), {})[match[2]] = entry
    number = max(versions, default=None) if version is None else version
    if number is None or number not in versions:
        raise InvalidInput(f"{store}: version {number} not found (found {sorted(versions)})")
    if "zip" not in versions[number]:
        whole = [number for number, kinds in sorted(versions.items()) if "zip" in kinds]
        raise Unsupported(
            f"{store}: version {number} is only in a changelog: use the option version (found {whole})"
        )
    return versions[number]["zip"]


@contextmanager
def opened(store: str, version: int | None) -> Iterator[Database]:
    """A version of a state store as a database, put together in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="sstkit-state-") as folder:
        with zipfile.ZipFile(snapshot(store, version)) as archive:
            for member in archive.infolist():
                if member.file_size > MAX_MEMBER or Path(member.filename).name != member.filename:
                    raise Corrupt(f"{archive.filename}: {member.filename!r} is not a file of RocksDB")
                archive.extract(member, folder)
        # The first line is the version of the format.
        described = json.loads(Path(folder, "metadata").read_text().split("\n", 1)[1])
        os.remove(os.path.join(folder, "metadata"))
        for kind, place in (("sstFiles", "SSTs"), ("logFiles", "logs")):
            for file in described.get(kind) or []:
                name = Path(file["localFileName"]).name
                stored = Path(file.get("dfsSstFileName") or file["dfsLogFileName"]).name
                os.symlink(os.path.abspath(os.path.join(store, place, stored)), Path(folder, name))
        with Database(folder) as database:
            yield database
