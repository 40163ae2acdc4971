"""Networks, named after their law, and the time that a message takes on them.

paper-serial  one shared server, N * N grants, pairs of a node with itself included: latency ~ N^2
csma          one shared channel, N * (N - 1) grants: latency ~ N^2, half as many grants at N = 2
star          a hub; the sender's uplink and the receiver's downlink are the bottleneck: ~ N
mesh          a link for every pair: constant
regions       six regions of the world, uplinks shared among receivers: a constant plus ~ N
gossip        every node forwards the block to k peers, never to itself: ~ log N
host          one computer runs all delegates, P processors do all their work: ~ N^2 / P

Times are integers in nanoseconds. A message is split into packets, each with a header.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pqchain import checks, installation
from pqchain.checks import number, one_of
from pqchain.errors import UnknownName, UsageError

Law = Literal["paper-serial", "csma", "star", "mesh", "regions", "gossip", "host"]
Array = npt.NDArray[np.int64]

NAMES: tuple[Law, ...] = get_args(Law)
"""Names of all laws."""

_DATA = installation.read_toml(installation.data("consensus") / "networks.toml")

_PARAMETERS = {law: frozenset(row["parameters"]) for law, row in _DATA["laws"].items()}
"""Names of the parameters of each law."""

REGIONS: list[dict[str, Any]] = _DATA["regions"]
"""Regions of the world: share of the nodes, link rates, and latencies to all regions."""

TCP_SEGMENT_BYTES = 1448
"""Payload of a TCP segment with timestamps at an MTU of 1500 bytes."""

TCP_HEADER_BYTES = 24
"""Bytes by which a TCP header with timestamps (32) exceeds a UDP header (8)."""

SYN_BYTES = 28
"""Bytes by which a SYN with its options (36) exceeds an empty UDP datagram (8)."""

SECOND = 10**9
"""Nanoseconds of a second."""


def nanoseconds(seconds: float) -> int:
    """Round seconds to integer nanoseconds."""
    return round(seconds * SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialLaw:
    """Law of paper-serial: N^2 * (pair + bytes * (pk + sig) + verifies * v) + N * signs * s.

    The result is in seconds; pk and sig are bytes of a public key and a signature, v and s seconds
    to verify and to sign. The defaults are `calibration.fit` on Table 6 of the PQ-DPoL paper with
    the costs of its Tables 1 to 4. Only the form is established; see that module.
    """

    pair_seconds: float = 0.019516
    byte_seconds: float = 2.1947e-6
    verifies: float = 28.098
    signs: float = 2.4882

    def __post_init__(self) -> None:
        for name in self.__slots__:
            number(f"SerialLaw.{name}", getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPrices:
    """Service times of a computer that runs all delegates, except signing and verifying.

    The defaults were measured on one processor of 2021; `delegate.host.calibrate` measures them.
    """

    message_seconds: float = 200e-6
    """Per message: sending, transport and reception, independent of its length."""
    byte_seconds: float = 4e-9
    """Per byte of a message."""
    transaction_seconds: float = 60e-6
    """Per transaction of a block that is verified, in addition to its signature."""
    height_seconds: float = 2e-3
    """Per delegate and height: to start the height and to store its block."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            number(f"HostPrices.{name}", getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network: its law and its parameters; `named` returns one with the defaults of its law."""

    law: Law
    rate_bits_per_second: float = checks.field(5e6, help="bits per second of a link", least=1.0)
    latency_seconds: float = checks.field(0.002, help="seconds of a link, one way", most=1e6)
    jitter_fraction: float = checks.field(0.0, help="lateness over the latency", most=10.0)
    """A message is late by up to this fraction of the latency, drawn uniformly."""
    transport: Literal["udp", "tcp"] = "udp"
    """tcp adds a handshake before the block; losses and slow start are not modelled."""
    packet_bytes: int = checks.field(1400, help="payload of a packet", least=1)
    header_bytes: int = checks.field(30, help="UDP 8, IP 20 and link 2, where it has two ends")
    gap_seconds: float = checks.field(0.0, help="csma: of a frame, beyond what its bits take")
    contention_seconds: float = checks.field(0.0, help="csma: wait of the last of many senders")
    """Back-off of the last sender while the channel is already free."""
    peers: int = checks.field(8, help="gossip: whom a node passes a block to", least=1, most=1024)
    """gossip: number of peers to which a node forwards a block: its successor and others that are
    drawn independently, so one may be drawn twice; every other node once if there are no more."""
    world: bool = checks.field(False, help="gossip: nodes live in six regions")
    serial: SerialLaw = SerialLaw()
    processors: int = checks.field(
        1, help="host: processors that all delegates share", least=1, most=4096
    )
    """The delegate of rank r computes on the processor with index r modulo this."""
    prices: HostPrices = HostPrices()

    def __post_init__(self) -> None:
        _check_law(self.law)
        checks.check_declared(self)
        one_of("transport", self.transport, ("udp", "tcp"))
        # A draw of jitter has 32 bits, which is 4.29 s in nanoseconds; see `draws.scaled`.
        jitter = self.latency_seconds * self.jitter_fraction
        if jitter >= 4.0:
            raise UsageError(
                f"latency_seconds * jitter_fraction is {jitter}; expected below 4 seconds"
            )

    @property
    def is_regional(self) -> bool:
        """Whether nodes are distributed over the regions of the world."""
        return self.law == "regions" or (self.law == "gossip" and self.world)

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters that have an effect on this network."""
        regional = {"rate_bits_per_second", "latency_seconds"} if self.is_regional else set()
        return _PARAMETERS[self.law] - regional

    def send_ns(self, payload_bytes: int, rate: float | None = None) -> int:
        """Return how many nanoseconds a message occupies a link or the channel, at least 1.

        `rate`, in bits per second, replaces the network's own.
        """
        packet, header = self.packet_bytes, self.header_bytes
        if self.transport == "tcp":
            packet, header = TCP_SEGMENT_BYTES, header + TCP_HEADER_BYTES
        bits = 8 * (payload_bytes + math.ceil(payload_bytes / packet) * header)
        frames = math.ceil(payload_bytes / self.packet_bytes)
        gaps = frames * nanoseconds(self.gap_seconds) if self.law == "csma" else 0
        return max(1, math.ceil(bits * SECOND / (rate or self.rate_bits_per_second)) + gaps)

    def handshake_ns(self, rate: float, latency_ns: int) -> int:
        """Return the nanoseconds of SYN, SYN-ACK and the first ACK; 0 over UDP."""
        if self.transport == "udp":
            return 0
        syn = 8 * (self.header_bytes + SYN_BYTES) * SECOND / rate
        # The ACK precedes the data on the same link, so its latency is that of the data.
        ack = 8 * (self.header_bytes + TCP_HEADER_BYTES) * SECOND / rate
        return 2 * (latency_ns + math.ceil(syn)) + math.ceil(ack)


def named(law: str, **changes: Any) -> Network:
    """Return the network of this law with its defaults, except for `changes`.

    Raises UnknownName, and UsageError for a parameter that the law does not have.

    >>> named("mesh", latency_seconds=0.01).rate_bits_per_second
    5000000.0
    """
    law = law.casefold() if isinstance(law, str) else law
    _check_law(law)
    if unsupported := sorted(set(changes) & set(Network.__slots__) - _PARAMETERS[law]):
        raise UsageError(
            f"{law} has no {' or '.join(unsupported)}; leave it out, or name others: it has "
            f"{', '.join(sorted(_PARAMETERS[law]))}"
        )
    settings: dict[str, Any] = {"law": law, **_DATA["laws"][law].get("defaults", {}), **changes}
    try:
        return Network(**settings)
    except TypeError as error:
        raise UsageError(
            f"{sorted(changes)} cannot all be set on a network ({error}); "
            f"expected fields of pqchain.consensus.Network: {list(Network.__slots__)}"
        ) from error


def _check_law(law: str) -> None:
    if law not in NAMES:
        raise UnknownName("network", law, NAMES, "`pqchain consensus --help`.")


@dataclass(frozen=True, slots=True, eq=False)
class Wires:
    """Link times of a network in nanoseconds; kinds of message are 0 block, 1 vote, 2 commit."""

    shared: bool
    """Whether all senders share one channel."""
    parallel: bool
    """Whether every pair has a link of its own."""
    slot: Array
    """[kind, region of the sender]: how long a message occupies its link or the channel."""
    tail: Array
    """[kind, sender's region, receiver's region]: from the link to the receiver, or to the hub."""
    span: Array
    """[sender's region, receiver's region]: upper bound of the jitter."""
    down: Array
    """[kind]: how long a message occupies the receiver's downlink; 0 without one."""
    down_latency: int
    processors: int = 0
    """host: number of processors that all delegates share; 0: every delegate has its own."""
    price: tuple[int, int, int] = (0, 0, 0)
    """[kind], host only: time that a message takes on its receiver's processor."""


