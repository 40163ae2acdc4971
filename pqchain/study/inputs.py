"""Inputs of a study: a class for each table of a study file, with meaning and bounds of each input.

Units: seconds, bytes, and rates per second, as the names state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Literal

from pqchain.chain import p2mr
from pqchain.chain.encoding import KeyMode
from pqchain.checks import Doc, Ge, Gt, Le, declared
from pqchain.consensus import Network, named
from pqchain.consensus import network as networks
from pqchain.consensus.network import Law
from pqchain.consensus.scenario import Certificates
from pqchain.errors import short_repr

Count = Annotated[int, Ge(0), Le(10**18)]
Number = Annotated[float, Ge(0), Le(1e18)]
Share = Annotated[float, Ge(1e-6), Le(1)]
Nodes = Annotated[int, Ge(0), Le(2**22)]


@declared
class ChainInputs:
    """Table [chain]: schemes, load, blocks, and the accounts that move to new keys."""

    checked: Annotated[date | None, Doc("date on which the sources were read")] = None
    valid_until: Annotated[date | None, Doc("last day of the chain's rules as described")] = None
    algorithms: Annotated[tuple[str, ...], Doc("signature schemes to compare")]
    baseline: Annotated[str, Doc("scheme of today; empty for none")] = "ECDSA-secp256k1"
    implementations: Annotated[
        Mapping[str, str], Doc("code of the chain's clients by scheme; others: the fastest here")
    ] = field(default_factory=dict)
    transactions_per_second: Annotated[float, Ge(1e-9), Le(1e18), Doc("target load")]
    block_bytes: Annotated[int, Ge(1), Le(2**40), Doc("largest block")]
    block_seconds: Annotated[
        Number, Le(1e7), Doc("block interval; 0: a block follows when the last is final")
    ]
    data_bytes: Annotated[Count, Le(65_535), Doc("free data of a transaction")] = 0
    key_mode: Annotated[
        KeyMode,
        Doc("inline: key in each transaction; registered: on the chain; recovered: from signature"),
    ] = "inline"
    accounts: Annotated[Count, Doc("accounts that must move to a new key")] = 0
    moves_register: Annotated[
        bool, Doc("whether a move writes the new key; if not, each signature moves an account")
    ] = True

    @property
    def is_past(self) -> bool:
        """Whether the rules had ended when the sources were read."""
        last, checked = self.valid_until, self.checked
        return last is not None and checked is not None and last < checked


@declared
class TransactionInputs:
    """Table [transaction]: bytes and signatures of a transaction."""

    envelope_bytes: Annotated[
        Count, Le(10**6), Doc("bytes without keys and signatures; 0: pqchain's encoding")
    ] = 0
    framing_bytes: Annotated[Count, Le(1000), Doc("framing of each key and signature")] = 0
    witness_rule: Annotated[
        Literal["fixed", "p2mr"],
        Doc("fixed: framing_bytes only; p2mr: witnesses of BIP-360, framing_bytes in addition"),
    ] = "fixed"
    merkle_depth: Annotated[Count, Le(p2mr.MOST_DEPTH), Doc("p2mr: depth of the script")] = 0
    signatures: Annotated[float, Ge(1), Le(1000), Doc("mean number of signatures")] = 1.0
    transaction_aggregation: Annotated[
        str, Doc("plain, or a prover of data/provers: one proof of a block")
    ] = "plain"


@declared
class LimitInputs:
    """Table [limits]: limits of a block, and prices of gas."""

    witness_discount: Annotated[
        float, Ge(1), Le(1000), Doc("weight of a byte outside keys and signatures")
    ] = 1.0
    block_weight: Annotated[Number, Doc("largest weight of a block; 0: no limit")] = 0.0
    block_sigops: Annotated[
        Number, Doc("most signature checks of a block, in times of the baseline's; 0: no limit")
    ] = 0.0
    block_gas: Annotated[Number, Doc("largest gas, or compute units; 0: no limit")] = 0.0
    sustained_share: Annotated[Share, Doc("share of a full block that fees can sustain")] = 1.0
    intrinsic_gas: Annotated[Number, Doc("gas of any transaction")] = 0.0
    execution_gas: Annotated[Number, Doc("gas of the execution of a transaction")] = 0.0
    calldata_gas: Annotated[Number, Doc("gas of a byte of calldata")] = 0.0
    floor_gas: Annotated[Number, Doc("least gas of a byte of calldata")] = 0.0
    state_gas: Annotated[Number, Doc("gas of a byte of a key that a move writes")] = 0.0
    separate_state_gas: Annotated[bool, Doc("limit state gas by itself, as EIP-8037")] = False
    verification_gas: Annotated[
        Number, Doc("gas of a verification of the baseline; others are priced by their time")
    ] = 0.0
    gas_unit: Annotated[str, Doc("unit of data/gas in which drafts price; empty for none")] = ""
    gas_prices: Annotated[
        Mapping[str, Number], Doc("gas of a verification of each scheme, instead of by its time")
    ] = field(default_factory=dict)
    packet_bytes: Annotated[Count, Doc("longest transaction; 0: no limit")] = 0
    most_transactions: Annotated[Number, Doc("most transactions of a block; 0: no limit")] = 0.0


@declared
class VoteInputs:
    """Table [votes]: votes that a block counts or contains."""

    votes_per_block: Annotated[Number, Doc("votes that the chain counts for a block")] = 0.0
    vote_bytes: Annotated[Number, Le(1e6), Doc("a vote or aggregate, without signature")] = 0.0
    vote_signature_bytes: Annotated[
        Number, Le(1e6), Doc("signature of a vote; 0: the scheme's")
    ] = 0.0
    voting_gas: Annotated[Number, Doc("gas, or compute units, of a vote in a block")] = 0.0
    vote_aggregation: Annotated[str, Doc("plain, bls, or a prover of data/provers")] = "plain"
    vote_aggregates: Annotated[float, Ge(1), Le(1e6), Doc("aggregates of votes in a block")] = 1.0
    consensus_bytes: Annotated[Number, Le(1e9), Doc("besides transactions and votes")] = 0.0
    votes_in_block: Annotated[bool, Doc("whether votes count as bytes of a block")] = False
    most_votes: Annotated[Number, Doc("most votes or aggregates of a block; 0: no limit")] = 0.0
    vote_deadline_seconds: Annotated[
        Number, Le(1e6), Doc("deadline of votes in a slot; 0: none")
    ] = 0.0
    final_blocks: Annotated[
        Number, Le(1e6), Doc("blocks until finality by rule; 0: blocks wait for finality")
    ] = 0.0

    @property
    def messages(self) -> float:
        """Number of votes, or of aggregates of votes, that a block has to carry."""
        return self.votes_per_block if self.vote_aggregation == "plain" else self.vote_aggregates


@declared
class NetworkInputs:
    """Table [network]: nodes, links and rounds of votes.

    Parameters of the law have its defaults; they are None if the law has no such parameter.
    """

    nodes: Annotated[Nodes, Ge(1), Doc("nodes")]
    delegates: Annotated[Nodes, Doc("nodes that vote; 0: all")] = 0
    law: Annotated[Law, Doc("law of the network")]
    rate_bits_per_second: Annotated[networks.Rate | None, Doc("rate of a link")] = None
    link_latency_seconds: Annotated[networks.Seconds | None, Doc("latency of a link")] = None
    peers: Annotated[int | None, Ge(1), Le(1024), Doc("gossip: receivers of a node's block")] = None
    world: Annotated[bool | None, Doc("gossip: nodes are in the regions of the world")] = None
    upload_copies: Annotated[
        Nodes, Doc("copies of a block that its proposer sends before the next; 0: no limit")
    ] = 0
    vote_phases: Annotated[Count, Le(2), Doc("rounds of votes after a block: 0, 1 or 2")] = 0
    certificates: Annotated[
        Certificates, Doc("signatures of a quorum, sent to all others or in the next block")
    ] = "none"
    pipelined: Annotated[bool, Doc("propose after one round of votes")] = False
    extra_hops: Annotated[Count, Le(8), Doc("hops of a round before the block, without a wait")] = 0
    hop_wait_seconds: Annotated[Number, Le(1e3), Doc("mean wait of a message at a hop")] = 0.0
    verification_threads: Annotated[int, Ge(1), Le(4096), Doc("verification threads of a node")] = 1

    @property
    def voters(self) -> int:
        """Number of nodes that vote."""
        return self.delegates or self.nodes

    @property
    def model(self) -> Network:
        """The network of the consensus model with these parameters."""
        return _network(self)


@declared
class StorageInputs:
    """Table [storage]: erasure code, retention and repair."""

    data_chunks: Annotated[int, Ge(1), Le(254), Doc("k of the erasure code")] = 7
    parity_chunks: Annotated[int, Ge(1), Le(254), Doc("m of the erasure code")] = 3
    retained_days: Annotated[float, Ge(1e-6), Le(1e6), Doc("retention of blocks")] = 365.25
    repair_bits_per_second: Annotated[networks.Rate, Doc("rate of gathering chunks")] = 100e6
    decode_bytes_per_second: Annotated[networks.Rate, Doc("rate of decoding")] = 589e6


@declared
class Observation:
    """A value measured on an existing chain, for comparison with the model."""

    quantity: Annotated[str, Doc("name of a figure")]
    algorithm: Annotated[str, Doc("scheme of the figure; empty for the baseline")] = ""
    value: Annotated[float, Gt(0)]
    source: str
    date: str
    published: Annotated[str, Doc("date of the source; empty if it has none")] = ""
    settings: Annotated[Mapping[str, Any], Doc("inputs that had other values at the time")] = field(
        default_factory=dict
    )
    derived: Annotated[
        str, Doc("inputs that were derived from the same figures, or assumed for this row")
    ] = ""
    engine: Annotated[
        str, Doc("consensus engine that was run, with its version; empty for a chain")
    ] = ""


PARAMETERS = {
    "rate_bits_per_second": "rate_bits_per_second",
    "link_latency_seconds": "latency_seconds",
    "peers": "peers",
    "world": "world",
}
"""Inputs that are parameters of the network's law, and their names in the consensus model."""


