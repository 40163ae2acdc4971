"""`pqchain cite`: how to cite this software, and the works whose tables it holds."""

from __future__ import annotations

import argparse

from pqchain.commands import console


def run(arguments: argparse.Namespace) -> int:
    """Print citations, of everything or of the works that were named."""
    from pqchain.works import citation

    entries = citation.entries(arguments.keys)
    text = "\n\n".join(
        citation.bibtex(entry) if arguments.bibtex else citation.sentence(entry)
        for entry in entries
    )
    return console.show(arguments, entries, text)
