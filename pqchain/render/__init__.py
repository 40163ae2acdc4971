"""Rendering of tables and pages as terminal text, HTML, Markdown, LaTeX and JSON records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain import installation

if TYPE_CHECKING:
    from pqchain.render.notebook import sentence, show

__all__ = ["sentence", "show"]

__getattr__, __dir__ = installation.lazy_exports(__name__, {"notebook": "sentence show"})
