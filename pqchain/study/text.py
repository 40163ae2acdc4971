"""Results of a study in words and tables: figures, limits, dates, warnings and conclusions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from pqchain import algorithms, figures
from pqchain.figures import BYTES, SECONDS, Figure, Kind, Unit
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table
from pqchain.study import chain, validation
from pqchain.study.figures import QUANTITIES
from pqchain.study.files import input_rows
from pqchain.study.plan import Plan
from pqchain.study.provers import prover_of
from pqchain.study.sampling import Findings

MAIN: Mapping[str, str] = {
    "capacity_per_second": "capacity",
    "capacity_ratio": "capacity, relative to today",
    "binding_limit": "binding limit",
    "transaction_bytes": "a transaction",
    "latency_seconds": "latency at the target load",
    "rule_seconds": "time to finality",
    "verification_cores": "cores busy with verification",
    "growth_bytes_per_year": "growth of storage in a year",
}
"""The eight main figures of a study in words, in the order of its table."""

_LIMITS = {
    "votes": "bytes reserved for votes in a block",
    "bytes": "bytes of a block",
    "weight": "weight of a block",
    "sigops": "signature checks in a block",
    "gas": "gas of a block",
    "packet": "longest transaction",
    "spread": "uplink of a proposer",
    "count": "number of transactions in a block",
    "proving": "rate of the prover",
    "time to final": "time to finality",
}

KEY_MODES = {
    "inline": "with the key in each transaction",
    "registered": "with the key in the account",
    "recovered": "with the key recovered from the signature",
}
"""Where a chain gets the public key from, by key mode."""


def limit_name(name: str) -> str:
    """Return the name of a limit in words; a name without other words stays as it is."""
    return _LIMITS.get(name, name)


def chain_name(plan: Plan) -> str:
    """Return the name of a plan's chain: its title up to the first colon."""
    return plan.title.partition(":")[0]


def brief(figure: Figure) -> str:
    """Return a figure as text, with its interval only if that is wider than 5 % of the value."""
    is_wide = figure.high - figure.low > 0.05 * abs(figure.value)
    return figure.text() if is_wide else figure.unit.text(figure.value)


def percent(share: float) -> str:
    """Return a share in percent, with a decimal below ten percent; at least "0.1 %" unless 0.

    >>> percent(0.509), percent(0.0347), percent(0.0)
    ('51 %', '3.5 %', '0 %')
    """
    value = 100 * share
    if value == 0 or value >= 9.95:
        return f"{value:.0f} %"
    return f"{max(value, 0.1):.1f} %"


def span(shares: Sequence[float]) -> str:
    """Return a range of shares as text; "" if its ends are equal, or if there is none."""
    ends = list(dict.fromkeys(map(percent, shares)))
    return f"{ends[0].removesuffix(' %')} to {ends[1]}" if len(ends) > 1 else ""


def status(plan: Plan) -> str:
    """Return a sentence with the date of a plan's sources, and until when its rules hold."""
    checked, last = plan.chain.checked, plan.chain.valid_until
    if checked is None:
        return "Inputs are not dated."
    until = "status unknown after that date"
    if plan.chain.is_past:
        until = f"rules in force until {last}"
    elif last is not None:
        until = f"rules valid until {last}, status unknown after that date"
    return f"Sources read on {checked}; {until}."


def fit(calibration: pd.DataFrame) -> str:
    """Return a sentence with the errors of the model's tests by figure; "" without one."""
    rows = validation.by_name(calibration)
    parts = (
        f"{it} ({f'{len(of)} observations, ' * (len(of) > 1)}{dates})" for it, dates, of in rows
    )
    compared = "; ".join(parts)
    return f"Compared with this chain: {compared}." if compared else ""


def spread(findings: Findings) -> str:
    """Return a phrase that says what the intervals contain."""
    if findings.draws < 2:
        return "one draw, without intervals"
    return f"intervals: nine of ten of {findings.draws} draws of network and times"


def warnings(findings: Findings) -> list[str]:
    """Return warnings: broken schemes, a busy machine, a model that differs from observations."""
    return [
        *algorithms.cautions(findings.plan.names),
        *_other_instance(findings.plan),
        *_other_machine(findings),
        *(f"Warning: {warning}." for warning in findings.times.warnings),
        *validation.large_errors(findings.calibration),
        *validation.engine_bias(findings.plan),
    ]


