"""Price of a signature verification in the units of chains: gas, energy, compute units.

Each chain prices a verification of today (the anchor), which is timed in the same rounds as the
other verifications. The price of a verification is its time divided by the anchor's time, times the
anchor's price, so that slow and fast machines give the same price. A given time is of another
machine and has a price only if its anchor is given too. The slowest of many signatures counts,
because an attacker can choose it. `data/gas` has the units with their rules, and what drafts and
chains state, for comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqchain import algorithms as registry
from pqchain import checks
from pqchain.bench import variation, verification
from pqchain.bench.gas_units import OWN, PriceUnit, units
from pqchain.bench.rounds import MESSAGE_BYTES
from pqchain.bench.timing import one_processor, with_bar
from pqchain.bench.verification import Client, TimedVerifier, Times, own
from pqchain.errors import PqchainError, Unsupported, UsageError
from pqchain.results import Contract, machine, statistics

GAS = Contract.of(
    "gas",
    ("str", "algorithm verifier version unit anchor anchor_verifier"),
    ("float64", "anchor_gas gas low high benchmark_gas verify_seconds decode_key_seconds"),
    ("float64", "decode_signature_seconds word_seconds input_bytes calldata_gas"),
    ("str", "status reason"),
)

ALGORITHMS = (
    "ECDSA-P256", "ML-DSA-44", "ML-DSA-65", "Falcon-512", "Falcon-1024", "SLH-DSA-SHA2-128s",
)  # fmt: skip
"""Signature schemes that are priced by default, in addition to the anchors."""

ROUNDS = 15
"""Number of rounds. Each round times all verifiers in turn and gives one ratio per verifier."""

MAX_ROUNDS = 1000

CALLDATA_GAS = 16
"""Gas of a non-zero byte of calldata (EIP-2028)."""

_Key = tuple[str, str]
"""Algorithm and verifier; OWN is pqchain's default implementation."""


def measure_gas(
    algorithms: Iterable[str] = ALGORITHMS,
    *,
    clients: Sequence[Client] = (),
    rounds: int = ROUNDS,
    progress: bool = False,
    warn: bool = True,
) -> pd.DataFrame:
    """Estimate the price of each scheme's slowest verification from verifications of known price.

    `clients` are verifiers in other processes, such as those of pqchain-conform, which are timed in
    addition to pqchain's own. `warn` states a busy machine, as `pqchain.measure` does.

    Returns a frame, one row per scheme, verifier and unit: algorithm; verifier, its version; unit,
    a key of `gas_units.units()`; anchor, anchor_verifier, anchor_gas; gas (median over rounds), low
    and high (95 % interval of that median; NaN below six rounds), benchmark_gas (the same
    at the unit's second price); verify_seconds (slowest signature, median over rounds; the given
    time of a scheme that is given by numbers), and of that decode_key_seconds and
    decode_signature_seconds where the verifier's interface has these parts; word_seconds (each
    further 32 bytes of the message of 100); input_bytes (key, signature and a digest of 32),
    calldata_gas (EVM: 16 per byte), status ("ok", "unsupported", "failed") and reason. A client
    that cannot run here, or verifies none of the schemes, is one row with the reason, without a
    scheme and a unit.
    Raises UsageError for values out of range and for a KEM, and UnknownAlgorithm.
    """
    checks.integer("rounds", rounds, least=2, most=MAX_ROUNDS)
    schemes = list(map(registry.get, algorithms))
    if others := [row.name for row in schemes if row.kind != "signature"]:
        raise UsageError(f"every algorithm must be a signature scheme; got {', '.join(others)}")
    # The anchors are always timed.
    anchors = [unit.anchor for unit in units().values()]
    names = list(dict.fromkeys([*anchors, *(row.name for row in schemes)]))
    # One processor for all verifiers, so that a migration does not distort their ratio. Child
    # processes inherit it, so they are started here.
    with one_processor():
        try:
            series = _prepare(names, clients, progress=progress)
            _run(series, rounds, progress=progress)
        finally:
            for client in clients:
                client.close()
    frame = GAS.frame(
        _row(entry, unit, series)
        for entry in series.values()
        for unit in (units().values() if entry.algorithm else [None])
    )
    frame.attrs["provenance"] = {**machine.provenance(), "preset": f"{rounds} rounds"}
    if warn:
        variation.announce(frame)
    return frame


@dataclass(slots=True)
class _Series:
    """The rounds of one verifier and algorithm, or the error that ended them."""

    algorithm: str
    """Empty if the verifier has no algorithm of this run."""
    name: str
    verifier: TimedVerifier | None = None
    rounds: list[Times] = field(default_factory=list)
    error: PqchainError | None = None

    def slowest(self) -> NDArray[np.float64]:
        return np.array([times.slowest for times in self.rounds])

    def part(self, name: str) -> float:
        return float(np.median([getattr(times, name) for times in self.rounds]))


