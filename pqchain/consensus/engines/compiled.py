"""The only module that imports numba: compilation, and random draws of compiled code.

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
except ImportError:  # the extra `fast` is not installed; numpy serves
    HAS_NUMBA = False
else:
    HAS_NUMBA = True

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, **options: Any) -> Function:
    """Compile a function with numba; without numba return it unchanged."""
    if not HAS_NUMBA:
        return function
    made: Function
    try:
        made = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        made = numba.njit(nogil=True, **options)(function)
    return made


def inlined(function: Function) -> Function:
    """Compile a function for inlining into its callers."""
    return compiled(function, inline="always")


drawn = inlined(draws.drawn)


@inlined
def below(family: Any, i: int, j: int, span: int) -> Any:
    """Compute `draws.below` for one pair."""
    high = drawn(family, i, j) >> np.uint64(32)
    return np.int64((high * np.uint64(span)) >> np.uint64(32))


@inlined
def arrival(trouble: Any, i: int, j: int, at: int, span: int, cut: bool) -> Any:
    """Compute `Disturbance.arrival`; `trouble` is `Disturbance.plain` of the message's kind."""
    jitter, loss, delay, loss_below, delay_below, delay_ns, heal_ns = trouble
    if loss_below and drawn(loss, i, j) < loss_below:
        return np.int64(NEVER)
    if span:
        at += below(jitter, i, j, span)
    if delay_below and drawn(delay, i, j) < delay_below:
        at += delay_ns
    return max(at, heal_ns) if cut else at
