"""Commands and examples of the pages and the README run with the stated output."""

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pqchain import algorithms, plots, results, study
from pqchain.bench import stored
from pqchain.commands import main
from pqchain.costs import from_frame
from pqchain.study import validation
from pqchain.study.sampling import CostSamples
from pqchain.works import papers
from tests.study.plans import ALL_COSTS
from tests.works.studies import small

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if not {"_build", "notebooks", "gallery"} & set(page.relative_to(DOCS).parts)
)
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, *kinds: str) -> list[str]:
    """Return the contents of the fenced blocks of these kinds."""
    found = FENCED.findall(page.read_text(encoding="utf-8"))
    return [text.replace("\\\n", " ") for kind, text in found if kind in kinds]


def with_examples() -> list[Path]:
    """Return the pages whose examples run here."""
    return [page for page in PAGES if blocks(page, "python", "pycon")]


def test_task_pages_have_examples() -> None:
    names = {page.stem for page in with_examples()}
    assert names >= {"start", "add-scheme", "compare-runs", "model-chain", "model-network", "board"}


@pytest.mark.native
@pytest.mark.parametrize("page", with_examples(), ids=lambda page: page.stem)
def test_page_examples_give_the_stated_output(page, tmp_path, monkeypatch):
    """The blocks of a page run in sequence."""
    monkeypatch.chdir(tmp_path)
    small(monkeypatch)  # works model a million nodes
    names: dict[str, object] = {}
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    with algorithms.temporary_registrations():
        for number, block in enumerate(blocks(page, "python", "pycon")):
            if not block.startswith(">>> "):
                exec(compile(block, f"{page.name}, block {number}", "exec"), names)
                continue
            told: list[str] = []
            example = doctest.DocTestParser().get_doctest(
                block, names, page.name, page.name, number
            )
            doctest.DocTestRunner(optionflags=flags).run(
                example, out=told.append, clear_globs=False
            )
            names |= example.globs
            assert not told, "".join(told)


@pytest.mark.long
@pytest.mark.native
@pytest.mark.parametrize("name", ["add-scheme", "compare-runs"])
def test_page_commands_give_the_stated_output(name: str, tmp_path: Path) -> None:
    """Commands run in sequence in an empty folder with the files that the page shows."""
    page = (DOCS / "tasks" / f"{name}.md").read_text(encoding="utf-8")
    with_ours = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": with_ours}
    ran = 0
    for kind, text in FENCED.findall(page):
        if kind == "toml":
            with (tmp_path / "mine.toml").open("a") as plan:
                plan.write(f"\n{text}")
        elif kind == "python" and text.startswith("# mine.py"):
            (tmp_path / "mine.py").write_text(text)
        elif kind == "console":
            for line in text.replace("\\\n", " ").splitlines():
                command = line.removeprefix("$ ").replace("--preset paper", "--preset quick")
                done = subprocess.run(
                    ["bash", "-c", command], cwd=tmp_path, env=environment, check=False,
                    capture_output=True, text=True,
                )  # fmt: skip
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
                ran += 1
    assert ran > 6
    made = {
        "add-scheme": "sizes.svg mine.html libmine.so",
        "compare-runs": "compared.pdf compared.csv history.svg",
    }
    assert {*made[name].split()} <= {path.name for path in tmp_path.iterdir()}


def commands() -> list[str]:
    """Return each line of the pages and the README that calls pqchain."""
    lines = [
        line for page in PAGES for block in blocks(page, "console") for line in block.split("\n")
    ]
    lines += re.findall(
        r"^    (pqchain .*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?pqchain ", line)]


def test_pages_contain_commands() -> None:
    assert len(commands()) > 20


