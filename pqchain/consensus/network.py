"""Networks, named for the law that they imply, and what a message costs on them.

paper-serial  one shared server, N * N grants, a pair of a node with itself included: latency ~ N^2
csma          one shared channel, N * (N - 1) grants: latency ~ N^2, twice less at N = 2
star          a hub; the sender's uplink and the receiver's downlink are the bottleneck: ~ N
mesh          a link for every pair: constant
regions       six regions of the world, uplinks shared among receivers: a constant plus ~ N
gossip        every node passes the block on to k peers, never to itself: ~ log N
host          one computer runs all delegates, P processors do all their work: ~ N^2 / P

Times are whole nanoseconds. A message of b bytes is cut into packets; each has a header.
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
"""Every kind of network."""

_DATA = installation.read_toml(installation.data("consensus") / "networks.toml")

_PARAMETERS = {law: frozenset(row["parameters"]) for law, row in _DATA["laws"].items()}
"""What can be set on each kind of network."""

REGIONS: list[dict[str, Any]] = _DATA["regions"]
"""Regions of the world: share of the nodes, rates, and latencies to each of them."""

TCP_SEGMENT_BYTES = 1448
"""Payload of a segment with timestamps on a link of 1500 bytes."""

TCP_HEADER_BYTES = 24
"""What a TCP segment carries more than a UDP datagram: 32 bytes with timestamps against 8."""

SYN_BYTES = 28
"""What a SYN carries more than an empty UDP datagram: 36 bytes with its options against 8."""

SECOND = 10**9
"""Nanoseconds."""


def nanoseconds(seconds: float) -> int:
    """Round seconds to whole nanoseconds."""
    return round(seconds * SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialLaw:
    """Seconds of paper-serial: N^2 * (pair + bytes * (pk + sig) + verifies * v) + N * signs * s.

    The defaults are `calibration.fit` on Table 6 of the PQ-DPoL paper with the costs of its
    Tables 1 to 4. Only the form is established; see that module.
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
    """What a computer that runs all delegates needs beside verifying and signing, in seconds.

    The defaults were measured on one processor of 2021; `delegate.host.calibrate` measures them.
    """

    message_seconds: float = 200e-6
    """Of a message, to send, carry and take in, whatever its length."""
    byte_seconds: float = 4e-9
    """Of each of its bytes."""
    transaction_seconds: float = 60e-6
    """Of each transaction of a block that is verified, beside its signature."""
    height_seconds: float = 2e-3
    """Of each delegate at each height, once: to begin it, and to keep its block."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            number(f"HostPrices.{name}", getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network: its law and its parameters; `named` gives each with the defaults of its kind."""

    law: Law
    rate_bits_per_second: float = checks.field(5e6, help="bits per second of a link", least=1.0)
    latency_seconds: float = checks.field(0.002, help="seconds of a link, one way", most=1e6)
    jitter_fraction: float = checks.field(0.0, help="lateness over the latency", most=10.0)
    """A message is late by up to this fraction of the latency, uniformly drawn."""
    transport: Literal["udp", "tcp"] = "udp"
    """tcp adds a handshake before the block; losses and slow start are not modelled."""
    packet_bytes: int = checks.field(1400, help="payload of a packet", least=1)
    header_bytes: int = checks.field(30, help="UDP 8, IP 20 and link 2, where it has two ends")
    gap_seconds: float = checks.field(0.0, help="csma: of a frame, beyond what its bits take")
    contention_seconds: float = checks.field(0.0, help="csma: wait of the last of many senders")
    """What it waits, backed off, while the channel is already free."""
    peers: int = checks.field(8, help="gossip: whom a node passes a block to", least=1, most=1024)
    """gossip: to how many others a node passes a block on: its successor and, drawn each on its own
    so that one may be drawn twice, more; or once to each other node if there are no more."""
    world: bool = checks.field(False, help="gossip: nodes live in six regions")
    serial: SerialLaw = SerialLaw()
    processors: int = checks.field(
        1, help="host: processors that all delegates share", least=1, most=4096
    )
    """The delegate of rank r computes on number r modulo this."""
    prices: HostPrices = HostPrices()

    def __post_init__(self) -> None:
        _check_law(self.law)
        checks.declared(self)
        one_of("transport", self.transport, ("udp", "tcp"))
        jitter = self.latency_seconds * self.jitter_fraction
        if jitter >= 4.0:
            raise UsageError(
                f"latency_seconds * jitter_fraction is {jitter}; expected below 4 seconds"
            )

    @property
    def is_regional(self) -> bool:
        """Whether nodes live in the regions of the world."""
        return self.law == "regions" or (self.law == "gossip" and self.world)

    @property
    def parameters(self) -> frozenset[str]:
        """What can be set on it; anything else would do nothing."""
        regional = {"rate_bits_per_second", "latency_seconds"} if self.is_regional else set()
        return _PARAMETERS[self.law] - regional

    def send_ns(self, payload_bytes: int, rate: float | None = None) -> int:
        """Return how long a message occupies a link or the channel, at least a nanosecond."""
        packet, header = self.packet_bytes, self.header_bytes
        if self.transport == "tcp":
            packet, header = TCP_SEGMENT_BYTES, header + TCP_HEADER_BYTES
        bits = 8 * (payload_bytes + math.ceil(payload_bytes / packet) * header)
        frames = math.ceil(payload_bytes / self.packet_bytes)
        gaps = frames * nanoseconds(self.gap_seconds) if self.law == "csma" else 0
        return max(1, math.ceil(bits * SECOND / (rate or self.rate_bits_per_second)) + gaps)

    def handshake_ns(self, rate: float, latency_ns: int) -> int:
        """Return SYN, SYN-ACK and the ACK that precedes the first byte; nothing over UDP."""
        if self.transport == "udp":
            return 0
        syn = 8 * (self.header_bytes + SYN_BYTES) * SECOND / rate
        ack = 8 * (self.header_bytes + TCP_HEADER_BYTES) * SECOND / rate
        return 2 * (latency_ns + math.ceil(syn)) + math.ceil(ack)


