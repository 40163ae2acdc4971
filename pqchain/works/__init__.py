"""Published works: their printed numbers and statements, and computed numbers for comparison.

work = pqchain.works.get("pqdpol")
side_by_side = work.printed(pqchain.measure())
verdicts = work.claims()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.works import papers, printed
    from pqchain.works.registry import get, works

__all__ = ["get", "papers", "printed", "works"]

# The registry imports all works with their plots; printed numbers alone need none of them.
__getattr__, __dir__ = lazy_exports(
    __name__, {"papers": "", "printed": "", "registry": "get works"}
)
