"""Rendering of tables and pages as terminal text, HTML, Markdown, LaTeX and JSON records."""
