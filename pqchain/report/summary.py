"""The parts of the report that are not about one work: summary, our times, provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.figures import SECONDS, Kind
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table
from pqchain.report.run import SAID, Reproduction
from pqchain.works import coverage
from pqchain.works.sizes import EXPLAINED, VERDICTS
from pqchain.works.verdicts import FAILS, FITTED, HOLDS, NOT_HERE, OPEN, WORDS
from pqchain.works.work import Work

STATUSES = ("ok", "unsupported", "failed")


def summary(done: Reproduction) -> Markup:
    """Say at the top what the run found."""
    facts, failures = done.provenance, done.failures
    found: list[str] = [SAID["fine"]]
    if failures:
        found = [html.element("p", f"{len(failures)} checks failed:"), html.bullets(failures)]
    verdict = html.element(
        "div", *found, class_="verdict bad" if failures else "verdict", role="status"
    )
    by_print = done.claims["source"] == "published"
    theirs, ours = done.claims[by_print], done.claims[~by_print]
    tallies = (
        tally("Claims checked with the paper's numbers", theirs, (HOLDS, FAILS, OPEN)),
        tally("Claims checked with our numbers", ours, WORDS),
        tally("Printed sizes", done.sizes, VERDICTS),
        tally("Printed numbers, and what ours are", done.coverage, coverage.KINDS, column="kind"),
        tally("Operations timed here", done.measurements, STATUSES, column="status"),
    )
    date = str(facts.get("date", "")).replace("T", " ").replace("+00:00", " UTC")
    made = f"preset {facts.get('preset', 'unknown')}, pqchain {facts.get('pqchain', '')}"
    works = f"{len(done.keys)} published work{'s'[: len(done.keys) != 1]}"
    parts = [
        html.element("h1", SAID["title"]),
        busy(facts),
        html.element("p", f"{facts.get('cpu_model', '')}, {date}, {made}", class_="byline"),
        html.element("p", SAID["lead"].format(works=works), class_="lead"),
        verdict,
        *_found(done),
        html.element("div", *tallies, class_="tallies"),
        works_table(done).html(),
    ]
    return html.element("section", *parts, id="summary")


def _found(done: Reproduction) -> Iterator[Markup]:
    """Yield what came out, in sentences that lead to where it is shown."""
    said = [(work.key, each) for work in done.works for each in work.found(done.frames[work.key])]
    if said:
        items = [
            html.join(each.text, " ", html.link(SAID["see"], f"{key}.html#{each.place}"))
            for key, each in said
        ]
        yield html.section("found", SAID["found"], html.bullets([*items, *_counted(done)]))


def _counted(done: Reproduction) -> Iterator[str]:
    """Yield what came out over all works: contradictions of each print, sizes, coverage."""
    for work in done.works:
        yield from _contradicted(done, work)
    if len(done.sizes):
        number = done.sizes["verdict"].value_counts()
        explained = sum(number.get(word, 0) for word in ("version", "definition"))
        wrong = number.get("erratum", 0) + number.get("different", 0)
        yield SAID["sizes"].format(
            sizes=len(done.sizes), equal=number.get("equal", 0), explained=explained, wrong=wrong
        )
    without = int((done.coverage["kind"] == "none").sum())
    yield SAID["coverage"].format(numbers=len(done.coverage), without=without)


def _contradicted(done: Reproduction, work: Work) -> Iterator[Markup]:
    """Yield which cells and statements the rest of the work's own print contradicts."""
    for erratum in work.paper.errata:
        text = SAID["misprint"].format(erratum=erratum, key=work.key)
        yield html.join(
            text, " ", html.link(SAID["see"], f"{work.key}.html#{work.key}-errata-and-notes")
        )
    claims = done.claims[done.claims["paper"] == work.key]
    failed = claims[(claims["source"] == "published") & (claims["verdict"] == FAILS)]
    if len(failed):
        some = [f"\u201c{text}\u201d" for text in dict.fromkeys(failed["statement"])][:_SOME]
        text = SAID["contradicted"].format(
            key=work.key,
            failed=failed["sentence"].nunique(),
            sentences=claims["sentence"].nunique(),
            some=" ".join(some),
        )
        yield html.join(
            text, " ", html.link(SAID["see"], f"{work.key}.html#{work.key}-what-it-says-checked")
        )


_SOME = 2
"""Statements that are quoted of those that do not hold."""


