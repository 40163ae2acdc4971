"""Tables 5 and 6 run on this computer, and where their growth comes from.

Every delegate is a process with a ledger, every signature is made and verified, and as in Table 6
each delegate sends its copy of the block to every other. Heights of one run are the samples. Beside
the tables: the same on one processor, on two and with a computer for each (in virtual time), and a
few delegates with observers beside all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pqchain.consensus.delegate import host, modes, prices
from pqchain.consensus.delegate.modes import Lap, Ran
from pqchain.consensus.delegate.prices import Computer
from pqchain.consensus.network import Network, named
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.costs import CostTable
from pqchain.errors import Unsupported
from pqchain.fitting import linear, nonnegative, nonnegative_spread
from pqchain.intervals import half_width
from pqchain.results import Contract
from pqchain.works import papers

QUANTITIES: dict[str, Callable[[Lap], float]] = {
    "latency_seconds": lambda lap: lap.latency_seconds,
    "throughput_per_second": lambda lap: lap.transactions / lap.latency_seconds,
    "messages": lambda lap: lap.messages,
    "bytes": lambda lap: lap.bytes,
    "cpu_seconds": lambda lap: lap.cpu_seconds,
    "spread_seconds": lambda lap: lap.spread_seconds,
}
"""What each height gives; of each there is a mean and a half width."""

RUN = Contract.of(
    "pqdpol-run",
    ("str", "setting algorithm kind transport exchange"),
    ("Int64", "n nodes delegates processors heights"),
    ("float64", "transactions_per_block"),
    ("float64", " ".join(f"{name} {name}_half_width" for name in QUANTITIES)),
    ("float64", "predicted_latency_seconds prediction_error_percent"),
    ("str", "scenario"),
)

GROWTH = Contract.of(
    "pqdpol-growth",
    ("str", "setting quantity"),
    ("float64", "exponent half_width"),
    ("Int64", "cells largest"),
)

SHARES = Contract.of(
    "pqdpol-shares",
    ("str", "what unit"),
    ("float64", "price half_width percent"),
)

TABLES, ONE, TWO, EACH = "all processors", "one processor", "two processors", "one each"
"""Settings: the tables' own, and where the same was run again."""

ALL_VOTE, FEW_VOTE = "all vote", "few vote"

VIRTUAL = ", virtual time"

APART = named("star", rate_bits_per_second=1e9, latency_seconds=50e-6)
"""What connects computers in virtual time."""

SINGLE = "Falcon-512"
"""What is run where one scheme is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is run."""

    exponents: tuple[int, ...]
    """Of the six schemes."""
    heights: int
    """Of a run."""
    computers: tuple[int, ...]
    """Exponents of the runs on one processor, on two, and apart."""
    delegation: tuple[int, ...]
    """Nodes of which all vote, and of which `voters` do."""
    voters: int
    mixed: tuple[tuple[str, int], ...]
    """Schemes and nodes of the runs that tell prices apart, beside the tables."""


PLANS = {
    "quick": Plan(
        exponents=(1, 2, 3),
        heights=3,
        computers=(1, 2, 3),
        delegation=(4, 8),
        voters=4,
        mixed=(("Dilithium2", 2), (SINGLE, 2)),
    ),
    "paper": Plan(
        exponents=(1, 2, 3, 4, 5),
        heights=4,
        computers=(1, 2, 3, 4),
        delegation=(8, 16, 32),
        voters=8,
        mixed=(("Dilithium2", 2), (SINGLE, 4), ("SPHINCS+-SHA2-128f-simple", 2), (SINGLE, 8)),
    ),
}

MIXES: tuple[Mapping[str, Any], ...] = (
    {"block_bytes": 20_000, "vote_phases": 2},
    {"block_bytes": 20_000},
    {"block_bytes": 150_000},
    {"block_bytes": 150_000, "layout": Layout(data_bytes=30_000)},
)
"""Blocks and exchanges in which messages, bytes, transactions and signatures do not go together."""


