"""How long to measure: the presets, by name. Loads nothing heavy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, cast

from pqchain.errors import UsageError

PresetName = Literal["quick", "paper"]

PRESET_VARIABLE = "PQCHAIN_PRESET"
"""Environment variable that chooses the preset of notebooks and `make reproduce`."""


@dataclass(frozen=True, slots=True)
class BlockPreset:
    """How long to measure the blocks of one scheme."""

    wallets: int
    """The most wallets to make."""
    wallet_seconds: float
    sign_seconds: float
    """Time for signing; of slow schemes the block holds fewer transactions than asked for."""
    rounds: int
    """The most validations for each number of threads; at least three are made."""
    validate_seconds: float
    """Time for all validations of one scheme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """How long and how often to measure one cell (algorithm, implementation, operation)."""

    rounds: int
    """Separate runs, each with fresh keys; implementations alternate between them."""
    samples: int
    """The most samples of one round."""
    minimum: int
    """The fewest samples of one round, however long they take."""
    limit_seconds: float
    """Time for the samples of one round."""
    warmup: int
    """Samples before each round, recorded and left out of the statistics."""
    pool: int
    """The most prepared key pairs and inputs of one round."""
    blocks: BlockPreset


_QUICK = BlockPreset(25, 0.25, 0.7, 9, 1.0)
_PAPER = BlockPreset(100, 10.0, 60.0, 100, 60.0)

PRESETS: dict[PresetName, Preset] = {
    "quick": Preset(
        rounds=3, samples=400, minimum=2, limit_seconds=0.05, warmup=1, pool=4, blocks=_QUICK
    ),
    "paper": Preset(
        rounds=5, samples=2000, minimum=4, limit_seconds=0.4, warmup=3, pool=16, blocks=_PAPER
    ),
}
"""`quick` for a look (2 to 3 minutes for everything), `paper` for numbers to quote."""


def preset() -> PresetName:
    """Return the preset that the environment asks for: `quick` unless PQCHAIN_PRESET says `paper`.

    Raises UsageError if the variable holds anything else.
    """
    name = os.environ.get(PRESET_VARIABLE, "") or "quick"
    named(name, f"{PRESET_VARIABLE}={name}: ")
    return cast("PresetName", name.casefold())


def named(name: str, source: str = "") -> Preset:
    """Return a preset by name, or raise UsageError; `source` says where the name stands."""
    known = {str(each): each for each in PRESETS}
    if not isinstance(name, str) or name.casefold() not in known:
        raise UsageError(f"{source}unknown preset {name!r}; expected one of {', '.join(PRESETS)}")
    return PRESETS[known[name.casefold()]]
