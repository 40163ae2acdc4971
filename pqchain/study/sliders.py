"""The sliders of a study's page: a table of the plan as it is, which a few lines of script move."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from pqchain.render import html
from pqchain.render.html import Markup, element
from pqchain.study import writing
from pqchain.study.grid import FIGURES, Grid
from pqchain.study.levers import Lever
from pqchain.study.plan import Plan

_CAPTION = (
    "Figures where the sliders stand, for median times and one draw of the network, so without "
    "intervals. The mark on a bar is the study as it is."
)


def section(plan: Plan, ahead: Grid) -> tuple[Markup, ...]:
    """Return the content of the section: sliders, the table, and how to get it again.

    Without script the sliders are hidden and the table holds the plan as it is.
    """
    form = element(
        "form",
        *(_slider(each) for each in ahead.levers),
        element("button", "As the study is", type="reset"),
        id="levers",
        hidden="hidden",
        autocomplete="off",
    )
    again = element(
        "p", "The same on the command line: ", element("code", "", id="again"), hidden="hidden"
    )
    return form, _table(ahead), again, _data(plan, ahead)


def script() -> str:
    """Return the script that moves the table."""
    return (files("pqchain.study") / "sliders.js").read_text(encoding="utf-8")


def _slider(lever: Lever) -> Markup:
    """Write a slider with its name and, beside it, its value with the unit."""
    ends = {"min": "0", "max": str(len(lever.values) - 1), "step": "1"}
    identifier = f"lever-{lever.name}"
    return element(
        "label",
        element("span", lever.title),
        element("input", type="range", id=identifier, value=str(lever.place), **ends),
        element("output", lever.labels[lever.place], for_=identifier),
    )


def _table(ahead: Grid) -> Markup:
    """Write the table of the plan as it is, laid out for the script: a row for each scheme."""
    head = element(
        "tr",
        element("th", "scheme", scope="col"),
        *(element("th", text, scope="col", class_="number") for text in FIGURES.values()),
        element("th", "what binds", scope="col"),
    )
    most = max((ahead.cells[ahead.place][name][0] for name in ahead.schemes), default=0.0)
    rows = []
    for name in ahead.schemes:
        *shown, binds = ahead.texts(ahead.place, name)
        share = 100 * ahead.cells[ahead.place][name][0] / most if most else 0.0
        bar = element("span", class_="bar", style=f"--share: {share:.1f}%; --was: {share:.1f}%")
        first = element("td", element("span", shown[0]), bar, class_="number")
        rest = (element("td", text, class_="number") for text in shown[1:])
        rows.append(
            element(
                "tr", element("th", name, scope="row"), first, *rest, element("td", binds),
                class_="first",
            )
        )  # fmt: skip
    caption = element("caption", html.join(html.labels("modelled"), Markup(" "), _CAPTION))
    table = element(
        "table", caption, element("thead", head), element("tbody", *rows), id="moved",
        aria_live="polite",
    )  # fmt: skip
    return element("div", table, class_="scroll figures", tabindex="0")


def _data(plan: Plan, ahead: Grid) -> Markup:
    """Write what the script needs: labels of the sliders, and of each cell the texts by number."""
    texts: dict[str, int] = {}

    def rows(cell: int) -> Iterator[list[float]]:
        for name in ahead.schemes:
            if name in ahead.cells[cell]:
                capacity = float(f"{ahead.cells[cell][name][0]:.3g}")
                told = ahead.texts(cell, name)
                yield [capacity, *(texts.setdefault(text, len(texts)) for text in told)]

    cells = [list(rows(cell)) for cell in range(len(ahead.cells))]
    levers = [
        {"labels": each.labels, "words": [_words(plan, each.name, value) for value in each.values]}
        for each in ahead.levers
    ]
    data = {"levers": levers, "place": ahead.place, "texts": list(texts), "cells": cells}
    told = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Markup(told), type="application/json", id="grid")


def _words(plan: Plan, name: str, value: object) -> str:
    """Return what sets an input on the command line, "" for its own value."""
    changes: Any = {name: value}
    return shlex.join(writing.words(plan.with_(**changes), plan))
