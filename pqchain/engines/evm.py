"""Verifications as precompiles inside an EVM: revm with its own and with pqchain's verifiers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from pqchain import checks, machine, statistics
from pqchain.bench.gas_units import STATEMENTS, UNITS
from pqchain.crypto import open_signer
from pqchain.engines import protocol, registry, runner
from pqchain.errors import PqchainError, UnknownName
from pqchain.results import Contract
from pqchain.statistics import Floats

PRECOMPILES = Contract.of(
    "engine_precompiles",
    ("str", "engine version precompile algorithm"),
    ("Int64", "gas calls repeats input_bytes"),
    ("float64", "call_seconds low_seconds high_seconds loop_seconds mgas_per_second"),
    ("float64", "block_gas block_low_gas block_high_gas"),
    ("str", "source status reason"),
)
"""Rows of precompiles.

Columns: engine, version, precompile, algorithm (or "ecrecover"), gas (price of a call, in force or
of a draft, see source; empty without one), calls (per transaction), repeats (transactions),
input_bytes, call_seconds (processor seconds of one call: median over the transactions, without the
loop), low_seconds and high_seconds (95 % interval of the median), loop_seconds (of the loop
itself), mgas_per_second (million gas per second at the price), block_gas (price at which a block of
such calls takes as long as a block of ecrecover at 3000 gas), block_low_gas and block_high_gas (its
interval), status and reason.
"""

ALGORITHMS = ("ecrecover", "ECDSA-P256", "ML-DSA-44", "ML-DSA-65", "Falcon-512")
"""Precompiles that are timed by default: as `pqchain gas` names them, ecrecover first."""

_OWN = {"ecrecover": "ecrecover", "ECDSA-P256": "P256VERIFY"}
"""Precompiles of the EVM itself."""

_ANCHOR_GAS = UNITS["evm"].anchor_price

CALLS, REPEATS = 200, 40
_MESSAGE = bytes([9]) * 32


def measure(
    algorithms: Iterable[str] = ALGORITHMS,
    *,
    calls: int = CALLS,
    repeats: int = REPEATS,
    limit_seconds: float = 600.0,
) -> pd.DataFrame:
    """Time precompiles inside revm; return PRECOMPILES. ecrecover is always timed.

    A transaction calls a precompile `calls` times and runs `repeats` times, in turn with the same
    loop over an empty precompile. Times are those of the thread on its processor. A scheme that
    cannot run is a row with the reason. Raises UnknownName for a scheme that is not a signature
    scheme of the registry, UsageError for numbers out of range, Unsupported if revm is not built.
    """
    checks.integer("calls", calls, least=1, most=10_000)
    checks.integer("repeats", repeats, least=2, most=1000)
    engine = registry.get("revm")
    program = engine.executable()
    rows = []
    anchor: Floats | None = None
    for number, algorithm in enumerate(dict.fromkeys([ALGORITHMS[0], *algorithms]), 1):
        gas, source = _price(algorithm)
        row: dict[str, Any] = {
            "engine": engine.name, "version": engine.version, "algorithm": algorithm,
            "precompile": _OWN.get(algorithm, f"verify {algorithm}"), "gas": gas, "source": source,
            "calls": calls, "repeats": repeats,
        }  # fmt: skip
        try:
            request = {
                "id": number, "calls": calls, "repeats": repeats,
                # Without a price any number does: time does not depend on it.
                "precompiles": [_precompile(algorithm) | {"gas": gas or int(_ANCHOR_GAS)}],
            }  # fmt: skip
            (record,), _ = protocol.ask([str(program)], request, limit_seconds=limit_seconds)
        except UnknownName:
            raise
        except PqchainError as error:
            rows.append(row | {"status": "unsupported", "reason": str(error)})
            continue
        seconds = np.array(record["seconds"]) / calls
        loop = np.array(record["loop_seconds"]) / calls
        call = seconds - np.median(loop)
        anchor = call if anchor is None else anchor
        rows.append(row | _times(call, loop, anchor, gas) | {"input_bytes": record["input_bytes"]})
    names = PRECOMPILES.columns
    empty = {name: math.nan if kind == "float64" else None for name, kind in names.items()}
    frame = PRECOMPILES.frame(empty | row for row in rows)
    provenance = machine.provenance() | {"preset": f"{repeats} transactions of {calls} calls"}
    frame.attrs["provenance"] = provenance
    return frame


def _price(algorithm: str) -> tuple[int | None, str]:
    """Return the first stated EVM price, in force or of a draft, and its source."""
    for row in STATEMENTS:
        if row["unit"] == "evm" and row["algorithm"] == algorithm:
            return int(row["gas"]), str(row["source"])
    return None, ""


def _precompile(algorithm: str) -> dict[str, Any]:
    if algorithm in _OWN:
        return {"precompile": _OWN[algorithm]}
    signer = open_signer(algorithm)
    public_key, secret_key = signer.generate_keypair()
    return {
        "precompile": algorithm,
        "library": runner.library(algorithm),
        "message": _MESSAGE.hex(),
        "signature": bytes(signer.sign(_MESSAGE, secret_key)).hex(),
        "public_key": bytes(public_key).hex(),
    }


def _times(call: Floats, loop: Floats, anchor: Floats, gas: int | None) -> dict[str, Any]:
    low, high = statistics.median_interval(call)
    anchor_low, anchor_high = statistics.median_interval(anchor)
    seconds, anchor_seconds = float(np.median(call)), float(np.median(anchor))
    return {
        "call_seconds": seconds,
        "low_seconds": low,
        "high_seconds": high,
        "loop_seconds": float(np.median(loop)),
        "mgas_per_second": math.nan if gas is None else gas / seconds / 1e6,
        "block_gas": _ANCHOR_GAS * seconds / anchor_seconds,
        "block_low_gas": _ANCHOR_GAS * low / anchor_high,
        "block_high_gas": _ANCHOR_GAS * high / anchor_low,
        "status": "ok",
        "reason": "",
    }