def law_defaults(law: object, world: object = None) -> dict[str, Any]:
    """Return the defaults of PARAMETERS for a law, without those that it does not have."""
    # A wrong law is reported by its declaration.
    if law not in networks.NAMES:
        return {}
    network = named(str(law))
    if world is True and "world" in network.parameters:
        network = replace(network, world=True)
    known = network.parameters
    return {name: getattr(network, key) for name, key in PARAMETERS.items() if key in known}


# Cached, because every figure of every draw needs it.
@lru_cache(maxsize=256)
def _network(inputs: NetworkInputs) -> Network:
    values = {key: getattr(inputs, name) for name, key in PARAMETERS.items()}
    return named(inputs.law, **{key: value for key, value in values.items() if value is not None})


# Laws in which nodes that do not vote take part.
RELAYED = ("gossip", "regions")

_OF_VOTES = {"votes_in_block": False, "vote_aggregation": "plain", "vote_signature_bytes": 0.0}
"""Inputs that have an effect only on votes that are counted, and their defaults."""


def wrong_combinations(plan: Any) -> list[tuple[str, str]]:
    """Return an input and a message for each wrong combination of a `Plan`."""
    chain, transaction, limits, votes = plan.chain, plan.transaction, plan.limits, plan.votes
    network, storage = plan.network, plan.storage
    is_regional, certificates = network.model.is_regional, network.certificates
    is_undated, chunks = chain.checked is None, storage.data_chunks + storage.parity_chunks
    counts_votes = certificates == "none" and votes.votes_per_block > 0
    waits = not chain.block_seconds
    is_p2mr, is_inline = transaction.witness_rule == "p2mr", chain.key_mode == "inline"
    # Whether the combination is wrong, an input, what it must be, and a remedy.
    rules: tuple[tuple[bool, str, str, str], ...] = (
        (bool(plan.sources) and is_undated, "checked",
         "the date on which the sources were read, because the plan cites sources",
         "Add it, such as checked = 2026-11-23."),
        (chain.valid_until is not None and is_undated, "valid_until",
         "left out without checked, the date of the sources", ""),
        (network.delegates > network.nodes, "delegates",
         f"at most nodes, {network.nodes}", "0 means all nodes."),
        (0 < network.delegates != network.nodes and network.law not in RELAYED, "nodes",
         f"{network.delegates} as delegates with {network.law}, where nodes that do not vote "
         "change nothing", "Give nodes, and leave out delegates."),
        (chunks > 255, "data_chunks",
         f"at most {255 - storage.parity_chunks} with parity_chunks, at most 255 together, the "
         "limit of GF(256)", ""),
        (chunks > network.nodes, "data_chunks",
         f"at most {network.nodes - storage.parity_chunks} with parity_chunks, at most "
         f"{network.nodes} together, so that each node has one chunk", ""),
        (network.vote_phases > 0 and network.law == "paper-serial", "vote_phases",
         "0 with paper-serial, which has no votes", ""),
        *((getattr(votes, name) != unused and not counts_votes, name,
           f"{unused!r} unless votes_per_block is above 0 and certificates is \"none\", because it "
           "has no effect", 'Leave it out, or give votes_per_block and certificates = "none".')
          for name, unused in _OF_VOTES.items()),
        (certificates != "none" and votes.votes_per_block > 0, "votes_per_block",
         f"0 with certificates = {certificates!r}, which have the votes of a quorum",
         'Leave it out, or give certificates = "none".'),
        (certificates != "none" and not network.vote_phases, "certificates",
         '"none" without vote_phases', ""),
        ((certificates == "broadcast" or network.pipelined) and network.law != "uplink", "law",
         '"uplink" with certificates = "broadcast" or pipelined', ""),
        (network.pipelined and (network.vote_phases != 2 or certificates == "next-block"),
         "pipelined", 'false unless vote_phases is 2 and certificates is "none" or "broadcast"',
         ""),
        *((is_regional and getattr(network, name) > 0, name,
           "0 with regions, which have no single latency", "")
          for name in ("hop_wait_seconds", "extra_hops")),
        (transaction.signatures > 1 and not transaction.envelope_bytes, "signatures",
         "1 with pqchain's encoding, which has one", "Give envelope_bytes."),
        (0 < limits.block_weight < limits.witness_discount, "block_weight",
         f"at least the weight of a byte, {limits.witness_discount:g}", ""),
        (limits.verification_gas > 0 and not chain.baseline, "verification_gas",
         "0 without a baseline, whose time prices a verification", ""),
        (bool(limits.gas_prices) and not limits.block_gas, "gas_prices",
         "left out without block_gas, the limit that they count towards", ""),
        (is_p2mr and not (transaction.envelope_bytes and is_inline), "witness_rule",
         '"fixed" unless key_mode is inline and envelope_bytes is given, because P2MR reveals the '
         "key in a script", ""),
        (transaction.merkle_depth > 0 and not is_p2mr, "merkle_depth",
         '0 unless witness_rule is "p2mr"', ""),
        (votes.voting_gas > 0 and not votes.votes_in_block, "voting_gas",
         "0 unless votes_in_block is true", ""),
        *((plan.value(name) > 0 and waits, name,
           "0 where block_seconds is 0, because blocks wait for finality", "")
          for name in ("upload_copies", "final_blocks")),
        (network.upload_copies > 0 and network.rate_bits_per_second is None and not is_regional,
         "upload_copies", f"0 with {network.law}, which has no links", ""),
        (votes.most_votes > 0 and not votes.votes_per_block, "most_votes",
         "0 where votes_per_block is 0", ""),
    )  # fmt: skip
    return [
        (name, f"{name} must be {expected}; got {short_repr(plan.value(name))}. {remedy}".strip())
        for is_wrong, name, expected, remedy in rules
        if is_wrong
    ]