def _other_instance(plan: Plan) -> Iterator[str]:
    """Yield a warning if the prover of votes was measured with signatures of another length."""
    prover, length = prover_of(plan.votes.vote_aggregation), plan.votes.vote_signature_bytes
    if prover and length and prover.signature_bytes not in (None, length):
        yield (
            f"Votes have signatures of {BYTES.text(length, exact=True)}, and {prover.name} was "
            f"measured with signatures of {BYTES.text(prover.signature_bytes or 0, exact=True)}: "
            "rate and proofs are of another instance of the scheme."
        )


def _other_machine(findings: Findings) -> Iterator[str]:
    """Yield a warning if given times are priced by the time of the baseline on this machine."""
    limits, baseline = findings.plan.limits, findings.plan.chain.baseline
    if not baseline or not (limits.block_sigops or (limits.block_gas and limits.verification_gas)):
        return
    costs = [findings.costs[name] for name in findings.plan.names]
    names = [
        row.algorithm
        for row in costs
        if row.is_given and row.algorithm not in limits.gas_prices
        if not (row.anchor_seconds and baseline == chain.ANCHORED)
    ]
    if names:
        yield (
            f"Warning: {', '.join(names)}: given times are priced by the time of {baseline} on "
            "this machine. Give anchor_seconds, for a baseline of ECDSA-secp256k1, or gas_prices."
        )


def conclusions(findings: Findings) -> list[str]:
    """Return the main results of a study in sentences."""
    plan, by_algorithm, best = findings.plan, findings.figures, findings.best
    target = plan.chain.transactions_per_second
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
    for limit in dict.fromkeys(findings.limits[name] for name in refused):
        names = [name for name in refused if findings.limits[name] == limit]
        sentences.append(f"No transaction fits ({limit_name(limit)}): {', '.join(names)}.")
    late = [n for n, of in by_algorithm.items() if of["vote_deadline_ratio"].value > 1]
    if late:
        times = (f"{n} ({by_algorithm[n]['final_seconds'].text()})" for n in late)
        deadline = SECONDS.text(plan.votes.vote_deadline_seconds)
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
    if plan.chain.baseline and best and best not in refused:
        sentences.append(_from_baseline(findings, best))
    mix = validation.kept_over_mix(plan, plan, findings.costs, findings.calibration)
    ranges = [f"{n} {ends}" for n in plan.post_quantum if (ends := span(mix.get(n, ())))]
    if ranges:
        about = "Capacity relative to today, over the observed mix of transactions"
        sentences.append(f"{about}: {', '.join(ranges)}.")
    return [*sentences, *_proof_price(findings)]


def _place_of_keys(plan: Plan) -> str:
    """Return a sentence on where the chain gets public keys from: it decides the capacity."""
    names_by_mode: dict[str, list[str]] = {}
    for name in plan.names:
        names_by_mode.setdefault(chain.key_mode(plan, name), []).append(name)
    places = [
        KEY_MODES[mode] + f" ({', '.join(names)})" * (len(names_by_mode) > 1)
        for mode, names in names_by_mode.items()
    ]
    sentence = f"Figures are {' and '.join(places)}"
    if plan.chain.moves_register and "registered" not in names_by_mode:
        return f"{sentence}; --set key_mode=registered: with the key in the account."
    return f"{sentence}."


def _proof_price(findings: Findings) -> Iterator[str]:
    """Yield a sentence on the gas that verifies a full block's proof, and where it is all gas."""
    plan, limits = findings.plan, findings.plan.limits
    if not (plan.bundled and limits.block_gas and plan.chain.baseline and limits.verification_gas):
        return
    prover = prover_of(plan.transaction.transaction_aggregation)
    count = findings.figures[plan.bundled]["transactions_per_block"].value
    if prover is None or not count:
        return
    seconds = prover.verify_seconds(count * plan.transaction.signatures)
    seconds_per_gas = findings.costs[plan.chain.baseline].verify_seconds / limits.verification_gas
    # The time whose price, relative to the baseline's, is the gas of a whole block.
    block_seconds = limits.block_gas * seconds_per_gas
    known = f"{SECONDS.text(seconds)}, {seconds / block_seconds:.0%} of its gas"
    yield (
        f"Verification of the proof of a full block: "
        f"{known if seconds == seconds else 'not published, counted as 0'}. "
        f"At {SECONDS.text(block_seconds)} it would use all gas of the block ({prover.evidence})."
    )


