"""How numbers and tables are shown: on a terminal, in a page, in Markdown, as records."""
