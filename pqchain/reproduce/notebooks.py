"""The pages of a run: its first page, and the notebooks of works, executed over saved frames."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pqchain import installation
from pqchain.bench import variation
from pqchain.bench.presets import PRESET_VARIABLE
from pqchain.figures import Kind
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table
from pqchain.reproduce.outcome import Reproduction, WorkResults
from pqchain.results import outputs
from pqchain.works import verdicts
from pqchain.works.printed import EXPLAINED
from pqchain.works.work import Work, by_sentence, split_ours

RESULTS_VARIABLE = "PQCHAIN_RESULTS"
"""Environment variable with the output folder of a run, which notebooks read."""

_LIBRARIES = ("ipykernel", "nbclient", "nbconvert")

_LIMIT_SECONDS = {"quick": 600, "paper": 7200}
"""Time limits of a cell by preset."""

TITLE = "Post-quantum cryptography in blockchains: published, and measured here"

_WORDS = {
    "hold": [verdicts.HOLDS],
    "do not": [verdicts.FAILS],
    "mixed": [verdicts.MIXED],
    "property": [verdicts.PROPERTY],
    "hold here": verdicts.HOLDS_HERE,
    "not here": verdicts.NOT_HERE,
    "threshold": [verdicts.THRESHOLD],
    "fitted": [verdicts.FITTED],
    "open": [verdicts.OPEN],
    "equal": ["equal"],
    "explained": EXPLAINED,
    "different": ["different"],
}
"""The verdicts that are counted in a column, by its title."""

_NOTE = (
    "Sentences are counted: one holds, or does not, if all its readings do; otherwise it is mixed. "
    "Property: of the algorithm, shown by a run of pqchain's code. Here: in a setting that is not "
    "the work's (its machine, code, size or clock), so neither confirmed nor refuted. Threshold: "
    "not at a bound of pqchain's choice, which refutes nothing. Fitted: by a model whose "
    "parameters were fitted to the same numbers, so not confirmed. Statements that no work makes "
    "are not counted."
)


def folder() -> Path:
    """Return the folder of the notebooks, of the package or else of the checkout."""
    place = installation.HOME / "notebooks"
    return place if place.is_dir() else installation.HOME.parent / "notebooks"


def write_pages(
    works: Iterable[Work], results: Path, *, preset: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Execute the notebook of each work over the results in a folder; write pages into it.

    Returns the page of each work by key, and a message per notebook that raised an error.
    """
    pages, failures = {}, []
    for work in () if missing() else works:
        file = folder() / f"{work.paper.notebook}.ipynb"
        if not file.is_file():
            continue
        notebook = read(file)
        if error := execute(notebook, preset=preset, results=results):
            failures.append(f"{file.name}: {error}")
        pages[work.key] = f"{work.key}.html"
        text = page(notebook, work.paper.title)
        (results / pages[work.key]).write_text(text, encoding="utf-8")
    return pages, tuple(failures)


def missing() -> str:
    """Return which libraries are not installed, without which no notebook is executed."""
    return ", ".join(name for name in _LIBRARIES if find_spec(name) is None)


def read(file: Path) -> Any:
    """Return a notebook."""
    import nbformat

    notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def execute(notebook: Any, *, preset: str, results: Path | None = None) -> str:
    """Execute a notebook in a child process, up to its first error; return that error, or "".

    The outputs become those of this execution, with one drawing per figure.
    """
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    manager: Any = AsyncKernelManager(kernel_name="python3")
    # Another Python's kernel of that name may be installed for the user.
    manager.kernel_spec.argv[0] = sys.executable
    manager.transport_encryption = "auto"
    variables = os.environ | {PRESET_VARIABLE: preset}
    if results is not None:
        variables[RESULTS_VARIABLE] = str(results.resolve())
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=_LIMIT_SECONDS[preset],
        record_timing=False,
        store_widget_state=False,
    )
    error = ""
    try:
        client.execute(env=variables, cleanup_kc=True)
    except CellExecutionError as failure:
        error = f"{failure.ename}: {failure.evalue}"
    except (DeadKernelError, TimeoutError) as failure:
        error = str(failure).strip().partition("\n")[0]
    for data in _outputs(notebook):
        if "image/svg+xml" in data:
            # Line breaks in an SVG are only spaces, but make thousands of lines of a notebook.
            data["image/svg+xml"] = " ".join(data["image/svg+xml"].split())
            data.pop("image/png", None)
    return error


