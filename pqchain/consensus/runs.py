"""Entry point `run`: one scenario in one of four modes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from pqchain.consensus import model
from pqchain.consensus.model import Engine, Run
from pqchain.consensus.scenario import Scenario

if TYPE_CHECKING:
    from pqchain.consensus.delegate.modes import Mode, Ran


@overload
def run(
    scenario: Scenario, *, engine: Engine = ..., mode: Literal["model"] = ..., progress: bool = ...
) -> Run: ...


@overload
def run(
    scenario: Scenario,
    *,
    mode: Literal["virtual", "loopback", "netns"],
    transport: str | None = ...,
    log: Path | None = ...,
    limit_seconds: float = ...,
    progress: bool = ...,
) -> Ran: ...


def run(
    scenario: Scenario,
    *,
    engine: Engine = "fast",
    mode: Mode = "model",
    transport: str | None = None,
    log: Path | None = None,
    limit_seconds: float = 600.0,
    progress: bool = False,
) -> Run | Ran:
    """Run a scenario: modelled, or executed by delegates that sign and verify every message.

    `mode` "model" computes it with an `engine`, "fast", "numpy" or "simpy", which return equal
    results; "virtual", "loopback" and "netns" execute it over a `transport`: see
    `pqchain.consensus.delegate.modes`. All results have latency_seconds, throughput_per_second,
    views, is_safe and is_live. Raises UnknownName; UsageError for an option that does not apply to
    the mode; Unsupported for a mode that cannot run here.
    """
    if mode == "model":
        return model.run(scenario, engine=engine, progress=progress)
    from pqchain.consensus.delegate import modes  # late: a model needs no native code

    return modes.run(
        scenario,
        mode=mode,
        transport=transport,
        log=log,
        limit_seconds=limit_seconds,
        progress=progress,
    )