def works_table(done: Reproduction) -> Table:
    """Count what was found, a row for each work."""
    judged: dict[str, dict[str, Sequence[str]]] = {
        "claims checked with the paper's numbers": {
            "hold": [HOLDS],
            "do not": [FAILS],
            "open": [OPEN],
        },
        "with ours": {
            "hold": [HOLDS],
            "do not": [FAILS],
            "not here": NOT_HERE,
            "fitted": [FITTED],
            "open": [OPEN],
        },
        "sizes": {"equal": ["equal"], "explained": EXPLAINED, "different": ["different"]},
    }
    columns = [Column("work"), Column("times side by side", numeric=True)]
    columns += [Column(name, group, True) for group, names in judged.items() for name in names]
    rows = []
    for key in done.keys:
        ratios, claims, sizes = (
            frame[frame["paper"] == key] for frame in (done.comparison, done.claims, done.sizes)
        )
        by_print = claims["source"] == "published"
        verdicts = (claims.loc[by_print, "verdict"], claims.loc[~by_print, "verdict"])
        counts = [int(ratios["ratio"].notna().sum())]
        for column, words in zip((*verdicts, sizes["verdict"]), judged.values(), strict=True):
            counts += [int(column.isin(each).sum()) for each in words.values()]
        rows.append([Shown(key, key, html.link(key, f"{key}.html")), *counts])
    found = set(done.claims["source"])
    return Table(
        columns=columns,
        rows=rows,
        caption="What was found, by work.",
        source=[kind for kind in Kind if kind in found],
    )


def correction(builds: Mapping[str, Any]) -> Markup:
    """Say what pqchain corrects in the library that it fetches, and which builds here have it."""
    corrected = [
        f"{name}: {', '.join(map(str, facts['corrections']))}"
        for name, facts in builds.items()
        if facts.get("corrections")
    ]
    families = [row.name for row in algorithms.FAMILIES.values() if row.avx2_corrected]
    texts = (
        algorithms.FAMILIES["ML-DSA"].avx2_corrected,
        SAID["concerns"].format(families=" and ".join(families)),
        SAID["corrected" if corrected else "uncorrected"],
    )
    paragraphs = (html.element("p", text) for text in texts)
    note = html.element("div", *paragraphs, html.bullets(corrected), class_="note")
    return html.section("correction", "A defect that is corrected here", note)


def provenance(facts: Mapping[str, Any]) -> Markup:
    """Say where our numbers were made."""
    shown: list[tuple[str, str]] = []
    for name, value in facts.items():
        if name == "native":
            shown += [(f"library {library}", _build(build)) for library, build in value.items()]
        elif value not in ("", None, [], {}):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            if name.endswith("_seconds"):
                text = SECONDS.text(float(value))
            shown.append((name.replace("_", " "), text))
    return html.section("provenance", "Where our numbers were made", html.pairs(shown))


def _build(facts: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in facts.items()
        if value not in ("", None, []) and name != "algorithms"
    )


def reading() -> Markup:
    """Explain the labels and how the times were taken."""
    labels = (html.join(html.labels(kind), kind.meaning) for kind in Kind)
    compared, timed = (html.element("p", SAID[name]) for name in ("compared", "timed"))
    parts = [compared, html.bullets(labels), timed]
    return html.section("reading", "How to read these pages", *parts)


_OWN_LOAD = 1.1
"""What an idle machine of two processors shows at the end: the run itself is a load of one."""


def busy(facts: Mapping[str, Any]) -> Markup:
    """Warn of a machine on which other work ran; nothing if none did."""
    load, count = facts.get("load_average"), facts.get("cpu_count")
    if not (isinstance(load, (int, float)) and isinstance(count, int)):
        return Markup()
    if load <= max(count / 2, _OWN_LOAD):
        return Markup()
    warning = html.element("p", SAID["busy"].format(load=load, count=count))
    return html.element("div", warning, class_="verdict bad", role="alert")


def tally(
    title: str, frame: pd.DataFrame, words: Sequence[str], *, column: str = "verdict"
) -> Markup:
    """Count verdicts, those that did not occur included."""
    counts = {word: int((frame[column] == word).sum()) for word in words}
    items = (
        html.join(
            html.element("b", str(count)),
            html.labels(word) if word in set(Kind) and column == "kind" else html.badge(word),
        )
        for word, count in counts.items()
    )
    return html.element("div", html.element("h3", title), html.bullets(items), class_="tally")
