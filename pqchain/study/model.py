"""From a plan and costs to figures, each with its unit, its kind and its source.

Knows which rooms to ask and how their answers combine. Knows no layout, no file and no plot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, cast

import pandas as pd

from pqchain import algorithms
from pqchain import costs as costing
from pqchain.bench import operations as bench
from pqchain.bench import presets
from pqchain.chain import encoding
from pqchain.consensus import Layout, Scenario
from pqchain.consensus import run as run_consensus
from pqchain.consensus.lengths import LENGTHS, distribution, mean
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError, UsageError
from pqchain.falcon import model as accelerator
from pqchain.study.plan import SIGNERS, Plan
from pqchain.study.quantities import QUANTITIES, STUDY
from pqchain.works import papers

MIX = "as migrated"
"""Name of the row in which schemes are used side by side."""

YEAR_SECONDS = 365.25 * 86_400


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The figures of a plan."""

    plan: Plan
    costs: CostTable
    frame: pd.DataFrame
    """Of the contract "study"."""

    @property
    def table(self) -> pd.DataFrame:
        """Values only: a row per quantity, a column per scheme, in their order."""
        wide = self.frame.pivot(index="quantity", columns="scheme", values="value")
        order = list(dict.fromkeys(self.frame["scheme"]))
        return wide.loc[list(QUANTITIES), order]

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """The same by scheme and quantity."""
        return cast("dict[str, dict[str, float]]", self.table.to_dict())

    @property
    def best(self) -> str:
        """The post-quantum scheme of the greatest capacity; "" without any."""
        schemes, values = post_quantum(self.plan), self.values
        return max(schemes, key=lambda name: values[name]["capacity_per_second"], default="")


def run(
    plan: Plan,
    *,
    measurements: pd.DataFrame | None = None,
    preset: str | None = None,
    progress: bool = False,
) -> Findings:
    """Compute all figures. With measured costs and no `measurements` schemes are measured now.

    Raises UsageError where the plan cannot be, MissingCosts for schemes without costs.
    """
    if plan.costs == "measured":
        if measurements is None:
            chosen = preset or presets.preset()
            measurements = bench.measure(plan.names, preset=chosen, progress=progress)
        table = costing.from_frame(measurements)
    elif measurements is not None:
        raise UsageError(
            f'costs is {plan.costs!r}, so measurements are not used; give costs = "measured"'
        )
    else:
        table = papers.costs(plan.costs.removeprefix("paper:"))
    costs = CostTable(tuple(table[name] for name in plan.names), table.source)
    return Findings(plan, costs, evaluate(plan, costs))


def evaluate(plan: Plan, costs: CostTable) -> pd.DataFrame:
    """Return all figures: a frame of the contract "study", one row per scheme and quantity.

    Columns: study, scheme, quantity, value (NaN where there is none), unit, kind ("registry",
    "published", "measured" or "modelled"), source (of the number, or what the model rests on).
    """
    rows = []
    for scheme, values in figures(plan, costs).items():
        for name, quantity in QUANTITIES.items():
            origin = _origin(plan, costs, scheme, values, name)
            rows.append([plan.title, scheme, name, values[name], quantity.unit, *origin])
    return STUDY.frame(rows)


def figures(plan: Plan, costs: CostTable) -> dict[str, dict[str, float]]:
    """Return every figure by scheme and quantity, without kinds and sources."""
    own = {name: _own(plan, costs[name]) for name in plan.names}
    baseline = own.get(plan.baseline)
    if plan.migration:
        own[MIX] = _mixed(plan, own)
    none = dict.fromkeys(QUANTITIES, math.nan)
    return {name: none | each | _derived(plan, each, baseline) for name, each in own.items()}


