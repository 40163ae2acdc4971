"""Published works: what they print and say, and what is computed to stand beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import late

if TYPE_CHECKING:
    from pqchain.works import compare, papers

__all__ = ["compare", "papers"]

# Comparing takes all works with their plots; whoever asks for a printed number needs none of them.
__getattr__, __dir__ = late(__name__, {"compare": "", "papers": ""})
