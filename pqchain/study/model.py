"""From a plan and costs to figures: every one with its unit, its kind and where it comes from.

Knows which rooms to ask and how their answers combine; declares for each figure the inputs that it
depends on. Knows no layout, no file and no plot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType

import pandas as pd

from pqchain import algorithms, results
from pqchain import costs as costing
from pqchain.bench import operations as bench
from pqchain.bench import presets
from pqchain.chain import encoding
from pqchain.consensus import Layout, Scenario
from pqchain.consensus import run as run_consensus
from pqchain.consensus.lengths import LENGTHS
from pqchain.consensus.lengths import distribution as signature_lengths
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError, UsageError
from pqchain.falcon import model as accelerator
from pqchain.results import Contract
from pqchain.study.plan import Plan
from pqchain.works import papers

STUDY = Contract.of(
    "study",
    ("str", "study scheme quantity"),
    ("float64", "value"),
    ("str", "unit kind source"),
)


MIX = "as migrated"
"""Name of the row in which schemes are used side by side."""

YEAR_SECONDS = 365.25 * 86_400

_SIGNER_ROWS = {
    "m4": "M4 software",
    "m4-engine": "M4 + engine, the paper's schedule",
    "m4-pipelined": "M4 + pipelined engine, split",
    "m4-whole": "M4 + pipelined engine, whole attempt",
}
"""Signers of a plan, and the rows of the rebuilt Table 3 that they stand for."""

_COSTS = frozenset({"costs", "schemes", "baseline", "migration"})
_SIZE = _COSTS | {"data_bytes", "public_key"}
_FINAL = _SIZE | {
    "block_bytes", "nodes", "delegates", "network", "vote_phases", "verification_threads",
    "signer", "signing_factor",
}  # fmt: skip
_CYCLE = _FINAL | {"block_seconds"}
_LOAD = _CYCLE | {"transactions_per_second"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of a study."""

    unit: str
    about: str
    needs: frozenset[str]
    """The inputs of a plan that it depends on; no other changes it."""


QUANTITIES: Mapping[str, Quantity] = MappingProxyType({
    "public_key_bytes": Quantity("B", "public key", _COSTS),
    "signature_bytes": Quantity("B", "signature, the mean where it varies", _COSTS),
    "sign_seconds": Quantity("s", "one signature", _COSTS | {"signer", "signing_factor"}),
    "verify_seconds": Quantity("s", "one verification", _COSTS),
    "transaction_bytes": Quantity("B", "a transaction in our encoding", _SIZE),
    "transactions_per_block": Quantity("", "transactions of a full block", _SIZE | {"block_bytes"}),
    "final_seconds": Quantity("s", "from proposal of a full block to the last delegate", _FINAL),
    "capacity_per_second": Quantity("1/s", "transactions that the chain can take", _CYCLE),
    "throughput_per_second": Quantity("1/s", "transactions that it takes of those wanted", _LOAD),
    "carried_share": Quantity("", "share of those wanted; below 1 the queue only grows", _LOAD),
    "block_fill": Quantity("", "share of a block that is used", _LOAD),
    "latency_seconds": Quantity(
        "s", "from a transaction that the next block takes to its final block, mean", _CYCLE
    ),
    "received_bits_per_second": Quantity(
        "bit/s", "what a node takes in: each transaction by itself and in its block", _LOAD
    ),
    "verification_cores": Quantity("", "processor cores of a node that verify", _LOAD),
    "signing_cores": Quantity("", "cores (or accelerators) that sign, all wallets together", _LOAD),
    "growth_bytes_per_year": Quantity("B", "growth of a full node in a year", _LOAD),
    "coded_growth_bytes_per_year": Quantity(
        "B", "growth of a node that keeps one chunk of each block", _LOAD | {"data_chunks"}
    ),
    "coded_factor": Quantity(
        "", "what all chunks take, over one copy", frozenset({"data_chunks", "parity_chunks"})
    ),
    "repair_bytes": Quantity(
        "B", "what a node gathers to rebuild the chunks of a lost one", _LOAD | {"retained_days"}
    ),
    "repair_seconds": Quantity(
        "s", "to gather and decode that",
        _LOAD | {"retained_days", "repair_bits_per_second", "decode_bytes_per_second"},
    ),
    "transaction_bytes_ratio": Quantity("×", "transaction over the baseline's", _SIZE),
    "capacity_ratio": Quantity("×", "capacity over the baseline's", _CYCLE),
    "verification_ratio": Quantity("×", "verification over the baseline's", _COSTS),
    "migration_seconds": Quantity(
        "s", "to register new keys of all accounts, if whole blocks went into it",
        _CYCLE | {"accounts"},
    ),
})  # fmt: skip
"""Every figure, in the order of the page."""

