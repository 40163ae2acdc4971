"""Processor seconds of signatures by the libraries that an engine uses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pandas as pd

from pqchain import installation, machine, results
from pqchain.engines import protocol, registry, runner
from pqchain.engines.protocol import EngineFailure
from pqchain.engines.setup import Setup
from pqchain.errors import Unsupported, UsageError
from pqchain.results import Contract

PRICES = Contract.of(
    "engine_prices",
    ("str", "engine version algorithm"),
    ("float64", "sign_seconds verify_seconds aggregate_seconds decode_key_seconds"),
    ("str", "status reason"),
)
"""Rows of prices: seconds of one processor.

Columns: engine, version, algorithm, sign_seconds, verify_seconds (with a decoded public key where
the engine keeps it so), aggregate_seconds (per signature of a BLS aggregate), decode_key_seconds
(NaN where the library's interface does not separate it), status and reason.
"""

SAMPLES = 400


def measure(name: str, *, samples: int = SAMPLES, limit_seconds: float = 300.0) -> pd.DataFrame:
    """Measure the prices of all schemes of an engine; return PRICES.

    The time is that of the measuring thread on its processor, the median of the samples, for
    messages of 117 bytes. Raises UnknownName, and Unsupported if the engine is not built.
    """
    engine = registry.get(name)
    if not engine.modes:
        raise UsageError(f"{engine.name} must be a consensus engine; see `pqchain gas` for an EVM")
    engine.executable()
    rows = []
    for number, algorithm in enumerate(engine.algorithms, 1):
        row = {"engine": engine.name, "version": engine.version, "algorithm": algorithm}
        times = dict.fromkeys(
            (n for n, d in PRICES.columns.items() if d == "float64"), float("nan")
        )
        try:
            request = {
                "id": number,
                "price_of": algorithm,
                "library": runner.library(algorithm),
                "samples": samples,
            }
            _, last = protocol.ask(
                [str(engine.executable(algorithm))], request, limit_seconds=limit_seconds
            )
            times |= {key: float(last[key]) for key in times if last.get(key) is not None}
            rows.append(row | times | {"status": "ok", "reason": ""})
        except (EngineFailure, Unsupported) as error:
            rows.append(row | times | {"status": "unsupported", "reason": str(error)})
    frame = PRICES.frame(rows)
    frame.attrs["provenance"] = machine.provenance() | {"preset": f"{samples} samples"}
    return frame


@cache
def stored() -> pd.DataFrame:
    """Return the prices of data/engines/prices.csv; `attrs` has their provenance."""
    return results.load(installation.data("engines") / "prices.csv")


def with_prices(name: str, setup: Setup) -> Setup:
    """Return the setup with the stored prices of its scheme where it has none of its own.

    Raises Unsupported if the scheme has no stored price.
    """
    if setup.mode != "virtual" or setup.sign_seconds or setup.verify_seconds:
        return setup
    frame = stored()
    same = (frame["engine"] == name) & (frame["algorithm"] == setup.algorithm)
    rows = frame[same & (frame["status"] == "ok")]
    if rows.empty:
        raise Unsupported(
            f"{setup.algorithm} has no stored price for {name}; give sign_seconds and "
            "verify_seconds, or measure them with `pqchain engine prices`"
        )
    row = rows.iloc[0]
    return replace(
        setup,
        sign_seconds=float(row["sign_seconds"]),
        verify_seconds=float(row["verify_seconds"]),
        aggregate_seconds=float(row["aggregate_seconds"]),
    )
