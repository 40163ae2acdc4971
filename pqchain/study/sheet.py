"""A study for people: its tables.

Knows how figures are shown; computes none of them.
"""

from __future__ import annotations

import pandas as pd

from pqchain import figures
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table
from pqchain.study import aggregation
from pqchain.study.answer import conclusions, doubts, interval, shown, spread
from pqchain.study.findings import Findings
from pqchain.study.plan import Plan, inputs
from pqchain.study.provers import CITED, PROVERS
from pqchain.study.quantities import QUANTITIES

_KINDS = ("registry", "published", "measured", "given", "modelled")


def text(findings: Findings) -> str:
    """Return the figures and conclusions for a terminal, what makes them doubtful first."""
    parts = (each if isinstance(each, str) else each.text() for each in shown_parts(findings))
    return "\n\n".join(parts)


def shown_parts(findings: Findings) -> list[str | Table]:
    """Return the same in parts: the sentences, and each table."""
    head = f"{findings.plan.title}\ntimes: {findings.costs.source}; {spread(findings)}\n"
    tables: list[str | Table] = [
        calibration_table(findings),
        limits_table(findings),
        figures_table(findings),
    ]
    if trees := trees_table(findings.plan):
        tables.append(trees)
    said = [*doubts(findings), *conclusions(findings)]
    return ["\n".join([head, *said]), *tables]


def calibration_table(findings: Findings) -> Table:
    """Return the model against the chain of today."""
    rows = []
    for row in findings.calibration.to_dict("records"):
        unit = row["unit"]
        name = row["quantity"]
        about = QUANTITIES[name].about if name in QUANTITIES else name
        error = figures.percent(100 * row["error"], 0)
        seen = ", ".join(filter(None, (row["source"], row["date"], row["settings"])))
        rows.append(
            [
                Shown(name, name, html.join(about)),
                row["scheme"],
                Shown(row["model"], shown(row["model"], unit)),
                Shown(row["observed"], shown(row["observed"], unit)),
                Shown(row["error"], error),
                seen,
            ]
        )
    return Table(
        columns=[
            Column("figure"), Column("scheme"), Column("model", numeric=True),
            Column("observed", numeric=True), Column("error", numeric=True), Column("observed by"),
        ],
        rows=rows,
        caption="The model against the chain of today.",
        source=["modelled", "cited"],
        style="figures",
    )  # fmt: skip


def limits_table(findings: Findings) -> Table:
    """Return which limit binds with each scheme, and what a transaction takes of it."""
    rows = []
    for scheme, own in findings.values.items():
        figures = ("transaction_bytes", "transaction_weight", "transaction_gas")
        used = [Shown(own[name], shown(own[name], QUANTITIES[name].unit)) for name in figures]
        count = own["transactions_per_block"]
        rows.append([scheme, findings.limits[scheme], *used, Shown(count, shown(count, ""))])
    return Table(
        columns=[
            Column("scheme"), Column("what binds"), Column("bytes", numeric=True),
            Column("weight", numeric=True), Column("gas", numeric=True),
            Column("transactions of a full block", numeric=True),
        ],
        rows=rows,
        caption="Limits that bind, and what a transaction takes.",
        source=["modelled"],
        style="figures",
    )  # fmt: skip


def figures_table(findings: Findings) -> Table:
    """Return every figure that any scheme has: a row per figure, a column per scheme."""
    values, ends = findings.values, findings.intervals
    by_name = findings.frame.groupby("quantity")["kind"].unique()
    rows = []
    for name in _present(findings):
        kinds = [kind for kind in _KINDS if kind in by_name[name]]
        told = [_named(name), Shown(kinds, ", ".join(kinds), html.labels(*kinds))]
        unit = QUANTITIES[name].unit
        for scheme, each in values.items():
            text = interval(*ends[scheme][name], unit, each[name])
            if name == "binding_limit":
                text = findings.limits[scheme]
            told.append(Shown(each[name], text))
        rows.append(told)
    used = set(findings.frame["kind"])
    return Table(
        columns=[
            Column("figure"),
            Column("kind"),
            *(Column(name, numeric=True) for name in values),
        ],
        rows=rows,
        caption="Every figure, by scheme, with its interval where draws differ. A dash: there is "
        "no such figure, as of a scheme of which no transaction fits into a block.",
        source=[kind for kind in _KINDS if kind in used],
        style="figures",
    )


def outcomes_table(frame: pd.DataFrame) -> Table:
    """Return what chains published beside what their plans predict."""
    rows = []
    for row in frame.to_dict("records"):
        known = QUANTITIES.get(row["quantity"])
        unit = known.unit if known else {"verification_gas": "gas"}.get(row["quantity"], "×")
        error = figures.percent(100 * row["error"], 0)
        rows.append(
            [
                row["chain"],
                f"{figures.humanize(row['quantity'])}, {row['scheme']}",
                Shown(row["predicted"], shown(row["predicted"], unit)),
                Shown(row["outcome"], shown(row["outcome"], unit)),
                Shown(row["error"], error),
                row["decided_by"],
                f"{row['source']} ({row['date']}); {row['kind']}",
            ]
        )
    return Table(
        columns=[
            Column("chain"), Column("figure"), Column("predicted", numeric=True),
            Column("outcome", numeric=True), Column("error", numeric=True), Column("decided by"),
            Column("published in"),
        ],
        rows=rows,
        caption="What chains published when they tried, and what a study predicts from their "
        "plans. None is fitted.",
        source=["modelled", "cited"],
        style="figures",
    )  # fmt: skip


