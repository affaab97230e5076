"""The columns that keys are made of, in a read of the format "sst".

    option key_types    country string, id bigint      as in a schema of Spark
    columns             country, id                    instead of `key`
    country = 'fr'      keys from 66 72 00 01 to 66 72 00 02
"""

from __future__ import annotations

import re
from typing import Any

from .._errors import InvalidInput
from .._native import encode_keys

# Types of Spark, with the names that Arrow gives them.
ARROW = {
    "binary": "binary",
    "string": "string",
    "boolean": "bool",
    "tinyint": "int8",
    "byte": "int8",
    "smallint": "int16",
    "short": "int16",
    "int": "int32",
    "integer": "int32",
    "bigint": "int64",
    "long": "int64",
    "float": "float",
    "double": "double",
    "date": "date32",
    "timestamp": "timestamp[us, tz=UTC]",
    "timestamp_ntz": "timestamp[us]",
}

DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")

# Columns whose order is the same for Spark. It is not for floats: Spark has one zero and one NaN.
COMPARED = {"binary", "string", "int8", "int16", "int32", "int64", "date32"}


class KeyColumns:
    """The names and types of all key columns, in the order of the encoding."""

    def __init__(self, text: str) -> None:
        # Not at the comma of decimal(10, 2).
        parts = [part.split(None, 1) for part in re.split(r",(?![^(]*\))", text)]
        if any(len(part) != 2 for part in parts):
            raise InvalidInput(f"option key_types: {text!r} is not like \"country string, id bigint\"")
        self.spark = {name: of.strip().lower() for name, of in parts}
        self.types = [(name, arrow_name(of)) for name, of in self.spark.items()]
        self.names = list(self.spark)

    def interval(self, name: str, value: Any) -> tuple[bytes, bytes | None] | None:
        """The first key with this value in a column, and the first one after all of these, if there may be any;
        None if such keys do not follow each other."""
        import pyarrow as pa

        leading, of = self.types[0]
        if name != leading or of not in COMPARED:
            return None
        columns = {name: pa.array([value], pa.type_for_alias(of))}
        if len(self.types) == 1:
            [key] = encode_keys(pa.table(columns), name)
            return key, key + b"\0"
        # With an empty column after it, the key is what all keys with this value begin with.
        columns[""] = pa.array([b""], pa.binary())
        [prefix] = encode_keys(pa.table(columns), [name, ""])
        return prefix, after_prefix(prefix)


def arrow_name(of: str) -> str:
    """A type of Spark as Arrow names it."""
    if found := DECIMAL.fullmatch(of):
        return f"decimal128({found[1]}, {found[2]})"
    try:
        return ARROW[of]
    except KeyError:
        raise InvalidInput(f"option key_types: keys are not made of {of}") from None


def after_prefix(prefix: bytes) -> bytes | None:
    """The first key after all keys with a prefix; None if there are none."""
    shorter = prefix.rstrip(b"\xff")
    return shorter[:-1] + bytes([shorter[-1] + 1]) if shorter else None