def named(law: str, **changes: Any) -> Network:
    """Return the network of that name with the defaults of its kind and the changes given.

    Raises UnknownName, and UsageError for a parameter that networks of this kind do not have.

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
    """A network as whole nanoseconds; kinds of message are 0 block, 1 vote, 2 commit."""

    shared: bool
    """One channel for all."""
    parallel: bool
    """A link of its own for every pair."""
    slot: Array
    """[kind, region of the sender]: how long a message occupies what it is sent on."""
    tail: Array
    """[kind, sender's region, receiver's region]: from there to the receiver, or to the hub."""
    span: Array
    """[sender's region, receiver's region]: jitter is drawn below this."""
    down: Array
    """[kind]: how long a message occupies the receiver's downlink; 0 for none."""
    down_latency: int
    processors: int = 0
    """host: the processors that all share; 0: each has its own."""
    price: tuple[int, int, int] = (0, 0, 0)
    """[kind]: what a message takes its receiver's processor; host alone."""


def wires(network: Network, message_bytes: tuple[int, int, int]) -> Wires:
    """Turn a network into nanoseconds for messages of these sizes: block, vote, commit."""
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
    # What the receiver takes longer to receive than the sender to send.
    tail = np.maximum(received[:, None, :] - slot[:, :, None], 0) + latencies
    for rate, row, tails in zip(up, latencies.tolist(), tail[0], strict=True):
        tails += [network.handshake_ns(rate, one) for one in row]
    downlink = np.zeros(3, dtype=np.int64)
    if network.law == "star":
        downlink = slot[:, 0]
        # The hub passes packets on as they come: it can start after the first one.
        first = [network.send_ns(min(size, network.packet_bytes)) for size in message_bytes]
        tail += (np.array(first) - downlink)[:, None, None]
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
    """Return the wires of one computer: messages take processors time, and nothing else."""
    prices, one = network.prices, np.ones((1, 1), dtype=np.int64)
    first, second, third = (
        nanoseconds(prices.message_seconds + size * prices.byte_seconds) for size in message_bytes
    )
    return Wires(
        shared=False,
        parallel=True,
        slot=np.ones((3, 1), dtype=np.int64),
        tail=np.full((3, 1, 1), latency, dtype=np.int64),
        span=(latency * one * network.jitter_fraction).astype(np.int64),
        down=np.zeros(3, dtype=np.int64),
        down_latency=0,
        processors=network.processors,
        price=(first, second, third),
    )
