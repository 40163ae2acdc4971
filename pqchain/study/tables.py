"""Tables of a study."""

from __future__ import annotations

import pandas as pd

from pqchain import figures
from pqchain.figures import Figure, Kind, Unit, humanize, percent
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table
from pqchain.study import aggregation, wording
from pqchain.study.figures import QUANTITIES
from pqchain.study.input_rows import input_rows
from pqchain.study.inputs import Plan
from pqchain.study.provers import CITED, PROVERS
from pqchain.study.sampling import Findings


def main_table(findings: Findings) -> Table:
    """Return a table of the eight main figures in words, with a column for each scheme."""
    rows: list[list[object]] = []
    for name, words in wording.MAIN.items():
        if name == "binding_limit":
            cells = [wording.limit(findings.limits[it]) for it in findings.figures]
            rows.append([words, *cells])
        else:
            figures_of = (by_name[name] for by_name in findings.figures.values())
            rows.append([words, *(Shown(it.value, wording.brief(it)) for it in figures_of)])
    used = {it[name].kind for it in findings.figures.values() for name in wording.MAIN}
    return Table(
        columns=[
            Column("figure"),
            *(Column(algorithm, numeric=True) for algorithm in findings.figures),
        ],
        rows=rows,
        caption="Main figures by scheme, with intervals above 5 %. A dash: none.",
        source=[kind for kind in _KINDS if kind in used],
        style="figures",
    )


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
        named = [_named(row["quantity"]), row["algorithm"]]
        rows.append([*named, *compared, test, ", ".join(origin)])
    return Table(
        columns=[
            Column("figure"), Column("algorithm"), Column("model", numeric=True),
            Column("observed", numeric=True), Column("error", numeric=True), Column("a test"),
            Column("observed by"),
        ],
        rows=rows,
        caption="The model compared with observations of the chain.",
        source=[Kind.MODELLED, Kind.CITED],
        style="figures",
    )  # fmt: skip


def limits_table(findings: Findings) -> Table:
    """Return a table of the binding limit and a transaction's bytes, weight and gas by scheme."""
    names = (
        "transaction_bytes", "transaction_weight", "transaction_gas", "transactions_per_block"
    )  # fmt: skip
    rows = [
        [algorithm, findings.limits[algorithm], *(_cell_of(by_name[name]) for name in names)]
        for algorithm, by_name in findings.figures.items()
    ]
    return Table(
        columns=[
            Column("algorithm"), Column("binding limit"), Column("bytes", numeric=True),
            Column("weight", numeric=True), Column("gas", numeric=True),
            Column("transactions of a full block", numeric=True),
        ],
        rows=rows,
        caption="Binding limits, and how much a transaction uses of each.",
        source=[Kind.MODELLED],
        style="figures",
    )  # fmt: skip


def figures_table(findings: Findings) -> Table:
    """Return a table of all figures that exist: a row for each, a column for each scheme."""
    rows = []
    for name, row in _present(findings).items():
        used = {figure.kind for figure in row}
        kinds = [kind for kind in _KINDS if kind in used]
        label = Shown(kinds, ", ".join(kinds), html.labels(*kinds, short=True))
        rows.append([_named(name), label, *(Shown(it.value, it.text()) for it in row)])
    used = {it.kind for by_name in findings.figures.values() for it in by_name.values()}
    return Table(
        columns=[
            Column("figure"),
            Column("kind"),
            *(Column(algorithm, numeric=True) for algorithm in findings.figures),
        ],
        rows=rows,
        caption="Every figure by scheme, with its interval where draws differ. A dash: no such "
        "figure, for example because no transaction of the scheme fits in a block.",
        source=[kind for kind in _KINDS if kind in used],
        style="figures",
    )


