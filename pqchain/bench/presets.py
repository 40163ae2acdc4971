"""Benchmark presets: time limits and numbers of samples. Imports no large package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, cast

from pqchain.errors import UsageError

PresetName = Literal["quick", "paper"]

PRESET_VARIABLE = "PQCHAIN_PRESET"
"""Environment variable with the default preset, as in notebooks and `make reproduce`."""


@dataclass(frozen=True, slots=True)
class BlockPreset:
    """Limits of the block benchmark for one scheme."""

    wallets: int
    wallet_seconds: float
    """Time limit for generating wallets."""
    sign_seconds: float
    """Time limit for signing; the block of a slow scheme has fewer transactions than requested."""
    rounds: int
    """Maximum number of validations per number of threads; the minimum is three."""
    validate_seconds: float
    """Time limit for all validations of one scheme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Limits of the benchmark of one cell (algorithm, implementation, operation)."""

    rounds: int
    """Rounds, each with fresh keys; implementations alternate from round to round."""
    samples: int
    """Maximum number of samples per round."""
    minimum: int
    """Minimum number of samples per round, regardless of the time limit."""
    limit_seconds: float
    """Time limit for the samples of one round."""
    warmup: int
    """Warm-up samples at the start of each round, recorded but not part of the statistics."""
    pool: int
    """Maximum number of prepared key pairs and inputs per round."""
    blocks: BlockPreset


_QUICK = BlockPreset(25, 0.25, 0.7, 9, 1.0)
# Sixty schemes take a quarter of an hour; the spread of the rounds is in the frame.
_PAPER = BlockPreset(100, 2.0, 10.0, 30, 10.0)

PRESETS: dict[PresetName, Preset] = {
    "quick": Preset(
        rounds=3, samples=400, minimum=2, limit_seconds=0.05, warmup=1, pool=4, blocks=_QUICK
    ),
    "paper": Preset(
        rounds=5, samples=2000, minimum=4, limit_seconds=0.4, warmup=3, pool=16, blocks=_PAPER
    ),
}
"""`quick`: a first look (2 to 3 minutes for everything). `paper`: numbers for publication."""


def preset() -> PresetName:
    """Return the preset named by PQCHAIN_PRESET, by default `quick`. Raises UsageError."""
    name = os.environ.get(PRESET_VARIABLE, "") or "quick"
    named(name, f"{PRESET_VARIABLE}={name}: ")
    return cast("PresetName", name.casefold())


def named(name: str, source: str = "") -> Preset:
    """Return the named preset; case is ignored. Errors (UsageError) have `source` as a prefix."""
    known: dict[str, PresetName] = {name: name for name in PRESETS}
    if not isinstance(name, str) or name.casefold() not in known:
        raise UsageError(f"{source}preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[known[name.casefold()]]
