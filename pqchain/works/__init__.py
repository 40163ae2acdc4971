"""Published works: what they print and say, and what is computed to stand beside it."""

from __future__ import annotations

from pqchain.works import compare, papers

__all__ = ["compare", "papers"]
