"""Inputs of a study, each declared once: a field of `Plan` with its meaning, unit and bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from datetime import date
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pqchain import schemes
from pqchain.algorithms import Algorithm
from pqchain.bench.gas_units import UNITS
from pqchain.chain import encoding, p2mr
from pqchain.consensus import Network, named
from pqchain.consensus import network as networks
from pqchain.consensus.network import Law
from pqchain.consensus.scenario import Certificates
from pqchain.costs import Costs
from pqchain.errors import UnknownName
from pqchain.figures import Unit
from pqchain.study.checking import (
    AGGREGATIONS,
    BLS,
    BLS_SCHEME,
    NETWORK,
    REQUIRED,
    SIGNERS,
    ImpossiblePlan,
    Input,
    Observation,
    network_of,
    unused_parameters,
    wrong_combinations,
    wrong_values,
)
from pqchain.study.provers import PROVERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Inputs of a study: a chain and its load. Units: seconds, bytes, and rates per second.

    Network inputs that are None get the default of the kind of network, `law`; they stay None if
    that kind has no such input. Raises ImpossiblePlan.
    """

    # Annotated rather than field(metadata=...): type checkers still see which inputs are required,
    # and the declaration stands next to the type that it bounds.
    title: Annotated[str, Input("", "heading of the page")] = "A study"
    checked: Annotated[date | None, Input("chain", "date on which the sources were read")] = None
    valid_until: Annotated[
        date | None,
        Input("chain", "last day of the chain's rules as described; none if not known"),
    ] = None
    algorithms: Annotated[tuple[str, ...], Input("chain", "signature schemes to compare")]
    baseline: Annotated[str, Input("chain", "scheme that the chain moves from; empty for none")] = (
        "ECDSA-secp256k1"
    )
    migration: Annotated[
        Mapping[str, float],
        Input("chain.migration", "share of each scheme if several are used; they add up to 1",
              "share"),
    ] = field(default_factory=dict)  # fmt: skip
    transactions_per_second: Annotated[float, Input("chain", "target load", least=1e-9)]
    block_bytes: Annotated[int, Input("chain", "largest block", least=1, most=2**40)]
    block_seconds: Annotated[
        float, Input("chain", "block interval; 0: a block follows when the last is final", most=1e7)
    ]
    data_bytes: Annotated[int, Input("chain", "free data of a transaction", most=65_535)] = 0
    key_mode: Annotated[
        str,
        Input("chain", "inline: key in each transaction; registered: key on the chain; recovered: "
              "key from the signature, where the scheme can", choices=encoding.KEY_MODES),
    ] = "inline"  # fmt: skip
    accounts: Annotated[int, Input("chain", "accounts that must move to a new key")] = 0
    moves_register: Annotated[
        bool,
        Input("chain", "whether a move writes the new key on the chain; if not, each signature of "
              "a transaction moves an account"),
    ] = True  # fmt: skip
    moving_share: Annotated[
        float, Input("chain", "share of each block for moves", "share", least=1e-6, most=1)
    ] = 0.25
    adoption_days: Annotated[
        float, Input("chain", "days until half of the accounts ask to move; 0: all at once",
                     most=1e5)
    ] = 730.5  # fmt: skip
    phase_a_days: Annotated[
        float, Input("chain", "days until payments to legacy keys end; 0: never", most=1e5)
    ] = 0.0
    phase_b_days: Annotated[
        float, Input("chain", "days until legacy keys are disabled; 0: never", most=1e5)
    ] = 0.0
    envelope_bytes: Annotated[
        int, Input("transaction", "bytes without keys and signatures; 0: pqchain's encoding",
                   most=1e6)
    ] = 0  # fmt: skip
    framing_bytes: Annotated[
        int, Input("transaction", "framing of each key and signature", most=1000)
    ] = 0
    witness_rule: Annotated[
        str,
        Input("transaction", "fixed: framing_bytes only; p2mr: witnesses of BIP-360, framing_bytes "
              "in addition", choices=("fixed", "p2mr")),
    ] = "fixed"  # fmt: skip
    merkle_depth: Annotated[
        int, Input("transaction", "p2mr: depth of the script in its tree", most=p2mr.MOST_DEPTH)
    ] = 0
    signatures: Annotated[
        float, Input("transaction", "mean number of signatures", least=1, most=1000)
    ] = 1.0
    transaction_aggregation: Annotated[
        str,
        Input("transaction", "plain; bls: one aggregate of a block's BLS12-381 signatures; or a "
              "prover of data/provers: one proof", choices=AGGREGATIONS),
    ] = "plain"  # fmt: skip
    witness_discount: Annotated[
        float,
        Input("limits", "weight of a byte outside keys and signatures, relative to one inside",
              least=1, most=1000),
    ] = 1.0  # fmt: skip
    block_weight: Annotated[
        float, Input("limits", "largest weight of a block; 0: no limit", "WU")
    ] = 0.0
    block_sigops: Annotated[
        float,
        Input("limits", "most signature checks in a block, where a scheme counts as many as its "
              "verification takes longer than the baseline's, and at least one; 0: no limit"),
    ] = 0.0  # fmt: skip
    block_gas: Annotated[
        float, Input("limits", "largest gas, or compute units, of a block; 0: no limit")
    ] = 0.0
    sustained_share: Annotated[
        float,
        Input("limits", "share of a full block that fees can sustain", "share", least=1e-6, most=1),
    ] = 1.0
    intrinsic_gas: Annotated[float, Input("limits", "gas of any transaction")] = 0.0
    execution_gas: Annotated[float, Input("limits", "gas of the execution of a transaction")] = 0.0
    calldata_gas: Annotated[float, Input("limits", "gas of a byte of calldata")] = 0.0
    floor_gas: Annotated[float, Input("limits", "least gas of a byte of calldata")] = 0.0
    state_gas: Annotated[
        float, Input("limits", "gas of a byte of a key that a move writes on the chain")
    ] = 0.0
    separate_state_gas: Annotated[
        bool, Input("limits", "whether a block limits state gas by itself, as in EIP-8037")
    ] = False
    verification_gas: Annotated[
        float,
        Input("limits", "gas of a verification of the baseline; others are priced by their time"),
    ] = 0.0
    gas_unit: Annotated[
        str,
        Input("limits", "unit of data/gas in which drafts price verifications of this chain; empty "
              "for none", choices=("", *UNITS)),
    ] = ""  # fmt: skip
    gas_prices: Annotated[
        Mapping[str, float],
        Input("limits.gas_prices", "gas of a verification of each scheme that is named; others are "
              "priced by their time", "gas"),
    ] = field(default_factory=dict)  # fmt: skip
    packet_bytes: Annotated[int, Input("limits", "longest transaction; 0: no limit")] = 0
    most_transactions: Annotated[
        float, Input("limits", "most transactions of a block; 0: no limit")
    ] = 0.0
    votes_per_block: Annotated[float, Input("votes", "votes that the chain counts for a block")] = (
        0.0
    )
    vote_bytes: Annotated[
        float, Input("votes", "a vote, or an aggregate, without its signature", most=1e6)
    ] = 0.0
    vote_signature_bytes: Annotated[
        float, Input("votes", "signature of a vote; 0: that of the scheme", most=1e6)
    ] = 0.0
    voting_gas: Annotated[float, Input("votes", "gas, or compute units, of a vote in a block")] = (
        0.0
    )
    vote_aggregation: Annotated[
        str, Input("votes", "plain, bls, or a prover of data/provers", choices=AGGREGATIONS)
    ] = "plain"
    vote_aggregates: Annotated[
        float, Input("votes", "aggregates of votes in a block", least=1, most=1e6)
    ] = 1.0
    consensus_bytes: Annotated[
        float, Input("votes", "bytes of a block besides votes and transactions", most=1e9)
    ] = 0.0
    votes_in_block: Annotated[bool, Input("votes", "whether votes count as bytes of a block")] = (
        False
    )
    most_votes: Annotated[
        float, Input("votes", "most votes or aggregates of a block; 0: no limit")
    ] = 0.0
    vote_deadline_seconds: Annotated[
        float, Input("votes", "deadline of votes after the start of a slot; 0: none", most=1e6)
    ] = 0.0
    final_blocks: Annotated[
        float,
        Input("votes", "blocks until finality by the chain's rule; 0: blocks wait for finality",
              most=1e6),
    ] = 0.0  # fmt: skip
    nodes: Annotated[int, Input("network", "nodes", least=1, most=2**22)]
    delegates: Annotated[int, Input("network", "nodes that vote; 0: all", most=2**22)] = 0
    law: Annotated[Law, Input("network", f"law of the network: {', '.join(networks.NAMES)}")]
    rate_bits_per_second: Annotated[
        float | None, Input("network", "rate of a link; regions have their own")
    ] = None
    link_latency_seconds: Annotated[
        float | None, Input("network", "latency of a link; regions have their own")
    ] = None
    peers: Annotated[int | None, Input("network", "gossip: peers that a node sends a block to")] = (
        None
    )
    world: Annotated[
        bool | None, Input("network", "gossip: whether nodes are in the regions of the world")
    ] = None
    region_table: Annotated[
        str | None,
        Input("network", "year of the regions' latencies, rates and shares of nodes",
              choices=get_args(networks.RegionTable)),
    ] = None  # fmt: skip
    upload_copies: Annotated[
        int,
        Input("network", "copies of a block that its proposer sends before the next block; 0: no "
              "limit", most=2**22),
    ] = 0  # fmt: skip
    vote_phases: Annotated[
        int, Input("network", "rounds of votes after a block: 0, 1 or 2", most=2)
    ] = 0
    certificates: Annotated[
        Certificates,
        Input("network", "signatures of a quorum, sent to all others or in the next block",
              choices=get_args(Certificates)),
    ] = "none"  # fmt: skip
    pipelined: Annotated[bool, Input("network", "propose after one round of votes")] = False
    extra_hops: Annotated[
        int, Input("network", "hops of a round before the block, without a wait", most=8)
    ] = 0
    hop_wait_seconds: Annotated[
        float, Input("network", "mean wait of a block or vote at its sender, at each hop", most=1e3)
    ] = 0.0
    verification_threads: Annotated[
        int, Input("network", "verification threads of a node", least=1, most=4096)
    ] = 1
    data_chunks: Annotated[int, Input("storage", "k of the erasure code", least=1, most=254)] = 7
    parity_chunks: Annotated[int, Input("storage", "m of the erasure code", least=1, most=254)] = 3
    retained_days: Annotated[
        float, Input("storage", "retention of blocks", least=1e-6, most=1e6)
    ] = 365.25
    repair_bits_per_second: Annotated[
        float, Input("storage", "rate at which a node gathers chunks", least=1)
    ] = 100e6
    decode_bytes_per_second: Annotated[
        float, Input("storage", "rate at which a node decodes", least=1)
    ] = 589e6
    signer: Annotated[
        str,
        Input("signer", "software, or for Falcon a modelled Cortex-M4 with or without an engine",
              choices=tuple(SIGNERS)),
    ] = "software"  # fmt: skip
    signing_factor: Annotated[
        float, Input("signer", "speed-up of signing by an accelerator", least=1e-6, most=1e6)
    ] = 1.0
    costs: Annotated[str, Input("costs", "measured, or the work that printed them")] = "measured"
    own_schemes: tuple[Costs, ...] = ()
    """Schemes that are not in the registry."""
    sources: Mapping[str, str] = field(default_factory=dict)
    observed: tuple[Observation, ...] = ()
    network: Network = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.algorithms, list):
            object.__setattr__(self, "algorithms", tuple(self.algorithms))
        values = {name: getattr(self, name) for name in NAMES}
        problems = list(wrong_values(INPUTS, values)) or wrong_combinations(self)
        if problems:
            raise ImpossiblePlan(problems)
        network, _ = network_of(values)
        by_scheme = {
            field: MappingProxyType(
                {self.algorithm(name).name: value for name, value in getattr(self, field).items()}
            )
            for field in BY_SCHEME
        }
        names = dict.fromkeys(self.algorithm(name).name for name in self.algorithms)
        # Equal plans must compare equal however they were written: names as in the registry, no
        # duplicates, mappings that cannot change.
        canonical: dict[str, Any] = {
            "algorithms": tuple(names),
            "baseline": self.baseline and self.algorithm(self.baseline).name,
            **by_scheme,
            "sources": MappingProxyType(dict(self.sources)),
            "network": network,
            "law": network.law,
        }
        for name in set(NETWORK) - {"law"} - unused_parameters(network):
            canonical[name] = getattr(network, NETWORK[name])
        # The dataclass is frozen.
        for name, value in canonical.items():
            object.__setattr__(self, name, value)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all schemes whose costs are needed, the baseline first."""
        first = (self.baseline,) if self.baseline else ()
        return tuple(dict.fromkeys((*first, *self.algorithms, *self.migration)))

    def algorithm(self, name: str) -> Algorithm:
        """Return a scheme of the registry or of `own_schemes`. Raises UnknownAlgorithm."""
        return schemes.get(name, self.own_schemes)

    @property
    def bundled(self) -> str:
        """The scheme whose signatures in a block become one aggregate or proof; "" if none."""
        how = self.transaction_aggregation
        if how in ("plain", BLS):
            return BLS_SCHEME if how == BLS else ""
        return PROVERS[how].algorithm

    @property
    def post_quantum(self) -> tuple[str, ...]:
        """Names of the post-quantum schemes among `algorithms`."""
        return tuple(n for n in self.algorithms if schemes.is_post_quantum(self.algorithm(n)))

    @property
    def unused(self) -> frozenset[str]:
        """Names of the inputs that have no effect for this kind of network."""
        serial = {"vote_phases", "verification_threads"} if self.law == "paper-serial" else set()
        return frozenset(serial | {name for name in NETWORK if getattr(self, name) is None})

    def with_(self, **changes: Any) -> Plan:
        """Return a copy with some inputs changed; a changed input loses its source.

        A new `law` or `world` resets other network inputs. Raises UnknownName, ImpossiblePlan.
        """
        for name in changes:
            check_name(name)
        # A rate or latency of the old law means nothing under another one, and regions of the world
        # bring their own.
        if changes.get("law", self.law) != self.law:
            changes = dict.fromkeys(set(NETWORK) - {"law"}) | changes
        elif changes.get("world", self.world) != self.world:
            reset = ("rate_bits_per_second", "link_latency_seconds", "region_table")
            changes = dict.fromkeys(reset) | changes
        changed = replace(self, **changes)
        if "sources" in changes:
            return changed
        # A source applies to one value only.
        same = [name for name in self.sources if getattr(self, name) == getattr(changed, name)]
        return replace(changed, sources={name: self.sources[name] for name in same})

    def default(self, name: str) -> Any:
        """Return the default of an input; that of a network input depends on `law`."""
        if name in NETWORK and name != "law":
            return getattr(named(self.law), NETWORK[name])
        return INPUTS[name].default

    def source(self, name: str) -> str:
        """Return the source of an input's value."""
        is_default = getattr(self, name) == self.default(name)
        return self.sources.get(name, "default" if is_default else "set for this study")


