"""Sections of the report about all works: summary, provenance and explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.bench import variation
from pqchain.figures import SECONDS, Kind
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table
from pqchain.report.run import PROSE, Reproduction
from pqchain.works.chapter import slug
from pqchain.works.printed import EXPLAINED, KINDS, NOT_OURS, SIZE_VERDICTS
from pqchain.works.verdicts import FAILS, FITTED, HOLDS, HOLDS_HERE, NOT_HERE, OPEN, VERDICTS
from pqchain.works.work import CHECKED, Work, split_ours

STATUSES = ("ok", "unsupported", "failed")


def summary(reproduction: Reproduction) -> Markup:
    """Return the report's first section: failures, findings and counts of verdicts."""
    facts, failures = reproduction.provenance, reproduction.failures
    messages: list[str] = [PROSE["fine"]]
    if failures:
        messages = [html.element("p", f"{len(failures)} checks failed:"), html.bullets(failures)]
    verdict = html.element(
        "div", *messages, class_="verdict bad" if failures else "verdict", role="status"
    )
    claims, added = split_ours(reproduction.claims)
    by_print = claims["source"] == Kind.PUBLISHED
    tallies = [
        tally("Claims checked with the paper's numbers", claims[by_print], (HOLDS, FAILS, OPEN)),
        tally("Claims checked with our numbers", claims[~by_print], VERDICTS),
        tally("Printed sizes", reproduction.sizes, SIZE_VERDICTS),
        tally("Printed numbers, by kind of ours", reproduction.printed, KINDS, column="kind"),
        tally("Operations timed here", reproduction.measurements, STATUSES, column="status"),
    ]
    if len(added):
        verdicts = [name for name in VERDICTS if (added["verdict"] == name).any()]
        tallies.append(tally("Statements of ours, checked with any numbers", added, verdicts))
    date = str(facts.get("date", "")).replace("T", " ").replace("+00:00", " UTC")
    made = f"{variation.quality(reproduction.measurements)}, pqchain {facts.get('pqchain', '')}"
    works = f"{len(reproduction.keys)} published work{'s'[: len(reproduction.keys) != 1]}"
    parts = [
        html.element("h1", PROSE["title"]),
        busy(facts),
        html.element("p", f"{facts.get('cpu_model', '')}, {date}, {made}", class_="byline"),
        html.element("p", PROSE["lead"].format(works=works), class_="lead"),
        verdict,
        *_findings(reproduction),
        html.element("div", *tallies, class_="tallies"),
        works_table(reproduction).html(),
    ]
    return html.element("section", *parts, id="summary")


def _findings(reproduction: Reproduction) -> Iterator[Markup]:
    items = [
        html.join(finding.text, " ", html.link(PROSE["see"], f"{work.key}.html#{finding.place}"))
        for work in reproduction.works
        for finding in work.findings(reproduction.frames[work.key])
    ]
    if items:
        bullets = html.bullets([*items, *_counted(reproduction)])
        yield html.section("findings", PROSE["findings"], bullets)


def _counted(reproduction: Reproduction) -> Iterator[str]:
    """Yield findings about all works: contradictions in papers, sizes, and uncomparable numbers."""
    for work in reproduction.works:
        yield from _contradicted(reproduction, work)
    if len(reproduction.sizes):
        count = reproduction.sizes["verdict"].value_counts()
        explained = sum(count.get(verdict, 0) for verdict in ("version", "definition"))
        wrong = count.get("erratum", 0) + count.get("different", 0)
        total, equal = len(reproduction.sizes), count.get("equal", 0)
        yield PROSE["sizes"].format(sizes=total, equal=equal, explained=explained, wrong=wrong)
    kinds = reproduction.printed["kind"]
    taken, without = (int((kinds == kind).sum()) for kind in NOT_OURS)
    ours = len(kinds) - taken - without
    yield PROSE["printed"].format(numbers=len(kinds), ours=ours, taken=taken, without=without)


def _contradicted(reproduction: Reproduction, work: Work) -> Iterator[Markup]:
    for erratum in work.paper.errata:
        text = PROSE["misprint"].format(erratum=erratum, key=work.key)
        yield html.join(
            text, " ", html.link(PROSE["see"], f"{work.key}.html#{work.key}-errata-and-notes")
        )
    claims, _ = split_ours(reproduction.claims[reproduction.claims["paper"] == work.key])
    by_print = claims[claims["source"] == Kind.PUBLISHED]
    contradicted, partly = contradictions(by_print)
    if contradicted:
        of_these = by_print[by_print["sentence"].isin(contradicted)]
        failed = of_these[of_these["verdict"] == FAILS].drop_duplicates("statement")
        quoted = [f"\u201c{text}\u201d" for text in failed["statement"]][:_QUOTED]
        text = PROSE["contradicted"].format(
            key=work.key,
            failed=len(contradicted),
            sentences=claims["sentence"].nunique(),
            partly=PROSE["partly"].format(partly=len(partly)) if partly else "",
            some=" ".join(quoted),
        )
        yield html.join(
            text, " ", html.link(PROSE["see"], f"{work.key}.html#{work.key}-{slug(CHECKED)}")
        )


