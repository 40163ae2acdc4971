"""Model of a signature scheme on a chain; `pqchain.study.figures` declares its figures.

`models` returns a model of each scheme; its figures are computed at first use, because a
sensitivity analysis needs only one figure of each of dozens of plans.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pqchain.chain import encoding
from pqchain.consensus import Scenario
from pqchain.consensus.lengths import distribution
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError
from pqchain.figures import Figure, Kind, Unit
from pqchain.study import chain, queueing
from pqchain.study.plan import Plan
from pqchain.study.provers import Prover, prover_of


class Evidence(NamedTuple):
    """A value with its own kind and source, instead of those of the model."""

    value: float
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """Declaration of a figure: its unit, meaning and function."""

    unit: Unit
    about: str
    cites: str
    """What may be aggregated by a prover that the figure depends on: "vote", "transaction"."""
    compute: Callable[[SchemeModel], float | Evidence]
    is_unconditional: bool
    """Whether the figure exists for a scheme of which no transaction fits in a block."""


QUANTITIES: dict[str, Quantity] = {}
"""Every figure by name, in the order of the page."""

_Function = Callable[["SchemeModel"], "float | Evidence"]


def figure(
    *, cites: str = "vote transaction", unit: str | None = None, unconditional: bool = False
) -> Callable[[_Function], _Function]:
    """Declare a figure, for the words of `cites` with the source of the plan's prover.

    The docstring of the function is its meaning; its name implies the unit unless one is given.
    """

    def declare(function: _Function) -> _Function:
        name, about = function.__name__, (function.__doc__ or "").partition(".")[0]
        symbol = Unit.of(name) if unit is None else Unit(unit)
        QUANTITIES[name] = Quantity(symbol, about, cites, function, unconditional)
        return function

    return declare


class SchemeModel:
    """The model of one scheme on a chain, for one draw of the network."""

    def __init__(
        self, plan: Plan, costs: CostTable, algorithm: str, seed: int, baseline: SchemeModel | None
    ) -> None:
        self.plan, self.costs, self.algorithm, self.seed = plan, costs, algorithm, seed
        self.row = costs[algorithm]
        self.baseline = self if algorithm == plan.chain.baseline else baseline
        self.baseline_row: Costs | None = self.baseline.row if self.baseline else None
        self._figures: dict[str, Figure] = {}

    def __getitem__(self, name: str) -> float:
        return self.figure(name).value

    def figure(self, name: str) -> Figure:
        """Return a figure, computed at first use: a sensitivity needs only one of them."""
        if name not in self._figures:
            self._figures[name] = self._compute(name)
        return self._figures[name]

    def figures(self) -> dict[str, Figure]:
        """Return every figure by name."""
        return {name: self.figure(name) for name in QUANTITIES}

    def _compute(self, name: str) -> Figure:
        quantity = QUANTITIES[name]
        # Without a transaction in a block there is no finality, growth or load to speak of.
        if not self.count and not quantity.is_unconditional:
            result: float | Evidence = math.nan
        else:
            result = quantity.compute(self)
        if not isinstance(result, Evidence):
            result = Evidence(result, Kind.MODELLED, self.arithmetic)
        source = result.source + self._citations(quantity.cites)
        return Figure.point(result.value, quantity.unit, result.kind, source)

    def _citations(self, cites: str) -> str:
        text = ""
        for what in cites.split():
            prover = prover_of(self.plan.value(f"{what}_aggregation"))
            if prover and (what == "vote" or self.algorithm == self.plan.bundled):
                text += f"; {prover.source}, {prover.date}: {prover.evidence}"
        return text

    @cached_property
    def arithmetic(self) -> str:
        """Source of the figures computed from costs and inputs, or why there are none."""
        if self.count:
            return f"arithmetic of pqchain.study over {self.row.source}"
        container = f"a block of {self.plan.chain.block_bytes} bytes"
        if self.limit == "packet":
            container = f"a packet of {self.plan.limits.packet_bytes} bytes"
        container += f", {self.votes[1]:.0f} of them for votes" * (self.limit == "votes")
        return f"no transaction of {self.algorithm} fits in {container}"

    @cached_property
    def cost_kind(self) -> Kind:
        """Kind of evidence of the scheme's costs."""
        origin = self.costs.source.partition(":")[0]
        kind = {"paper": Kind.PUBLISHED, "measured": Kind.MEASURED}.get(origin)
        if kind is None:
            raise DataError(
                "the source of costs must be 'paper:<key>' or 'measured:<machine>'; got "
                f"{self.costs.source!r}"
            )
        return Kind.GIVEN if self.row.is_given else kind

    def size(self, value: float) -> Evidence:
        """Return a size with its source, the registry if costs are measured."""
        if self.cost_kind is Kind.MEASURED:
            return Evidence(value, Kind.REGISTRY, f"pqchain.algorithms, {self.algorithm}")
        return Evidence(value, self.cost_kind, self.row.source)

    def exact(self, value: float) -> Evidence:
        """Return a value that follows exactly from sizes and limits, with its source."""
        is_own = bool(self.plan.transaction.envelope_bytes)
        source = "limits of the plan" if is_own else "pqchain.chain.encoding"
        return Evidence(value, Kind.MODELLED, f"{source}, exact for the sizes given")

    @cached_property
    def lengths(self) -> dict[int, int]:
        """Number of signatures of each length in a sample."""
        if chain.key_mode(self.plan, self.algorithm) == "recovered":
            return {encoding.RECOVERABLE[self.algorithm]: 1}
        return dict(distribution(self.row.algorithm, self.row.signature_bytes))

    @cached_property
    def prover(self) -> Prover | None:
        """Prover whose proof replaces the scheme's signatures in a block, if any."""
        is_proven = self.algorithm == self.plan.bundled
        return prover_of(self.plan.transaction.transaction_aggregation) if is_proven else None

    @cached_property
    def use(self) -> chain.Use:
        """The bytes, weight and gas of a transaction."""
        return chain.use(self.plan, self.row, self.lengths, self.baseline_row, self.prover)

    @cached_property
    def votes(self) -> tuple[float, float]:
        """Bytes of the votes that a block contains, and of those that it reserves."""
        return chain.votes_in_block(self.plan, self.row.signature_bytes)

    @cached_property
    def allowed(self) -> dict[str, float]:
        """Number of transactions in a block that each limit alone allows, by limit."""
        return chain.per_block(self.plan, self.use, self.votes[1], self.prover, self.baseline_row)

    @cached_property
    def block_limit(self) -> str:
        """Name of the binding limit on the transactions of a block."""
        return chain.binding(self.allowed)

    @property
    def limit(self) -> str:
        """Name of the binding limit on throughput."""
        plan = self.plan
        # Where blocks wait for finality, a slow network limits throughput more than the block does.
        waits = not plan.votes.final_blocks and plan.chain.block_seconds > 0
        if waits and self.count and self["final_seconds"] > plan.chain.block_seconds:
            return chain.FINALITY
        return self.block_limit

    @cached_property
    def count(self) -> float:
        """Number of transactions in a full block."""
        count = self.allowed[self.block_limit]
        encoded = not self.plan.transaction.envelope_bytes and self.prover is None
        if count and self.block_limit == "bytes" and encoded:
            # Signatures of varying length: the mean of what fits, exactly.
            return float(self.scenario.transactions_per_block())
        return count

    @cached_property
    def checked(self) -> Costs:
        """Costs without the verification of signatures that a proof replaces."""
        if self.prover is None:
            return self.row
        # A length of one byte, the least that costs can have, stands for no signature.
        return Costs.given(
            f"{self.row.algorithm} bundled", public_key_bytes=self.row.public_key_bytes,
            signature_bytes=1, sign_seconds=self.row.sign_seconds,
            verify_seconds=0.0, source=self.row.source,
        )  # fmt: skip

    @cached_property
    def scenario(self) -> Scenario:
        """Consensus scenario of a full block."""
        plan, network = self.plan, self.plan.network
        scenario = Scenario(
            algorithm=self.checked.algorithm,
            costs=CostTable((self.checked,), self.checked.source),
            nodes=network.nodes,
            delegates=network.delegates or None,
            network=chain.waiting_network(plan),
            exchange="broadcast" if network.vote_phases else None,
            vote_phases=network.vote_phases,
            certificates=network.certificates,
            pipelined=network.pipelined,
            block_bytes=plan.chain.block_bytes,
            layout=chain.layout_of(plan, self.algorithm),
            signed_blocks=network.law != "paper-serial",
            signed_votes=plan.votes.vote_aggregation == "plain",
            verification_threads=network.verification_threads,
            seed=self.seed,
        )
        return chain.with_votes(scenario, plan, self.votes)

    @property
    def signatures(self) -> float:
        """Number of signatures of the transactions of a full block."""
        return self.count * self.plan.transaction.signatures

    @property
    def proof_bytes(self) -> float:
        """Bytes of the proof of a full block; 0 without one."""
        return self.prover.proof_bytes(self.signatures) if self.prover else 0.0

    def final(self, signatures: float) -> float:
        """Return the time from proposal to finality of a block with this many signatures."""
        seconds = chain.final_seconds(self.scenario, signatures)
        if hops := self.plan.network.extra_hops:
            # Hops of a round that precede the block; they wait for no poll.
            seconds += hops * self.plan.network.model.latency_seconds
        seconds += self.prover.counted_seconds(signatures) if self.prover else 0.0
        votes = chain.vote_verify_seconds(self.plan, self.row, self.costs)
        # Plain votes are part of the consensus run; aggregates delay the block by themselves.
        if self.plan.votes.vote_aggregation == "plain" or math.isnan(votes):
            return seconds
        return seconds + votes / self.plan.network.verification_threads

    @cached_property
    def registrations(self) -> float:
        """Number of accounts that one block of moves moves to the scheme; NaN if none can."""
        # A move needs a baseline to move from, and a key that fits in the data of a transaction.
        plan, row, baseline = self.plan, self.row, self.baseline_row
        is_longer = row.public_key_bytes > encoding.MAX_DATA_BYTES
        if baseline is None or not plan.chain.accounts or is_longer:
            return math.nan
        lengths = dict(distribution(baseline.algorithm, baseline.signature_bytes))
        # Without registration every signature of a transaction spends from an account and moves it.
        moving, accounts, state_gas = plan, plan.transaction.signatures, 0.0
        if plan.chain.moves_register:
            moving, accounts = plan.with_(data_bytes=row.public_key_bytes), 1.0
            state_gas = plan.limits.state_gas * row.public_key_bytes
        if not plan.limits.separate_state_gas:
            moving = moving.with_(execution_gas=plan.limits.execution_gas + state_gas)
        _, votes = chain.votes_in_block(plan, baseline.signature_bytes)
        allowed = chain.per_block(plan, chain.use(moving, baseline, lengths, baseline), votes)
        if plan.limits.separate_state_gas and state_gas:
            allowed["state gas"] = math.floor(plan.limits.block_gas / state_gas)
        return accounts * allowed[chain.binding(allowed)] or math.nan


def blocks(plan: Plan, values: Mapping[str, float] | SchemeModel) -> queueing.Blocks:
    """Return blocks with these figures for the queueing model."""
    return queueing.Blocks(
        transactions=values["transactions_per_block"],
        seconds=plan.chain.block_seconds,
        waits=not plan.votes.final_blocks,
        empty_seconds=values["single_transaction_final_seconds"],
        full_seconds=values["final_seconds"],
    )


def models(plan: Plan, costs: CostTable, *, seed: int = 0) -> dict[str, SchemeModel]:
    """Return the model of each scheme for a seed of the network. Raises MissingCosts."""
    by_algorithm: dict[str, SchemeModel] = {}
    # The baseline is first in `names`, because the others refer to its model.
    for name in plan.names:
        baseline = by_algorithm.get(plan.chain.baseline)
        by_algorithm[name] = SchemeModel(plan, costs, name, seed, baseline)
    return by_algorithm
