"""Tables and pages: on a terminal, as HTML, Markdown, LaTeX, and records."""
