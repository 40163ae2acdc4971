"""The one door to numba: how functions are compiled, and what all compiled code draws with.

Compiled code is kept on disk beside the module, or in the user's cache where that is read-only, so
it is compiled once per machine, and it lets go of the interpreter's lock, so that plain threads
run it side by side. Numba looks at the changes of a module only, not at those of what
it calls: after a change of `drawn` or `sort` delete the `__pycache__` folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pqchain.consensus import draws

try:
    import numba
except ImportError:  # the extra `fast` is not installed; numpy serves
    HAS_NUMBA = False
else:
    HAS_NUMBA = True

Function = TypeVar("Function", bound=Callable[..., Any])

_GOLDEN = np.uint64(draws.GOLDEN)
_FIRST, _SECOND = map(np.uint64, draws.MULTIPLIERS)


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Return numba's decorator, or one that leaves the function alone where numba is missing."""

    def decorate(function: Function) -> Function:
        if not HAS_NUMBA:
            return function
        made: Function = numba.njit(cache=True, nogil=True, **options)(function)
        return made

    return decorate


@compiled(inline="always")
def drawn(family: Any, i: int, j: int) -> Any:
    """Return `draws.draw`, in unsigned numbers of 64 bits that wrap around."""
    value = family ^ ((np.uint64(i) << np.uint64(32)) | np.uint64(j))
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    value = (value ^ (value >> np.uint64(31))) + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))
