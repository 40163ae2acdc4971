"""Measurements between machines: reachable ports, round-trip times, clock offsets, rates.

A probe listens on the ports that nodes will use. A request is an eight-byte number; the reply is
this number and the replying machine's monotonic clock. Over TCP a request may be followed by
`RATE_BYTES` bytes, whose last is acknowledged in the same way.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from pqchain.errors import PqchainError, UsageError
from pqchain.wire.session import Address

RATE_BYTES = 1 << 20
"""Bytes of the transfer whose duration gives the rate of a link."""

_ROUNDS = 20
"""Number of round trips, of which the shortest is used."""

_PING_SECONDS = 1.0
_ATTEMPTS = 8
"""Timeout of a round trip over UDP and number of attempts; TCP waits for as long as all of them."""

_REQUEST, _REPLY = struct.Struct("!q"), struct.Struct("!qd")
_TRANSFER = -1
"""Number of the request that is followed by `RATE_BYTES` bytes."""


@dataclass(frozen=True, slots=True)
class Path:
    """Measured path from this machine to another one."""

    round_trip_seconds: float
    """Shortest round trip."""
    clock_offset_seconds: float
    """The other machine's monotonic clock minus this one's, from the shortest round trip."""
    bits_per_second: float = math.nan
    """Rate of one transfer of `RATE_BYTES` over TCP; NaN where only UDP passes."""

    @property
    def clock_error_seconds(self) -> float:
        """Maximum error of the offset: half the round trip, whatever its asymmetry."""
        return self.round_trip_seconds / 2


class _UdpServer(asyncio.DatagramProtocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if len(data) == _REQUEST.size:
            self._transport.sendto(data + struct.pack("!d", monotonic()), addr)


class _UdpClient(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.replies: asyncio.Queue[tuple[int, float, float]] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if len(data) == _REPLY.size:
            self.replies.put_nowait((*_REPLY.unpack(data), monotonic()))

    def error_received(self, exc: Exception) -> None:
        """Ignore ICMP errors: the missing reply is noticed by its timeout."""


class Probe:
    """Servers on one port for UDP and TCP, which answer the probes of other machines."""

    def __init__(self) -> None:
        self._tcp: asyncio.Server
        self._udp: asyncio.DatagramTransport

    async def open(self, host: str, port: int) -> Address:
        """Listen on a port (0: any); return the address. Raises UsageError if it is in use."""
        loop = asyncio.get_running_loop()
        try:
            self._tcp = await asyncio.start_server(_answer, host, port)
            address = self._tcp.sockets[0].getsockname()[:2]
            try:
                self._udp, _ = await loop.create_datagram_endpoint(_UdpServer, local_addr=address)
            except OSError:
                self._tcp.close()
                raise
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host} port {port}: {error.strerror or error}. Free the port, "
                "or choose another one with --first-port."
            ) from error
        return str(address[0]), int(address[1])

    def close(self) -> None:
        """Close the port, so that a node can use it."""
        self._tcp.close()
        self._udp.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, EOFError):
        while True:
            request = await reader.readexactly(_REQUEST.size)
            left = RATE_BYTES if _REQUEST.unpack(request)[0] == _TRANSFER else 0
            while left:
                data = await reader.read(left)
                if not data:
                    raise EOFError
                left -= len(data)
            writer.write(request + struct.pack("!d", monotonic()))
    writer.close()


async def measure(addresses: Sequence[Address], *, datagrams: bool, rate: bool = True) -> Path:
    """Measure the path to a machine, and check that each of its addresses can be reached.

    With `datagrams` they must be reachable over UDP, otherwise over TCP. The first address is
    measured. Raises PqchainError for an address that cannot be reached.
    """
    for address in addresses[1:]:
        await _reach(address, datagrams, rounds=1)
    shortest, offset = await _reach(addresses[0], datagrams, rounds=_ROUNDS)
    bits = await _rate(addresses[0]) if rate else math.nan
    return Path(shortest, offset, bits)


async def _reach(address: Address, datagrams: bool, rounds: int) -> tuple[float, float]:
    """Return the shortest round trip to an address, and the clock offset that it shows."""
    try:
        trips = await (_udp_trips if datagrams else _tcp_trips)(address, rounds)
    except (OSError, EOFError, TimeoutError, asyncio.TimeoutError) as error:
        kind = "UDP" if datagrams else "TCP"
        why = str(error) or "no answer"
        raise PqchainError(
            f"{kind} port {address[1]} of {address[0]} cannot be reached ({why}). Open it in the "
            "firewalls between the machines, or choose open ports with --first-port."
        ) from error
    began, replied, ended = min(trips, key=lambda trip: trip[2] - trip[0])
    return ended - began, replied - (began + ended) / 2


async def _udp_trips(address: Address, rounds: int) -> list[tuple[float, float, float]]:
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_datagram_endpoint(_UdpClient, remote_addr=address)
    trips: list[tuple[float, float, float]] = []
    lost = 0
    try:
        while len(trips) < rounds:
            began = monotonic()
            number = len(trips) + lost
            transport.sendto(_REQUEST.pack(number))
            try:
                reply = await asyncio.wait_for(client.replies.get(), _PING_SECONDS)
            except asyncio.TimeoutError:
                lost += 1
                if lost >= _ATTEMPTS:
                    raise
                continue
            # A late reply to an earlier request is dropped.
            if reply[0] == number:
                trips.append((began, reply[1], reply[2]))
            else:
                lost += 1
    finally:
        transport.close()
    return trips


async def _tcp_trips(address: Address, rounds: int) -> list[tuple[float, float, float]]:
    reader, writer = await asyncio.wait_for(
        asyncio.open_connection(*address), _PING_SECONDS * _ATTEMPTS
    )
    trips = []
    try:
        for number in range(rounds):
            began = monotonic()
            writer.write(_REQUEST.pack(number))
            data = await asyncio.wait_for(
                reader.readexactly(_REPLY.size), _PING_SECONDS * _ATTEMPTS
            )
            trips.append((began, _REPLY.unpack(data)[1], monotonic()))
    finally:
        writer.close()
    return trips


async def _rate(address: Address) -> float:
    """Return the rate in bits per second of one transfer over TCP, NaN if TCP does not pass."""
    with suppress(OSError, EOFError, TimeoutError, asyncio.TimeoutError):
        reader, writer = await asyncio.wait_for(asyncio.open_connection(*address), _PING_SECONDS)
        try:
            began = monotonic()
            writer.write(_REQUEST.pack(_TRANSFER) + bytes(RATE_BYTES))
            # As long as a link of 1 Mbit/s needs.
            await asyncio.wait_for(reader.readexactly(_REPLY.size), 10.0)
            return 8 * RATE_BYTES / (monotonic() - began)
        finally:
            writer.close()
    return math.nan
