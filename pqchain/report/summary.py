"""The parts of the report that are not about one work: summary, our times, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.installation import read_toml
from pqchain.render import html, numbers
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table
from pqchain.report.run import Reproduction

_SAID = read_toml(Path(__file__).with_name("words.toml"))

SIZE_VERDICTS = ("equal", "erratum", "different")
CLAIM_VERDICTS = ("holds", "does not hold", "cannot be decided here")
STATUSES = ("ok", "unsupported", "failed")


def summary(done: Reproduction) -> Markup:
    """Say at the top what the run found."""
    facts, failures = done.provenance, done.failures
    found: list[str] = [_SAID["fine"]]
    if failures:
        found = [html.element("p", f"{len(failures)} checks failed:"), html.bullets(failures)]
    verdict = html.element(
        "div", *found, class_="verdict bad" if failures else "verdict", role="status"
    )
    by_print = done.claims["source"] == "published"
    tallies = (
        tally("Statements, by the printed numbers", done.claims[by_print], CLAIM_VERDICTS),
        tally("Statements, by numbers from here", done.claims[~by_print], CLAIM_VERDICTS),
        tally("Printed sizes", done.sizes, SIZE_VERDICTS),
        tally("Operations timed here", done.measurements, STATUSES, column="status"),
    )
    date = str(facts.get("date", "")).replace("T", " ").replace("+00:00", " UTC")
    made = f"preset {facts.get('preset', 'unknown')}, pqchain {facts.get('pqchain', '')}"
    works = f"{len(done.keys)} published work{'s'[: len(done.keys) != 1]}"
    parts = [
        html.element("h1", _SAID["title"]),
        html.element("p", f"{facts.get('cpu_model', '')}, {date}, {made}", class_="byline"),
        html.element("p", _SAID["lead"].format(works=works), class_="lead"),
        verdict,
        html.element("div", *tallies, class_="tallies"),
        works_table(done).html(),
    ]
    return html.element("section", *parts, id="summary")


def works_table(done: Reproduction) -> Table:
    """Count what was found, a row for each work."""
    columns = [Column("work"), Column("times side by side", numeric=True)]
    for group in ("statements, by the print", "by numbers from here"):
        columns += [Column(name, group, True) for name in ("hold", "do not", "open")]
    columns += [Column(name, "sizes", True) for name in SIZE_VERDICTS]
    rows = []
    for key in done.keys:
        ratios, claims, sizes = (
            frame[frame["paper"] == key] for frame in (done.comparison, done.claims, done.sizes)
        )
        by_print = claims["source"] == "published"
        counts = [int(ratios["ratio"].notna().sum())]
        for verdicts, words in (
            (claims.loc[by_print, "verdict"], CLAIM_VERDICTS),
            (claims.loc[~by_print, "verdict"], CLAIM_VERDICTS),
            (sizes["verdict"], SIZE_VERDICTS),
        ):
            counts += [int((verdicts == word).sum()) for word in words]
        rows.append([Shown(key, key, html.link(key, f"#{key}")), *counts])
    modelled = bool((done.claims["source"] == "modelled").any())
    return Table(
        columns=columns,
        rows=rows,
        caption="What was found, by work.",
        source=["published", "measured", "registry", *["modelled"] * modelled],
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
        _SAID["concerns"].format(families=" and ".join(families)),
        _SAID["corrected" if corrected else "uncorrected"],
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
                text = numbers.seconds(float(value))
            shown.append((name.replace("_", " "), text))
    return html.section("provenance", "Where our numbers were made", html.pairs(shown))


def _build(facts: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in facts.items()
        if value not in ("", None, []) and name != "algorithms"
    )


def reading(facts: Mapping[str, Any]) -> Markup:
    """Explain the labels and how the times were taken."""
    labels = (html.join(html.labels(name), meaning) for name, meaning in html.LABELS.items())
    compared, timed = (html.element("p", _SAID[name]) for name in ("compared", "timed"))
    parts = [compared, html.bullets(labels), timed]
    load, count = facts.get("load_average"), facts.get("cpu_count")
    if isinstance(load, (int, float)) and isinstance(count, int) and load > count / 2:
        busy = _SAID["busy"].format(load=load, count=count)
        parts.append(html.element("div", html.element("p", busy), class_="note"))
    return html.section("reading", "How to read this page", *parts)


def tally(
    title: str, frame: pd.DataFrame, words: Sequence[str], *, column: str = "verdict"
) -> Markup:
    """Count verdicts, those that did not occur included."""
    counts = {word: int((frame[column] == word).sum()) for word in words}
    items = (
        html.join(html.element("b", str(count)), html.badge(word)) for word, count in counts.items()
    )
    return html.element("div", html.element("h3", title), html.bullets(items), class_="tally")
