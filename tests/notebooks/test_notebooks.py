"""The committed notebooks: executed in order, short, and without machine-specific paths."""

import ast
import html
import json
import re
from pathlib import Path
from typing import Any

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


KINDS = ("text/plain", "text/html")

COMPARISON = (
    r"\b(?:fast|slow|long|short|large|small|high|low|cheap|few)e?(?:r|st)\b"
    r"|\b(?:most|least|dominat\w+|wins?|gains?|twice|half|double)\b"
)

# Words by which text states a result. Such text is an output of `pq.sentence`, unless its cell is
# tagged "source": definitions, methods and what other works have published.
RESULT = re.compile(COMPARISON + r"|\d[\d.,]*\s?(?:%|ms|µs|times)(?!\w)")


def texts(cell: Any) -> str:
    return "".join(cell["source"])


def statements(notebook: Any) -> list[str]:
    """Return the results that text cells state; the first cell, with the question, may say more."""
    return [
        f"{texts(cell)[:60]!r}: {found.group()!r}"
        for cell in notebook["cells"][1:]
        if cell["cell_type"] == "markdown" and "source" not in cell["metadata"].get("tags", ())
        for line in texts(cell).splitlines()
        if not line.startswith(("#", "|"))
        for found in RESULT.finditer(line)
    ]


def contradictions(notebook: Any) -> list[str]:
    """Return the computed sentences whose text or values are not those of the outputs."""
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", ())]
    tables = [out for out in outputs if "sentence" not in out.get("metadata", {})]
    forms = [out.get("text", "") for out in tables]
    # Wide tables are wrapped in their text, but not on the page.
    forms += [out["data"].get(kind, "") for out in tables if "data" in out for kind in KINDS]
    printed = html.unescape("\n".join(map("".join, forms)))
    found = []
    for out in outputs:
        about = out.get("metadata", {}).get("sentence")
        if about is None:
            continue
        text = "".join(out["data"]["text/plain"])
        if text != about["template"].format(**about["values"]):
            found.append(f"{text!r} is not its template with its values")
        # Facts of a work are computed from its frames, which tests/works compares.
        found += (
            []
            if about.get("facts")
            else [
                f"{text!r}: no table has {name} {value!r}"
                for name, value in about["values"].items()
                if not all(part in printed for part in value.split(", "))
            ]
        )
    return found


def sentences(notebook: Any) -> list[Any]:
    outputs = (out for cell in notebook["cells"] for out in cell.get("outputs", ()))
    return [out for out in outputs if "sentence" in out.get("metadata", {})]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return json.loads(request.param.read_text())


def test_text_cells_state_no_results(notebook):
    assert statements(notebook) == []


def test_sentences_agree_with_the_tables(notebook):
    assert contradictions(notebook) == []


def test_every_notebook_computes_its_answer(notebook):
    assert sentences(notebook)


def tour():
    return json.loads(NOTEBOOKS[0].read_text())


def test_a_planted_statement_is_found():
    planted = tour()
    text = {"cell_type": "markdown", "metadata": {}, "source": ["Falcon-512 verifies slowest."]}
    planted["cells"].append(text)
    assert len(statements(planted)) == 1


@pytest.mark.parametrize("part", ["text", "values"])
def test_a_planted_contradiction_is_found(part):
    planted = tour()
    out = sentences(planted)[0]
    about = out["metadata"]["sentence"]
    if part == "values":
        name = next(name for name in about["values"] if name.endswith("_bytes"))
        about["values"][name] = "7 B"
        out["data"]["text/plain"] = [about["template"].format(**about["values"])]
    else:
        out["data"]["text/plain"].append(" Ed25519 is no shorter.")
    assert len(contradictions(planted)) == 1
