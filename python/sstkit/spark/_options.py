"""Options of `spark.read` and `df.write`, which are text, as keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from .._errors import InvalidInput
from .._types import ColumnOptions, TableOptions

BOOLEANS = {"true": True, "false": False}


def write_arguments(options: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of `sstkit.plan` and the names of columns; a list of names has commas."""
    hints = {**get_type_hints(ColumnOptions), **get_type_hints(TableOptions)}
    hints.update(max_file_size=int, duplicates=str)
    arguments: dict[str, Any] = {}
    for name, text in options.items():
        if name == "path":
            continue
        if name not in hints:
            raise InvalidInput(f"unknown option {name!r} of the format sst")
        arguments[name] = parsed(name, text, hints[name])
    return arguments


def parsed(name: str, text: str, hint: Any) -> Any:
    """One option, as its annotation says."""
    if hint is int:
        return whole(name, text)
    if hint is bool:
        return truth(name, text)
    return text.split(",") if name in ("key", "value") and "," in text else text


def whole(name: str, text: str) -> int:
    """A number."""
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"option {name}: {text!r} is not a number") from None


def truth(name: str, text: str) -> bool:
    """True or false."""
    try:
        return BOOLEANS[text.lower()]
    except KeyError:
        raise InvalidInput(f"option {name}: {text!r} is neither true nor false") from None
