"""Checks of content whose checksum is right: a program other than pqchain may have written it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pqchain.checks import LABEL, NAME, is_label, is_name
from pqchain.errors import DataError
from pqchain.figures import Unit

if TYPE_CHECKING:
    import pandas as pd

UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, AttributeError, LookupError)
"""Errors of pandas and Python for content that is not what its format states."""

_LEAST, _MOST = 1e-100, 1e100
"""Bounds of a finite number with a unit, other than 0; beyond them quotients and axes overflow."""

_NAMES = ("algorithm", "implementation", "operation", "base", "run")
"""Columns whose texts label rows and plots."""

_PROVENANCE: Mapping[str, type] = {
    **dict.fromkeys(("machine_id", "cpu_model", "preset", "date", "commit", "python"), str),
    "pqchain": str, "cpu_count": int, "load_average": float, "transactions": int,
    "schemes": list, "runs": list,
}  # fmt: skip
"""Types of the entries of provenance with which pqchain computes."""

_MAX_LEVELS = 20
"""Levels of nesting in provenance, which pandas copies recursively."""


def check_column(name: str, dtype: str, values: pd.Series[Any]) -> None:
    """Raise DataError for a value that a column of that name could not have."""
    wrong: list[Any] = []
    if dtype == "float64" and Unit.of(name):
        absolute = values[values.notna()].abs()
        wrong = absolute[~absolute.between(_LEAST, _MOST) & ~absolute.isin([0, math.inf])].tolist()
    elif dtype == "str" and name in _NAMES:
        wrong = [value for value in set(values) if not is_label(value)]
    if wrong:
        expected = LABEL if isinstance(wrong[0], str) else f"0, inf, or {_LEAST} to {_MOST} in size"
        raise DataError(f"column {name!r} must have {expected}; got {wrong[0]!r:.80}")


def check_provenance(run: Any) -> None:
    """Raise one of UNREADABLE for provenance that the writer of a table could not have had."""
    if not isinstance(run, dict):
        raise ValueError(f"provenance must be an object; got {run!r:.80}")
    _check_levels(run, _MAX_LEVELS)
    # Neither NaN nor a lone surrogate could be written again.
    json.dumps(run, ensure_ascii=False, allow_nan=False).encode()
    for name, expected in _PROVENANCE.items():
        value = run.get(name, expected())
        is_number = expected in (int, float) and isinstance(value, (int, expected))
        if not (0 <= value <= 2**62 if is_number else isinstance(value, expected)):
            raise ValueError(f"{name} must be a {expected.__name__}; got {value!r:.80}")
    if not all(is_name(row["name"]) for row in run.get("schemes", ())):
        raise ValueError(f"the name of each of the schemes must be {NAME}")
    for part in run.get("runs", ()):
        check_provenance(part)


def _check_levels(value: Any, levels: int) -> None:
    if not levels:
        raise ValueError(f"provenance must have at most {_MAX_LEVELS} levels")
    for entry in value.values() if isinstance(value, dict) else value:
        if isinstance(entry, (dict, list)):
            _check_levels(entry, levels - 1)