# Number of quoted statements that do not hold.
_QUOTED = 2


def contradictions(by_print: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the sentences that a work's numbers contradict in every reading, and in some reading.

    Takes rows of a claims frame with the verdicts by the printed numbers. A sentence that makes
    several statements is contradicted if every reading of one of them fails.
    """
    fails = by_print.assign(fails=by_print["verdict"] == FAILS)
    readings = fails.groupby(["sentence", "statement"], sort=False)["fails"].agg(["all", "any"])
    sentences = readings.groupby("sentence", sort=False).any()
    contradicted = sentences.index[sentences["all"]].tolist()
    return contradicted, sentences.index[sentences["any"] & ~sentences["all"]].tolist()


def works_table(reproduction: Reproduction) -> Table:
    """Return a table of the counts of verdicts on the works' statements, a row for each work."""
    judged: dict[str, dict[str, Sequence[str]]] = {
        "claims checked with the paper's numbers": {
            "hold": [HOLDS],
            "do not": [FAILS],
            "open": [OPEN],
        },
        "with ours": {
            "hold": [HOLDS],
            "do not": [FAILS],
            "hold here": HOLDS_HERE,
            "not here": NOT_HERE,
            "fitted": [FITTED],
            "open": [OPEN],
        },
        "sizes": {"equal": ["equal"], "explained": EXPLAINED, "different": ["different"]},
    }
    columns = [Column("work"), Column("times side by side", numeric=True)]
    columns += [Column(name, group, True) for group, names in judged.items() for name in names]
    of_works, added = split_ours(reproduction.claims)
    rows = []
    for key in reproduction.keys:
        ratios, claims, sizes = (
            frame[frame["paper"] == key]
            for frame in (reproduction.times, of_works, reproduction.sizes)
        )
        by_print = claims["source"] == Kind.PUBLISHED
        by_source = (claims.loc[by_print, "verdict"], claims.loc[~by_print, "verdict"])
        row = [int(ratios["ratio"].notna().sum())]
        for column, groups in zip((*by_source, sizes["verdict"]), judged.values(), strict=True):
            row += [int(column.isin(verdicts).sum()) for verdicts in groups.values()]
        rows.append([Shown(key, key, html.link(key, f"{key}.html")), *row])
    sources, count = set(of_works["source"]), added["claim_id"].nunique()
    return Table(
        columns=columns,
        rows=rows,
        caption="Verdicts by work.",
        notes=[PROSE["here"], *[PROSE["added"].format(added=count)] * bool(count)],
        source=[kind for kind in Kind if kind in sources],
    )


def correction(builds: Mapping[str, Any]) -> Markup:
    """Return the section on pqchain's corrections of liboqs and on the builds that have them."""
    corrected = [
        f"{name}: {', '.join(map(str, build['corrections']))}"
        for name, build in builds.items()
        if build.get("corrections")
    ]
    families = [row.name for row in algorithms.FAMILIES.values() if row.avx2_corrected]
    texts = (
        algorithms.FAMILIES["ML-DSA"].avx2_corrected,
        PROSE["concerns"].format(families=" and ".join(families)),
        PROSE["corrected" if corrected else "uncorrected"],
    )
    paragraphs = (html.element("p", text) for text in texts)
    note = html.element("div", *paragraphs, html.bullets(corrected), class_="note")
    return html.section("correction", "A corrected defect of liboqs", note)


def provenance(facts: Mapping[str, Any]) -> Markup:
    """Return the section on the machine and the software of our numbers."""
    pairs: list[tuple[str, str]] = []
    for name, value in facts.items():
        if name == "native":
            pairs += [(f"library {library}", _build(build)) for library, build in value.items()]
        elif value not in ("", None, [], {}):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            if name.endswith("_seconds"):
                text = SECONDS.text(float(value))
            pairs.append((name.replace("_", " "), text))
    return html.section("provenance", "Origin of our numbers", html.pairs(pairs))


def _build(facts: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in facts.items()
        if value not in ("", None, []) and name != "algorithms"
    )


def reading() -> Markup:
    """Return the section that explains the labels and the measurement of times."""
    labels = (html.join(html.labels(kind), kind.meaning) for kind in Kind)
    compared, timed = (html.element("p", PROSE[name]) for name in ("compared", "timed"))
    parts = [compared, html.bullets(labels), timed]
    return html.section("reading", "How to read these pages", *parts)


def busy(facts: Mapping[str, Any]) -> Markup:
    """Return a warning if other programs loaded the machine during the run, else ""."""
    if not (text := variation.busy(facts)):
        return Markup()
    warning = html.element("p", text)
    return html.element("div", warning, class_="verdict bad", role="alert")


def tally(
    title: str, frame: pd.DataFrame, values: Sequence[str], *, column: str = "verdict"
) -> Markup:
    """Return a list of how often each of `values` occurs in a column, zero included."""
    counts = {str(value): int((frame[column] == value).sum()) for value in values}
    items = (
        html.join(
            html.element("b", str(count)),
            html.labels(value) if value in set(Kind) and column == "kind" else html.badge(value),
        )
        for value, count in counts.items()
    )
    return html.element("div", html.element("h3", title), html.bullets(items), class_="tally")
