"""Tables of a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from pqchain import figures
from pqchain.figures import Figure, Kind, Unit, humanize, percent
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table
from pqchain.study import text, validation
from pqchain.study.figures import QUANTITIES
from pqchain.study.files import input_rows
from pqchain.study.plan import Plan
from pqchain.study.sampling import Findings

# Kinds in the order of a table.
_KINDS = (Kind.REGISTRY, Kind.PUBLISHED, Kind.MEASURED, Kind.GIVEN, Kind.MODELLED)


def main_table(findings: Findings) -> Table:
    """Return a table of the eight main figures in words, with a column for each scheme."""
    rows: list[list[object]] = []
    for name, title in text.MAIN.items():
        if name == "binding_limit":
            rows.append([title, *(text.limit_name(findings.limits[it]) for it in findings.figures)])
        else:
            shown = (by_name[name] for by_name in findings.figures.values())
            rows.append([title, *(Shown(it.value, text.brief(it)) for it in shown)])
    caption = "Main figures by scheme, with intervals above 5 %. A dash: none."
    used = {it[name].kind for it in findings.figures.values() for name in text.MAIN}
    return _table(["figure"], findings.figures, rows, caption, _kinds(used))


def figures_table(findings: Findings) -> Table:
    """Return a table of all figures that exist: a row for each, a column for each scheme."""
    rows = []
    for name, row in _present(findings).items():
        kinds = _kinds({figure.kind for figure in row})
        label = Shown(kinds, ", ".join(kinds), html.labels(*kinds, short=True))
        rows.append([_named(name), label, *(Shown(it.value, it.text()) for it in row)])
    caption = (
        "Every figure by scheme, with its interval where draws differ. A dash: no such figure, for "
        "example because no transaction of the scheme fits in a block."
    )
    used = {it.kind for by_name in findings.figures.values() for it in by_name.values()}
    return _table(["figure", "kind"], findings.figures, rows, caption, _kinds(used))


def sources_table(findings: Findings) -> Table:
    """Return a table of the source of each figure and the inputs that it depends on."""
    rows = []
    for name, row in _present(findings).items():
        sources = "; ".join(dict.fromkeys(figure.source for figure in row))
        rows.append([_named(name), sources, ", ".join(sorted(QUANTITIES[name].needs))])
    caption = "Sources of the figures, and the inputs that each depends on."
    return _table(["figure", "source", "depends on"], (), rows, caption)


def inputs_table(plan: Plan) -> Table:
    """Return a table of the inputs of a study and their sources."""
    rows = [
        [about, f"{value:g}" if isinstance(value, float) else str(value), unit, source]
        for _, value, unit, about, source in input_rows(plan)
    ]
    return _table(["input", "value", "unit", "source"], (), rows, "Inputs of the study.")


def calibration_table(frame: pd.DataFrame) -> Table:
    """Return a table that compares the model with observations of the existing chain."""
    rows = []
    for row in frame.to_dict("records"):
        unit = Unit(row["unit"])
        origin = filter(None, (row["source"], row["date"], row["settings"]))
        compared = (_cell(row["model"], unit), _cell(row["observed"], unit), _error(row["error"]))
        # A row without a number is not a test, either; its origin says why.
        test = f"no: {row['dependence']}" if row["dependence"] else "yes"
        test = test if row["observed"] == row["observed"] else ""
        scheme = row["algorithm"]
        rows.append([_named(row["quantity"]), scheme, *compared, test, ", ".join(origin)])
    caption = "The model compared with observations of the chain."
    columns = ["figure", "algorithm", *("model", "observed", "error"), "a test", "observed by"]
    return _table(columns, (), rows, caption, (Kind.MODELLED, Kind.CITED))


def outcomes_table(frame: pd.DataFrame) -> Table:
    """Return a table that compares published results of chains with the model's predictions."""
    rows = []
    for row in frame.to_dict("records"):
        quantity = row["quantity"]
        # A quantity that is not a figure of a study is a ratio, unless its name states a unit.
        unit = QUANTITIES[quantity].unit if quantity in QUANTITIES else Unit.of(quantity, "")
        unit = unit if quantity in QUANTITIES or unit else figures.RATIO
        compared = (_cell(row["predicted"], unit), _cell(row["outcome"], unit))
        origin = f"{row['source']} ({row['date']}, read on {row['checked']}); {row['kind']}"
        named = f"{humanize(quantity)}, {row['algorithm']}"
        error = _error(row["error"])
        rows.append([row["chain"], named, *compared, error, row["decided_by"], origin])
    caption = (
        "Published outcomes of chains, and the predictions of a study from their plans. "
        "No input is fitted to a measured outcome; arithmetic of a chain's makers tests nothing."
    )
    columns = ["chain", "figure", *("predicted", "outcome", "error"), "decided by", "published in"]
    return _table(columns, (), rows, caption, (Kind.MODELLED, Kind.CITED))


_NUMBERS = {"model", "observed", "error", "predicted", "outcome"}


def _table(
    columns: Iterable[str],
    schemes: Iterable[str],
    rows: Sequence[Sequence[object]],
    caption: str,
    source: Iterable[Kind] = (),
) -> Table:
    """Return a table with these columns, and a column of numbers for each scheme."""
    made = [Column(name, numeric=name in _NUMBERS) for name in columns]
    made += [Column(name, numeric=True) for name in schemes]
    return Table(columns=made, rows=rows, caption=caption, source=[*source], style="figures")


def _kinds(used: set[Kind]) -> list[Kind]:
    return [kind for kind in _KINDS if kind in used]


def _present(findings: Findings) -> dict[str, list[Figure]]:
    rows = {n: [by_name[n] for by_name in findings.figures.values()] for n in QUANTITIES}
    # NaN differs from itself.
    return {n: row for n, row in rows.items() if any(it.value == it.value for it in row)}


def _cell(value: float, unit: Unit) -> Shown:
    return Shown(value, unit.text(value))


def _error(error: float) -> Shown:
    return Shown(error, percent(100 * error, 0))


def _named(name: str) -> Shown:
    """Return the table cell that labels a figure: its name as text, its meaning in HTML."""
    return Shown(name, name, html.join(QUANTITIES[name].about if name in QUANTITIES else name))


def parts(findings: Findings, complete: bool = False) -> list[str | Table]:
    """Return the conclusions as text, and the main figures; `complete` adds the other tables."""
    head = (
        f"{findings.plan.title}\n{text.status(findings.plan)}\n"
        f"times: {findings.costs.source}; {text.spread(findings)}\n"
    )
    lines = [
        head,
        *text.warnings(findings),
        *text.conclusions(findings),
        text.fit(findings.calibration),
    ]
    lines.append(validation.engines(findings.plan))
    first: list[str | Table] = ["\n".join(filter(None, lines)), main_table(findings)]
    if not complete:
        return first
    more = [calibration_table(findings.calibration), figures_table(findings)]
    return [*first, *more]
