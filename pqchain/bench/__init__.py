"""Measuring on this machine: operations of implementations, and whole blocks.

frame = pqchain.measure("Falcon-512", preset="quick")
blocks = pqchain.measure_blocks(["Falcon-512"], transactions=1000)
"""

from __future__ import annotations

from pqchain.bench.blocks import measure_blocks
from pqchain.bench.operations import Preset, measure, preset

__all__ = ["Preset", "measure", "measure_blocks", "preset"]
