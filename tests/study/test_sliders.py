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
from pqchain.study.levers import lever, levers
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
def base_plan():
    return plan(block_seconds=5.0)


@pytest.fixture(scope="module")
def ahead(base_plan):
    swings = sensitivity.one_at_a_time(base_plan, COSTS, "Falcon-512")
    return sliders.grid(base_plan, COSTS, swings, swings.base.limit)


def texts(ahead, cell):
    return [[name, *ahead.cells[cell][name].texts] for name in ahead.start]


def test_load_limit_and_time_have_sliders(ahead):
    names = [each.name for each in ahead.levers]
    assert names == ["transactions_per_second", "block_bytes", "block_seconds"]
    assert len(ahead.cells) == 125


def test_slider_cells_equal_the_model(base_plan, ahead):
    assert ahead.cells[ahead.place]["Falcon-512"] == ahead.cells[62]["Falcon-512"]
    moved = base_plan.with_(transactions_per_second=0.5, block_bytes=200_000, block_seconds=2.5)
    own = models(moved, COSTS)["ML-DSA-44"]
    cell = ahead.cells[0 * 25 + 4 * 5 + 1]["ML-DSA-44"]
    assert cell.values == tuple(own[name] for name in FIGURES)
    assert cell.limit == own.limit


def test_prohibiting_limit_has_a_slider():
    small = plan(packet_bytes=1232, envelope_bytes=100)
    swings = sensitivity.one_at_a_time(small, COSTS, "ECDSA-secp256k1")
    names = [each.name for each in choose(small, swings, "packet")]
    assert "packet_bytes" in names


def test_slider_values_are_valid_inputs(base_plan):
    nodes = lever(base_plan.with_(delegates=8), "nodes")
    assert min(nodes.values) >= 10  # as many as chunks
    assert nodes.values[nodes.place] == 16 and list(nodes.values) == sorted(nodes.values)
    assert lever(base_plan, "peers") is None  # a star has none
    assert lever(base_plan, "block_gas") is None  # 0: the chain has no gas
    assert "witness_discount" not in [each.name for each in levers(base_plan)]


def test_page_is_complete_without_script(base_plan, ahead):
    form, table, again, _ = sliders.section(base_plan, ahead)
    assert 'hidden="hidden"' in form and 'hidden="hidden"' in again
    for row in texts(ahead, ahead.place):
        assert all(html.join(text) in table for text in row)


def test_embedded_text_cannot_close_the_script(ahead, base_plan):
    *_, data = sliders.section(base_plan, ahead)
    assert data.count("<") == 2


@pytest.fixture(scope="module")
def seen(base_plan, ahead, tmp_path_factory):
    """Return the visible values after each step."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "page.html"
    script = sliders.script() + DRIVER
    page.write_text(
        html.document("T", [], *sliders.section(base_plan, ahead), script=script), "utf-8"
    )
    completed = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--virtual-time-budget=2000",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    match = re.search(r"SAID(.*)END", completed.stdout)
    assert match, completed.stdout[-2000:] + completed.stderr[-2000:]
    return json.loads(unescape(match[1]))


def test_script_shows_the_selected_cell(seen, ahead):
    assert seen["hidden"] is False
    assert seen["printed"] == texts(ahead, ahead.place)
    assert seen["load"] == texts(ahead, 0 * 25 + 2 * 5 + 2)
    assert seen["moved"] == texts(ahead, 0 * 25 + 4 * 5 + 2)
    assert seen["label"] == "200\N{NARROW NO-BREAK SPACE}kB"


def test_script_shows_the_command_and_resets(seen):
    assert seen["again"] == "pqchain study STUDY --set transactions_per_second=0.5"
    assert seen["back"] == seen["printed"]


def test_study_value_is_marked(seen, ahead):
    base, moved = (ahead.cells[cell] for cell in (ahead.place, 22))
    most = max(cell.values[0] for cell in moved.values())
    was = float(re.search(r"--was: ([\d.]+)%", seen["mark"])[1])
    assert was == pytest.approx(100 * next(iter(base.values())).values[0] / most, rel=0.01)
