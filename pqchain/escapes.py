"""Text of users, files and other programs: escapes for writers, and the rule of names.

It may contain characters that act on a terminal, page or document instead of being read. Every
writer passes its text through `visible` or `markdown`; readers leave it unchanged.
"""

from __future__ import annotations

import re

LABEL = "at most 300 printable characters without $, not beginning with = + - or @"
NAME = "a text of 1 to 100 printable characters without , and $, not beginning with = + - or @"
"""The rules of `is_label` and `is_name`."""

# Control characters except the line feed, line and paragraph separators, lone surrogates (which no
# file can contain), and the marks that change the order in which the letters of a line are shown.
_ACTIVE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Replace control characters by escapes, which are those of JSON; line feeds are kept.

    >>> print(visible("title\x1b[2J"))
    title\u001b[2J
    """
    return _ACTIVE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def markdown(text: str) -> str:
    """Escape a text so that Markdown has no HTML, link or cell border; emphasis and code remain."""
    active = r"[\\|]|<(?=[A-Za-z/!?]|$)|\](?=[(\[:]|$)"
    return re.sub(active, r"\\\g<0>", visible(text))


def is_label(text: str) -> bool:
    """Return whether spreadsheets and matplotlib show a text as it is, and compute no formula."""
    # The last four are the same signs in full width, which spreadsheets read, too.
    is_formula = text.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20"))
    return len(text) <= 300 and text.isprintable() and "$" not in text and not is_formula


def is_name(name: object) -> bool:
    """Return whether the name is allowed for a user-defined scheme."""
    # Commas separate the fields of --scheme.
    is_text = isinstance(name, str) and 0 < len(name.strip()) <= len(name) <= 100
    return is_text and "," not in str(name) and is_label(str(name))
