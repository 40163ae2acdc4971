"""`pqchain cite`: citations of this software and of the works whose tables it contains."""

from __future__ import annotations

import argparse

from pqchain.commands import console


def run(arguments: argparse.Namespace) -> int:
    """Print citations of everything or of the named works."""
    from pqchain.works import citation

    entries = citation.entries(arguments.keys)
    text = "\n\n".join(
        citation.bibtex(entry) if arguments.bibtex else citation.sentence(entry)
        for entry in entries
    )
    return console.show(arguments, entries, text, verbatim=arguments.bibtex)
