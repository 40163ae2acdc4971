"""Results of a study as sentences and tables."""

from __future__ import annotations

import pandas as pd

from pqchain import algorithms, figures, schemes
from pqchain.figures import Figure, Kind, Unit, humanize, percent
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table
from pqchain.study import aggregation, chain, validation, wording
from pqchain.study.checking import NETWORK, REQUIRED
from pqchain.study.figures import QUANTITIES
from pqchain.study.input_rows import input_rows
from pqchain.study.inputs import BY_SCHEME, INPUTS, Plan
from pqchain.study.provers import CITED, PROVERS
from pqchain.study.sampling import Findings


def spread(findings: Findings) -> str:
    """Return a phrase that says what the intervals contain."""
    if findings.draws < 2:
        return "one draw, without intervals"
    return f"intervals: nine of ten of {findings.draws} draws of network and times"


def status(plan: Plan) -> str:
    """Return a sentence with the date of a plan's sources, and until when its rules hold."""
    if plan.checked is None:
        return "Inputs are not dated."
    until = "status unknown after that date"
    if plan.valid_until is not None and plan.valid_until < plan.checked:
        until = f"rules in force until {plan.valid_until}"
    elif plan.valid_until is not None:
        until = f"rules valid until {plan.valid_until}, status unknown after that date"
    return f"Sources read on {plan.checked}; {until}."


def warnings(findings: Findings) -> list[str]:
    """Return warnings: broken schemes, a busy machine, a model that differs from observations."""
    measured = [f"Warning: {warning}." for warning in findings.warnings]
    attacks = algorithms.cautions(findings.plan.names)
    instance = _other_instance(findings.plan)
    return [*attacks, *instance, *measured, *validation.large_errors(findings.calibration)]


def _other_instance(plan: Plan) -> list[str]:
    """Return a warning if the prover of votes was measured with signatures of another length."""
    prover, length = PROVERS.get(plan.vote_aggregation), plan.vote_signature_bytes
    if prover is None or prover.signature_bytes in (None, length) or not length:
        return []
    return [
        f"Votes have signatures of {figures.BYTES.text(length, exact=True)}, and {prover.name} was "
        f"measured with signatures of {figures.BYTES.text(prover.signature_bytes, exact=True)}: "
        "rate and proofs are of another instance of the scheme."
    ]


def conclusions(findings: Findings) -> list[str]:
    """Return the main results of a study in sentences."""
    plan, by_algorithm, best = findings.plan, findings.figures, findings.best
    target = plan.transactions_per_second
    capacity = {name: of["capacity_per_second"] for name, of in by_algorithm.items()}
    sentences = [_place_of_keys(plan)]
    if best and capacity[best].value > 0:
        sentences.append(
            f"Highest capacity of the post-quantum schemes: {best}, {capacity[best].text()}; "
            f"target {target:g}. Binding limit: {findings.limits[best]}."
        )
        others = (name for name in plan.post_quantum if name != best)
        equal = [n for n in others if not findings.differ("capacity_per_second", best, n)]
        if equal:
            sentences.append(f"No difference in capacity from {best}: {', '.join(equal)}.")
    # Schemes that fit in no block have no capacity to compare, and are listed with their limit.
    refused = [n for n, of in by_algorithm.items() if not of["transactions_per_block"].value]
    by_limit: dict[str, list[str]] = {}
    for name in refused:
        by_limit.setdefault(findings.limits[name], []).append(name)
    for limit, names in by_limit.items():
        sentences.append(f"No transaction fits ({limit}): {', '.join(names)}.")
    late = [n for n, of in by_algorithm.items() if of["vote_deadline_ratio"].value > 1]
    if late:
        times = (f"{n} ({by_algorithm[n]['final_seconds'].text()})" for n in late)
        deadline = figures.SECONDS.text(plan.vote_deadline_seconds)
        sentences.append(
            f"Full blocks and their votes take longer than the deadline of votes, {deadline}: "
            f"{', '.join(times)}. Validators would miss some of them; no limit counts that."
        )
    below = [n for n in capacity if n not in refused and capacity[n].value < target]
    if below:
        sentences.append(
            f"Capacity below the target load: {', '.join(below)}. At that load their queues "
            "grow without end, so no latency is given."
        )
    if plan.baseline and best and best not in refused:
        sentences.append(_from_baseline(findings, best))
    return [*sentences, *_proof_price(findings)]


