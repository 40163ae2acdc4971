"""Exceptions of pqchain, and escapes of texts of users, files and other programs.

Messages state the condition, the value, and a remedy. A text may contain characters that act on a
terminal, page or document instead of being read. Every writer passes its text through `visible` or
`markdown`; readers leave it unchanged.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

_MAX_BITS, _MAX_CHARACTERS = 256, 200


def short_repr(value: object) -> str:
    """Return a value's repr for a message: at most 200 characters, or the size of a huge int.

    >>> short_repr(10**4000)
    'a whole number of 13288 bits'
    """
    # repr() of an int with more than 4300 digits raises ValueError.
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = repr(value)
    except ValueError:  # such an int inside a container
        return f"a {type(value).__name__} of numbers too long to print"
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} ..."


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


class PqchainError(Exception):
    """Base of all errors of this package."""


class UsageError(PqchainError):
    """An argument has the wrong type, range or combination."""


class UnknownName(UsageError):
    """An unknown name; the message suggests similar names, or lists the known ones."""

    def __init__(self, noun: str, name: object, known: Iterable[str], see: str = "") -> None:
        """Build the message, which lists the known names unless `see` refers to a list."""
        known = list(known)
        folded = {candidate.casefold(): candidate for candidate in known}
        spelling = short_repr(name).strip("'").casefold()
        # Above one half, at which "frobnicate" would resemble "native".
        similar = difflib.get_close_matches(spelling, folded, n=3, cutoff=0.51)
        # All arguments go to the base class, so that process pools can pickle the error.
        super().__init__(noun, name, known, see)
        self.name = name
        self._message = f"unknown {noun} {short_repr(name)}"
        if similar:
            self._message += f"; did you mean {' or '.join(repr(folded[n]) for n in similar)}?"
        elif not see:
            self._message += f"; expected one of {', '.join(known)}"
        if see:
            self._message += f"{'' if similar else '.'} See {see}"

    def __str__(self) -> str:
        return self._message


class WrongValues(UsageError):
    """Several fields have wrong values; `problems` are the messages by field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems.values())


class UnknownAlgorithm(UnknownName):
    """No algorithm of that name is in the registry."""


class UnknownImplementation(UnknownName):
    """No implementation of that name is in the registry."""


class UnknownPaper(UnknownName):
    """No paper has that key, or the paper has no table of that name."""


class BadLength(UsageError):
    """A key, signature, ciphertext or context has a length that the algorithm cannot have."""


class BadType(UsageError):
    """The argument is not bytes, bytearray or memoryview."""


class Unsupported(PqchainError):
    """The algorithm or implementation cannot run here; the message has reason and remedy."""


class PackageMissing(Unsupported, ImportError):
    """A required Python package is not installed; the message has the install command."""


class NativeLibraryMissing(Unsupported):
    """A native library was not built or not installed; the message has the build command."""


class NativeLibraryBroken(PqchainError):
    """A native library is present, and damaged or of another build; the message has the remedy."""


class CryptoFailure(PqchainError):
    """The cryptographic library reported a failure on well-formed input."""


class BitstreamMissing(Unsupported):
    """The bitstream of the FPGA board is missing; the message has the build instructions."""


class BoardFailure(PqchainError):
    """An FPGA board did not behave as its driver expects."""


class WrongBitstream(BoardFailure):
    """The FPGA's bitstream does not contain the expected version of pqchain's Falcon core."""


class BoardTimeout(BoardFailure):
    """The core on the FPGA board did not finish before the timeout."""


class BadBoardSignature(BoardFailure):
    """The FPGA board returned an invalid signature, which was discarded."""


class DataError(PqchainError):
    """A data file or data frame violates its contract: form, columns, types or values."""


class Malformed(DataError):
    """The bytes are not a valid encoding."""


class InvalidResult(DataError):
    """A result of pqchain itself is not as it must be; no input is wrong."""


class ChunksLost(InvalidResult):
    """Too few intact chunks of a block are available; stored chunks are unchanged."""
