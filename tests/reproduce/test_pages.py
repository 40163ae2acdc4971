"""Notebooks of works: executed over saved frames in a child process, and written as pages."""

import json

import pytest

from pqchain.reproduce import notebooks
from pqchain.works import registry
from pqchain.works.work import Work
from tests.render.test_html import Reader
from tests.works.sixth.test_sixth import FOLDER

DRAW = """
from IPython.display import display
import os
display({"image/png": "x" * 900, "image/svg+xml": "<svg>\\n<path d='M 0 0'/>\\n</svg>"}, raw=True)
print(os.environ["PQCHAIN_RESULTS"], os.environ["PQCHAIN_PRESET"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of notebooks, instead of the committed ones."""
    pytest.importorskip("nbclient", reason="`make` installs it")
    monkeypatch.setattr(notebooks, "folder", lambda: tmp_path)
    return tmp_path


def write(folder, *sources: str) -> None:
    """Write the notebook of the work falcon-hls with these code cells."""
    cells = [
        {
            "cell_type": "code", "id": f"c{index}", "metadata": {}, "source": source,
            "outputs": [], "execution_count": None,
        }
        for index, source in enumerate(sources)
    ]  # fmt: skip
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "06_falcon_accelerator.ipynb").write_text(json.dumps(notebook))


def test_page_has_one_drawing_and_reads_the_results(folder):
    write(folder, DRAW, "1 / 0", "print('not reached')")
    results = folder / "results"
    results.mkdir()
    works = [registry.get("falcon-hls"), Work(FOLDER)]
    pages, failures = notebooks.write_pages(works, results, preset="quick")
    # The sixth work has no notebook.
    assert pages == {"falcon-hls": "falcon-hls.html"}
    assert failures == ("06_falcon_accelerator.ipynb: ZeroDivisionError: division by zero",)
    text = (results / "falcon-hls.html").read_text(encoding="utf-8")
    assert "<svg> <path" in text and "data:image/png" not in text
    assert f"{results.resolve()} quick" in text
    assert "IPython" not in text and "not reached" not in text  # the code, and what follows
    reader = Reader(text)
    assert not reader.all("script") and not reader.all("link")
    assert [tag["href"] for tag in reader.all("a")] == ["index.html"]


def test_without_the_libraries_there_are_no_pages(folder, monkeypatch):
    write(folder, "1")
    monkeypatch.setattr(notebooks, "find_spec", lambda name: None)
    works = [registry.get("falcon-hls")]
    assert notebooks.write_pages(works, folder, preset="quick") == ({}, ())
    assert notebooks.missing() == "ipykernel, nbclient, nbconvert"


def test_every_work_has_a_notebook():
    place = notebooks.folder()
    for work in registry.works():
        assert f'results("{work.key}"' in (place / f"{work.paper.notebook}.ipynb").read_text(
            encoding="utf-8"
        ).replace('\\"', '"')
