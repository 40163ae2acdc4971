"""The committed notebooks: executed in order, short, and without machine-specific paths."""

import ast
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
DRAWINGS = {"image/png", "image/svg+xml"}


def code_cells(path: Path) -> list[dict]:
    """Return the non-empty code cells."""
    cells = json.loads(path.read_text())["cells"]
    return [c for c in cells if c["cell_type"] == "code" and "".join(c["source"]).strip()]


def syntax(path: Path) -> ast.Module:
    """Return the syntax tree of the code, without the magic commands of IPython."""
    lines = "\n".join("".join(cell["source"]) for cell in code_cells(path)).splitlines()
    return ast.parse("\n".join(line for line in lines if not line.startswith("%")))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_executed_from_top_to_bottom(path: Path) -> None:
    counts = [cell["execution_count"] for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    assert len(counts) <= 12


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_results_and_no_errors(path: Path) -> None:
    outputs = [output for cell in code_cells(path) for output in cell["outputs"]]
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]
    drawn = [len(DRAWINGS & set(output.get("data", {}))) for output in outputs]
    # A figure is kept once, as SVG or as PNG: two forms double the file.
    assert set(drawn) == {0, 1}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_defines_nothing_and_reads_the_preset(path: Path) -> None:
    for node in ast.walk(syntax(path)):
        assert not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    assert "pq.preset()" in "".join(code_cells(path)[0]["source"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_contains_no_absolute_path(path: Path) -> None:
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users)/", path.read_text())
