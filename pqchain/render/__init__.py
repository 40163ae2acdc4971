"""Rendering of tables and pages as terminal text, HTML, Markdown, LaTeX and JSON records."""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