def run(costs: CostTable, plan: Plan, *, progress: bool = False) -> dict[str, pd.DataFrame]:
    """Run the plan; `costs` say what the schemes cost here.

    Returns "run" (contract "pqdpol-run", a row for each cell: means over the heights and half of
    their 95 % intervals), "growth" (exponents of N) and "shares" (what processor time goes to).
    Empty where delegates cannot run.
    """
    asked = list(_asked(costs, plan))
    # What several settings have in common is run once.
    known: dict[tuple[str, str], Ran] = {}
    with modes.nursery(asked[0][1]) as using:
        try:
            computer = prices.calibrate(costs, using=using, progress=progress)
        except Unsupported:
            return {}
        for _, one, how in tqdm(asked, disable=not progress, unit="run"):
            if (case := (one.identifier, how["mode"])) not in known:
                known[case] = computer.predicted(modes.run(one, **how, using=using))
    return frames(
        ((setting, known[one.identifier, how["mode"]]) for setting, one, how in asked), computer
    )


def frames(done: Iterable[tuple[str, Ran]], computer: Computer) -> dict[str, pd.DataFrame]:
    """Return what runs, each with its setting, come to."""
    runs = list(done)
    table = RUN.frame(row(setting, ran) for setting, ran in runs if setting)
    measured = {id(ran): ran for _, ran in runs if ran.mode == "loopback"}.values()
    return {"run": table, "growth": growth(runs), "shares": shares(measured, computer.costs)}


Asked = tuple[str, Scenario, dict[str, Any]]
"""A setting, what is run, and how."""


def _asked(costs: CostTable, plan: Plan) -> Iterator[Asked]:
    """Yield all runs; without a setting those that only tell prices apart."""
    printed = dict.fromkeys(papers.table("pqdpol", "table6")["algorithm"])
    names = [name for name in printed if name in costs]

    def scenario(algorithm: str, nodes: int, network: Network, **more: Any) -> Scenario:
        given: dict[str, Any] = {"exchange": "all-to-all"} if "vote_phases" not in more else {}
        return Scenario(
            algorithm=algorithm, costs=costs, nodes=nodes, network=network,
            blocks=plan.heights + (network == APART), **given, **more,
        )  # fmt: skip

    here = host.processors()
    live: dict[str, Any] = {"mode": "loopback"}
    apart: dict[str, Any] = {"mode": "virtual", "transport": "native"}
    everywhere = named("host", processors=here)
    for n in plan.exponents:
        for name in names:
            yield TABLES, scenario(name, 2**n, everywhere), live
    single = SINGLE if SINGLE in names else names[0]
    for n in plan.computers:
        yield ONE, scenario(single, 2**n, named("host")), live
        if here > 1:
            yield TWO, scenario(single, 2**n, named("host", processors=2)), live
        yield EACH, scenario(single, 2**n, APART), {"mode": "virtual"}
    for nodes in plan.delegation:
        for what, delegates in ((ALL_VOTE, nodes), (FEW_VOTE, min(plan.voters, nodes))):
            yield what, scenario(single, nodes, everywhere, delegates=delegates), live
            yield what + VIRTUAL, scenario(single, nodes, APART, delegates=delegates), apart
    for name, nodes in plan.mixed:
        if name in names:
            for mix in MIXES:
                yield "", scenario(name, nodes, everywhere, **mix), live


def settled(ran: Ran) -> tuple[Lap, ...]:
    """Return the heights that count: in virtual time all but the first, when QUIC finds its rate.

    On sockets such a height was run already, and is none of these.
    """
    return ran.laps[1:] if ran.mode == "virtual" else ran.laps


def row(setting: str, ran: Ran) -> dict[str, Any]:
    """Return a run as a row of RUN."""
    one, laps = ran.scenario, settled(ran)
    network = one.network
    values: dict[str, Any] = {}
    for name, of in QUANTITIES.items():
        samples = [float(of(lap)) for lap in laps]
        values[name] = _mean(samples)
        values[f"{name}_half_width"] = half_width(samples)
    predicted = ran.predicted_seconds
    return values | {
        "setting": setting,
        "algorithm": one.algorithm,
        "kind": ran.kind,
        "transport": ran.transport,
        "exchange": one.exchange,
        "n": one.nodes.bit_length() - 1,
        "nodes": one.nodes,
        "delegates": one.delegate_count,
        "processors": network.processors if ran.mode == "loopback" else one.nodes,
        "heights": len(laps),
        "transactions_per_block": _mean([lap.transactions for lap in laps]),
        "predicted_latency_seconds": predicted,
        "prediction_error_percent": 100 * (predicted / values["latency_seconds"] - 1),
        "scenario": one.identifier,
    }


def _mean(samples: Sequence[float]) -> float:
    return float(np.mean(samples)) if samples else math.nan


