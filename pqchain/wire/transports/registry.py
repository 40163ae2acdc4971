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
from pqchain.wire.session import Address

if TYPE_CHECKING:
    from pqchain.wire.identity import Identity, PublicIdentity

LEAST_DATAGRAM_BYTES, LONGEST_DATAGRAM_BYTES = 1200, 16_000
"""QUIC's least, and the longest that aioquic 1.7.2 and qh3 send without breaking the connection."""

CONGESTION = ("reno", "cubic")


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
    """Whether it is an `Endpoint` on datagrams, else it is a `Listener` too."""
    virtual: bool = False
    """Whether it runs on a modelled clock, the same bytes every time."""
    resumes: bool = False
    """Whether a session can be resumed with 0-RTT."""
    logs: bool = False
    """Whether it writes qlog."""
    congestion: tuple[str, ...] = CONGESTION
    """The congestion controls that may be asked for."""
    streams_at_once: int | None = None
    """How many channels a session has at a time."""
    certificate_key: str = "p256"
    """The kind of key that its certificates need."""
    live_seconds: float
    """Processor seconds per datagram, or per byte where there are none, on a processor of 2021."""

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
            return importlib.import_module(f"pqchain.wire.transports.{self.module or self.name}")
        except ImportError as error:
            needs = f"{self.package} ({error}): pip install {self.package}"
            raise Unsupported(f"the transport {self.name} needs {needs}") from error

    def longest_datagram_bytes(self) -> int:
        """Return the longest datagram that the installed version sends. Raises Unsupported."""
        return int(self.load().LIBRARY.longest_bytes)

    def open(self, place: Place) -> Any:
        """Return the transport. Raises Unsupported if its library is lacking or too old."""
        return self.load().open_transport(place)


_ROWS = (
    Row(
        name="aioquic",
        package="aioquic",
        virtual=True,
        resumes=True,
        logs=True,
        certificate_key="ed25519",
        live_seconds=250e-6,
    ),
    Row(name="qh3", package="qh3", congestion=("reno",), streams_at_once=100, live_seconds=80e-6),
    Row(name="tcp-tls", module="tcp", datagrams=False, live_seconds=5e-9),
    Row(name="grpc", package="grpcio", datagrams=False, live_seconds=4e-9),
)
TRANSPORTS: Mapping[str, Row] = {row.name: row for row in _ROWS}
"""All of them, by name."""


def get(name: str) -> Row:
    """Return the row of a transport. Raises UnknownName."""
    if name not in TRANSPORTS:
        raise UnknownName("transport", name, TRANSPORTS)
    return TRANSPORTS[name]


def names(**traits: Any) -> list[str]:
    """Return the transports whose rows have these values: `names(virtual=True)`."""
    return [row.name for row in _ROWS if traits.items() <= asdict(row).items()]


def needed() -> str:
    """Say which package each transport needs that not everybody has."""
    rows = [row for row in _ROWS if row.package and not row.virtual]
    return ", ".join(f"{row.name} needs {row.package}" for row in rows)
