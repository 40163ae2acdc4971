"""Scenario of a replay: nodes, codes, blocks, streams, link and faults; immutable, with an id.

This module validates scenarios; it does not depend on how or where they are run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from pqchain.checks import Doc, Ge, Le, declared
from pqchain.errors import UnknownName, UsageError
from pqchain.reencode import storage
from pqchain.wire.drivers.link import Link as Link  # re-exported
from pqchain.wire.transports import registry
from pqchain.wire.transports.registry import MAX_DATAGRAM_BYTES, MIN_DATAGRAM_BYTES

SCHEMA_VERSION = 3
"""Version of a scenario's meaning, which is part of its id.

3: heartbeats carry each confirmation once in a session.

2: chunks are hashed with SHA-256, and hosts on the virtual clock handle datagrams and their node's
timers separately.
"""

Mode = Literal["virtual", "loopback", "netns", "cluster"]
Experiment = Literal["reencode", "exchange"]
Sources = Literal["least-loaded", "all"]
FaultKind = Literal["die", "corrupt", "stall"]
Streams = Literal["single", "multiplexed"]
STREAMS: tuple[Streams, ...] = get_args(Streams)
BYZANTINE_FAULTS = ("corrupt", "stall")

MAX_BLOCKS, MAX_REPEATS = 10_000, 10_000

Blocks = Annotated[int, Ge(1), Le(MAX_BLOCKS)]
Rate = Annotated[float, Ge(1), Le(1e18)]
Seconds = Annotated[float, Ge(0), Le(1e7)]
Duration = Annotated[float, Ge(1e-6), Le(1e7)]
"""Times in seconds; at most 1e7, because the clock counts nanoseconds in 64 bits."""

if TYPE_CHECKING:
    Transport: TypeAlias = str
    Congestion: TypeAlias = str
else:
    Transport = Literal[("auto", *registry.TRANSPORTS)]
    Congestion = Literal[registry.CONGESTION]


@declared
class Compute:
    """Rates of work on the virtual clock; the work itself is executed, its duration is modelled.

    The defaults for decoding, encoding and files follow from Table 1 of quic-reencoding: 640 MB in
    1.0865 s and 0.4342 s, 198 MB of chunks in 7.1 ms. The table has no rate of hashing; 1500 MB/s
    is OpenSSL's SHA-256 with processor instructions on a processor of 2021.
    """

    decode_bytes_per_second: Rate = 589e6
    encode_bytes_per_second: Rate = 1474e6
    file_bytes_per_second: Rate = 27.9e9
    hash_bytes_per_second: Rate = 1.5e9
    datagram_seconds: Annotated[Seconds, Doc("virtual processor time of each datagram")] = 0.0
    """Processor seconds per datagram sent or received; 0 leaves the link as the only limit."""

    def seconds(self, kind: str, count: int) -> float:
        """Return the duration in seconds of `count` bytes of one kind of work."""
        rate = {"io": "file", "other": "hash"}.get(kind, kind)
        return count / float(getattr(self, f"{rate}_bytes_per_second"))


@declared
class Fault:
    """Fault of a node, in addition to the failure that starts the re-encoding."""

    node: int
    kind: FaultKind
    after_seconds: Seconds = 0.0
    """Time of the fault in seconds after the first node has begun to gather chunks."""


@declared
class ReplayScenario:
    """Scenario of one replay; in an "exchange" every node requests chunks from all others."""

    experiment: Annotated[
        Experiment, Doc("a failure and its repair, or an exchange of chunks between all nodes")
    ] = "reencode"
    mode: Annotated[
        Mode,
        Doc("execution environment of the nodes; default: virtual, or loopback for transports that "
            "need sockets"),
    ] = "virtual"  # fmt: skip
    transport: Annotated[Transport, Doc("auto: native where it was built, else aioquic")] = "auto"
    """Name of the transport; "auto" is replaced by the default of this installation."""
    nodes: int = 10
    before: tuple[int, int] = (7, 3)
    after: tuple[int, int] = (6, 3)
    block_bytes: Annotated[int, Ge(1), Le(2**32), Doc("length of a block")] = 2_000_000
    blocks: Annotated[Blocks, Doc("number of blocks")] = 1
    blocks_at_once: Annotated[Blocks, Doc("blocks that a node gathers at the same time")] = 10
    streams: Annotated[Streams, Doc("one stream per chunk, or one for all")] = "multiplexed"
    sources: Annotated[Sources, Doc("peers from which a node requests chunks")] = "least-loaded"
    sessions: Annotated[
        Literal["kept", "full", "0-rtt"],
        Doc("sessions for chunks: those of the heartbeats, or new ones"),
    ] = "kept"
    datagram_bytes: Annotated[
        int,
        Ge(MIN_DATAGRAM_BYTES),
        Le(MAX_DATAGRAM_BYTES),
        Doc("maximum length of a QUIC datagram"),
    ] = 1452
    congestion: Annotated[Congestion, Doc("congestion control")] = "reno"
    link: Link = Link()
    compute: Compute = Compute()
    failed_node: int = 9
    failure_seconds: Seconds = 0.05
    """Time of the failure in seconds after all nodes are connected."""
    faults: tuple[Fault, ...] = ()
    heartbeat_seconds: Duration = 0.25
    timeout_seconds: Duration = 2.0
    """Time without data after which a node is considered dead, in seconds."""
    stall_seconds: Duration = 10.0
    """Time without data after which a request to a source is cancelled, in seconds."""
    give_up_seconds: Duration = 3.0
    """Time to wait for sources to return when too few are left, in seconds."""
    limit_seconds: Duration = 600.0
    """Time limit in seconds of the replay's own clock."""
    identity: str = "auto"
    """Signature algorithm of the nodes' identities; auto: ML-DSA-44, or Ed25519 without it."""
    jitter_seconds: Seconds = 1e-3
    """Maximum random delay of a node's start in seconds: real nodes are not synchronised."""
    seed: Annotated[
        int,
        Ge(0),
        Le(2**63 - 1),
        Doc("seed of blocks, losses and starting times; repeat r adds r"),
    ] = 0

    def __post_init__(self) -> None:
        if self.transport == "auto":
            # "auto" depends on the installation, so that the transport in use is recorded.
            object.__setattr__(self, "transport", registry.default())
        self._check_codes()
        if not {self.failed_node, *(fault.node for fault in self.faults)} <= {*range(self.nodes)}:
            raise UsageError(
                f"failed_node and the nodes of faults must be from 0 to {self.nodes - 1}; got "
                f"{[self.failed_node, *(fault.node for fault in self.faults)]}."
            )
        if self.timeout_seconds < 2 * self.heartbeat_seconds:
            raise UsageError(
                f"timeout_seconds must be at least {2 * self.heartbeat_seconds}, twice the "
                f"heartbeat interval; got {self.timeout_seconds}."
            )
        self._check_transport()

    def _check_codes(self) -> None:
        for code in (self.before, self.after):
            storage.check_code(*code)
        if sum(self.before) != self.nodes:
            raise UsageError(
                f"nodes must be {sum(self.before)}, the chunks of the code {self.before}; got "
                f"{self.nodes}."
            )
        # After the failure there is one node less.
        if self.experiment == "reencode" and sum(self.after) > self.nodes - 1:
            raise UsageError(
                f"the code after the failure must have at most {self.nodes - 1} chunks, one per "
                f"remaining node; got {self.after}."
            )

    def _check_transport(self) -> None:
        info = registry.get(self.transport)
        quic = " or ".join(registry.names(quic=True))
        if self.mode == "virtual" and not info.quic:
            raise UsageError(
                f"the transport must be {quic} in virtual mode; got {info.name}, which needs "
                "sockets. Choose loopback, netns or cluster."
            )
        if self.sessions != "kept" and not info.quic:
            raise UsageError(
                f"the transport must be {quic} for sessions={self.sessions!r}; got {info.name}."
            )
        if self.congestion not in info.congestion:
            raise UsageError(
                f"congestion must be {' or '.join(info.congestion)} with {info.name}; got "
                f"{self.congestion}. The transport native supports all of them."
            )

    @property
    def id(self) -> str:
        """Identifier of 16 hex digits, from the hash of all fields and the schema version."""
        text = json.dumps([SCHEMA_VERSION, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def chunk_bytes(self) -> int:
        """Length of a chunk before the failure, in bytes."""
        return storage.chunk_bytes(self.block_bytes, self.before[0])

    @property
    def transfer_bytes(self) -> int:
        """Bytes of chunks that are transferred if every node requests no more than it needs."""
        if self.experiment == "exchange":
            return self.nodes * (self.nodes - 1) * self.chunk_bytes * self.blocks
        sources = self.nodes - 2 if self.sources == "all" else self.before[0] - 1
        return (self.nodes - 1) * sources * self.chunk_bytes * self.blocks

    def block(self, index: int) -> bytes:
        """Return the content of a block: pseudo-random, determined by the seed and the index."""
        import numpy as np

        draws = np.random.default_rng([self.seed, index])
        integers = draws.integers(1 << 64, size=-(-self.block_bytes // 8), dtype=np.uint64)
        return integers.astype("<u8", copy=False).tobytes()[: self.block_bytes]


PRESETS: dict[str, ReplayScenario] = {
    "quick": ReplayScenario(),
    "paper": ReplayScenario(block_bytes=64_000_000, blocks=10, blocks_at_once=1, sources="all"),
}
"""`quick`: one block of 2 MB. `paper`: ten blocks of 64 MB from all sources, as in the paper."""


def preset(name: str, **changes: Any) -> ReplayScenario:
    """Return a preset with the given fields replaced. Raises UnknownName and UsageError."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return replace(PRESETS[name], **changes)
