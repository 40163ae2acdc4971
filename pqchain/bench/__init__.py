"""Measuring on this machine: operations of implementations, and whole blocks.

frame = pqchain.measure("Falcon-512", preset="quick")
blocks = pqchain.measure_blocks(["Falcon-512"], transactions=1000)

What measures is loaded at first use, so that the names of the presets cost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pqchain.bench.presets import PRESETS, Preset, preset

if TYPE_CHECKING:
    from pqchain.bench.blocks import measure_blocks
    from pqchain.bench.operations import measure

__all__ = ["PRESETS", "Preset", "measure", "measure_blocks", "preset"]

_HOME = {"measure": "operations", "measure_blocks": "blocks"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pqchain.bench' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pqchain.bench.{_HOME[name]}"), name)