@pytest.mark.parametrize("line", commands())
def test_every_documented_command_exists(line: str) -> None:
    words = shlex.split(line, comments=True)
    ends = [words.index(sign) for sign in (">", "|") if sign in words]
    words = words[1 : min(ends, default=None)]
    main.app().parse_args(words, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("target", sorted(
    {word for page in PAGES for block in blocks(page, "console")
     for line in block.split("\n") if line.startswith("$ make ") and "-C" not in line
     for word in line.split()[2:3]}
))  # fmt: skip
def test_every_documented_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_gallery_finds_every_plot() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*.ipynb")]
    drawn_here = (DOCS / "gallery.py").read_text(encoding="utf-8")
    for kind in plots.KINDS:
        is_in_notebook = any(f".plot_{kind}(" in source for source in sources)
        assert is_in_notebook != (f"def {kind}()" in drawn_here), kind


def test_pages_have_one_title_and_no_machine_paths() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if "{include}" not in text:
            outside = FENCED.sub("", text)
            assert len(re.findall(r"^# ", outside, re.MULTILINE)) == 1, page.name
        assert not re.search(r"/(tmp|work|home|root)/", text), page.name


def checks() -> ModuleType:
    """Return the checks of the documentation build, if Sphinx is installed."""
    pytest.importorskip("sphinx", reason="`make docs` installs it")
    place = importlib.util.spec_from_file_location("site_checks", DOCS / "site_checks.py")
    assert place is not None and place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_page_with_external_resources_is_detected(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org/">fine</a><link rel="canonical" href="https://example.org/">'
        '<img src="own.png"><script src="https://example.org/x.js"></script>'
        '<link rel="stylesheet" href="//example.org/y.css">'
    )
    (tmp_path / "a.css").write_text('@import "https://example.org/z.css"; p { color: red }')
    found = [each.rpartition("/")[2] for each in checks().external_resources(tmp_path)]
    assert found == ["x.js", "y.css", "z.css"]


def test_example_in_a_docstring_becomes_code() -> None:
    lines = [
        "Words.",
        "",
        "    frame = measure()",
        "",
        "    more",
        "",
        "Words.",
        "- one",
        "    two",
    ]
    shown = checks().show_examples(lines)
    assert shown[2:5] == [".. code-block:: python", "", "    frame = measure()"]
    assert shown.count(".. code-block:: python") == 1
    assert shown[-1] == "    two"


def test_frames_page_lists_every_contract() -> None:
    extension = checks()
    found = extension.contracts()
    assert {"measurement", "compared-runs", "published", "consensus", "study"} <= set(found)
    shown = "\n".join(extension.frames())
    for contract, place in found.values():
        assert isinstance(contract, results.Contract)
        assert f"``{contract.name}`` : {place}\n   " in shown
        assert all(f"``{column}``" in shown for column in contract.columns)


def test_page_of_works_lists_every_work() -> None:
    page = "\n".join(checks().works())
    keys = papers.keys()
    for key in keys:
        assert f"| `{key}` | [{papers.paper(key).title}](notebooks/" in page
    numbers = [int(count) for count in re.findall(r"\| (\d+) \|$", page, re.MULTILINE)]
    assert f"of {sum(numbers)} printed numbers" in page


def studies() -> list[Any]:
    """Return the plans that pages show as TOML."""
    from pqchain.study.files import parse

    fences = [text for page in PAGES for text in blocks(page, "toml") if "[chain]" in text]
    return [parse(text, "the page") for text in fences]


def test_studies_in_toml_are_valid() -> None:
    assert studies() and all(plan.chain.algorithms for plan in studies())


@pytest.mark.long
def test_studies_in_toml_can_be_run() -> None:
    from pqchain import study
    from pqchain.bench import stored

    for plan in studies():
        found = study.run(plan, study.times(plan, stored.load()), draws=1)
        assert all(row["capacity_per_second"].value > 0 for row in found.figures.values())


@pytest.mark.native
def test_calibration_table_has_the_errors_of_the_model() -> None:
    """Each row of docs/chains.md ends in the error of one observation of the plan it names."""
    text = (DOCS / "chains.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w-]+) \|.*\| \**([+-]?[\d.]+) %\**[^|]*\|$", text, re.MULTILINE)
    shown: dict[str, list[str]] = {name: [] for name in study.ready_names()}
    measured = from_frame(stored.load())
    for name, error in rows:
        shown.get(name, []).append(error)
    for name, errors in shown.items():
        plan = study.load(name)
        costs = CostSamples((ALL_COSTS,)) if plan.costs == "measured" else study.times(plan)
        # A ratio of measured times, of the reference measurements.
        costs = measured if name == "near" else costs.middle
        frame = validation.calibrate(plan, costs)
        found = 100 * frame.loc[frame["observed"].notna(), "error"]
        digits = [len(error.partition(".")[2]) for error in errors]
        pairs = zip(found, digits, strict=True)
        assert errors == [f"{value:+.{count}f}" for value, count in pairs], name
