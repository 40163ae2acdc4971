"""Results of a study as sentences."""

from __future__ import annotations

import pandas as pd

from pqchain import algorithms, figures
from pqchain.figures import percent
from pqchain.render.table import Table
from pqchain.study import chain, tables, validation, wording
from pqchain.study.inputs import Plan
from pqchain.study.provers import PROVERS
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
    others = [*_other_instance(findings.plan), *_other_machine(findings)]
    return [*attacks, *others, *measured, *validation.large_errors(findings.calibration)]


def _other_machine(findings: Findings) -> list[str]:
    """Return a warning if given times are priced by the time of the baseline on this machine."""
    plan, costs = findings.plan, findings.costs
    is_priced = (plan.block_gas and plan.verification_gas) or plan.block_sigops
    names = [
        name
        for name in (plan.names if is_priced and plan.baseline else ())
        if costs[name].is_given and name not in plan.gas_prices
        and not (costs[name].anchor_seconds and plan.baseline == chain.ANCHORED)
    ]  # fmt: skip
    return [
        f"Warning: {', '.join(names)}: given times are priced by the time of {plan.baseline} on "
        "this machine. Give anchor_seconds, for a baseline of ECDSA-secp256k1, or gas_prices."
    ] * bool(names)


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
        sentences.append(f"No transaction fits ({wording.limit(limit)}): {', '.join(names)}.")
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
    for name in plan.names:
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
    first: list[str | Table] = ["\n".join(filter(None, said)), tables.main_table(findings)]
    if not complete:
        return first
    trees = tables.trees_table(findings.plan)
    return [
        *first,
        tables.calibration_table(findings.calibration),
        tables.limits_table(findings),
        tables.figures_table(findings),
        *([trees] if trees else []),
    ]


def fit(calibration: pd.DataFrame) -> str:
    """Return a sentence with the errors of the model's tests by figure; "" without one."""
    compared = []
    for quantity, rows in validation.tests(calibration).groupby("quantity", sort=False):
        name = validation.EXPECTED_OF.get(str(quantity), str(quantity))
        ends = dict.fromkeys(percent(100 * end, 0) for end in rows["error"].agg(["min", "max"]))
        about = [f"{len(rows)} observations", *rows["algorithm"].unique()] * (len(rows) > 1)
        about += dict.fromkeys(rows["date"])
        compared.append(f"{name} {' to '.join(ends)} ({', '.join(about)})")
    return f"Compared with this chain: {'; '.join(compared)}." if compared else ""
