"""Compilation with numba, and random numbers for compiled code; only this module imports numba.

Compiled code is cached on disk next to the module, or in the user's cache if that folder is
read-only, so it is compiled once per machine. It releases the interpreter's lock, so plain threads
run it in parallel. Numba's cache notices changes of the module only, not of functions called from
it: after a change of an inlined function or of `sort`, delete the `__pycache__` folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.view import NEVER

try:
    import numba
except ImportError:  # the extra `fast` is not installed; numpy is used instead
    HAS_NUMBA = False
else:
    HAS_NUMBA = True

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, **options: Any) -> Function:
    """Compile a function with numba; without numba return it unchanged."""
    if not HAS_NUMBA:
        return function
    try:
        result: Function = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        result = numba.njit(nogil=True, **options)(function)
    return result


def inlined(function: Function) -> Function:
    """Compile a function for inlining into its callers."""
    return compiled(function, inline="always")


draw_unsigned = inlined(draws.draw_unsigned)


@inlined
def integers_below(stream_key: Any, i: int, j: int, bound: int) -> Any:
    """Compute `draws.integers_below` for one pair (i, j)."""
    high = draw_unsigned(stream_key, i, j) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@inlined
def arrival(
    disturbance: Any, i: int, j: int, at: int, max_jitter_ns: int, partitioned: bool
) -> Any:
    """Compute `Disturbance.arrival`; `disturbance` is from `Disturbance.as_tuple(kind)`."""
    jitter, loss, delay, loss_below, delay_below, delay_ns, heal_ns = disturbance
    if loss_below and draw_unsigned(loss, i, j) < loss_below:
        return np.int64(NEVER)
    if max_jitter_ns:
        at += integers_below(jitter, i, j, max_jitter_ns)
    if delay_below and draw_unsigned(delay, i, j) < delay_below:
        at += delay_ns
    return max(at, heal_ns) if partitioned else at
