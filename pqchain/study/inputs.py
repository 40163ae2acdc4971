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
    is_regional = network.model.is_regional
    chunks = (storage.data_chunks, storage.parity_chunks)
    until, has_certificates = chain.valid_until, network.certificates != "none"
    rules = (
        (bool(plan.sources) and chain.checked is None, "checked",
         "checked must be the date on which the sources were read, because the plan cites sources; "
         "got none. Add it, such as checked = 2026-11-23."),
        (until is not None and chain.checked is None, "valid_until",
         f"valid_until must be left out without checked, the date of the sources; got {until}."),
        (network.delegates > network.nodes, "delegates",
         f"delegates must be at most nodes, {network.nodes}; got {network.delegates}. 0 means all "
         "nodes."),
        (0 < network.delegates != network.nodes and network.law not in RELAYED, "nodes",
         f"nodes must be {network.delegates} as delegates with {network.law}, where nodes that do "
         f"not vote change nothing; got {network.nodes}. Give nodes, and leave out delegates."),
        (sum(chunks) > 255, "data_chunks",
         "data_chunks and parity_chunks must be at most 255 together, the limit of GF(256); got "
         f"{chunks[0]} and {chunks[1]}."),
        (sum(chunks) > network.nodes, "data_chunks",
         f"data_chunks and parity_chunks must be at most {network.nodes} together, so that each "
         f"node has one chunk; got {sum(chunks)}."),
        (network.vote_phases > 0 and network.law == "paper-serial", "vote_phases",
         "vote_phases must be 0 with paper-serial, which has no votes; got "
         f"{network.vote_phases}."),
        *((getattr(votes, name) != unused and (has_certificates or not votes.votes_per_block), name,
           f"{name} must be {unused!r} unless votes_per_block is above 0 and certificates is "
           f'"none", because it has no effect; got {getattr(votes, name)!r}. Leave it out, or give '
           'votes_per_block and certificates = "none".') for name, unused in _OF_VOTES.items()),
        (has_certificates and votes.votes_per_block > 0, "votes_per_block",
         f"votes_per_block must be 0 with certificates = {network.certificates!r}, which have the "
         f"votes of a quorum; got {votes.votes_per_block:g}. Leave it out, or give certificates = "
         '"none".'),
        (has_certificates and not network.vote_phases, "certificates",
         f'certificates must be "none" without vote_phases; got {network.certificates!r}.'),
        ((network.certificates == "broadcast" or network.pipelined) and network.law != "uplink",
         "law", 'law must be "uplink" with certificates = "broadcast" or pipelined; got '
         f"{network.law!r}."),
        (network.pipelined and (network.vote_phases != 2 or network.certificates == "next-block"),
         "pipelined", 'pipelined must be false unless vote_phases is 2 and certificates is "none" '
         'or "broadcast"; got true.'),
        (is_regional and (network.hop_wait_seconds > 0 or network.extra_hops > 0),
         "hop_wait_seconds", "hop_wait_seconds and extra_hops must be 0 with regions, which have "
         f"no single latency; got {network.hop_wait_seconds:g} and {network.extra_hops}."),
        (transaction.signatures > 1 and not transaction.envelope_bytes, "signatures",
         "signatures must be 1 with pqchain's encoding, which has one; got "
         f"{transaction.signatures:g}. Give envelope_bytes."),
        (bool(limits.block_weight) and limits.witness_discount > limits.block_weight,
         "block_weight",
         f"block_weight must be at least the weight of a byte, {limits.witness_discount:g}; got "
         f"{limits.block_weight:g}."),
        (limits.verification_gas > 0 and not chain.baseline, "verification_gas",
         "verification_gas must be 0 without a baseline, whose time prices a verification; got "
         f"{limits.verification_gas:g}."),
        (bool(limits.gas_prices) and not limits.block_gas, "gas_prices",
         "gas_prices must be left out without block_gas, the limit that they count towards; got "
         f"prices of {', '.join(limits.gas_prices)}."),
        (transaction.witness_rule == "p2mr"
         and not (transaction.envelope_bytes and chain.key_mode == "inline"), "witness_rule",
         'witness_rule must be "fixed" unless key_mode is inline and envelope_bytes is given, '
         f"because P2MR reveals the key in a script; got {transaction.witness_rule!r}."),
        (transaction.merkle_depth > 0 and transaction.witness_rule != "p2mr", "merkle_depth",
         'merkle_depth must be 0 unless witness_rule is "p2mr"; got '
         f"{transaction.merkle_depth}."),
        (votes.voting_gas > 0 and not votes.votes_in_block, "voting_gas",
         f"voting_gas must be 0 unless votes_in_block is true; got {votes.voting_gas:g}."),
        (network.upload_copies > 0 and not chain.block_seconds, "upload_copies",
         "upload_copies must be 0 where block_seconds is 0, because blocks wait for "
         f"finality; got {network.upload_copies}."),
        (network.upload_copies > 0 and network.rate_bits_per_second is None and not is_regional,
         "upload_copies", f"upload_copies must be 0 with {network.law}, which has no links; got "
         f"{network.upload_copies}."),
        (votes.final_blocks > 0 and not chain.block_seconds, "final_blocks",
         "final_blocks must be 0 where block_seconds is 0, because blocks wait for finality; got "
         f"{votes.final_blocks:g}."),
        (votes.most_votes > 0 and not votes.votes_per_block, "most_votes",
         f"most_votes must be 0 where votes_per_block is 0; got {votes.most_votes:g}."),
    )  # fmt: skip
    return [(name, message) for is_wrong, name, message in rules if is_wrong]