def verification(findings: Findings, algorithm: str) -> str:
    """Return a phrase that compares verifications with the baseline's, and names their code."""
    time = findings.figures[algorithm]["verification_ratio"]
    pair = [findings.costs[name].verifier for name in (algorithm, findings.plan.chain.baseline)]
    code = f"both by {pair[0]}" if pair[0] == pair[1] else f"by {pair[0]}, today's by {pair[1]}"
    code = f" ({code}; the interval spans passes and implementations)" * all(pair)
    # An interval around 1 shows no difference.
    if time.low < 1 < time.high:
        return f"no difference in verification: {time.text()}{code}"
    return f"verification {time.text()} the time{code}"


def _from_baseline(findings: Findings, best: str) -> str:
    size, baseline = findings.figures[best]["transaction_bytes_ratio"], findings.plan.chain.baseline
    compared = f"transactions {size.text()} the bytes, {verification(findings, best)}"
    return f"From {baseline} to {best}: {compared}."


# Kinds in the order of a table.
_KINDS = (Kind.REGISTRY, Kind.PUBLISHED, Kind.MEASURED, Kind.GIVEN, Kind.MODELLED)


def main_table(findings: Findings) -> Table:
    """Return a table of the eight main figures in words, with a column for each scheme."""
    rows: list[list[object]] = []
    for name, title in MAIN.items():
        if name == "binding_limit":
            rows.append([title, *(limit_name(findings.limits[it]) for it in findings.figures)])
        else:
            shown = (by_name[name] for by_name in findings.figures.values())
            rows.append([title, *(Shown(it.value, brief(it)) for it in shown)])
    caption = "Main figures by scheme, with intervals above 5 %. A dash: none."
    used = {it[name].kind for it in findings.figures.values() for name in MAIN}
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
    """Return a table of the source of each figure."""
    rows = [
        [_named(name), "; ".join(dict.fromkeys(figure.source for figure in row))]
        for name, row in _present(findings).items()
    ]
    return _table(["figure", "source"], (), rows, "Sources of the figures.")


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
        published = row["published"] and f"published {row['published']}"
        origin = filter(None, (row["source"], row["date"], published, row["settings"]))
        values = [Shown(row[it], Unit(row["unit"]).text(row[it])) for it in ("model", "observed")]
        error = Shown(row["error"], figures.percent(100 * row["error"], 0))
        # A row without a number is not a test, either; its origin says why.
        test = f"no: {row['dependence']}" if row["dependence"] else "yes"
        test = test if row["observed"] == row["observed"] else ""
        name = _named(row["quantity"])
        rows.append([name, row["algorithm"], *values, error, test, ", ".join(origin)])
    caption = "The model compared with observations of the chain."
    columns = ["figure", "algorithm", *("model", "observed", "error"), "a test", "observed by"]
    return _table(columns, (), rows, caption, (Kind.MODELLED, Kind.CITED))


_NUMBERS = {"model", "observed", "error"}


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


def _named(name: str) -> Shown:
    """Return the table cell that labels a figure: its name as text, its meaning in HTML."""
    return Shown(name, name, html.join(QUANTITIES[name].about if name in QUANTITIES else name))


def parts(findings: Findings, complete: bool = False) -> list[str | Table]:
    """Return the conclusions as text, and the main figures; `complete` adds the other tables."""
    plan = findings.plan
    lines = [
        f"{plan.title}\n{status(plan)}\ntimes: {findings.times.origin}; {spread(findings)}\n",
        *(*warnings(findings), *conclusions(findings), fit(findings.calibration)),
        validation.engines(plan),
    ]
    shown: list[str | Table] = ["\n".join(filter(None, lines)), main_table(findings)]
    more = (calibration_table(findings.calibration), figures_table(findings)) if complete else ()
    return [*shown, *more]