# Kinds in the order of a table.
_KINDS = (Kind.REGISTRY, Kind.PUBLISHED, Kind.MEASURED, Kind.GIVEN, Kind.MODELLED)


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
    return Table(
        columns=[
            Column("chain"), Column("figure"), Column("predicted", numeric=True),
            Column("outcome", numeric=True), Column("error", numeric=True), Column("decided by"),
            Column("published in"),
        ],
        rows=rows,
        caption="Published outcomes of chains, and the predictions of a study from their plans. "
        "No input is fitted to a measured outcome; arithmetic of a chain's makers tests nothing.",
        source=[Kind.MODELLED, Kind.CITED],
        style="figures",
    )  # fmt: skip


def trees_table(plan: Plan) -> Table | None:
    """Return a table of aggregation trees for a plan's votes; None without prover rates."""
    trees = aggregation.of_plan(plan)
    if not trees:
        return None
    prover = PROVERS[plan.vote_aggregation]
    links = Unit("bit/s").text(trees["gossip"].rate_bits_per_second)
    if plan.rate_bits_per_second is None:
        links += " (BEAMSIM's; the plan's regions have their own)"
    rows = []
    for topology, tree in trees.items():
        result = aggregation.aggregate(tree)
        seconds = Figure.point(result.seconds, "s", Kind.MODELLED, "pqchain.study.aggregation")
        half = result.half_width_seconds
        received = (result.received_bytes, result.received_by_aggregator_bytes)
        last = seconds.within(seconds.value, seconds.value - half, seconds.value + half)
        missed = (result.missed_groups, result.missed_final)
        sizes = (_cell(size, figures.BYTES) for size in received)
        rows.append([topology, _cell_of(last), *missed, *sizes])
    return Table(
        columns=[
            Column("topology"), Column("last proof after", numeric=True),
            Column("groups late", numeric=True, unit="share"),
            Column("last proof late", numeric=True, unit="share"),
            Column("a validator receives", numeric=True),
            Column("an aggregator receives", numeric=True),
        ],
        rows=rows,
        caption=f"Trees of aggregators for {plan.votes_per_block:g} votes in "
        f"{plan.vote_aggregates:g} groups with links of {links}, proven by {prover.title} "
        f"({prover.source}, {prover.machine}): {prover.evidence}.",
        source=[Kind.MODELLED, Kind.CITED if prover.evidence == CITED else Kind.MEASURED],
    )  # fmt: skip


def inputs_table(plan: Plan) -> Table:
    """Return a table of the inputs of a study and their sources."""
    rows = [[about, value, unit, source] for _, value, unit, about, source in input_rows(plan)]
    return Table(
        columns=[Column("input"), Column("value", show=_plain), Column("unit"), Column("source")],
        rows=rows,
        caption="Inputs of the study.",
        style="figures",
    )


def sources_table(findings: Findings) -> Table:
    """Return a table of the source of each figure and the inputs that it depends on."""
    rows = []
    for name, row in _present(findings).items():
        sources = "; ".join(dict.fromkeys(figure.source for figure in row))
        rows.append([_named(name), sources, ", ".join(sorted(QUANTITIES[name].needs))])
    return Table(
        columns=[Column("figure"), Column("source"), Column("depends on")],
        rows=rows,
        caption="Sources of the figures, and the inputs that each depends on.",
        style="figures",
    )


def _present(findings: Findings) -> dict[str, list[Figure]]:
    rows = {n: [by_name[n] for by_name in findings.figures.values()] for n in QUANTITIES}
    # NaN differs from itself.
    return {n: row for n, row in rows.items() if any(it.value == it.value for it in row)}


def _cell_of(figure: Figure) -> Shown:
    return Shown(figure.value, figure.text())


def _cell(value: float, unit: Unit) -> Shown:
    return Shown(value, unit.text(value))


def _error(error: float) -> Shown:
    return Shown(error, percent(100 * error, 0))


def _named(name: str) -> Shown:
    """Return the table cell that labels a figure: its name as text, its meaning in HTML."""
    return Shown(name, name, html.join(QUANTITIES[name].about if name in QUANTITIES else name))


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