def _prepare(
    names: Iterable[str], clients: Sequence[Client], *, progress: bool
) -> dict[_Key, _Series]:
    """Return the series in the order of rows: pqchain's own verifier, then those of clients."""
    series: dict[_Key, _Series] = {}
    absent: dict[str, PqchainError] = {}
    for asked in clients:
        try:
            asked.supports("")
        except Unsupported as error:
            absent[asked.name] = error
    available = [client for client in clients if client.name not in absent]
    for name in with_bar(list(names), str, unit="scheme", show=progress):
        for client in [None, *available]:
            key = name, client.name if client else OWN
            try:
                verifier = verification.in_client(client, name) if client else own(name)
                if verifier is not None:
                    series[key] = _Series(name, verifier.name, verifier)
            except PqchainError as error:
                series[key] = _Series(*key, error=error)
    timed = {verifier for _, verifier in series}
    for asked in clients:
        if asked.name not in timed:
            reason = absent.get(asked.name) or Unsupported("it verifies none of these schemes")
            series["", asked.name] = _Series("", asked.name, error=reason)
    return series


def _run(series: Mapping[_Key, _Series], rounds: int, *, progress: bool) -> None:
    # Verifiers alternate within a round, so that a ratio compares times of the same moment.
    for _ in with_bar(range(rounds), lambda _: "gas", unit="round", show=progress):
        for entry in series.values():
            if entry.verifier is None or entry.error:
                continue
            try:
                entry.rounds.append(entry.verifier.round())
            except PqchainError as error:
                if entry.verifier.in_process:
                    raise
                entry.error = error


def _anchor(
    entry: _Series, unit: PriceUnit, series: Mapping[_Key, _Series]
) -> tuple[_Series | None, str]:
    """Return the series of the unit's anchor on the entry's machine; or None, and the reason."""
    if (given := entry.verifier) and given.source:
        # Divided by an anchor of this machine, it would be another price in each run.
        if unit.name == "evm" and given.anchor_seconds:
            times = [Times(given.anchor_seconds)] * len(entry.rounds)
            return _Series(unit.anchor, given.name, given, times), ""
        remedy = "give its anchor, such as anchor=107us"
        remedy = remedy if unit.name == "evm" else "an anchor prices EVM gas only"
        return None, f"{given.source}; time of another machine: {remedy}"
    reasons = []
    for name in unit.anchor_verifiers:
        timed = series.get((unit.anchor, name)) or series.get(("", name))
        if timed and not timed.error:
            return timed, ""
        missing = timed.error if timed else "it is not among the clients"
        reasons.append(f"{unit.anchor} by {name} was not timed: {missing}")
    return None, "; ".join(reasons)


def _row(
    entry: _Series,
    unit: PriceUnit | None,
    series: Mapping[_Key, _Series],
) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(("unit", "anchor", "anchor_verifier"), "") | {
        "algorithm": entry.algorithm, "verifier": entry.name,
        "version": entry.verifier.version if entry.verifier else "",
    }  # fmt: skip
    if unit is None:
        return row | {"status": "unsupported", "reason": str(entry.error)}
    anchor, reason = _anchor(entry, unit, series)
    row |= {"unit": unit.name, "anchor": unit.anchor, "anchor_gas": unit.anchor_price}
    row |= {"anchor_verifier": anchor.name if anchor else ""}
    if error := entry.error:
        status = "unsupported" if isinstance(error, Unsupported) else "failed"
        return row | {"status": status, "reason": str(error)}
    assert entry.verifier
    size = float(_input_bytes(entry.algorithm))
    parts = ("decode_key", "decode_signature", "word")
    row |= {f"{name}_seconds": entry.part(name) for name in parts}
    row |= {
        "verify_seconds": entry.part("slowest"),
        "input_bytes": size,
        "calldata_gas": CALLDATA_GAS * size if unit.name == "evm" else np.nan,
    }
    if anchor is None:
        return row | {"status": "unsupported", "reason": reason}
    price = unit.anchor_price + MESSAGE_BYTES * unit.anchor_per_byte
    ratios = entry.slowest() / anchor.slowest()
    ratio = float(np.median(ratios))
    low, high = statistics.median_interval(ratios)
    return row | {
        "gas": price * ratio,
        "low": price * low,
        "high": price * high,
        "benchmark_gas": np.nan if unit.benchmark is None else unit.benchmark * ratio,
        "status": "ok",
        "reason": entry.verifier.source,
    }


def _input_bytes(algorithm: str) -> int:
    if algorithm == verification.RECOVERY:
        return 128  # the precompile's input: digest, v, r and s of 32 bytes each
    row = registry.get(algorithm)
    # A digest of 32 bytes, the key and the longest signature.
    return 32 + row.public_key_bytes + row.signature_max_bytes