_FROM_COSTS = ("sign_seconds", "verify_seconds")


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The answer to a plan."""

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
        told: dict[str, dict[str, float]] = {}
        columns = (self.frame[name].tolist() for name in ("scheme", "quantity", "value"))
        for scheme, quantity, value in zip(*columns, strict=True):
            told.setdefault(scheme, {})[quantity] = value
        return told

    @property
    def best(self) -> str:
        """The post-quantum scheme with which the chain takes most, or nothing."""
        values = self.values
        names = post_quantum(self.plan)
        return max(names, key=lambda name: values[name]["capacity_per_second"], default="")


def run(
    plan: Plan,
    *,
    measurements: pd.DataFrame | None = None,
    preset: str | None = None,
    progress: bool = False,
) -> Found:
    """Answer a plan. With measured costs and no `measurements` the schemes are measured now.

    Raises UsageError where the plan cannot be, MissingCosts for schemes without costs.
    """
    costs = costs_of(plan, measurements=measurements, preset=preset, progress=progress)
    return Found(plan, costs, evaluate(plan, costs))


def costs_of(
    plan: Plan,
    *,
    measurements: pd.DataFrame | None = None,
    preset: str | None = None,
    progress: bool = False,
) -> CostTable:
    """Return the costs that a plan asks for, of its schemes alone."""
    if plan.costs == "measured":
        frame = measurements
        if frame is None:
            frame = bench.measure(plan.names, preset=preset or presets.preset(), progress=progress)
        table = costing.from_frame(frame)
    elif measurements is not None:
        raise UsageError(
            f'costs is {plan.costs!r}, so measurements are not used; give costs = "measured"'
        )
    else:
        table = papers.costs(plan.costs.partition(":")[2])
    return CostTable(tuple(table[name] for name in plan.names), table.source)


def evaluate(plan: Plan, costs: CostTable) -> pd.DataFrame:
    """Return all figures: a frame of the contract "study", one row per scheme and quantity.

    Columns: study, scheme, quantity, value (NaN where there is none), unit, kind ("registry",
    "published", "measured" or "modelled"), source (of the number, or what the model rests on).
    """
    kind = _kind(costs)
    rows = []
    for scheme, values in figures(plan, costs).items():
        for name, quantity in QUANTITIES.items():
            said, source = _origin(plan, costs, kind, scheme, name)
            rows.append([plan.title, scheme, name, values[name], quantity.unit, said, source])
    frame = pd.DataFrame(rows, columns=list(STUDY.columns))
    return results.check(frame, STUDY)


def figures(plan: Plan, costs: CostTable) -> dict[str, dict[str, float]]:
    """Return every figure by scheme and quantity, without kinds and sources."""
    found = {name: _own(plan, costs[name]) for name in plan.names}
    baseline = found.get(plan.baseline)
    whole = {name: own | _derived(plan, own, baseline) for name, own in found.items()}
    if plan.migration:
        mixed = _mixed(plan, found)
        whole[MIX] = mixed | _derived(plan, mixed, baseline)
    return whole


def _kind(costs: CostTable) -> str:
    """Return what kind of number the times are."""
    kind = costs.source.partition(":")[0]
    if kind not in ("paper", "measured"):
        raise DataError(
            f"costs come from {costs.source!r}; expected 'paper:<key>' or 'measured:<machine>'"
        )
    return "published" if kind == "paper" else "measured"


def _origin(plan: Plan, costs: CostTable, kind: str, scheme: str, name: str) -> tuple[str, str]:
    """Return kind and source of a figure."""
    if scheme == MIX:
        return "modelled", f"mean by share over {costs.source}"
    row = costs[scheme]
    if name == "signature_bytes" and scheme in LENGTHS:
        return "measured", f"pqchain.consensus.lengths: {scheme} of liboqs 0.13.0, counted"
    if name in ("public_key_bytes", "signature_bytes"):
        if kind == "published":
            return kind, row.source
        return "registry", f"pqchain.algorithms, {scheme}"
    if name == "sign_seconds" and plan.signer in _SIGNER_ROWS and scheme.startswith("Falcon-"):
        return "modelled", f"pqchain.falcon.model: {_SIGNER_ROWS[plan.signer]}"
    if name == "sign_seconds" and plan.signing_factor != 1.0:
        return "modelled", f"{row.source}, over {plan.signing_factor:g}"
    if name in _FROM_COSTS:
        return kind, row.source
    if name not in ("transaction_bytes", "transaction_bytes_ratio") and not _fits(plan, row):
        return "modelled", f"a block of {plan.block_bytes} bytes holds no transaction of {scheme}"
    if name in ("transaction_bytes", "transactions_per_block", "transaction_bytes_ratio"):
        return "modelled", "pqchain.chain.encoding, exact for the sizes given"
    if name == "final_seconds":
        return "modelled", f"pqchain.consensus, {plan.network.law}, over {row.source}"
    return "modelled", f"arithmetic of pqchain.study over {row.source}"


def _own(plan: Plan, row: Costs) -> dict[str, float]:
    """Return the figures of one scheme that owe nothing to the others."""
    signing = _sign_seconds(plan, row)
    lengths = signature_lengths(row.algorithm, row.signature_bytes)
    signature = sum(size * count for size, count in lengths.items()) / sum(lengths.values())
    own = {
        "public_key_bytes": float(row.public_key_bytes),
        "signature_bytes": signature,
        "sign_seconds": signing,
        "verify_seconds": row.verify_seconds,
        "transaction_bytes": _layout(plan).transaction_bytes(row, 0) + signature,
        "transactions_per_block": 0.0,
        "final_seconds": float("nan"),
        "registration_bytes": _registration_bytes(plan, row),
    }
    if _fits(plan, row):
        scenario = _scenario(plan, replace(row, sign_seconds=signing))
        own["transactions_per_block"] = scenario.transactions_per_block()
        own["final_seconds"] = _final_seconds(scenario)
    return own


def _fits(plan: Plan, row: Costs) -> bool:
    """Return whether a block holds a transaction, whatever the length of its signature."""
    longest = max(signature_lengths(row.algorithm, row.signature_bytes))
    size = _layout(plan).transaction_bytes(row, longest)
    return encoding.header_bytes() + size <= plan.block_bytes


def _sign_seconds(plan: Plan, row: Costs) -> float:
    """Return the time of one signature with the plan's signer."""
    wanted = _SIGNER_ROWS.get(plan.signer)
    if wanted is None or not row.algorithm.startswith("Falcon-"):
        return row.sign_seconds / plan.signing_factor
    return _rebuilt_seconds().get((wanted, row.algorithm), row.sign_seconds)