def _outputs(notebook: Any) -> Iterator[Any]:
    for cell in notebook["cells"]:
        yield from (output["data"] for output in cell.get("outputs", ()) if "data" in output)


def page(notebook: Any, title: str) -> str:
    """Return a notebook without its code, as a page that loads nothing from elsewhere."""
    from nbconvert import HTMLExporter

    notebook = deepcopy(notebook)
    for data in _outputs(notebook):
        # Within the page, and not as an image file, a drawing follows light and dark colours.
        if drawing := data.pop("image/svg+xml", ""):
            figure = Markup(drawing[drawing.index("<svg") :])
            data["text/html"] = html.element("figure", figure, class_="plot")
    exporter: Any = HTMLExporter  # without types
    body, _ = exporter(
        template_name="basic",
        exclude_input=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    ).from_notebook_node(notebook)
    return html.document(title, [], Markup(body), pages=[("index.html", "All works")])


def index_page(reproduction: Reproduction, folder: Path) -> str:
    """Return the page as HTML; `folder` has all other files of the run."""
    measured = reproduction.measurements
    facts, warnings = measured.attrs["provenance"], variation.warnings(measured)
    date = f"{facts['date'][:19].replace('T', ' ')} UTC"
    about = (facts["cpu_model"], date, variation.quality(measured), f"pqchain {facts['pqchain']}")
    if lacking := missing():
        warnings.append(
            f"The works have no pages, because {lacking} is not installed: `pip install "
            "'pqchain[notebooks]'`, and run again."
        )
    warnings += [f"Failed: {failure}" for failure in reproduction.failures]
    alert = html.element("div", html.bullets(warnings), class_="verdict bad", role="alert")
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file())
    links = (html.link(name, name) for name in sorted({outputs.MANIFEST, *paths}))
    parts = [
        html.element("h1", TITLE),
        html.element("p", ", ".join(about), class_="byline"),
        *[alert] * bool(warnings),
        works_table(reproduction).html(),
        html.folded("Files of this run", html.bullets(links)),
    ]
    pages = [("index.html", TITLE), *((file, key) for key, file in reproduction.pages.items())]
    return html.document(TITLE, [], *parts, pages=pages)


def works_table(reproduction: Reproduction) -> Table:
    """Return a table of the counts of verdicts on each work; no column has only zeros."""
    counts = {result.work.key: _counts(result) for result in reproduction.results}
    all_names = next(iter(counts.values()))
    names = [name for name in all_names if any(row[name] for row in counts.values())]
    rows: list[list[object]] = []
    for result in reproduction.results:
        key, title = result.work.key, result.work.paper.title
        file = reproduction.pages.get(key, "")
        name = Shown(key, key, html.link(title, file) if file else html.join(title))
        rows.append([name, *(counts[key][name] for name in names)])
    return Table(
        columns=[Column("work"), *(Column(title, group, True) for group, title in names)],
        rows=rows,
        caption="Verdicts on the sentences of each work.",
        notes=[_NOTE],
        source=[kind for kind in Kind if kind in set(reproduction.claims["source"])],
    )


def _counts(result: WorkResults) -> dict[tuple[str, str], int]:
    """Return the number of verdicts by group and title of their column."""
    claims, _ = split_ours(result.claims)
    is_print = claims["source"] == Kind.PUBLISHED
    columns = {
        "by the paper's numbers": by_sentence(claims[is_print]),
        "by numbers of pqchain": by_sentence(claims[~is_print]),
        "printed sizes": result.comparisons["sizes"]["verdict"],
    }
    return {
        (group, title): int(column.isin(words).sum())
        for group, column in columns.items()
        for title, words in _WORDS.items()
    }