def _origin(
    plan: Plan, costs: CostTable, scheme: str, values: Mapping[str, float], name: str
) -> tuple[str, str]:
    """Return kind and source of a figure."""
    kind = {"paper": "published", "measured": "measured"}.get(costs.source.partition(":")[0])
    if kind is None:
        raise DataError(
            f"costs come from {costs.source!r}; expected 'paper:<key>' or 'measured:<machine>'"
        )
    if scheme == MIX:
        return "modelled", f"mean by share over {costs.source}"
    row, signer = costs[scheme], _signer_row(plan, scheme)
    if name == "signature_bytes" and scheme in LENGTHS:
        return "measured", f"pqchain.consensus.lengths: {scheme} of liboqs 0.13.0, counted"
    if name in ("public_key_bytes", "signature_bytes") and kind == "measured":
        return "registry", f"pqchain.algorithms, {scheme}"
    if name == "sign_seconds" and signer:
        return "modelled", f"pqchain.falcon.model: {signer}"
    if name == "sign_seconds" and plan.signing_factor != 1.0:
        return "modelled", f"{row.source}, over {plan.signing_factor:g}"
    if name in ("public_key_bytes", "signature_bytes", "sign_seconds", "verify_seconds"):
        return kind, row.source
    if not name.startswith("transaction_bytes") and not values["transactions_per_block"]:
        return "modelled", f"a block of {plan.block_bytes} bytes holds no transaction of {scheme}"
    if name in ("transaction_bytes", "transactions_per_block", "transaction_bytes_ratio"):
        return "modelled", "pqchain.chain.encoding, exact for the sizes given"
    if name == "final_seconds":
        return "modelled", f"pqchain.consensus, {plan.network.law}, over {row.source}"
    return "modelled", f"arithmetic of pqchain.study over {row.source}"


def _own(plan: Plan, row: Costs) -> dict[str, float]:
    """Return the figures of one scheme that owe nothing to the others."""
    key: Any = plan.public_key
    layout = Layout(data_bytes=plan.data_bytes, public_key=key)
    lengths = distribution(row.algorithm, row.signature_bytes)
    signing = row.sign_seconds / plan.signing_factor
    if signer := _signer_row(plan, row.algorithm):
        signing = _rebuilt_seconds().get((signer, row.algorithm), row.sign_seconds)
    # A transaction of the baseline that registers a key of this scheme, if one can hold it.
    registration = math.nan
    if plan.baseline and row.public_key_bytes <= encoding.MAX_DATA_BYTES:
        registration = float(encoding.encoded_size(plan.baseline, data_bytes=row.public_key_bytes))
    own = {
        "public_key_bytes": float(row.public_key_bytes),
        "signature_bytes": mean(lengths),
        "sign_seconds": signing,
        "verify_seconds": row.verify_seconds,
        "transaction_bytes": layout.transaction_bytes(row, 0) + mean(lengths),
        "transactions_per_block": 0.0,
        "final_seconds": math.nan,
        "registration_bytes": registration,
    }
    # A block has to hold a transaction whatever the length of its signature.
    if encoding.header_bytes() + layout.transaction_bytes(row, max(lengths)) <= plan.block_bytes:
        scenario = _scenario(plan, replace(row, sign_seconds=signing), layout)
        own["transactions_per_block"] = scenario.transactions_per_block()
        own["final_seconds"] = _final_seconds(scenario)
    return own


def _signer_row(plan: Plan, scheme: str) -> str:
    """Return the row of the rebuilt Table 3 that a scheme is signed by; "" for the costs' own."""
    return SIGNERS[plan.signer] if algorithms.get(scheme).family == "Falcon" else ""


@cache
def _rebuilt_seconds() -> dict[tuple[str, str], float]:
    """Return the times of the rebuilt Table 3 by row and algorithm; a sensitivity asks often."""
    seconds: Any = accelerator.rebuild_table3().set_index(["row", "algorithm"])["seconds"].to_dict()
    return dict(seconds)


def _scenario(plan: Plan, row: Costs, layout: Layout) -> Scenario:
    return Scenario(
        algorithm=row.algorithm,
        costs=CostTable((row,), row.source),
        nodes=plan.nodes,
        delegates=plan.delegates or None,
        network=plan.network,
        exchange="broadcast" if plan.vote_phases else None,
        vote_phases=plan.vote_phases,
        block_bytes=plan.block_bytes,
        layout=layout,
        signed_blocks=plan.network.law != "paper-serial",
        verification_threads=plan.verification_threads,
    )


