"""Network models, each named after its timing law, and the time that a message takes on them.

paper-serial  one shared server, N * N grants, pairs of a node with itself included: latency ~ N^2
csma          one shared channel, N * (N - 1) grants: latency ~ N^2, half as many grants at N = 2
star          a hub; the sender's uplink and the receiver's downlink are the bottleneck: ~ N
mesh          a link for every pair: constant
regions       six regions of the world, uplinks shared among receivers: a constant plus ~ N
uplink        one rate per node each way, shared fairly by all messages under way: ~ N
gossip        every node forwards the block to k peers, never to itself: ~ log N
host          one computer runs all delegates, P processors do all their work: ~ N^2 / P

Times are integers in nanoseconds. A message is split into packets, each with a header.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pqchain import installation
from pqchain.checks import Doc, Ge, Le, declared
from pqchain.errors import UnknownName, UsageError

Law = Literal["paper-serial", "csma", "star", "mesh", "regions", "uplink", "gossip", "host"]
Array = npt.NDArray[np.int64]

NAMES: tuple[Law, ...] = get_args(Law)
"""Names of all laws."""

SECOND = 10**9
"""Nanoseconds per second."""


@cache
def _data() -> Mapping[str, Any]:
    """Return the laws' parameters and defaults, and the regions of the world by year."""
    return installation.read_toml(installation.data("consensus") / "networks.toml")


def regions() -> list[dict[str, Any]]:
    """Return regions of the world: share of the nodes, link rates, and latencies to all regions."""
    rows: list[dict[str, Any]] = _data()["regions"]
    return rows


def nanoseconds(seconds: float) -> int:
    """Round seconds to integer nanoseconds."""
    return round(seconds * SECOND)


Rate = Annotated[float, Ge(1), Le(1e18)]
Size = Annotated[int, Ge(0), Le(2**32)]
Number = Annotated[float, Ge(0), Le(1e18)]
Seconds = Annotated[float, Ge(0), Le(1e6)]


@declared
class SerialLaw:
    """Latency of paper-serial: N^2 * (pair + bytes * (pk + sig) + verifies * v) + N * signs * s.

    The result is in seconds; pk and sig are bytes of a public key and a signature, v and s seconds
    to verify and to sign. The defaults are `calibration.fit` on Table 6 of the PQ-DPoL paper with
    the costs of its Tables 1 to 4. Only the form is established; see that module.
    """

    pair_seconds: Number = 0.019516
    byte_seconds: Number = 2.1947e-6
    verifies: Number = 28.098
    signs: Number = 2.4882


@declared
class ServiceTimes:
    """Processing times of a computer that runs all delegates, except signing and verifying.

    The defaults were measured on one processor of 2021; `delegates.service_times.calibrate`
    measures those of this computer.
    """

    message_seconds: Number = 200e-6
    """Per message: sending, transport and reception, independent of its length."""
    byte_seconds: Number = 4e-9
    """Per byte of a message."""
    transaction_seconds: Number = 60e-6
    """Per transaction of a block that is verified, in addition to its signature."""
    height_seconds: Number = 2e-3
    """Per delegate and height: to start the height and to store its block."""