def wires(network: Network, message_bytes: tuple[int, int, int]) -> Wires:
    """Compute the link times of a network for these sizes in bytes: block, vote, commit."""
    latency = nanoseconds(network.latency_seconds)
    if network.law == "host":
        return _hosted(network, message_bytes, latency)
    latencies = np.full((1, 1), latency, dtype=np.int64)
    up: tuple[float, ...] = (network.rate_bits_per_second,)
    down = up
    if network.is_regional:
        milliseconds = [region["latency_milliseconds"] for region in REGIONS]
        latencies = np.array(milliseconds, dtype=np.int64) * (SECOND // 1000)
        up = tuple(region["upload_bits_per_second"] for region in REGIONS)
        down = tuple(region["download_bits_per_second"] for region in REGIONS)
    slot, received = (
        np.array([[network.send_ns(size, rate) for rate in rates] for size in message_bytes], int)
        for rates in (up, down)
    )
    # A slower downlink adds what it takes longer than the uplink; a faster one saves nothing.
    tail = np.maximum(received[:, None, :] - slot[:, :, None], 0) + latencies
    # Over TCP a handshake precedes blocks, which are kind 0, and no other message.
    for rate, row, tails in zip(up, latencies.tolist(), tail[0], strict=True):
        tails += [network.handshake_ns(rate, one) for one in row]
    downlink = np.zeros(3, dtype=np.int64)
    if network.law == "star":
        downlink = slot[:, 0]
        # The hub forwards packets as they arrive: the downlink can start after the first one.
        first = [network.send_ns(min(size, network.packet_bytes)) for size in message_bytes]
        tail += (np.array(first) - downlink)[:, None, None]
    # A block has one sender, so only votes and commits contend for the channel.
    if network.law == "csma":
        tail[1:] += nanoseconds(network.contention_seconds)
    return Wires(
        shared=network.law == "csma",
        parallel=network.law == "mesh",
        slot=slot,
        tail=tail,
        span=(latencies * network.jitter_fraction).astype(np.int64),
        down=downlink,
        down_latency=latency if network.law == "star" else 0,
    )


def _hosted(network: Network, message_bytes: tuple[int, int, int], latency: int) -> Wires:
    """Return the link times of one computer, where messages take time on processors instead."""
    prices, one = network.prices, np.ones((1, 1), dtype=np.int64)
    first, second, third = (
        nanoseconds(prices.message_seconds + size * prices.byte_seconds) for size in message_bytes
    )
    return Wires(
        shared=False,
        parallel=True,
        # The engines need every message to take at least one nanosecond.
        slot=np.ones((3, 1), dtype=np.int64),
        tail=np.full((3, 1, 1), latency, dtype=np.int64),
        span=(latency * one * network.jitter_fraction).astype(np.int64),
        down=np.zeros(3, dtype=np.int64),
        down_latency=0,
        processors=network.processors,
        price=(first, second, third),
    )