def _place_of_keys(plan: Plan) -> str:
    """Return a sentence on where the chain gets public keys from: it decides the capacity."""
    names_by_mode: dict[str, list[str]] = {}
    for name in filter(None, dict.fromkeys((plan.baseline, *plan.algorithms))):
        names_by_mode.setdefault(chain.key_mode(plan, name), []).append(name)
    places = [
        wording.key_mode(mode) + f" ({', '.join(names)})" * (len(names_by_mode) > 1)
        for mode, names in names_by_mode.items()
    ]
    sentence = f"Figures are {' and '.join(places)}"
    if plan.moves_register and "registered" not in names_by_mode:
        return f"{sentence}; --set key_mode=registered: with the key in the account."
    return f"{sentence}."


def _proof_price(findings: Findings) -> list[str]:
    """Return a sentence on the gas that verifies a full block's proof, and where it is all gas."""
    plan = findings.plan
    if not (plan.bundled and plan.block_gas and plan.baseline and plan.verification_gas):
        return []
    bundle = chain.bundle_of(plan, plan.bundled, findings.costs)
    count = findings.figures[plan.bundled]["transactions_per_block"].value
    if bundle is None or bundle.prover is None or not count:
        return []
    seconds = bundle.prover.verify_seconds(count * plan.signatures)
    seconds_per_gas = findings.costs[plan.baseline].verify_seconds / plan.verification_gas
    # The time whose price, relative to the baseline's, is the gas of a whole block.
    block_seconds = plan.block_gas * seconds_per_gas
    known = f"{figures.SECONDS.text(seconds)}, {seconds / block_seconds:.0%} of its gas"
    return [
        f"Verification of the proof of a full block: "
        f"{known if seconds == seconds else 'not published, counted as 0'}. "
        f"At {figures.SECONDS.text(block_seconds)} it would use all gas of the block "
        f"({bundle.prover.evidence})."
    ]


def _from_baseline(findings: Findings, best: str) -> str:
    size, time = (
        findings.figures[best][name] for name in ("transaction_bytes_ratio", "verification_ratio")
    )
    verification = f"verification {time.text()} the time"
    # An interval around 1 shows no difference.
    if time.low < 1 < time.high:
        verification = f"no difference in verification: {time.text()}"
    baseline = findings.plan.baseline
    return f"From {baseline} to {best}: transactions {size.text()} the bytes, {verification}."


def text(findings: Findings, *, complete: bool = False) -> str:
    """Return the conclusions and tables for a terminal, warnings first."""
    return "\n\n".join(p if isinstance(p, str) else p.text() for p in parts(findings, complete))


def parts(findings: Findings, complete: bool = False) -> list[str | Table]:
    """Return the conclusions as text, and the main figures; `complete` adds the other tables."""
    head = (
        f"{findings.plan.title}\n{status(findings.plan)}\n"
        f"times: {findings.costs.source}; {spread(findings)}\n"
    )
    said = [head, *warnings(findings), *conclusions(findings), fit(findings.calibration)]
    said.append(validation.engines(findings.plan))
    first: list[str | Table] = ["\n".join(filter(None, said)), main_table(findings)]
    if not complete:
        return first
    trees = trees_table(findings.plan)
    return [
        *first,
        calibration_table(findings.calibration),
        limits_table(findings),
        figures_table(findings),
        *([trees] if trees else []),
    ]


def fit(calibration: pd.DataFrame) -> str:
    """Return a sentence with the errors of the model's tests; "" without one."""
    compared = [
        f"{validation.EXPECTED_OF.get(row['quantity'], row['quantity'])} "
        f"{percent(100 * row['error'], 0)} ({row['date']})"
        for row in validation.tests(calibration).to_dict("records")
    ]
    return f"Compared with this chain: {', '.join(compared)}." if compared else ""


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


def input_help() -> list[tuple[str, str, str, str, str]]:
    """Return table, name, unit, meaning and default of every key that a study file may have."""
    rows = []
    for name, row in INPUTS.items():
        default = "none" if row.default == {} else str(row.default)
        if row.default in (REQUIRED, None):
            default = "needed" if row.default is REQUIRED else "none"
        if name in NETWORK and row.default is None:
            default = "the law's"
        key = "SCHEME" if name in BY_SCHEME else name
        rows.append((row.table, key, row.unit, row.about, default))
    rows += [("[scheme]", *field, "none") for field in schemes.TABLE]
    return [*rows, ("sources", "INPUT", "", "source of each input", "none")]


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
