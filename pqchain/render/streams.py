"""Text and JSON on stdout and stderr: encodings, widths and colours of terminals, broken pipes."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, TextIO

from pqchain import figures
from pqchain.errors import visible
from pqchain.render import terminal

_ASCII = str.maketrans(
    {"µ": "u", figures.TIMES: "x", figures.NARROW_SPACE: " ", figures.MISSING: "-", "…": "~"}
    | {"─": "-"}
)
"""Replacements of characters that a terminal without Unicode cannot show."""


def encodable(text: str, stream: TextIO) -> str:
    """Return a text that a stream can encode, with replacements of other characters."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def print_stdout(text: str) -> None:
    """Write data to stdout; replace characters that its encoding lacks."""
    sys.stdout.write(f"{encodable(text, sys.stdout)}\n")


def print_json(value: Any) -> None:
    """Write a value as JSON to stdout."""
    # Escapes preserve all characters where stdout is not Unicode.
    escaped = not (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False, default=_json_type)
    print_stdout(visible(text))  # the escapes are those of JSON


def _json_type(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def print_stderr(text: str) -> None:
    """Write a message to stderr; if stderr is broken, drop the message."""
    text = visible(text)
    try:
        if (width := terminal_width(sys.stderr)) is not None:
            text = terminal.wrapped(text, width, colour=has_colour(sys.stderr))
        sys.stderr.write(f"{encodable(text, sys.stderr)}\n")
        sys.stderr.flush()
    except OSError:
        redirect_to_devnull(sys.stderr)


def redirect_to_devnull(stream: TextIO) -> None:
    """Redirect a broken stream to /dev/null."""
    # Python flushes the stream at exit, and would report the error again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_interactive() -> bool:
    """Return whether stderr is a terminal, so that progress bars are shown."""
    return sys.stderr.isatty()


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of the terminal that a stream writes to; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream writes to a terminal with colours; NO_COLOR turns them off."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not is_plain
