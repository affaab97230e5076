"""The examples in the documents are run, in the session of the tests."""

import re
import runpy
from pathlib import Path

import pytest
from conftest import HAS_DATA_SOURCES
from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(not HAS_DATA_SOURCES, reason="PySpark 3.5 has no data sources in Python")

PYTHON = Path(__file__).parent.parent


def test_page(spark: SparkSession, tmp_path: Path) -> None:
    page = PYTHON.parent / "docs" / "spark.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(blocks) >= 3
    source = "\n".join(blocks).replace('"/data/', f'"{tmp_path}/')
    exec(compile(source, str(page), "exec"), {"spark": spark})


@pytest.mark.parametrize("name", ["from_a_data_frame_to_rocksdb"])
def test_example(
    spark: SparkSession, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [name, str(tmp_path)])
    runpy.run_path(str(PYTHON / "examples" / "spark" / f"{name}.py"), run_name="__main__")
