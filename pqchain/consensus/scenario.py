"""Scenario of a consensus run: a frozen, validated dataclass."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pqchain.chain import encoding
from pqchain.checks import Doc, Ge, Le, declared, integer
from pqchain.consensus import lengths
from pqchain.consensus.faults import NO_FAULTS, RANKS, Faults
from pqchain.consensus.network import Network, named
from pqchain.costs import Costs, CostTable
from pqchain.errors import UsageError

SCHEMA_VERSION = 3
"""Version of the model; it changes whenever the model's results change.

2: with gossip no node sends to itself, and to every other node at most once if peers suffice.
3: messages have the length that delegates send: 16 bytes before a block, and its proposer's
signature if blocks are signed; a block that does not verify is not forwarded and never final.
"""

MAX_NODES = 2**22
"""Maximum number of nodes, so that a network fits into memory."""

MAX_MESSAGES = 2**30
"""Maximum messages per block: all-to-all over 32,768 delegates."""

MAX_SHARED = 256
"""Maximum number of delegates on the law "uplink", which follows every flow between two of them,
and of those that share the processors of one computer."""

MAX_BITS = 2**32
"""Maximum length of a message on the law "uplink", so that its engine's integers have 64 bits."""

Exchange = Literal["broadcast", "all-to-all"]
Proposal = Literal["votes", "luck", "dpos"]
Certificates = Literal["none", "broadcast", "next-block"]

Size = Annotated[int, Ge(0), Le(2**32)]
Seconds = Annotated[float, Ge(0), Le(1e6)]


def quorum(nodes: int) -> int:
    """Return the votes of a quorum: nodes minus the largest f with 3 f < nodes."""
    return nodes - (nodes - 1) // 3


@declared
class Layout:
    """Sizes in bytes of a transaction without its signature, and of a block without transactions.

    The defaults are pqchain's encoding with as many data bytes as give the counts of the PQ-DPoL
    paper; see `pqchain.works.pqdpol.DATA_BYTES`.
    """

    data_bytes: Annotated[int, Ge(0), Le(encoding.MAX_DATA_BYTES), Doc("data of a transaction")] = (
        12
    )
    key_mode: Literal["inline", "registered", "recovered"] = "inline"
    overhead_bytes: Annotated[Size | None, Doc("default: as pqchain encodes it")] = None
    """Bytes of a transaction without its signature and inline public key."""
    header_bytes: Annotated[Size | None, Doc("default: as pqchain encodes it")] = None
    """Bytes of a block without its transactions."""

    def transaction_bytes(self, costs: Costs, signature_bytes: int) -> int:
        """Return the size in bytes of a transaction whose signature has `signature_bytes` bytes."""
        if self.overhead_bytes is not None:
            key = costs.public_key_bytes if self.key_mode == "inline" else 0
            return key + signature_bytes + self.overhead_bytes
        size = encoding.encoded_size(
            costs.scheme,
            key_mode=self.key_mode,
            signature_bytes=signature_bytes,
            data_bytes=self.data_bytes,
        )
        # The encoding knows the scheme's nominal key; the costs may state another length.
        if self.key_mode == "inline":
            size += costs.public_key_bytes - costs.scheme.public_key_bytes
        return size

    def block_overhead_bytes(self) -> int:
        """Return the size in bytes of an empty block."""
        return encoding.header_bytes() if self.header_bytes is None else self.header_bytes


