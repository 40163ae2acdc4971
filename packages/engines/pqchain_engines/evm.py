"""Verifications as precompiles inside an EVM: revm with its own and with pqchain's verifiers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqchain import checks, results
from pqchain.bench.gas_units import statements, units
from pqchain.crypto import open_signer
from pqchain.errors import Unsupported
from pqchain.results import Contract, machine, statistics
from pqchain.results.statistics import Floats
from pqchain_engines import protocol, registry, runner
from pqchain_engines.protocol import EngineFailure

PRECOMPILES = Contract.of(
    "engine_precompiles",
    ("str", "engine version precompile algorithm"),
    ("Int64", "gas calls repeats runs input_bytes"),
    ("float64", "call_seconds low_seconds high_seconds loop_seconds mgas_per_second"),
    ("float64", "block_gas block_low_gas block_high_gas"),
    ("str", "source status reason"),
)
"""Rows of precompiles.

Columns: engine, version, precompile, algorithm (or "ecrecover"), gas (price of a call, in force or
of a draft, see source; empty without one), calls (per transaction), repeats (transactions of a
run), runs (processes), input_bytes, call_seconds (processor seconds of one call without the loop:
median over the runs of the median over a run's transactions), low_seconds and high_seconds (95 %
interval of the median run), loop_seconds (of the loop itself), mgas_per_second (million gas per
second at the price), block_gas (price at which a block of such calls takes as long as a block of
ecrecover at 3000 gas, by the ratio of times in one run), block_low_gas and block_high_gas (its
interval), status and reason.
"""

ALGORITHMS = (
    "ecrecover", "ECDSA-P256", "ML-DSA-44", "ML-DSA-65", "Falcon-512", "SLH-DSA-SHA2-128s",
)  # fmt: skip
"""Precompiles that are timed by default: as `pqchain gas` names them, ecrecover first."""

_OWN = {"ecrecover": "ecrecover", "ECDSA-P256": "P256VERIFY"}
"""Precompiles of the EVM itself."""

CALLS, REPEATS, RUNS = 200, 10, 7
_MESSAGE = bytes([9]) * 32


def measure(
    algorithms: Iterable[str] = ALGORITHMS,
    *,
    calls: int = CALLS,
    repeats: int = REPEATS,
    runs: int = RUNS,
    limit_seconds: float = 600.0,
) -> pd.DataFrame:
    """Time precompiles inside revm; return PRECOMPILES. ecrecover is always timed.

    A transaction calls a precompile `calls` times and is executed `repeats` times, in turn with the
    same loop over an empty precompile; all precompiles are timed in each of `runs` processes. Times
    are those of the thread on its processor. A scheme that cannot run is a row with the reason.
    Raises UnknownName for a scheme that is not a signature scheme of the registry, UsageError for
    numbers out of range, Unsupported if revm is not built.
    """
    checks.integer("calls", calls, least=1, most=10_000)
    checks.integer("repeats", repeats, least=2, most=1000)
    checks.integer("runs", runs, least=2, most=1000)
    engine = registry.get("revm")
    command = [str(engine.executable())]
    rows: dict[str, dict[str, Any]] = {}
    requests: dict[str, dict[str, Any]] = {}
    for number, algorithm in enumerate(dict.fromkeys([ALGORITHMS[0], *algorithms]), 1):
        gas, source = _price(algorithm)
        rows[algorithm] = {
            "engine": engine.name, "version": engine.version, "algorithm": algorithm,
            "precompile": _OWN.get(algorithm, f"verify {algorithm}"), "gas": gas, "source": source,
            "calls": calls, "repeats": repeats, "runs": runs,
        }  # fmt: skip
        try:
            # Without a price any number does: time does not depend on it.
            precompile = _precompile(algorithm) | {"gas": gas or int(units()["evm"].anchor_price)}
        except Unsupported as error:
            rows[algorithm] |= {"status": "unsupported", "reason": str(error)}
            continue
        requests[algorithm] = {
            "id": number, "calls": calls, "repeats": repeats, "precompiles": [precompile],
        }  # fmt: skip
    times: dict[str, list[tuple[float, float]]] = {algorithm: [] for algorithm in requests}
    # Each run times every precompile, so that a ratio compares times of one moment.
    for _ in range(runs):
        for algorithm in list(requests):
            try:
                (record, *_), _ = protocol.ask(
                    command, requests[algorithm], limit_seconds=limit_seconds,
                    required=("input_bytes", "seconds", "loop_seconds"),
                )  # fmt: skip
            except EngineFailure as error:
                rows[algorithm] |= {"status": "unsupported", "reason": str(error)}
                del requests[algorithm], times[algorithm]
                continue
            rows[algorithm]["input_bytes"] = record["input_bytes"]
            seconds, loop = (
                float(np.median(record[n])) / calls for n in ("seconds", "loop_seconds")
            )
            times[algorithm].append((seconds - loop, loop))
    anchor = np.array(times.get(ALGORITHMS[0], [(math.nan, math.nan)] * runs))[:, 0]
    for algorithm, pairs in times.items():
        call, loop = np.array(pairs).T
        rows[algorithm] |= _times(call, loop, anchor, rows[algorithm]["gas"])
    names = PRECOMPILES.columns
    empty = {name: math.nan if kind == "float64" else None for name, kind in names.items()}
    frame = PRECOMPILES.frame(empty | row for row in rows.values())
    preset = f"{runs} runs of {repeats} transactions of {calls} calls"
    frame.attrs["provenance"] = machine.provenance() | {"preset": preset}
    return frame


@cache
def stored() -> pd.DataFrame:
    """Return the precompiles of data/precompiles.csv; `attrs` has their provenance."""
    return results.load(Path(__file__).parent / "data" / "precompiles.csv")


def _price(algorithm: str) -> tuple[int | None, str]:
    """Return the first stated EVM price, in force or of a draft, and its source."""
    for row in statements():
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
        "library": runner.native_library(algorithm),
        "message": _MESSAGE.hex(),
        "signature": bytes(signer.sign(_MESSAGE, secret_key)).hex(),
        "public_key": bytes(public_key).hex(),
    }


def _times(call: Floats, loop: Floats, anchor: Floats, gas: int | None) -> dict[str, Any]:
    low, high = statistics.median_interval(call)
    ratios = units()["evm"].anchor_price * call / anchor
    block_low, block_high = statistics.median_interval(ratios)
    seconds = float(np.median(call))
    return {
        "call_seconds": seconds,
        "low_seconds": low,
        "high_seconds": high,
        "loop_seconds": float(np.median(loop)),
        "mgas_per_second": math.nan if gas is None else gas / seconds / 1e6,
        "block_gas": float(np.median(ratios)),
        "block_low_gas": block_low,
        "block_high_gas": block_high,
        "status": "ok",
        "reason": "",
    }
