"""The examples in the documents are run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).parent.parent


def code(document: Path) -> str:
    """All blocks of Python, on their lines."""
    lines, inside = [], False
    for line in document.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines)


@pytest.mark.parametrize("document", [PYTHON.parent / "docs" / "python.md", PYTHON / "README.md"])
def test_documents(document: Path, tmp_path: Path) -> None:
    source = code(document)
    assert "import sstkit" in source
    exec(compile(source, str(document), "exec"), run_in(tmp_path))


def run_in(folder: Path) -> dict[str, object]:
    os.chdir(folder)
    return {"__name__": "__main__"}


@pytest.mark.parametrize("example", sorted((PYTHON / "examples").glob("*.py")), ids=lambda it: it.name)
def test_examples(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
