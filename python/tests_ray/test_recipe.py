"""The recipe of docs/ray.md is run, and its result read."""

import re
from pathlib import Path

import pyarrow as pa

import sstkit

PAGE = Path(__file__).parent.parent.parent / "docs" / "ray.md"


def test_recipe(tmp_path: Path) -> None:
    [source] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(source.replace("/data", str(tmp_path)), str(PAGE), "exec"), {})
    out = tmp_path / "tables"
    assert all(report["sound"] for report in sstkit.verify(out))
    read = pa.table(sstkit.scan(out, key_types=[("id", "int64")]))
    assert read["id"].to_pylist() == list(range(100_000))
    assert read["value"].to_pylist() == [b"name %d" % number for number in range(100_000)]
    assert len(list(out.glob("*.sst"))) == 4
