"""The conditions of a notebook's run, stated at its beginning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pqchain.bench import presets, variation
from pqchain.errors import markdown, visible
from pqchain.render.notebook import Output
from pqchain.results import machine

if TYPE_CHECKING:
    import pandas as pd


def header(measurements: pd.DataFrame | None = None) -> Output:
    """Return machine, load, preset and commit of a run in a line, warnings before it.

    The run is that of `measurements`, or of this moment. Raises UsageError for an unknown
    PQCHAIN_PRESET.
    """
    if measurements is None:
        facts: Mapping[str, Any] = machine.provenance() | {"preset": presets.preset()}
        warning = variation.busy(facts)
    else:
        facts = measurements.attrs["provenance"]
        warning = "\n\n".join(variation.warnings(measurements)).removeprefix("Warning: ")
    commit = f"{facts['commit'][:7]}{'-dirty' * facts['commit'].endswith('-dirty')}" or "unknown"
    load = facts.get("load_average")
    load_text = "unknown" if load is None else f"{load:.1f}"
    text = (
        f"Run on {facts['cpu_model']}, {facts['cpu_count']} processors; load {load_text} at the "
        f"start, preset {facts['preset']}, pqchain {facts['pqchain']}, commit {commit}, "
        f"{facts['date'][:10]}."
    )
    if warning:
        text = f"Warning: {warning}\n\n{text}"
    return Output(visible(text), {"text/markdown": markdown(text)})
