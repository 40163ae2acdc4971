"""The script of the report's tables in a browser sorts by value, filters and resets."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from pqchain import report
from pqchain.figures import SECONDS
from pqchain.render import html
from pqchain.render.table import Column, Table

SCRIPT = Path(report.__file__).with_name("tables.js").read_text(encoding="utf-8")

DRIVER = """
const rows = () => [...document.querySelectorAll("tbody tr")].filter((row) => !row.hidden)
  .map((row) => [...row.cells].map((cell) => cell.textContent).join(" "));
const click = (place) => {
  document.querySelectorAll("thead button")[place].click();
  return rows();
};
const type = (words) => {
  const box = document.querySelector(".filter");
  box.value = words; box.oninput(); return rows();
};
const said = { printed: rows(), up: click(2), down: click(2), back: click(2),
  name: click(1), named: click(1), found: type("mine 1"), all: type("") };
document.body.textContent = "SAID" + JSON.stringify(said) + "END";
"""
"""What a reader does, and what is then seen."""


def table() -> Table:
    """Six schemes in two families; the times are not in the order of their texts."""
    seconds = [2e-3, 9e-6, 1e-4, 3e-5, 5e-1, 4e-7]
    rows = [
        ["Mine" if index < 3 else "Yours", f"{index}", second]
        for index, second in enumerate(seconds)
    ]
    return Table(
        columns=[Column("family"), Column("name"), Column("time", "here", True, SECONDS.text)],
        rows=[*rows, *[["Mine", f"1{index}", 1.0 + index] for index in range(4)]],
        remarks=["", "slow start", *[""] * 8],
        row_headers=2,
        caption="Times.",
        source=["measured"],
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the visible rows after each step."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "page.html"
    page.write_text(html.document("T", [], table().html(), script=SCRIPT + DRIVER), "utf-8")
    completed = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    match = re.search(r"SAID(.*)END", completed.stdout)
    assert match, completed.stdout[-2000:] + completed.stderr[-2000:]
    said: dict[str, list[str]] = json.loads(unescape(match[1]))
    return said


def names(rows: list[str]) -> list[str]:
    """Return the second cell of each row that is not a remark."""
    return [row.split()[1] for row in rows if row != "slow start"]


def test_heading_click_sorts_by_value(seen):
    assert names(seen["up"]) == ["5", "1", "3", "2", "0", "4", "10", "11", "12", "13"]
    assert names(seen["down"]) == names(seen["up"])[::-1]


def test_remark_stays_below_its_row(seen):
    for step in ("up", "down", "name", "named"):
        assert seen[step][seen[step].index("slow start") - 1].startswith("Mine 1 ")


def test_third_click_restores_the_order(seen):
    assert seen["back"] == seen["printed"]
    assert len(seen["printed"]) == 11


def test_numbers_in_names_sort_numerically(seen):
    assert names(seen["name"]) == [str(each) for each in (0, 1, 2, 3, 4, 5, 10, 11, 12, 13)]


def test_filter_keeps_rows_with_all_words(seen):
    # In the order that was chosen before, by name downwards; the scheme 2 takes 100 µs.
    assert names(seen["found"]) == ["13", "12", "11", "10", "2", "1"]
    assert len(seen["all"]) == 11