@cache
def _rebuilt_seconds() -> dict[tuple[str, str], float]:
    """Return the times of the rebuilt Table 3 by row and algorithm; a sensitivity asks often."""
    rebuilt = accelerator.rebuild_table3()
    columns = (rebuilt[name].tolist() for name in ("row", "algorithm", "seconds"))
    return {(row, algorithm): seconds for row, algorithm, seconds in zip(*columns, strict=True)}


def _scenario(plan: Plan, row: Costs) -> Scenario:
    """Return the consensus on one full block of one scheme."""
    return Scenario(
        algorithm=row.algorithm,
        costs=CostTable((row,), row.source),
        nodes=plan.nodes,
        delegates=plan.delegates or None,
        network=plan.network,
        exchange="broadcast" if plan.vote_phases else None,
        vote_phases=plan.vote_phases,
        block_bytes=plan.block_bytes,
        layout=_layout(plan),
        signed_blocks=plan.network.law != "paper-serial",
        verification_threads=plan.verification_threads,
    )


def _layout(plan: Plan) -> Layout:
    """Return what a transaction holds beside its signature."""
    return Layout(
        data_bytes=plan.data_bytes,
        public_key="registered" if plan.public_key == "registered" else "inline",
    )


@lru_cache(maxsize=4096)
def _final_seconds(scenario: Scenario) -> float:
    """Run the consensus; equal scenarios are run once."""
    return run_consensus(scenario).latency_seconds


def _registration_bytes(plan: Plan, row: Costs) -> float:
    """Return the size of a transaction of the baseline that registers a key of this scheme."""
    if not plan.baseline or row.public_key_bytes > encoding.MAX_DATA_BYTES:
        return float("nan")
    return float(encoding.encoded_size(plan.baseline, data_bytes=row.public_key_bytes))


