"""Results of runs, modelled or executed, as objects and as rows of DataFrames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pandas as pd

from pqchain import results
from pqchain.consensus.builder import ModelBlock
from pqchain.consensus.network import SECOND
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER, Array, ArrayEqMixin, Outcome
from pqchain.errors import PqchainError
from pqchain.figures import Kind
from pqchain.results import Contract
from pqchain.results.statistics import half_width, median_interval

Mode = Literal["model", "virtual", "loopback", "netns", "cluster"]

MODES: tuple[Mode, ...] = get_args(Mode)
"""model: computed by `model.run`; the others are executed by `pqchain.delegates.run`."""

KINDS: Mapping[str, Kind] = dict.fromkeys(map(str, MODES), Kind.MEASURED) | {
    "model": Kind.MODELLED,
    "virtual": Kind.REPLAYED,
}
"""Kind of the numbers of a run, by mode."""

SWEEP = Contract.of(
    "consensus",
    ("str", "scenario costs algorithm"),
    ("Int64", "nodes delegates"),
    ("str", "network exchange"),
    ("Int64", "vote_phases"),
    ("str", "proposal"),
    ("Int64", "seed"),
    ("float64", "transactions_per_block latency_seconds throughput_per_second spread_seconds"),
    ("Int64", "final_blocks views messages rivals"),
    ("bool", "is_safe is_live"),
    ("str", "status reason"),
)
"""Rows of modelled runs.