@lru_cache(maxsize=4096)
def _final_seconds(scenario: Scenario) -> float:
    """Run the consensus; equal scenarios are run once."""
    return run_consensus(scenario).latency_seconds


def _mixed(plan: Plan, own: Mapping[str, dict[str, float]]) -> dict[str, float]:
    """Return the figures of a chain on which schemes are used side by side.

    Bytes and times of a transaction are means by share. A full block holds each scheme's share of
    its bytes, and its time to be final is the mean by those: exact where that time grows evenly
    with verifications, as on every law here but for who is last.
    """
    shares = {name: share for name, share in plan.migration.items() if share > 0}
    for name in shares:
        if not own[name]["transactions_per_block"]:
            raise UsageError(
                f"migration names {name}, of which a block of {plan.block_bytes} bytes holds no "
                "transaction; give larger blocks or another scheme"
            )
    parts = [(share, own[name]) for name, share in shares.items()]
    mixed = {key: sum(share * part[key] for share, part in parts) for key in parts[0][1]}
    mixed["transactions_per_block"] = 1 / sum(
        share / part["transactions_per_block"] for share, part in parts
    )
    mixed["final_seconds"] = sum(
        share * part["transaction_bytes"] / mixed["transaction_bytes"] * part["final_seconds"]
        for share, part in parts
    )
    return mixed


def _derived(
    plan: Plan, own: Mapping[str, float], baseline: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the figures that follow from a scheme's own; those that there are not are left out."""
    if own["transactions_per_block"] == 0:
        return dict.fromkeys(("capacity_per_second", "throughput_per_second", "carried_share"), 0.0)
    cycle = max(plan.block_seconds, own["final_seconds"])
    capacity = own["transactions_per_block"] / cycle
    rate = min(plan.transactions_per_second, capacity)
    growth = (rate * own["transaction_bytes"] + encoding.header_bytes() / cycle) * YEAR_SECONDS
    repair = growth * plan.retained_days * 86_400 / YEAR_SECONDS
    received = 2 * rate * own["transaction_bytes"] + encoding.header_bytes() / cycle
    derived = {
        "capacity_per_second": capacity,
        "throughput_per_second": rate,
        "carried_share": rate / plan.transactions_per_second,
        "block_fill": rate / capacity,
        # Beyond its capacity the queue grows for ever and nobody's mean wait ends: this is the time
        # of one full block, whatever the load, and the share above says whether that is all.
        "latency_seconds": cycle / 2 + own["final_seconds"],
        "received_bits_per_second": 8 * received,
        "verification_cores": rate * own["verify_seconds"],
        "signing_cores": rate * own["sign_seconds"],
        "growth_bytes_per_year": growth,
        "coded_growth_bytes_per_year": growth / plan.data_chunks,
        "coded_factor": (plan.data_chunks + plan.parity_chunks) / plan.data_chunks,
        "repair_bytes": repair,
        "repair_seconds": 8 * repair / plan.repair_bits_per_second
        + repair / plan.decode_bytes_per_second,
    }
    if baseline is None:
        return derived
    first_cycle = max(plan.block_seconds, baseline["final_seconds"])
    derived |= {
        "transaction_bytes_ratio": own["transaction_bytes"] / baseline["transaction_bytes"],
        "capacity_ratio": capacity / (baseline["transactions_per_block"] / first_cycle),
        "verification_ratio": own["verify_seconds"] / baseline["verify_seconds"],
    }
    if plan.accounts:
        room = plan.block_bytes - encoding.header_bytes()
        derived["migration_seconds"] = (
            plan.accounts * own["registration_bytes"] / room * first_cycle
        )
    return derived


def post_quantum(plan: Plan) -> tuple[str, ...]:
    """Return the schemes of a plan that a quantum computer does not break."""
    return tuple(name for name in plan.schemes if algorithms.get(name).family_facts.post_quantum)