def trees_table(plan: Plan) -> Table | None:
    """Return how long trees of aggregators take for a plan's votes; None without proofs."""
    trees = aggregation.of_plan(plan)
    if not trees:
        return None
    prover = PROVERS[plan.vote_aggregation]
    rows = []
    for name, tree in trees.items():
        done = aggregation.aggregate(tree)
        low, high = (done.seconds + sign * done.half_width_seconds for sign in (-1, 1))
        rows.append(
            [
                name,
                Shown(done.seconds, interval(low, high, "s", done.seconds)),
                Shown(done.missed_groups, f"{done.missed_groups:.0%}"),
                Shown(done.missed_final, f"{done.missed_final:.0%}"),
                Shown(done.received_bytes, shown(done.received_bytes, "B")),
                Shown(
                    done.received_by_aggregator_bytes,
                    shown(done.received_by_aggregator_bytes, "B"),
                ),
            ]
        )
    return Table(
        columns=[
            Column("topology"), Column("last proof after", numeric=True),
            Column("groups late", numeric=True), Column("last proof late", numeric=True),
            Column("a validator receives", numeric=True),
            Column("an aggregator receives", numeric=True),
        ],
        rows=rows,
        caption=f"Trees of aggregators for {plan.votes_per_block:g} votes in "
        f"{plan.vote_aggregates:g} groups at 100 Mbit/s, proven by {prover.title} "
        f"({prover.source}, {prover.machine}): {CITED}.",
        source=["modelled", "cited"],
    )  # fmt: skip


def load_table(curve: pd.DataFrame) -> Table:
    """Return latency against arrivals: a row per load, a column per scheme."""
    wide = curve.pivot(index="load", columns="scheme", values="latency_seconds")
    names = list(dict.fromkeys(curve["scheme"]))
    return Table(
        columns=[
            Column("share of the capacity", show=lambda value: f"{value:.0%}"),
            *(Column(name, numeric=True, show=lambda value: shown(value, "s")) for name in names),
        ],
        rows=[[load, *row] for load, row in zip(wide.index, wide[names].to_numpy(), strict=True)],
        caption="Mean latency of a transaction by load, queue included: a closed form.",
        source=["modelled"],
        style="figures",
    )


def migration_table(frame: pd.DataFrame) -> Table:
    """Return a migration at some of its days."""
    last = len(frame) - 1
    picked = frame.iloc[sorted({round(last * part / 8) for part in range(9)})]
    return Table.of(
        picked,
        [
            Column("day", numeric=True, show=figures.integer, key="day"),
            Column("phase", key="phase"),
            Column("moved", numeric=True, show="{:.1%}".format, key="moved_share"),
            Column("waiting", numeric=True, show="{:.1%}".format, key="waiting_share"),
            Column("carried", numeric=True, show=lambda value: shown(value, "1/s"),
                   key="carried_per_second"),
            Column("growth of a day", numeric=True, show=lambda value: shown(value, "B"),
                   key="growth_bytes_per_day"),
        ],
        caption="The migration at nine of its days.",
        source=["modelled"],
    )  # fmt: skip


def tornado_table(tornado: pd.DataFrame) -> Table:
    """Return the values of a tornado."""
    unit = next(iter(tornado["unit"]), "")
    titles = {"low": "halved", "base": "as it is", "high": "doubled"}
    values = [
        Column(title, numeric=True, show=lambda value: shown(value, unit), key=key)
        for key, title in titles.items()
    ]
    return Table.of(
        tornado,
        [Column("input", show=figures.humanize), *values],
        caption="The same as numbers.",
        source=["modelled"],
    )


def plane_table(plane: pd.DataFrame) -> Table:
    """Return the winners of a plane."""
    across, upwards = (figures.humanize(str(plane[axis].iloc[0])) for axis in ("across", "upwards"))
    names = plane.pivot(index="upwards_factor", columns="across_factor", values="winner")
    factors = [figures.factor(float(each)) for each in names.columns]
    return Table(
        columns=[Column(upwards, show=figures.factor), *(Column(each, across) for each in factors)],
        rows=list(names.replace("", figures.MISSING).itertuples(name=None)),
        caption="The same as names.",
        source=["modelled"],
    )


def inputs_table(plan: Plan) -> Table:
    """Return the inputs of a study with their sources."""
    rows = [[about, value, unit, source] for _, value, unit, about, source in inputs(plan)]
    return Table(
        columns=[Column("input"), Column("value", show=_plain), Column("unit"), Column("source")],
        rows=rows,
        caption="Inputs of the study.",
        style="figures",
    )


def sources_table(findings: Findings) -> Table:
    """Return where each figure comes from, and on what it depends."""
    by_name = findings.frame.groupby("quantity")["source"].unique()
    rows = [
        [_named(name), "; ".join(by_name[name]), ", ".join(sorted(QUANTITIES[name].needs))]
        for name in _present(findings)
    ]
    return Table(
        columns=[Column("figure"), Column("source"), Column("depends on")],
        rows=rows,
        caption="Sources, and the inputs that a figure depends on: no other changes it.",
        style="figures",
    )


def _present(findings: Findings) -> list[str]:
    return list(findings.table.dropna(how="all").index)


def _named(name: str) -> Shown:
    """Name a figure: as commands do on a terminal, in words on a page."""
    return Shown(name, name, html.join(QUANTITIES[name].about))


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