Columns: scenario (SHA-256 of everything that determines the row), costs (their source), algorithm,
nodes, delegates, network, exchange, vote_phases, proposal, seed, transactions_per_block (modelled:
the mean number that fills a block; executed: the mean of the final blocks), latency_seconds (mean
over transactions, from appearance to the last live honest delegate's final block),
throughput_per_second, spread_seconds (until the last node received the block, or for executed runs
the final block; NaN in models other than gossip), final_blocks, views, messages (per block without
faults), rivals (Proof of Luck: other released blocks), is_safe, is_live, status, reason.
"""

RUNS = Contract(
    "consensus_runs",
    {
        **SWEEP.columns,
        **Contract.of(
            "",
            ("str", "mode kind transport datagram_sha256"),
            ("Int64", "sent_messages sent_bytes"),
            ("float64", "cpu_seconds latency_low_seconds latency_high_seconds"),
            ("float64", "predicted_latency_seconds prediction_error_percent"),
        ).columns,
    },
)
"""Rows of runs in any mode.

Columns: those of "consensus"; mode, kind (modelled, replayed or measured), transport, sent_messages
and sent_bytes (in the whole run; empty if modelled), cpu_seconds (of all nodes; NaN unless
measured), latency_low_seconds and latency_high_seconds (95 % interval of the median over the
heights; NaN if modelled or below six heights), predicted_latency_seconds (by the law "host" for
measured runs; else NaN), prediction_error_percent (its relative error) and datagram_sha256 (of all
datagrams over native in virtual time, equal for equal scenarios; else empty).
"""

GROUP = ("algorithm", "nodes", "delegates", "network", "exchange", "vote_phases", "proposal")
"""Columns that are equal for runs that differ in the seed only."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Height(ArrayEqMixin):
    """Result of one block height; equality compares all fields, times to the nanosecond."""

    block: ModelBlock
    """Contents of the first proposed block, and when it could be proposed."""
    ended_ns: int
    """When the last live honest delegate had a final block; NEVER if one never did."""
    final_ns: Array
    """When each delegate had a final block, in nanoseconds; NEVER if it did not."""
    blocks: frozenset[int]
    """Values of the different blocks that honest delegates finalized. Over a transport only the
    last height has them, as each block contains the hash of the one before."""
    views: int
    rivals: int = 0
    """Proof of Luck: blocks released by delegates other than the winner."""
    spread_seconds: float = math.nan
    """From the start until the last node had the block (gossip), or until the last node, observers
    included, had the final block (over a transport); otherwise NaN."""
    sent_messages: float = math.nan
    """Messages and bytes sent by all delegates during the height; NaN unless over a transport."""
    sent_bytes: float = math.nan
    cpu_seconds: float = math.nan
    """Processor time of all nodes; NaN unless measured."""
    outcomes: tuple[Outcome, ...] = ()
    """One outcome per view, in order; empty over a transport."""

    @property
    def is_final(self) -> bool:
        """Whether every live honest delegate has a final block."""
        return self.ended_ns < NEVER

    @property
    def latency_seconds(self) -> float:
        """Mean time in seconds from a transaction's appearance to finality."""
        return (self.ended_ns - self.block.starts_ns) / SECOND


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Run(ArrayEqMixin):
    """Results of one scenario in any mode; all engines of the model return equal runs."""

    scenario: Scenario
    heights: tuple[Height, ...]
    mode: Mode = "model"
    transport: str = ""
    sent_messages: int | None = None
    """Messages and bytes sent in the run; None unless over a transport."""
    sent_bytes: int | None = None
    cpu_seconds: float = math.nan
    """Processor time of all nodes; NaN unless measured."""
    machine_busy: float = math.nan
    """Utilization (0 to 1) of all processors of the machine during the run, including by other
    programs; NaN unless measured."""
    predicted_seconds: float = math.nan
    """Latency predicted by the law "host"; see `delegates.service_times`."""
    datagram_sha256: str = ""
    """Digest of all datagrams and their times, over native in virtual time."""
    cluster: Mapping[str, Any] = field(default_factory=dict)
    """Machines and clocks of a cluster, see `wire.drivers.cluster.run`; else empty."""

    @property
    def final(self) -> list[Height]:
        """The heights at which every live honest delegate had a final block."""
        return [height for height in self.heights if height.is_final]

    @property
    def is_safe(self) -> bool:
        """Whether no two honest delegates finalized different blocks of one height."""
        return all(len(height.blocks) <= 1 for height in self.heights)

    @property
    def is_live(self) -> bool:
        """Whether every live honest delegate finalized a block at all heights of the scenario."""
        return len(self.final) == len(self.heights) == self.scenario.blocks

    @property
    def views(self) -> int:
        """Total number of views over all heights."""
        return sum(height.views for height in self.heights)

    @property
    def transactions(self) -> int:
        """Number of transactions in final blocks."""
        return sum(height.block.transactions for height in self.final)

    @property
    def latency_seconds(self) -> float:
        """Mean seconds from a transaction's appearance to finality; NaN without a final block."""
        if not self.final:
            return math.nan
        total = sum((h.ended_ns - h.block.starts_ns) * h.block.transactions for h in self.final)
        return total / self.transactions / SECOND

    @property
    def latency_interval(self) -> tuple[float, float]:
        """The 95 % interval of the median latency of a height in seconds; NaN if modelled."""
        heights = () if self.mode == "model" else self.final
        return median_interval(height.latency_seconds for height in heights)

    @property
    def throughput_per_second(self) -> float:
        """Final transactions per second over the duration of the run; 0 without a final block."""
        last = max((height.ended_ns for height in self.final), default=0)
        return self.transactions * SECOND / last if last else 0.0

    @property
    def kind(self) -> Kind:
        """How the numbers of the run were obtained: modelled, replayed or measured."""
        return KINDS[self.mode]

    @property
    def reason(self) -> str:
        """Why the run is not live; empty if it is live or has no heights."""
        if self.is_live or not self.heights:
            return ""
        last = self.heights[-1]
        return (
            f"not live: {len(self.final)} of {self.scenario.blocks} blocks became final; after "
            f"{last.views} views {int((last.final_ns >= NEVER).sum())} of "
            f"{self.scenario.delegate_count} delegates, faulty ones included, lack the last one"
        )

    def record(self, contract: Contract = RUNS, *, exact: bool = True) -> dict[str, Any]:
        """Return the results as a row with the columns of `contract` (`RUNS` or `SWEEP`).

        With `exact` a model's transactions per block are the mean of what fits, not those drawn.
        """
        scenario, final = self.scenario, len(self.final)
        of_scenario = ("algorithm", "nodes", "exchange", "proposal", "seed")
        row = {name: getattr(scenario, name) for name in of_scenario}
        row |= {name: getattr(self, name) for name in RUNS.columns if hasattr(self, name)}
        spreads = (height.spread_seconds for height in self.heights)
        per_block = self.transactions / final if final else math.nan
        if exact and self.mode == "model":
            per_block = scenario.transactions_per_block()
        row |= {
            "scenario": scenario.identifier,
            "costs": scenario.costs.origin(scenario.algorithm),
            "delegates": scenario.delegate_count,
            "network": scenario.network.law,
            "vote_phases": scenario.phases,
            "transactions_per_block": per_block,
            "spread_seconds": max(filter(math.isfinite, spreads), default=math.nan),
            "final_blocks": final,
            "messages": scenario.messages(),
            "rivals": sum(height.rivals for height in self.heights),
            "status": "ok",
            "kind": str(self.kind),
            "latency_low_seconds": self.latency_interval[0],
            "latency_high_seconds": self.latency_interval[1],
            "predicted_latency_seconds": self.predicted_seconds,
            "prediction_error_percent": 100 * (self.predicted_seconds / self.latency_seconds - 1),
        }
        return {name: row[name] for name in contract.columns}


def frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Return a DataFrame of the contract "consensus_runs" with one row per run."""
    return RUNS.frame(run.record() for run in runs)


def failed(scenario: Scenario, error: PqchainError) -> dict[str, Any]:
    """Return the result row of a scenario that cannot run here, with the error as its reason."""
    row = Run(scenario=scenario, heights=()).record(SWEEP, exact=False)
    reason = {"status": "unsupported", "reason": str(error)}
    return row | {"throughput_per_second": math.nan} | reason


def over_seeds(sweep: pd.DataFrame) -> pd.DataFrame:
    """Return medians and 95 % confidence intervals over runs that differ only in their seed.

    Columns: those of GROUP and costs, seeds (number of runs), live (share of live runs),
    latency_seconds and throughput_per_second (medians of live runs), and for both a column with the
    suffix _half_width, of `statistics.half_width`; NaN for fewer than six live runs.
    """
    checked = results.check(sweep, SWEEP)
    rows = []
    for keys, group in checked.groupby([*GROUP, "costs"], sort=False):
        # The latency of a run that stopped early covers its first heights only.
        live = group[group["is_live"]]
        row = dict(zip([*GROUP, "costs"], keys, strict=True))
        row |= {"seeds": len(group), "live": float(group["is_live"].mean())}
        for name in ("latency_seconds", "throughput_per_second"):
            row[name] = float(live[name].median())
            row[f"{name}_half_width"] = half_width(live[name])
        rows.append(row)
    return pd.DataFrame(rows)