@declared
class Network:
    """Network model: a timing law and its parameters; `named` fills in the defaults of a law."""

    law: Law
    rate_bits_per_second: Annotated[Rate, Doc("bits per second of a link")] = 5e6
    latency_seconds: Annotated[Seconds, Doc("seconds of a link, one way")] = 0.002
    jitter_fraction: Annotated[
        float, Ge(0), Le(10), Doc("maximum delay as a fraction of the latency")
    ] = 0.0
    """A message is late by up to this fraction of the latency, drawn uniformly."""
    packet_bytes: Annotated[Size, Ge(1), Doc("payload of a packet")] = 1400
    header_bytes: Annotated[Size, Doc("headers of a packet: UDP 8, IP 20, link 2")] = 30
    gap_seconds: Annotated[Number, Doc("csma: time of a frame in addition to its bits")] = 0.0
    contention_seconds: Annotated[Number, Doc("csma: back-off of the last of many senders")] = 0.0
    """Back-off of the last sender while the channel is already free."""
    peers: Annotated[
        int, Ge(1), Le(1024), Doc("gossip: peers to which a node forwards a block")
    ] = 8
    """gossip: number of peers to which a node forwards a block: its successor and others that are
    drawn independently, so one may be drawn twice; every other node once if there are no more."""
    world: Annotated[bool, Doc("gossip, uplink: nodes are in six regions of the world")] = False
    serial: SerialLaw = SerialLaw()
    processors: Annotated[
        int, Ge(1), Le(4096), Doc("host: processors that all delegates share")
    ] = 1
    """The delegate of rank r computes on the processor with index r modulo this."""
    service_times: ServiceTimes = ServiceTimes()

    def __post_init__(self) -> None:
        # A draw of jitter has 32 bits, which is 4.29 s in nanoseconds; see `draws.scale`.
        jitter = self.latency_seconds * self.jitter_fraction
        if jitter >= 4.0:
            raise UsageError(
                f"latency_seconds * jitter_fraction must be below 4 seconds; got {jitter}. "
                "Reduce jitter_fraction."
            )

    @property
    def is_regional(self) -> bool:
        """Whether nodes are distributed over the regions of the world."""
        return self.law == "regions" or (self.law in ("uplink", "gossip") and self.world)

    @property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters that have an effect on this network."""
        links = {"rate_bits_per_second", "latency_seconds"}
        parameters = frozenset(_data()["laws"][self.law]["parameters"])
        return parameters - (links if self.is_regional else set())

    def bits(self, payload_bytes: int) -> int:
        """Return the bits of a message on a link, headers included."""
        packets = math.ceil(payload_bytes / self.packet_bytes)
        return 8 * (payload_bytes + packets * self.header_bytes)

    def send_ns(self, payload_bytes: int, rate: float | None = None) -> int:
        """Return how many nanoseconds a message occupies a link or the channel, at least 1.

        `rate`, in bits per second, replaces that of the network.
        """
        bits = self.bits(payload_bytes)
        frames = math.ceil(payload_bytes / self.packet_bytes)
        gaps = frames * nanoseconds(self.gap_seconds) if self.law == "csma" else 0
        return max(1, math.ceil(bits * SECOND / (rate or self.rate_bits_per_second)) + gaps)


def named(law: str, **changes: Any) -> Network:
    """Return a network with the default parameters of `law`, except for those in `changes`.

    Raises UnknownName, and UsageError for a parameter that the law does not have.

    >>> named("mesh", latency_seconds=0.01).rate_bits_per_second
    5000000.0
    """
    law = law.casefold() if isinstance(law, str) else law
    if law not in NAMES:
        raise UnknownName("network", law, NAMES, "`pqchain consensus --help`.")
    settings: dict[str, Any] = {"law": law, **_data()["laws"][law].get("defaults", {}), **changes}
    network = Network(**settings)
    if unsupported := sorted(set(changes) - network.parameters):
        kind = f"{law} with world" if network.world and network.is_regional else law
        raise UsageError(
            f"parameters of {kind} must be among {', '.join(sorted(network.parameters))}; "
            f"got {', '.join(unsupported)}. Leave them out."
        )
    return network


@dataclass(frozen=True, slots=True, eq=False)
class LinkTimes:
    """Times of messages on a network's links in ns, by kind: 0 block, 1 vote, 2 commit."""

    shared_channel: bool
    """Whether all senders share one channel."""
    link_per_pair: bool
    """Whether there is a link for every pair; otherwise a sender has one uplink."""
    send_ns: Array
    """How long a message occupies its link or the channel, by kind and the sender's region."""
    latency_ns: Array
    """Time from the link to the receiver or hub, by kind, sender's region, receiver's region."""
    max_jitter_ns: Array
    """Upper bound of the jitter, by the regions of sender and receiver."""
    downlink_ns: Array
    """How long a message occupies the receiver's downlink, by kind; 0 without a downlink."""
    downlink_latency_ns: int
    processors: int = 0
    """Law "host": number of processors that delegates share; 0: every delegate has its own."""
    handling_ns: tuple[int, ...] = (0, 0, 0)
    """Law "host" only: time that a message takes on its receiver's processor, by kind."""
    uploads: tuple[int, ...] = ()
    """Law "uplink": bits per second that a node of each region can send; empty for other laws."""
    downloads: tuple[int, ...] = ()
    """Law "uplink": bits per second that a node of each region can receive."""
    bits: tuple[int, ...] = (0, 0, 0)
    """Law "uplink": bits of a message on a link, by kind."""


def link_times(network: Network, message_bytes: tuple[int, int, int]) -> LinkTimes:
    """Return the link times of a network; `message_bytes` are sizes of block, vote, commit."""
    latency, is_host = nanoseconds(network.latency_seconds), network.law == "host"
    latencies = np.full((1, 1), latency, dtype=np.int64)
    upload: tuple[float, ...] = (network.rate_bits_per_second,)
    download = upload
    if network.is_regional:
        milliseconds = [region["latency_milliseconds"] for region in regions()]
        latencies = np.rint(np.array(milliseconds) * (SECOND // 1000)).astype(np.int64)
        upload = tuple(region["upload_bits_per_second"] for region in regions())
        download = tuple(region["download_bits_per_second"] for region in regions())
    send, receive = (
        np.array([[network.send_ns(size, rate) for rate in rates] for size in message_bytes], int)
        for rates in (upload, download)
    )
    # A downlink slower than the uplink adds the difference; a faster one saves nothing.
    is_shared = network.law == "uplink"
    delays = np.maximum(receive[:, None, :] - send[:, :, None], 0) * (not is_shared) + latencies
    downlink = np.zeros(3, dtype=np.int64)
    if network.law == "star":
        downlink = send[:, 0]
        # The hub forwards packets as they arrive: the downlink can start after the first one.
        first = [network.send_ns(min(size, network.packet_bytes)) for size in message_bytes]
        delays += (np.array(first) - downlink)[:, None, None]
    # A block has one sender, so only votes and commits contend for the channel.
    if network.law == "csma":
        delays[1:] += nanoseconds(network.contention_seconds)
    times, handling = network.service_times, [0, 0, 0]
    if is_host:
        # Messages occupy processors, and links for the nanosecond that the engines need.
        send = np.ones_like(send)
        seconds = (times.message_seconds + size * times.byte_seconds for size in message_bytes)
        handling = list(map(nanoseconds, seconds))
    return LinkTimes(
        shared_channel=network.law == "csma",
        link_per_pair=network.law in ("mesh", "host"),
        send_ns=send,
        latency_ns=delays,
        max_jitter_ns=(latencies * network.jitter_fraction).astype(np.int64),
        downlink_ns=downlink,
        downlink_latency_ns=latency if network.law == "star" else 0,
        uploads=tuple(map(int, upload)) if is_shared else (),
        downloads=tuple(map(int, download)) if is_shared else (),
        bits=tuple(map(network.bits, message_bytes)),
        processors=network.processors if is_host else 0,
        handling_ns=tuple(handling),
    )