def _mixed(plan: Plan, found: Mapping[str, dict[str, float]]) -> dict[str, float]:
    """Return the figures of a chain on which schemes are used side by side.

    Bytes and times of a transaction are means by share. A full block holds each scheme's share of
    its bytes, and its time to be final is the mean by those: exact where that time grows evenly
    with verifications, as on every law here but for who is last.
    """
    shares = {name: share for name, share in plan.migration.items() if share > 0}
    for name in shares:
        if not found[name]["transactions_per_block"]:
            raise UsageError(
                f"migration names {name}, of which a block of {plan.block_bytes} bytes holds no "
                "transaction; give larger blocks or another scheme"
            )
    mixed = {
        key: sum(share * found[name][key] for name, share in shares.items())
        for key in ("public_key_bytes", "signature_bytes", "sign_seconds", "verify_seconds",
                    "transaction_bytes", "registration_bytes")
    }  # fmt: skip
    mixed["transactions_per_block"] = 1 / sum(
        share / found[name]["transactions_per_block"] for name, share in shares.items()
    )
    mixed["final_seconds"] = sum(
        share * found[name]["transaction_bytes"] / mixed["transaction_bytes"]
        * found[name]["final_seconds"]
        for name, share in shares.items()
    )  # fmt: skip
    return mixed


def _derived(
    plan: Plan, own: Mapping[str, float], baseline: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the figures that follow by arithmetic."""
    missing = float("nan")
    if own["transactions_per_block"] == 0:
        none = dict.fromkeys(set(QUANTITIES) - set(own), missing)
        return none | {
            "capacity_per_second": 0.0,
            "throughput_per_second": 0.0,
            "carried_share": 0.0,
        }
    cycle = _cycle_seconds(plan, own)
    capacity = own["transactions_per_block"] / cycle
    rate = min(plan.transactions_per_second, capacity)
    growth = (rate * own["transaction_bytes"] + encoding.header_bytes() / cycle) * YEAR_SECONDS
    repair = growth * plan.retained_days * 86_400 / YEAR_SECONDS
    figures = {
        "capacity_per_second": capacity,
        "throughput_per_second": rate,
        "carried_share": rate / plan.transactions_per_second,
        "block_fill": rate / capacity,
        # Beyond its capacity the queue grows for ever and nobody's mean wait ends: this is the time
        # of one full block, whatever the load, and the share above says whether that is all.
        "latency_seconds": cycle / 2 + own["final_seconds"],
        "received_bits_per_second": 8 * (
            2 * rate * own["transaction_bytes"] + encoding.header_bytes() / cycle
        ),
        "verification_cores": rate * own["verify_seconds"],
        "signing_cores": rate * own["sign_seconds"],
        "growth_bytes_per_year": growth,
        "coded_growth_bytes_per_year": growth / plan.data_chunks,
        "coded_factor": (plan.data_chunks + plan.parity_chunks) / plan.data_chunks,
        "repair_bytes": repair,
        "repair_seconds": 8 * repair / plan.repair_bits_per_second
        + repair / plan.decode_bytes_per_second,
        "transaction_bytes_ratio": missing,
        "capacity_ratio": missing,
        "verification_ratio": missing,
        "migration_seconds": missing,
    }  # fmt: skip
    if baseline is not None:
        theirs = baseline["transactions_per_block"] / _cycle_seconds(plan, baseline)
        room = plan.block_bytes - encoding.header_bytes()
        figures |= {
            "transaction_bytes_ratio": own["transaction_bytes"] / baseline["transaction_bytes"],
            "capacity_ratio": capacity / theirs,
            "verification_ratio": own["verify_seconds"] / baseline["verify_seconds"],
        }
        if plan.accounts:
            figures["migration_seconds"] = (
                plan.accounts * own["registration_bytes"] / room * _cycle_seconds(plan, baseline)
            )
    return figures


def _cycle_seconds(plan: Plan, own: Mapping[str, float]) -> float:
    """Return the time from block to block."""
    return max(plan.block_seconds, own["final_seconds"])


def post_quantum(plan: Plan) -> tuple[str, ...]:
    """Return the schemes of a plan that a quantum computer does not break."""
    return tuple(name for name in plan.schemes if algorithms.get(name).family_facts.post_quantum)