@declared
class Scenario:
    """All parameters that determine a run; equal scenarios give equal results."""

    algorithm: str
    costs: CostTable
    nodes: Annotated[int, Ge(1), Le(MAX_NODES), Doc("nodes of the network")] = 32
    delegates: Annotated[int | None, Ge(1)] = None
    """Number of nodes that verify and vote; by default all."""
    network: Network = dataclasses.field(default_factory=lambda: named("paper-serial"))
    exchange: Exchange | None = None
    """broadcast: the proposer sends the block to every delegate. all-to-all: every delegate sends
    its copy to every other one. By default, what the network's law implies."""
    vote_phases: Annotated[
        int | None, Ge(0), Le(2), Doc("rounds of votes; default: as the network's law implies")
    ] = None
    """0: a valid block is final. 1: a quorum of votes. 2: a quorum of votes, then of commits."""
    proposal: Annotated[
        Proposal, Doc("order of proposers: by votes, by luck (Proof of Luck), or by name (DPoS)")
    ] = "votes"
    """votes: in turns, by number of votes. dpos: in turns, by number of the node."""
    round_seconds: Annotated[Seconds, Doc("Proof of Luck's ROUND_TIME; 0: no waiting")] = 0.0
    block_bytes: Annotated[
        int, Ge(1), Le(2**40), Doc("maximum size of a block; default: as in the paper")
    ] = 50_000
    layout: Layout = Layout()
    signed_blocks: bool = False
    """Whether signing and verifying the block itself takes time."""
    signed_votes: bool = True
    """Whether signing and verifying votes takes time."""
    certificates: Annotated[Certificates, Doc("what is sent of a quorum of votes")] = "none"
    """broadcast: a delegate with a quorum sends its signatures to all others, before its next vote.
    next-block: a block contains the quorum of its parent, which its receivers verify."""
    pipelined: Annotated[bool, Doc("propose the next block at a quorum of votes")] = False
    """Whether the next proposer proposes as soon as it has a quorum of votes for the block before,
    while the delegates still commit; otherwise a height starts when the one before is final."""
    verification_threads: Annotated[int, Ge(1), Le(4096), Doc("threads that verify a block")] = 1
    blocks: Annotated[int, Ge(1), Le(10**6), Doc("number of consecutive heights")] = 1
    view_timeout_seconds: Annotated[
        float | None, Ge(1e-9), Le(1e7), Doc("timeout of a view; required with faults")
    ] = None
    max_views: Annotated[int, Ge(1), Le(10**4), Doc("maximum number of views of a height")] = 8
    faults: Faults = NO_FAULTS
    seed: Annotated[int, Ge(0), Le(2**63), Doc("seed of all random draws")] = 0

    def __post_init__(self) -> None:
        """Derive fields that are None from the others; raise UsageError for an invalid scenario."""
        row = self.costs[self.algorithm]
        row.require("verify")
        delegates = self.nodes if self.delegates is None else self.delegates
        integer("delegates (of nodes)", delegates, least=1, most=self.nodes)
        law, exchange, phases = self.network.law, self.exchange, self.vote_phases
        if exchange is None:
            shared = law == "paper-serial" or (law in ("csma", "host") and not phases)
            exchange = "all-to-all" if shared else "broadcast"
        if phases is None:
            phases = 0 if exchange == "all-to-all" else 1
        derived = {"algorithm": row.algorithm, "delegates": delegates}
        for name, value in {**derived, "exchange": exchange, "vote_phases": phases}.items():
            object.__setattr__(self, name, value)
        for name in RANKS:
            for rank in getattr(self.faults, name):
                integer(f"faults.{name}", rank, least=0, most=self.delegate_count - 1)
        if error := self._exchange_error() or self._size_error() or self._pipeline_error():
            raise UsageError(error)
        if self.signs:
            row.require("sign")

    def _exchange_error(self) -> str:
        """Return why exchange, votes, certificates and faults do not fit each other; or ""."""
        law, exchange = self.network.law, self.exchange
        impossible = {("paper-serial", "broadcast"), ("gossip", "all-to-all")}
        if (law, exchange) in impossible | {("uplink", "all-to-all")}:
            return f"exchange must not be {exchange!r} on {law}. Leave it out, or change network."
        if exchange == "all-to-all" and self.vote_phases:
            return (
                "vote_phases must be 0 with exchange='all-to-all', which has no votes; got "
                f"{self.vote_phases}. Leave it out, or give exchange='broadcast'."
            )
        if self.certificates != "none" and not self.vote_phases:
            return (
                f"certificates must be 'none' without votes; got {self.certificates!r} and "
                "vote_phases=0. Give vote_phases=1 or 2."
            )
        if law != "uplink" and (self.certificates == "broadcast" or self.pipelined):
            return (
                "network must be 'uplink' with certificates='broadcast' or pipelined=True; got "
                f"{law}. Give network=named('uplink') (--network uplink)."
            )
        if self.view_timeout_seconds is None and self.faults.any:
            return (
                "view_timeout_seconds must be a number if there are faults; got None. "
                "Give the time after which the next delegate proposes, such as 10.0."
            )
        return ""

    def _pipeline_error(self) -> str:
        excluded = {
            "vote_phases": self.vote_phases != 2,
            "certificates": self.certificates == "next-block",
            "proposal": self.proposal == "luck",
            "faults": self.faults.any,
            "view_timeout_seconds": self.view_timeout_seconds is not None,
        }
        wrong = [name for name, is_excluded in excluded.items() if is_excluded]
        if not self.pipelined or not wrong:
            return ""
        return (
            "pipelined must be False unless vote_phases is 2, certificates is 'none' or "
            "'broadcast', proposers take turns by votes or by name, and there are no timeouts and "
            f"no faults but slow delegates; got another {wrong[0]}."
        )

    def _size_error(self) -> str:
        """Return why blocks, delegates or messages cannot be simulated; or ""."""
        law, count, messages = self.network.law, self.delegate_count, self.messages()
        least = self.layout.block_overhead_bytes() + self.layout.transaction_bytes(
            self.cost, max(self.signature_lengths())
        )
        if least > self.block_bytes:
            return (
                f"block_bytes must be at least {least} for one transaction of {self.algorithm}; "
                f"got {self.block_bytes}."
            )
        if law in ("host", "uplink") and count > MAX_SHARED:
            place, other = ("one computer", "") if law == "host" else (law, ", or named('star')")
            return (
                f"delegates must be at most {MAX_SHARED} on {place}; got {count}. "
                f"Give delegates={MAX_SHARED} (--delegates {MAX_SHARED}){other}."
            )
        longest = self.block_bytes + self.certificate_bytes + self.cost.signature_bytes + 1000
        if law == "uplink" and (bits := self.network.bits(longest)) > MAX_BITS:
            return (
                f"a message must have at most {MAX_BITS} bits with its headers on uplink; got "
                f"{bits}. Give smaller blocks: block_bytes=100000000 (--block-bytes 100000000)."
            )
        if messages <= MAX_MESSAGES:
            return ""
        remedy = "Give fewer delegates (21 to 16384): delegates=1024 (--delegates 1024)"
        if law != "gossip":
            remedy += (
                ", and a gossip network for the other nodes: network=named('gossip') "
                "(--network gossip)"
            )
        elif self.nodes * self.peers > MAX_MESSAGES:
            remedy = "Give fewer peers: peers=8 (--peers 8)"
        return (
            f"messages of a block must be at most {MAX_MESSAGES}; got {messages} of {count} "
            f"delegates on {law}. {remedy}."
        )

    @property
    def delegate_count(self) -> int:
        """Number of delegates; like `delegates` but never None."""
        return self.nodes if self.delegates is None else self.delegates

    @property
    def sends_block(self) -> bool:
        """Whether the proposer sends the block as a message; on "host" also with all-to-all."""
        return self.exchange == "broadcast" or self.network.law == "host"

    @property
    def signs(self) -> bool:
        """Whether signing takes time here: for blocks, votes, or grants of the law paper-serial."""
        votes = self.signed_votes and self.phases > 0
        serial = self.network.law == "paper-serial" and self.network.serial.signs > 0
        return self.signed_blocks or votes or serial

    @property
    def sign_seconds(self) -> float:
        """Seconds to sign; 0 if signing takes no time in this scenario."""
        return self.cost.sign_seconds if self.signs else 0.0

    @property
    def phases(self) -> int:
        """Number of voting phases; like `vote_phases` but never None."""
        return self.vote_phases or 0

    @property
    def cost(self) -> Costs:
        """Costs of the scenario's algorithm."""
        return self.costs[self.algorithm]

    @property
    def peers(self) -> int:
        """Number of peers to which a node forwards a block by gossip, at most all other nodes."""
        return min(self.network.peers, self.nodes - 1)

    @property
    def quorum(self) -> int:
        """Number of votes that make a block final: the smallest above two thirds of delegates."""
        return quorum(self.delegate_count)

    @property
    def certificate_bytes(self) -> int:
        """Length in bytes of a certificate, the list of a quorum's votes; 0 if none is sent."""
        if self.certificates == "none":
            return 0
        field_bytes = self.cost.signature_bytes * self.signed_votes
        return lengths.certificate_bytes(field_bytes, self.quorum)

    def messages(self) -> int:
        """Return the number of messages per block without faults."""
        count = self.delegate_count
        # Its server handles every pair of delegates, also of a delegate with itself.
        if self.network.law == "paper-serial":
            return count * count
        pairs = count * (count - 1)
        if self.exchange == "all-to-all":
            return pairs + (count - 1) * self.sends_block
        spread = self.nodes * self.peers if self.network.law == "gossip" else count - 1
        # A certificate follows the quorum of each phase.
        sent = self.phases * (2 if self.certificates == "broadcast" else 1)
        return spread + sent * pairs

    def signature_lengths(self) -> Mapping[int, int]:
        """Return how many signatures of transactions were observed, by their length in bytes.

        Raises UsageError if public keys cannot be recovered from signatures as `layout` demands.
        """
        if self.layout.key_mode == "recovered":
            signature_bytes = encoding.RECOVERABLE.get(self.algorithm)
            if signature_bytes is None:
                raise UsageError(
                    f"layout.key_mode must be 'inline' or 'registered' for {self.algorithm}; got "
                    f"'recovered', which needs one of {', '.join(sorted(encoding.RECOVERABLE))}."
                )
            return {signature_bytes: 1}
        return lengths.distribution(self.algorithm, self.cost.signature_bytes)

    def transactions_per_block(self) -> float:
        """Return the exact mean number of transactions that fit into a block."""
        return lengths.mean_fill(
            self.signature_lengths(),
            capacity_bytes=self.block_bytes - self.layout.block_overhead_bytes(),
            fixed_bytes=self.layout.transaction_bytes(self.cost, 0),
        )

    def with_(self, **changes: Any) -> Scenario:
        """Return a copy with changed fields.

        A new `network` derives `exchange` and `vote_phases` again unless they are given, and a new
        `exchange` derives `vote_phases`. New `nodes` are all delegates if the former ones were.
        Raises UsageError as the constructor.
        """
        if "nodes" in changes and self.delegates == self.nodes:
            changes.setdefault("delegates", None)
        if "network" in changes:
            changes.setdefault("exchange", None)
        if "exchange" in changes:
            changes.setdefault("vote_phases", None)
        return dataclasses.replace(self, **changes)

    @property
    def identifier(self) -> str:
        """SHA-256 of the inputs that determine the result: fields, costs and schema version."""
        # The used row only: other rows of the table do not change the result.
        others = {"costs": self.cost, "costs_source": self.costs.source}
        values = _identified(self) | others | {"schema_version": SCHEMA_VERSION}
        text = json.dumps(values, sort_keys=True, default=_identified)
        return hashlib.sha256(text.encode()).hexdigest()


_FORMER = {"service_times": "prices", "key_mode": "public_key"}
"""Fields by their name in the identifiers of stored results, where it is a former one."""

_ADDED = {"certificates": "none", "pipelined": False, "decode_key_seconds": 0, "anchor_seconds": 0}
"""Fields that stored results lack, with the value that has no effect."""

_REMOVED: dict[type, dict[str, Any]] = {
    Scenario: {
        "attestation_seconds": 0.0,
        "attestation_verify_seconds": 0.0,
        "voting": "plurality",
        "arrivals_per_second": 0.0,
    },
    Network: {"transport": "udp", "region_table": "2026"},
    Faults: {"delay_probability": 0.0, "delay_seconds": 0.0},
}
"""Former fields with their values in the identifiers of stored results."""


def _identified(part: Any) -> dict[str, Any]:
    values = {row.name: getattr(part, row.name) for row in dataclasses.fields(part)}
    return {
        _FORMER.get(name, name): value
        for name, value in values.items()
        if name not in _ADDED or value != _ADDED[name]
    } | _REMOVED.get(type(part), {})
