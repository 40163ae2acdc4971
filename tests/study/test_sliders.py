"""Figures computed in advance for the sliders of a page, and the script that shows them."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

from pqchain.render import html
from pqchain.study import sensitivity, sliders
from pqchain.study.figures import models
from pqchain.study.ranges import input_range, input_ranges
from pqchain.study.sliders import FIGURES, choose
from tests.study.plans import COSTS, plan

DRIVER = """
const seen = () => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
const slide = (index, value) => { inputs[index].value = value; form.oninput(); return seen(); };
const said = { hidden: form.hidden, printed: seen(), load: slide(0, 0), again: again.textContent,
  moved: slide(1, 4), label: inputs[1].nextElementSibling.textContent,
  mark: rows[0].querySelector(".bar").style.cssText };
form.reset();
setTimeout(() => {
  said.back = seen();
  document.body.textContent = "SAID" + JSON.stringify(said) + "END";
}, 50);
"""
"""What a reader does, and what is then seen."""


@pytest.fixture(scope="module")
def one():
    return plan(block_seconds=5.0)


@pytest.fixture(scope="module")
def grid(one):
    variations = sensitivity.one_at_a_time(one, COSTS, "Falcon-512")
    return sliders.grid(one, COSTS, variations, variations.base.limit)


def texts(grid, cell):
    return [[name, *grid.cells[cell][name].texts] for name in grid.start]


def test_load_limit_and_time_have_sliders(grid):
    names = [each.name for each in grid.ranges]
    assert names == ["transactions_per_second", "block_bytes", "block_seconds"]
    assert len(grid.cells) == 125


def test_slider_cells_equal_the_model(one, grid):
    assert grid.cells[grid.start_index]["Falcon-512"] == grid.cells[62]["Falcon-512"]
    moved = one.with_(transactions_per_second=0.5, block_bytes=200_000, block_seconds=2.5)
    own = models(moved, COSTS)["ML-DSA-44"]
    cell = grid.cells[0 * 25 + 4 * 5 + 1]["ML-DSA-44"]
    assert cell.values == tuple(own[name] for name in FIGURES)
    assert cell.limit == own.limit


def test_prohibiting_limit_has_a_slider():
    small = plan(packet_bytes=1232, envelope_bytes=100)
    variations = sensitivity.one_at_a_time(small, COSTS, "ECDSA-secp256k1")
    names = [each.name for each in choose(small, variations, "packet")]
    assert "packet_bytes" in names


def test_values_of_a_slider_give_possible_plans(one):
    nodes = input_range(one.with_(delegates=8), "nodes")
    assert min(nodes.values) >= 10  # as many as chunks
    assert nodes.values[nodes.start] == 16 and list(nodes.values) == sorted(nodes.values)
    assert input_range(one, "peers") is None  # a star has none
    assert input_range(one, "block_gas") is None  # 0: the chain has no gas
    assert "witness_discount" not in [each.name for each in input_ranges(one)]


def test_page_is_complete_without_script(one, grid):
    form, table, again, _ = sliders.section(one, grid)
    assert 'hidden="hidden"' in form and 'hidden="hidden"' in again
    for row in texts(grid, grid.start_index):
        assert all(html.join(text) in table for text in row)


def test_embedded_text_cannot_close_the_script(grid, one):
    *_, data = sliders.section(one, grid)
    assert data.count("<") == 2


@pytest.fixture(scope="module")
def seen(one, grid, tmp_path_factory):
    """Return the visible values after each step."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "page.html"
    script = sliders.script() + DRIVER
    page.write_text(html.document("T", [], *sliders.section(one, grid), script=script), "utf-8")
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--virtual-time-budget=2000",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r"SAID(.*)END", done.stdout)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(unescape(found[1]))


def test_script_shows_the_selected_cell(seen, grid):
    assert seen["hidden"] is False
    assert seen["printed"] == texts(grid, grid.start_index)
    assert seen["load"] == texts(grid, 0 * 25 + 2 * 5 + 2)
    assert seen["moved"] == texts(grid, 0 * 25 + 4 * 5 + 2)
    assert seen["label"] == "200\N{NARROW NO-BREAK SPACE}kB"


def test_script_shows_the_command_and_resets(seen):
    assert seen["again"] == "pqchain study STUDY --set transactions_per_second=0.5"
    assert seen["back"] == seen["printed"]


def test_study_value_is_marked(seen, grid):
    base, moved = (grid.cells[cell] for cell in (grid.start_index, 22))
    most = max(cell.values[0] for cell in moved.values())
    was = float(re.search(r"--was: ([\d.]+)%", seen["mark"])[1])
    assert was == pytest.approx(100 * next(iter(base.values())).values[0] / most, rel=0.01)
