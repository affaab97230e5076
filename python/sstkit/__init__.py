"""Read, write and inspect tables and databases of LevelDB and RocksDB, with Arrow in and out.

>>> import sstkit
>>> with sstkit.Table("000011.sst") as table:  # doctest: +SKIP
...     table.get(b"alice")
"""

from ._errors import Changed, Corrupt, Error, InvalidInput, Io, NotFound, Unsupported
from ._native import (
    BooleanArray,
    Database,
    Differences,
    Filter,
    PartWriter,
    Plan,
    Scan,
    Table,
    TableWriter,
    __version__,
    build,
    commit,
    diff,
    encode_keys,
    plan,
    refilter,
    salvage,
)
from ._open import open, scan, verify

__all__ = [
    "BooleanArray",
    "Changed",
    "Corrupt",
    "Database",
    "Differences",
    "Error",
    "Filter",
    "InvalidInput",
    "Io",
    "NotFound",
    "PartWriter",
    "Plan",
    "Scan",
    "Table",
    "TableWriter",
    "Unsupported",
    "__version__",
    "build",
    "commit",
    "diff",
    "encode_keys",
    "open",
    "plan",
    "refilter",
    "salvage",
    "scan",
    "verify",
]
