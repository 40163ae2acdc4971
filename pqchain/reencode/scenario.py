"""What one replay is: nodes, codes, blocks, streams, link, faults; frozen, and named by an id.

Data with checks: knows what can be asked for, not how it is run nor on which machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from pqchain import checks
from pqchain.checks import number
from pqchain.errors import UnknownName, UsageError
from pqchain.reencode.storage import layout
from pqchain.wire.drivers.link import Link as Link  # a name of ours too
from pqchain.wire.transports import registry
from pqchain.wire.transports.registry import LEAST_DATAGRAM_BYTES, LONGEST_DATAGRAM_BYTES

SCHEMA_VERSION = 2
"""Version of what a scenario means; part of its id. 2: chunks are hashed with SHA-256, and hosts on
the virtual clock look at their datagrams and their node's timers apart."""

MODES = ("virtual", "loopback", "netns")
STREAMS = ("single", "multiplexed")
SOURCES = ("nearest", "least-loaded", "all")
SESSIONS = ("kept", "full", "0-rtt")
EXPERIMENTS = ("reencode", "exchange")
MISBEHAVIOUR = ("corrupt", "stall")
FAULTS = ("die", "restart", *MISBEHAVIOUR)

_SPARE_STREAMS = 10
"""Of those that a session may have at once: for heartbeats and confirmations."""

_MOST_BLOCKS, MOST_REPEATS = 10_000, 10_000

_LEAST_SECONDS, _MOST_SECONDS = 1e-6, 1e7
"""Of a time in a scenario: the clock counts nanoseconds in 64 bits."""

