"""How numbers are shown to people: SI prefixes, three significant digits, aligned text tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
"""Between a number and its unit, so that a line never breaks there."""

MISSING = "\N{EN DASH}"
"""Stands for a value that does not exist."""

TIMES = "\N{MULTIPLICATION SIGN}"
"""Before a factor."""

_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def significant(value: float, digits: int = 3) -> str:
    """Round to that many significant digits, without an exponent: 46.2, 1030, 0.0041."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # 9.996 rounds up to 10.0 and then needs one decimal less.
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def seconds(value: float, digits: int = 3) -> str:
    """Show a duration with the prefix that fits: 0.0000462 as 46.2 µs."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return f"0{NARROW_SPACE}s"
    rounded = float(f"{value:.{digits - 1}e}")
    scale, prefix = next((pair for pair in _PREFIXES if abs(rounded) >= pair[0]), _PREFIXES[-1])
    return f"{significant(rounded / scale, digits)}{NARROW_SPACE}{prefix}s"


def integer(value: float) -> str:
    """Show a whole number in groups of three: 261 120, and 2420 ungrouped as SI prefers."""
    if not math.isfinite(value):
        return MISSING
    text = f"{round(value):,}".replace(",", NARROW_SPACE)
    return text if abs(value) >= 10_000 else text.replace(NARROW_SPACE, "")


def byte_count(value: float) -> str:
    """Show a size exactly, in bytes: 17 088 B."""
    return MISSING if not math.isfinite(value) else f"{integer(value)}{NARROW_SPACE}B"


def ratio(value: float) -> str:
    """Show a factor, as in "times 0.43"."""
    return MISSING if not math.isfinite(value) else f"{TIMES}{significant(value)}"


def text_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    width: int | None = None,
) -> str:
    """Lay out columns for a terminal; those whose index is in `right` are aligned to the right.

    Where `width` is given, the last column is cut so that no line is longer.
    """
    table = [list(header), *(list(row) for row in rows)]
    aligned_right = set(right)
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = []
    for row in table:
        cells = [
            cell.rjust(widths[index]) if index in aligned_right else cell.ljust(widths[index])
            for index, cell in enumerate(row)
        ]
        line = "  ".join(cells).rstrip()
        if width is not None and len(line) > width:
            line = line[: max(width - 1, 1)].rstrip() + "…"
        lines.append(line)
    lines.insert(1, "  ".join("─" * each for each in widths)[:width])
    return "\n".join(lines)
