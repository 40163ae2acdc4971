"""The conditions of a notebook's run, stated at its beginning."""

from __future__ import annotations

from pqchain import machine
from pqchain.bench import presets, variation
from pqchain.escapes import markdown, visible
from pqchain.render.notebook import Output


def header() -> Output:
    """Return machine, load, preset and commit of this moment in a line, a warning before it.

    Raises UsageError for an unknown PQCHAIN_PRESET.
    """
    facts = machine.provenance()
    commit = f"{facts['commit'][:7]}{'-dirty' * facts['commit'].endswith('-dirty')}" or "unknown"
    load = facts.get("load_average")
    load_text = "unknown" if load is None else f"{load:.1f}"
    warning = variation.busy(facts)
    text = (
        f"Run on {facts['cpu_model']}, {facts['cpu_count']} processors; load {load_text} at the "
        f"start, preset {presets.preset()}, pqchain {facts['pqchain']}, commit {commit}, "
        f"{facts['date'][:10]}."
    )
    if warning:
        text = f"Warning: {warning}\n\n{text}"
    return Output(visible(text), {"text/markdown": markdown(text)})
