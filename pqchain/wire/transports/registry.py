"""Registry of transports, and the only module that names their modules.

A transport's module is imported when it is opened or its availability is checked.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pqchain import installation
from pqchain.errors import UnknownName, Unsupported
from pqchain.wire.session import TransportSettings

MIN_DATAGRAM_BYTES, MAX_DATAGRAM_BYTES = 1200, 16_000
"""Datagram lengths in bytes: minimum of QUIC, and maximum that aioquic can send."""

CONGESTION = ("reno", "cubic", "bbr")
"""Congestion controls of all transports: NewReno (RFC 9002), CUBIC (RFC 9438), BBR."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions of a modelled network: ports, links and the seed of its randomness."""

    bits_per_second: float
    """Rate of each port; every host has an incoming and an outgoing one."""
    delay_seconds: float
    loss: float
    queue_bytes: int
    coalescing_seconds: float
    overhead_bytes: int
    datagram_seconds: float = 0.0
    """Processor seconds of each datagram that is sent or received."""
    seed: int = 0
    digest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportInfo:
    """Properties of a transport that are known without importing its library."""

    name: str
    module: str = ""
    """Module with `open_transport`, and `MAX_DATAGRAM_BYTES` for datagrams; default: `name`."""
    package: str = ""
    """Required package; empty if nothing beyond Python is needed."""
    quic: bool = True
    """Whether it is QUIC: sends datagrams, runs deterministically on a modelled clock, and resumes
    sessions with 0-RTT; other transports need sockets."""
    congestion: tuple[str, ...] = ("reno", "cubic")

    def unavailable_reason(self) -> str:
        """Return the reason why the transport cannot be opened here; "" if it can."""
        try:
            self.load()
        except Unsupported as error:
            return str(error)
        return ""

    def load(self) -> Any:
        """Return the transport's module. Raises Unsupported if its library is missing."""
        try:
            module = importlib.import_module(f"pqchain.wire.transports.{self.module or self.name}")
        except ImportError as error:
            raise Unsupported(
                f"the transport {self.name} needs {self.package} ({error}): "
                f"pip install {self.package}"
            ) from error
        if hasattr(module, "load"):
            module.load()
        return module

    def open(self, settings: TransportSettings) -> Any:
        """Open and return the transport. Raises Unsupported if its library is missing or old."""
        return self.load().open_transport(settings)


TRANSPORTS: Mapping[str, TransportInfo] = {
    info.name: info
    for info in (
        TransportInfo(name="native", congestion=CONGESTION),
        TransportInfo(name="aioquic", package="aioquic"),
        TransportInfo(name="tcp-tls", module="tcp", quic=False),
    )
}


def get(name: str) -> TransportInfo:
    """Return the properties of a transport, ignoring case. Raises UnknownName."""
    key = name.casefold() if isinstance(name, str) else name
    if key not in TRANSPORTS:
        raise UnknownName("transport", name, TRANSPORTS)
    return TRANSPORTS[key]


def names(*, quic: bool) -> list[str]:
    """Return the names of the transports that are QUIC, or of the others."""
    return [info.name for info in TRANSPORTS.values() if info.quic is quic]


def default() -> str:
    """Return the name of the default transport: native where it was built, else aioquic."""
    return "native" if installation.library_path("quic") is not None else "aioquic"