def _declared() -> Iterator[tuple[str, Input]]:
    hints = get_type_hints(Plan, include_extras=True)
    for declared in fields(Plan):
        if get_origin(hints[declared.name]) is not Annotated:
            continue
        kind, declaration = get_args(hints[declared.name])
        plain = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        allowed = tuple(t for t in plain if t in (int, float, str, bool, date))
        yield (
            declared.name,
            replace(
                declaration,
                unit=declaration.unit or str(Unit.of(declared.name)),
                # A TOML file may write a float without a decimal point.
                types=(*allowed, int) if float in allowed else allowed,
                default=_default(declared),
            ),
        )


def _default(declared: Field[Any]) -> Any:
    if declared.default is not MISSING:
        return declared.default
    return REQUIRED if declared.default_factory is MISSING else declared.default_factory()


INPUTS: Mapping[str, Input] = dict(_declared())
"""Every input, in the order of `pqchain study --inputs`."""

BY_SCHEME = tuple(name for name, row in INPUTS.items() if row.default == {})
"""Names of the inputs that have a value for each scheme, in a table of their own."""

NAMES = tuple(declared.name for declared in fields(Plan) if declared.init)
"""Names of the inputs that `Plan.with_` accepts."""


def check_name(name: str) -> None:
    """Raise UnknownName unless a plan has such an input."""
    if name not in NAMES:
        raise UnknownName("input of a study", name, NAMES, "`pqchain study --inputs`.")