def growth(runs: Iterable[tuple[str, Ran]]) -> pd.DataFrame:
    """Return the exponents with which latency and processor time grow with N.

    Of all schemes of a setting together, each with a constant of its own; each height is a sample.
    A frame of the contract "pqdpol-growth": half_width is that of the 95 % interval, cells counts
    runs, largest is their greatest N.
    """
    found = list(runs)
    rows = []
    for setting in (TABLES, ONE, TWO, EACH):
        of = [ran for name, ran in found if name == setting and ran.laps]
        if len({ran.scenario.nodes for ran in of}) < 2:
            continue
        largest = max(ran.scenario.nodes for ran in of)
        for name, quantity in GROWING.items():
            if setting == EACH and quantity == "cpu_seconds":
                continue  # nobody measures processors in virtual time
            exponent, half = _exponent(of, quantity)
            rows.append([setting, name, exponent, half, len(of), largest])
    return GROWTH.frame(rows)


GROWING = {"latency": "latency_seconds", "processor time": "cpu_seconds"}
"""What is asked how it grows."""


def _exponent(runs: list[Ran], quantity: str) -> tuple[float, float]:
    names = list(dict.fromkeys(ran.scenario.algorithm for ran in runs))
    matrix, values = [], []
    for ran in runs:
        own = [float(ran.scenario.algorithm == name) for name in names]
        for lap in settled(ran):
            matrix.append([math.log(ran.scenario.nodes), *own])
            values.append(math.log(QUANTITIES[quantity](lap)))
    found, half = linear(np.array(matrix), np.array(values))
    return float(found[0]), float(half[0])


AMOUNTS = {
    "messages": "s each",
    "bytes": "s each",
    "transactions": "s each",
    "signatures": "of the bare time",
    "heights": "s each",
}
"""What processor time is explained by, and the unit of its price."""


def amounts(one: Scenario, lap: Lap, costs: CostTable) -> list[float]:
    """Return what a height has of each of AMOUNTS: signatures in seconds of the bare scheme."""
    cost, count = costs[one.algorithm], one.delegate_count
    blocks = count * (count if one.exchange == "all-to-all" else 1)
    verified = blocks * lap.transactions
    votes = one.phases * count
    bare = (verified + votes * (count - 1)) * cost.verify_seconds + votes * cost.sign_seconds
    return [float(lap.messages), float(lap.bytes), float(verified), bare, float(count)]


def shares(runs: Iterable[Ran], costs: CostTable) -> pd.DataFrame:
    """Return what processor time goes to: least squares of relative errors, no price negative.

    A frame of the contract "pqdpol-shares": what, unit, price with half of its 95 % interval, and
    percent: its part of the largest network in which all vote on SINGLE.
    """
    rows: list[Any] = []
    largest, most = np.full(len(AMOUNTS), math.nan), 0
    for ran in runs:
        one, laps = ran.scenario, ran.laps
        if not laps or one.delegate_count < one.nodes:
            continue
        amount = np.mean([amounts(one, lap, costs) for lap in laps], axis=0)
        seconds = float(np.mean([lap.cpu_seconds for lap in laps]))
        rows.append(amount / seconds)
        if one.algorithm == SINGLE and one.nodes >= most and one.block_bytes == 50_000:
            most, largest = one.nodes, amount
    if len(rows) <= len(AMOUNTS):
        return SHARES.frame([])
    matrix, ones = np.array(rows), np.ones(len(rows))
    found, half = nonnegative(matrix, ones), nonnegative_spread(matrix, ones)
    whole = float(found @ largest)
    return SHARES.frame(
        [what, unit, price, width, 100 * price * has / whole]
        for (what, unit), price, width, has in zip(
            AMOUNTS.items(), found, half, largest, strict=True
        )
    )


def beside(cells: pd.DataFrame, run: pd.DataFrame) -> pd.DataFrame:
    """Return cells of Tables 5 and 6 with what was run in the same, for `plots.plot_cells`.

    New columns: run_latency_seconds, run_throughput_per_second, and of each _half_width; NaN where
    nothing was run.
    """
    names = [f"{name}{end}" for name in _OF_THE_TABLES for end in ("", "_half_width")]
    own = run.loc[run["setting"] == TABLES, ["algorithm", "n", *names]]
    return cells.merge(
        own.rename(columns={name: f"run_{name}" for name in names}),
        on=["algorithm", "n"],
        how="left",
    )


_OF_THE_TABLES = ("latency_seconds", "throughput_per_second")
