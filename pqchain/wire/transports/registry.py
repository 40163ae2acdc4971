"""The transports that there are: a row each, and the only place that names their modules.

Nothing is imported before a transport is opened or asked whether it can be.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain.errors import UnknownName, Unsupported
from pqchain.installation import folders
from pqchain.wire.session import Address

if TYPE_CHECKING:
    from pqchain.wire.identity import Identity, PublicIdentity

LEAST_DATAGRAM_BYTES, LONGEST_DATAGRAM_BYTES = 1200, 16_000
"""QUIC's least, and the longest that aioquic 1.7.2 and qh3 send without breaking the connection."""

CONGESTION = ("reno", "cubic", "bbr")
"""All that any transport has: NewReno (RFC 9002), CUBIC (RFC 9438), BBR."""

WINDOW_BYTES = 4 << 20
"""What a peer is sent ahead of its acknowledgements, unless the link holds more."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a transport is opened: who we are, whom we know, and how to speak."""

    identity: Identity
    directory: Sequence[PublicIdentity]
    addresses: Mapping[int, Address]
    """Where everyone listens; read at each dialling, so it may be filled later."""
    folder: Path
    """For what a library wants to read from a file."""
    datagram_bytes: int = 1452
    congestion: str = "reno"
    log: bool = False
    """Whether to keep a log, where the library can."""
    window_bytes: int = WINDOW_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a modelled network is like."""

    bits_per_second: float
    """Of each port; every host has one in and one out."""
    delay_seconds: float
    loss: float
    queue_bytes: int
    coalescing_seconds: float
    overhead_bytes: int
    """Of each datagram on the wire."""
    datagram_seconds: float = 0.0
    """Processor time of each datagram that is sent or received."""
    seed: int = 0
    digest: bool = False
    """Whether all datagrams are hashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is known of a transport without its library."""

    name: str
    module: str = ""
    """Its file here if that is not called `name`; it has `open_transport`, and a `LIBRARY` if it
    sends datagrams."""
    package: str = ""
    """What must be installed; nothing beyond Python if it is empty."""
    datagrams: bool = True
    """Whether it sends datagrams, and `live_seconds` is for one of them."""
    endpoint: bool = True
    """Whether it is an `Endpoint`, else it is a `Listener` too."""
    virtual: bool = False
    """Whether it runs on a modelled clock, the same bytes every time: as endpoints that a driver
    feeds, or else as a `Fabric` of its own."""
    resumes: bool = False
    """Whether a session can be resumed with 0-RTT."""
    logs: bool = False
    """Whether it writes qlog."""
    congestion: tuple[str, ...] = ("reno", "cubic")
    """The congestion controls that may be asked for."""
    streams_at_once: int | None = None
    """How many channels a session has at a time."""
    certificate_key: str = "p256"
    """The kind of key that its certificates need."""
    live_seconds: float
    """Processor seconds per datagram, or per byte where there are none, on a processor of 2021."""
    virtual_seconds: float = 0.0
    """Those of a datagram on a modelled clock, with its share of acknowledgements."""

    def reason(self) -> str:
        """Return "" if it can be opened here, else why not."""
        try:
            self.load()
        except Unsupported as error:
            return str(error)
        return ""

    def load(self) -> Any:
        """Return its module. Raises Unsupported with the reason if its library is lacking."""
        try:
            module = importlib.import_module(f"pqchain.wire.transports.{self.module or self.name}")
        except ImportError as error:
            needs = f"{self.package} ({error}): pip install {self.package}"
            raise Unsupported(f"the transport {self.name} needs {needs}") from error
        if hasattr(module, "load"):
            module.load()
        return module

    def longest_datagram_bytes(self) -> int:
        """Return the longest datagram that the installed version sends. Raises Unsupported."""
        return int(self.load().LIBRARY.longest_bytes)

    def open(self, place: Place) -> Any:
        """Return the transport. Raises Unsupported if its library is lacking or too old."""
        return self.load().open_transport(place)

    def open_fabric(self, conditions: Conditions, places: Sequence[Place]) -> Any:
        """Return the `Fabric` of a modelled network with a host at each place."""
        return self.load().open_fabric(conditions, places)


_ROWS = (
    Row(
        name="native",
        endpoint=False,
        virtual=True,
        resumes=True,
        congestion=CONGESTION,
        certificate_key="ed25519",
        live_seconds=5e-6,
        virtual_seconds=4e-6,
    ),
    Row(
        name="aioquic",
        package="aioquic",
        virtual=True,
        resumes=True,
        logs=True,
        certificate_key="ed25519",
        live_seconds=250e-6,
        virtual_seconds=360e-6,
    ),
    Row(name="qh3", package="qh3", congestion=("reno",), streams_at_once=100, live_seconds=80e-6),
    Row(name="tcp-tls", module="tcp", datagrams=False, endpoint=False, live_seconds=5e-9),
    Row(name="grpc", package="grpcio", datagrams=False, endpoint=False, live_seconds=4e-9),
)
NATIVE = "_native/quic/lib/libpqchain_quic.so"
"""The library behind the first of them, in a folder of the package."""

TRANSPORTS: Mapping[str, Row] = {row.name: row for row in _ROWS}
"""All of them, by name."""


def get(name: str) -> Row:
    """Return the row of a transport. Raises UnknownName."""
    folded = name.casefold() if isinstance(name, str) else name
    if folded not in TRANSPORTS:
        raise UnknownName("transport", name, TRANSPORTS)
    return TRANSPORTS[folded]


def names(**traits: Any) -> list[str]:
    """Return the transports whose rows have these values: `names(virtual=True)`."""
    return [row.name for row in _ROWS if traits.items() <= asdict(row).items()]


def default() -> str:
    """Return the transport that is taken unless one is named: native where it was built."""
    name = _ROWS[0].name
    built = any((folder / NATIVE).is_file() for folder in folders())
    return name if built else names(virtual=True)[1]


def needed() -> str:
    """Say which package each transport needs that not everybody has."""
    rows = [row for row in _ROWS if row.package and not row.virtual]
    return ", ".join(f"{row.name} needs {row.package}" for row in rows)
