"""Run an engine for several setups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.crypto import native
from pqchain.crypto.native import built_library, obstacle
from pqchain.errors import UnknownName, Unsupported, UsageError
from pqchain.results import machine
from pqchain.wire.drivers.link import Link
from pqchain.wire.drivers.namespaces import Namespaces
from pqchain_engines import frames, protocol, registry
from pqchain_engines.protocol import EngineFailure
from pqchain_engines.registry import Engine
from pqchain_engines.setup import Setup

OWN_SCHEMES = ("Ed25519", "BLS12-381", "ECDSA-secp256k1")
"""Schemes of the engine's own libraries; the others come from pqchain's native libraries."""


def run(name: str, setups: Iterable[Setup], *, limit_seconds: float = 600.0) -> pd.DataFrame:
    """Run an engine once per setup, each in a process of its own; return HEIGHTS.

    A run that crashes or takes longer than `limit_seconds` (of this computer's clock) is one row
    with the status "failed" and the reason. Raises UnknownName for an engine, UsageError for a
    setup that the engine does not support, and Unsupported if the engine is not built.
    """
    engine = registry.get(name)
    setups = list(setups)
    for setup in setups:
        check(engine, setup)
    engine.executable()
    rows = []
    for number, setup in enumerate(setups, 1):
        columns = frames.setup_columns(number, engine, setup)
        try:
            scenario = setup.scenario(number, library(setup.algorithm), engine.options)
            command = [str(engine.executable(setup.algorithm))]
            with _namespaces(setup) as namespaces:
                records, last = protocol.ask(
                    command, scenario | namespaces, limit_seconds=limit_seconds
                )
        except (EngineFailure, Unsupported) as error:
            rows.append(frames.failed_row(columns, str(error)))
            continue
        digest = str(last.get("audit") or "")
        rows += [frames.height_row(columns, record, digest) for record in records]
    frame = frames.HEIGHTS.frame(rows)
    frame.attrs["provenance"] = machine.provenance() | {"preset": f"{engine.name} {engine.version}"}
    return frame


@contextmanager
def _namespaces(setup: Setup) -> Iterator[dict[str, Any]]:
    """Create the network namespaces of a run in the mode netns; yield them for its scenario."""
    if setup.mode != "netns":
        yield {}
        return
    # Namespaces limit the rates. The adapter delays, because a kernel without netem cannot.
    rate = setup.rate_bits_per_second
    link = Link(bits_per_second=rate, delay_seconds=0.0) if rate else Link(delay_seconds=0.0)
    with Namespaces(setup.nodes, link) as namespaces:
        nodes = range(setup.nodes)
        rows = [{"name": namespaces.name(i), "host": namespaces.host(i)} for i in nodes]
        yield {"namespaces": rows}


def check(engine: Engine, setup: Setup) -> None:
    """Raise UsageError if the engine does not support the setup, UnknownName for its scheme."""
    if not engine.modes:
        raise UsageError(f"{engine.name} must be a consensus engine; it is an EVM")
    if setup.algorithm not in engine.algorithms:
        raise UnknownName(f"scheme of {engine.name}", setup.algorithm, engine.algorithms)
    if setup.mode not in engine.modes:
        modes = ", ".join(engine.modes)
        raise UsageError(f"mode of {engine.name} must be one of {modes}; got {setup.mode}")
    if setup.nodes > engine.max_nodes:
        raise UsageError(
            f"nodes of {engine.name} must be at most {engine.max_nodes}; got {setup.nodes}"
        )


def library(algorithm: str) -> str:
    """Return the path of a native library with a scheme; "" if the engine has the scheme itself.

    Raises Unsupported and UnknownAlgorithm as `native_library`.
    """
    return "" if algorithm in OWN_SCHEMES else native_library(algorithm)


@cache
def native_library(algorithm: str) -> str:
    """Return the path of the native library of a scheme's first implementation that runs here.

    Raises Unsupported, with the reasons, if there is none, and UnknownAlgorithm.
    """
    reasons = []
    for name in algorithms.get(algorithm).implementations:
        if missing := obstacle(name):
            reasons.append(f"{name}: {missing}")
            continue
        path = built_library(algorithms.implementation(name))
        if path is not None and algorithm in native.load(path).names():
            return str(path)
        reasons.append(f"{name} is not a native library with it")
    raise Unsupported(f"no native library has {algorithm} here: {'; '.join(reasons)}")