_DURATIONS = (
    "heartbeat_seconds", "timeout_seconds", "stall_seconds", "give_up_seconds", "limit_seconds"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """How long work takes on the virtual clock; the work itself is done, the clock is modelled.

    The defaults for decoding, encoding and files follow from Table 1 of quic-reencoding: 640 MB
    in 1.0865 s and 0.4342 s, 198 MB of chunks in 7.1 ms. Nothing there tells the rate of hashing;
    1500 MB/s is SHA-256 of OpenSSL, on its instructions, on a processor of 2021.
    """

    decode_bytes_per_second: float = 589e6
    encode_bytes_per_second: float = 1474e6
    file_bytes_per_second: float = 27.9e9
    hash_bytes_per_second: float = 1.5e9
    datagram_seconds: float = checks.field(0.0, help="virtual processor time of each datagram")
    """Processor time for each datagram sent or received; 0 leaves the link as the only limit."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name.endswith("_per_second"):
                number(name, value, least=1.0)
        number("datagram_seconds", self.datagram_seconds, most=_MOST_SECONDS)

    def seconds(self, kind: str, count: int) -> float:
        """Return how long that many bytes of that kind of work take."""
        rate = {"io": "file", "other": "hash"}.get(kind, kind)
        return count / float(getattr(self, f"{rate}_bytes_per_second"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that goes wrong beside the failure that starts the re-encoding."""

    node: int
    kind: str
    after_seconds: float = 0.0
    """After the first node has begun to gather."""
    down_seconds: float = 0.5
    """Of a restart: how long the node is away."""

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise UnknownName("fault", self.kind, FAULTS)
        number("after_seconds", self.after_seconds, most=_MOST_SECONDS)
        number("down_seconds", self.down_seconds, most=_MOST_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One replay. `experiment` is "reencode", or "exchange": everyone asks everyone for chunks."""

    experiment: str = checks.field(
        "reencode",
        help="a failure and its repair, or everyone asks everyone for chunks",
        choices=EXPERIMENTS,
    )
    mode: str = checks.field(
        "virtual",
        help="what a node runs on",
        choices=MODES,
        by_default="for transports that need sockets, loopback",
    )
    transport: str = checks.field(
        "auto",
        help=registry.needed(),
        choices=registry.TRANSPORTS,
        by_default="native where it was built, else aioquic",
    )
    """A scenario names the one that it means: "auto" becomes the default of this installation."""
    nodes: int = 10
    before: tuple[int, int] = (7, 3)
    after: tuple[int, int] = (6, 3)
    block_bytes: int = checks.field(2_000_000, help="length of a block", least=1, most=2**32)
    blocks: int = checks.field(1, help="how many blocks", least=1, most=_MOST_BLOCKS)
    blocks_at_once: int = checks.field(
        10, help="blocks that a node gathers at the same time", least=1, most=_MOST_BLOCKS
    )
    """The others wait their turn."""
    streams: str = checks.field("multiplexed", help="a stream for each chunk", choices=STREAMS)
    sources: str = checks.field("least-loaded", help="whom a node asks for chunks", choices=SOURCES)
    sessions: str = checks.field(
        "kept", help="chunks over the heartbeats' sessions, or over fresh ones", choices=SESSIONS
    )
    """The fresh ones with a full or a 0-RTT handshake."""
    overlap: bool = checks.field(False, help="decode while chunks still arrive")
    datagram_bytes: int = checks.field(
        1452, help="longest QUIC datagram", least=LEAST_DATAGRAM_BYTES, most=LONGEST_DATAGRAM_BYTES
    )
    congestion: str = checks.field("reno", help="congestion control", choices=registry.CONGESTION)
    link: Link = field(default_factory=Link)
    compute: Compute = field(default_factory=Compute)
    failed_node: int = 9
    failure_seconds: float = 0.05
    """When that node dies, after all are connected."""
    faults: tuple[Fault, ...] = ()
    heartbeat_seconds: float = 0.25
    timeout_seconds: float = 2.0
    """A node that was not heard for so long is taken for dead."""
    stall_seconds: float = 10.0
    """A source that sends nothing for so long is given up."""
    give_up_seconds: float = 3.0
    """How long to wait for sources to come back when too few are left."""
    limit_seconds: float = checks.field(
        600.0, help="when a run that does not end by itself is ended", least=_LEAST_SECONDS,
        most=_MOST_SECONDS,
    )  # fmt: skip
    """When a replay that does not end by itself is ended, on its own clock."""
    synchronise: bool = False
    """Whether files are forced to the disk (fsync)."""
    engine: str = "auto"
    identity: str = "auto"
    """The signature that nodes prove themselves with; auto: ML-DSA-44, or Ed25519 without it."""
    jitter_seconds: float = 1e-3
    """Up to so much later than the first each node starts, by chance: none are ever in step."""
    seed: int = checks.field(
        0, help="of blocks, losses and starting times; repeat r adds r", most=2**63 - 1
    )

    def __post_init__(self) -> None:
        if self.transport == "auto":
            object.__setattr__(self, "transport", registry.default())
        if not LEAST_DATAGRAM_BYTES <= self.datagram_bytes <= LONGEST_DATAGRAM_BYTES:
            raise UsageError(
                f"datagrams of {self.datagram_bytes} bytes: QUIC needs at least "
                f"{LEAST_DATAGRAM_BYTES}, and its implementations here break the connection above "
                f"{LONGEST_DATAGRAM_BYTES}"
            )
        for name in _DURATIONS:
            number(name, getattr(self, name), least=_LEAST_SECONDS, most=_MOST_SECONDS)
        for name in ("failure_seconds", "jitter_seconds"):
            number(name, getattr(self, name), most=_MOST_SECONDS)
        checks.declared(self)
        self._check_codes()
        if not {self.failed_node, *(fault.node for fault in self.faults)} <= {*range(self.nodes)}:
            raise UsageError(f"a fault names a node that is none of 0 to {self.nodes - 1}")
        if self.timeout_seconds < 2 * self.heartbeat_seconds:
            raise UsageError(
                f"a time-out of {self.timeout_seconds} s with heartbeats every "
                f"{self.heartbeat_seconds} s takes the living for dead; give at least twice"
            )
        self._check_transport()

    def _check_codes(self) -> None:
        for code in (self.before, self.after):
            if len(code) != 2:
                raise UsageError(f"{code} is no code; give (data chunks, parity chunks)")
            layout.check_code(*code)
        if sum(self.before) != self.nodes:
            raise UsageError(
                f"{self.nodes} nodes cannot hold one chunk each of a {self.before} code, which has "
                f"{sum(self.before)}; give as many nodes as chunks"
            )
        if self.experiment == "reencode" and sum(self.after) > self.nodes - 1:
            raise UsageError(
                f"a {self.after} code needs {sum(self.after)} nodes, {self.nodes - 1} are left "
                "after the failure; give a smaller code"
            )

    def _check_transport(self) -> None:
        row = registry.get(self.transport)
        if self.mode == "virtual" and not row.virtual:
            raise UsageError(
                f"{row.name} needs sockets; the virtual network runs "
                f"{' and '.join(registry.names(virtual=True))} only. Choose loopback or netns"
            )
        if self.sessions != "kept" and not row.resumes:
            offering = " and ".join(registry.names(resumes=True))
            raise UsageError(f"fresh sessions are offered with {offering}, not {row.name}")
        if self.congestion not in row.congestion:
            raise UsageError(
                f"{row.name} has {' and '.join(row.congestion)}, not {self.congestion}; choose "
                "another of them, or the transport native, which has all"
            )
        # Each block may have a stream of its own.
        if row.streams_at_once and self.blocks_at_once > row.streams_at_once - _SPARE_STREAMS:
            raise UsageError(
                f"{self.blocks_at_once} blocks at once: a connection of {row.name} has "
                f"{row.streams_at_once} streams at a time; give at most "
                f"{row.streams_at_once - _SPARE_STREAMS}, or take native"
            )

    @property
    def id(self) -> str:
        """Sixteen hex digits that equal scenarios share, and no others."""
        text = json.dumps([SCHEMA_VERSION, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def chunk_bytes(self) -> int:
        """Length of a chunk before the failure."""
        return layout.chunk_bytes(self.block_bytes, self.before[0])

    @property
    def transfer_bytes(self) -> int:
        """Chunk bytes that cross the network if every node asks no more than it needs."""
        if self.experiment == "exchange":
            return self.nodes * (self.nodes - 1) * self.chunk_bytes * self.blocks
        sources = self.nodes - 2 if self.sources == "all" else self.before[0] - 1
        return (self.nodes - 1) * sources * self.chunk_bytes * self.blocks

    def block(self, index: int) -> bytes:
        """Return the content of a block: pseudo-random, from the seed alone."""
        import numpy as np

        draws = np.random.default_rng([self.seed, index])
        words = draws.integers(1 << 64, size=-(-self.block_bytes // 8), dtype=np.uint64)
        return words.astype("<u8", copy=False).tobytes()[: self.block_bytes]


PRESETS: dict[str, Scenario] = {
    "quick": Scenario(),
    "paper": Scenario(block_bytes=64_000_000, blocks=10, blocks_at_once=1, sources="all"),
}
"""`quick`: one block of 2 MB. `paper`: ten blocks of 64 MB, everyone asks everyone, as there."""


def preset(name: str, **changes: Any) -> Scenario:
    """Return a preset with some fields changed. Raises UnknownName and UsageError."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    known = {each.name for each in fields(Scenario)}
    for each in changes:
        if each not in known:
            raise UnknownName("field of a scenario", each, known, "pqchain.reencode.scenario")
    return replace(PRESETS[name], **changes)


def from_plain(plain: Mapping[str, Any]) -> Scenario:
    """Return the scenario of which `dataclasses.asdict` gave these plain values."""
    made = {
        "before": tuple(plain["before"]),
        "after": tuple(plain["after"]),
        "link": Link(**plain["link"]),
        "compute": Compute(**plain["compute"]),
        "faults": tuple(Fault(**fault) for fault in plain["faults"]),
    }
    return Scenario(**{**plain, **made})
