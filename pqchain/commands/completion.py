"""Completion of command lines in a shell, by argcomplete."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from pqchain.commands.options import Parser

VARIABLE = "_ARGCOMPLETE"
"""The environment variable by which a shell asks for completions instead of a run."""


def answer(parser: Callable[[str], Parser], commands: Collection[str]) -> None:
    """Answer the shell and exit.

    `parser` returns the parser of a command. Only the module of the command that is being completed
    is imported.
    """
    import argcomplete

    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0")) or None]
    # The last word is still being written, so it is no command yet.
    words = line.split(" ")[1:-1]
    command = next((word for word in words if word in commands), "")
    argcomplete.autocomplete(parser(command), validator=_is_completion)


def _is_completion(name: str, prefix: str) -> bool:
    # Names on the command line ignore case.
    return name.casefold().startswith(prefix.casefold())
